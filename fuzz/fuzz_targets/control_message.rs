//! Bytes to a message about an association, and back.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bentpipe_association::endpoint::fuzz::control_message(data));
