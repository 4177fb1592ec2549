//! Bytes from a serial line to the commands of KISS, and what their frames carry.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bentpipe_testkit::fuzz::kiss_stream(data));
