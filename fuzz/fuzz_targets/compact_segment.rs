//! Bytes out of a decrypted datagram to an XSTP segment and back.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bentpipe_testkit::fuzz::compact_segment(data));
