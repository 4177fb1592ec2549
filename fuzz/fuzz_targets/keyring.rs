//! Any history of two keyrings whose messages, processes and time are in somebody else's hands.
#![no_main]

#[path = "../../crates/association/tests/keyring_model/history.rs"]
mod history;
#[path = "../../crates/association/tests/keyring_model/state.rs"]
mod state;

libfuzzer_sys::fuzz_target!(|data: &[u8]| history::keyring_history(data));
