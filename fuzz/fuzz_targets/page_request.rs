//! Any text as what a page says to its server.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bentpipe_serve::fuzz::request(data));
