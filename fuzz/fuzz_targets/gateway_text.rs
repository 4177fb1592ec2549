//! Any text as the configuration of a gateway, a destination and a network.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bentpipe_gateway::fuzz::gateway_text(data));
