//! Bytes to the congestion header of XCP and back.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bentpipe_testkit::fuzz::xcp_header(data));
