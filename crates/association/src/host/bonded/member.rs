//! One connection of a bond, and what waits for it.

use std::collections::VecDeque;
use std::task::{Context, Poll};

use bentpipe_bond::{Observed, Transmit, Use};
use bentpipe_transport::Inspect as _;
use bentpipe_units::Span;
use bytes::Bytes;

use super::super::connection::Connection;
use crate::stream::Streams as _;

/// Time between two looks while something is under way.
pub(super) const LOOK: Span = Span::from_millis(20);
/// Bytes that wait in a connection at least, if there are some.
const READY: usize = 64 * 1024;

/// A connection more, over a link.
#[derive(Debug)]
pub struct Joining {
    /// The connection.
    pub connection: Connection,
    /// The link.
    pub link: usize,
    /// When it carries data.
    pub carries: Use,
    /// What is written to it first.
    pub greeting: Bytes,
}

#[derive(Debug)]
pub(super) struct Member {
    pub(super) number: usize,
    pub(super) link: usize,
    pub(super) connection: Connection,
    /// Frames that the connection has not yet, and of the first one what it has not.
    backlog: VecDeque<[Bytes; 2]>,
    has_begun: bool,
    /// Nothing is written to it any more: it is read until the peer has closed it.
    pub(super) is_retired: bool,
    /// The peer has closed it.
    pub(super) has_ended: bool,
}

impl Member {
    /// One to which this is written first.
    pub(super) fn new(number: usize, joining: Joining) -> Self {
        let Joining { connection, link, greeting, .. } = joining;
        connection.bind(link);
        let backlog = VecDeque::from([[greeting, Bytes::new()]]);
        Self {
            number,
            link,
            connection,
            backlog,
            has_begun: true,
            is_retired: false,
            has_ended: false,
        }
    }

    /// Nothing more is written to it.
    pub(super) fn retire(&mut self) {
        self.is_retired = true;
        self.backlog.clear();
        self.connection.close();
    }

    /// Whether something waits for the connection.
    pub(super) fn has_backlog(&self) -> bool {
        !self.backlog.is_empty()
    }

    /// A frame waits for the connection.
    pub(super) fn put(&mut self, transmit: Transmit) {
        let ahead = usize::from(self.has_begun).min(self.backlog.len());
        let at = if transmit.is_urgent { ahead } else { self.backlog.len() };
        self.backlog.insert(at, transmit.bytes);
    }

    /// The connection takes of the backlog what it needs to go on: what it has nothing can go ahead of.
    pub(super) fn write(&mut self, cx: &Context<'_>) {
        while !self.backlog.is_empty() {
            let may_go_on = self.has_begun || self.connection.unsent() < self.ready();
            let Some([header, body]) = self.backlog.front_mut().filter(|_| may_go_on) else {
                break;
            };
            if header.is_empty() && body.is_empty() {
                self.backlog.pop_front();
                self.has_begun = false;
                continue;
            }
            let part = if header.is_empty() { body } else { header };
            match self.connection.poll_write_bytes(cx, part) {
                Poll::Ready(Ok(_)) => self.has_begun = true,
                // Its reader is told of failures.
                Poll::Ready(Err(_)) | Poll::Pending => break,
            }
        }
    }

    /// Bytes that are to wait in the connection: what it may send until it is looked after again.
    fn ready(&self) -> usize {
        let state = self.connection.state().0;
        let window = state.cwnd.zip(state.srtt).map_or(0, |(cwnd, round_trip)| {
            (cwnd.get() as f64 * LOOK.as_secs_f64() / round_trip.as_secs_f64().max(1e-3)) as usize
        });
        window.max(READY)
    }

    pub(super) fn observed(&self) -> Observed {
        let backlog: usize = self.backlog.iter().flatten().map(Bytes::len).sum();
        let endpoint = self.connection.endpoint();
        let connection = &endpoint.stream(self.connection.id()).endpoint;
        let state = connection.sender_state();
        Observed {
            round_trip: state.srtt,
            cwnd: state.cwnd,
            unsent: endpoint.unsent(self.connection.id()) + backlog,
            waiting: backlog,
            in_flight: state.in_flight.get() as usize,
        }
    }
}
