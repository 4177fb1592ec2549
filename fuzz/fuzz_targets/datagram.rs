//! Any datagram to a host: nothing panics, and what is not authentic gets no answer but a cookie.
#![no_main]

use bentpipe_association::hub::Hub;
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
    let mut hub = Hub::new(key, security, 0, Box::new(|| 1), Instant::ZERO);
    let from = std::net::SocketAddr::from(([10, 0, 0, 1], 7));
    hub.handle_datagram(Instant::ZERO, from, Ecn::NotCapable, data);
    hub.flush(Instant::ZERO);
    assert!(hub.outbox().front(1).is_none_or(|train| train.bytes.len() < data.len()));
});
