//! Bytes to a TCP segment and back.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bentpipe_testkit::fuzz::tcp_segment(data));
