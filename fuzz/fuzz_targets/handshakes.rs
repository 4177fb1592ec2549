//! Any history of two hosts whose datagrams, processes and calendars are in somebody else's hands.
#![no_main]

#[path = "../../crates/association/tests/handshakes/history.rs"]
mod history;

libfuzzer_sys::fuzz_target!(|data: &[u8]| history::handshake_history(data));
