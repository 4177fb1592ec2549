//! The one loop that runs an endpoint, for the simulator and for real sockets.

use bentpipe_units::Instant;

use bentpipe_wire::Segment;
use bentpipe_wire::xcp::Header;

use crate::{Endpoint, Event, NetworkFeedback, PathId};

/// What surrounds an endpoint: a network and an application.
pub trait Host<E: Endpoint + ?Sized> {
    /// Where the next segment is to be written. A segment is written once, where it is to lie.
    fn place(&mut self) -> &mut Segment;

    /// What is sent next has this congestion header before it. A host without routers that read them
    /// leaves it.
    fn congestion(&mut self, _header: Header) {}

    /// Sends what was written to that place.
    fn transmit(&mut self, now: Instant, path: PathId);

    /// Tells the application, which may read, write, close or abort in answer.
    fn event(&mut self, now: Instant, endpoint: &mut E, event: Event);
}

/// Takes out what an endpoint has to tell and leaves in it what it has to send: for a host that asks it
/// for segments one by one, when there is a turn for it. Returns its next deadline.
pub fn poll_events<E: Endpoint + ?Sized>(
    endpoint: &mut E,
    now: Instant,
    host: &mut (impl Host<E> + ?Sized),
) -> Option<Instant> {
    while let Some(event) = endpoint.poll_event() {
        host.event(now, endpoint, event);
    }
    endpoint.poll_timeout()
}

/// Takes everything out of an endpoint that is to be sent or told, until nothing is left, and
/// returns its next deadline.
#[inline]
pub fn drain<E: NetworkFeedback + ?Sized>(
    endpoint: &mut E,
    now: Instant,
    host: &mut (impl Host<E> + ?Sized),
) -> Option<Instant> {
    drain_untimed(endpoint, now, host);
    endpoint.poll_timeout()
}

/// The same without asking for the deadline, for a host that knows by [`Endpoint::take_timer_dirty`] when it must.
#[inline]
pub fn drain_untimed<E: NetworkFeedback + ?Sized>(
    endpoint: &mut E,
    now: Instant,
    host: &mut (impl Host<E> + ?Sized),
) {
    loop {
        while endpoint.readiness().may_transmit
            && let Some(path) = endpoint.poll_transmit(now, host.place())
        {
            if let Some(header) = endpoint.take_congestion() {
                host.congestion(header);
            }
            host.transmit(now, path);
        }
        let Some(event) = endpoint.poll_event() else { return };
        host.event(now, endpoint, event);
    }
}
