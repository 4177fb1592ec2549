//! Anything that a peer with a valid key says to an endpoint, beside an honest transfer.
#![no_main]

#[path = "../../crates/association/tests/hostile/history.rs"]
mod history;
#[path = "../../crates/association/tests/hostile/peer.rs"]
mod peer;
#[path = "../../crates/association/tests/hostile/stage.rs"]
mod stage;

libfuzzer_sys::fuzz_target!(|data: &[u8]| history::hostile_history(data));
