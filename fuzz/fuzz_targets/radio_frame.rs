//! Bytes to a frame of AX.25, a packet with a source route and messages of file transfer, and back.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bentpipe_testkit::fuzz::radio_frame(data));
