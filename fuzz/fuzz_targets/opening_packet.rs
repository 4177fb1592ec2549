//! IP packets that open connections, and what answers them.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bentpipe_net::gateway::fuzz::opening_packet(data));
