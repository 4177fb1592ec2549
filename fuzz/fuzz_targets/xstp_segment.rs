//! Bytes to an XSTP segment and back.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bentpipe_testkit::fuzz::xstp_segment(data));
