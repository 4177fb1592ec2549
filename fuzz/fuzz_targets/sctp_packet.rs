//! Bytes to an SCTP packet and back.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bentpipe_testkit::fuzz::sctp_packet(data));
