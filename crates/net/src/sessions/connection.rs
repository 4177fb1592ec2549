//! One connection of a node, and what surrounds it while it is drained.

use std::collections::VecDeque;

use bentpipe_association::stream::Stream;
use bentpipe_transport::xstp::Session;
use bentpipe_transport::{Endpoint as _, Event, Host, PathId};
use bentpipe_units::Instant;
use bentpipe_wire::Segment;

use super::Framing;

/// What tells connections apart: the peer, the local and the peer's port.
pub(super) type Key<P> = (P, u16, u16);

/// One connection.
#[derive(Debug)]
pub(super) struct Connection<P> {
    pub(super) stream: Stream,
    pub(super) peer: P,
    /// The peer opened it, and the application has not taken it yet.
    pub(super) unaccepted: bool,
    /// It was changed and is to be drained.
    pub(super) dirty: bool,
}

impl<P: Copy> Connection<P> {
    pub(super) fn key(&self) -> Key<P> {
        let ports = self.stream.endpoint.ports();
        (self.peer, ports.local, ports.peer)
    }
}

/// What surrounds a connection while it is drained.
pub(super) struct DrainContext<'a, F: Framing> {
    pub(super) framing: &'a mut F,
    pub(super) peer: F::Peer,
    pub(super) dropped: bool,
    pub(super) outbox: &'a mut VecDeque<F::Frame>,
    pub(super) place: &'a mut Segment,
    pub(super) events: &'a mut Vec<Event>,
}

impl<F: Framing> Host<Session> for DrainContext<'_, F> {
    fn place(&mut self) -> &mut Segment {
        self.place
    }

    fn transmit(&mut self, _now: Instant, _path: PathId) {
        let Segment::Xstp(segment) = &*self.place else { return };
        self.framing.wrap(self.peer, segment, self.outbox);
    }

    fn event(&mut self, now: Instant, session: &mut Session, event: Event) {
        if self.dropped {
            while session.read(now).is_some() {}
        }
        self.events.push(event);
    }
}
