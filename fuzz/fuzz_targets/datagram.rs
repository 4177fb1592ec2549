//! Any datagram to a host: nothing panics, and what is not authentic gets no answer but a cookie.
#![no_main]

use bentpipe_association::endpoint::Endpoint;
use bentpipe_association::{SecretKey, Security};
use bentpipe_units::Instant;
use bentpipe_wire::Ecn;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let key = SecretKey::from_bytes([7; 32]);
    let security = if data.first().is_some_and(|kind| kind & 0x10 != 0) {
        Security::None
    } else {
        Security::Full
    };
    let mut endpoint = Endpoint::new(key, security, 0, Box::new(|| 1), Instant::ZERO);
    let from = std::net::SocketAddr::from(([10, 0, 0, 1], 7));
    endpoint.handle_datagram(Instant::ZERO, from, Ecn::NotCapable, data);
    endpoint.flush(Instant::ZERO);
    assert!(endpoint.outbox().front(1).is_none_or(|train| train.bytes.len() < data.len()));
});
