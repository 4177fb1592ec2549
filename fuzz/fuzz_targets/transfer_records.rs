//! Any records of two senders to a receiver whose disk fails.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bentpipe_transfer::fuzz::transfer_records(data));
