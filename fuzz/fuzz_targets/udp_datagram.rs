//! Bytes to a UDP datagram and back.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bentpipe_testkit::fuzz::udp_datagram(data));
