//! What gateways say to each other in front of flows and datagrams.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bentpipe_gateway::fuzz::gateway_messages(data));
