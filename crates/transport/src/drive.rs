//! The one loop that runs an endpoint, for the simulator and for real sockets.

use bentpipe_units::Instant;

use crate::{Endpoint, Event, Transmit};

/// What surrounds an endpoint: a network and an application.
pub trait Host {
    /// Sends a segment.
    fn transmit(&mut self, now: Instant, transmit: Transmit);

    /// Tells the application, which may read, write, close or abort in answer.
    fn event(&mut self, now: Instant, endpoint: &mut dyn Endpoint, event: Event);
}

/// Takes everything out of an endpoint that is to be sent or told, until nothing is left, and
/// returns its next deadline.
pub fn drain(
    endpoint: &mut dyn Endpoint,
    now: Instant,
    host: &mut (impl Host + ?Sized),
) -> Option<Instant> {
    loop {
        while let Some(transmit) = endpoint.poll_transmit(now) {
            host.transmit(now, transmit);
        }
        let Some(event) = endpoint.poll_event() else {
            return endpoint.poll_timeout();
        };
        host.event(now, endpoint, event);
    }
}
