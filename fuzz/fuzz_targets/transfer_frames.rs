//! Bytes to the frames of file transfer and back, and into a receiver.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bentpipe_transfer::fuzz::transfer_frames(data));
