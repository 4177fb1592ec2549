//! Bytes to a message of ICMP and back.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bentpipe_testkit::fuzz::icmp_message(data));
