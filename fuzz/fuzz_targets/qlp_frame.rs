//! Bytes out of a message queue to a frame of the queue link protocol and back.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bentpipe_testkit::fuzz::qlp_frame(data));
