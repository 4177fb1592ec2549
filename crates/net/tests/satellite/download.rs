//! A download: the terminal opens a connection and asks, the server answers with so many bytes.

use std::task::{Context, Poll, Waker};

use bentpipe_net::hub::{ConnectionId, Streams as _};
use bentpipe_testkit::pattern;
use bentpipe_units::{Instant, Span};
use bytes::Bytes;

use crate::world::{SERVER, TERMINAL, World};

pub(crate) struct Download {
    began: Instant,
    here: ConnectionId,
    there: Option<ConnectionId>,
    request: Bytes,
    asked: bool,
    content: Bytes,
    left: Bytes,
    closed: bool,
    pub(crate) read: usize,
    last: Instant,
}

impl Download {
    /// Opens the connection. Downloads of one world are accepted in the order in which they began.
    pub(crate) fn begin(world: &mut World, size: usize) -> Self {
        let content = pattern(size);
        Self {
            began: world.now,
            here: world.open(),
            there: None,
            request: Bytes::from_static(b"GET"),
            asked: false,
            left: content.clone(),
            content,
            closed: false,
            read: 0,
            last: world.now,
        }
    }

    /// Does at both ends what can be done now. Returns the time from the beginning to the last byte once
    /// that is read.
    pub(crate) fn turn(&mut self, world: &mut World) -> Option<Span> {
        let cx = &mut Context::from_waker(Waker::noop());
        if !self.request.is_empty() {
            let hub = &mut world.hubs[TERMINAL];
            let _ = hub.poll_write(world.now, self.here, &mut self.request, cx);
            if self.request.is_empty() {
                hub.close(world.now, self.here);
            }
        }
        world.pump();
        if self.there.is_none()
            && let Poll::Ready(id) = world.hubs[SERVER].poll_accept(cx)
        {
            self.there = Some(id);
        }
        self.answer(world, cx);
        self.receive(world, cx)
    }

    /// The server's part.
    fn answer(&mut self, world: &mut World, cx: &mut Context<'_>) {
        let Some(id) = self.there.filter(|_| !self.closed) else { return };
        let hub = &mut world.hubs[SERVER];
        while let Poll::Ready(got) = hub.poll_read(world.now, id, cx) {
            if got.expect("a request").is_none() {
                break;
            }
            self.asked = true;
        }
        while self.asked && !self.left.is_empty() {
            match hub.poll_write(world.now, id, &mut self.left, cx) {
                Poll::Ready(written) => drop(written.expect("an open connection")),
                Poll::Pending => break,
            }
        }
        if self.left.is_empty() {
            self.closed = true;
            hub.close(world.now, id);
        }
    }

    /// The terminal's part.
    fn receive(&mut self, world: &mut World, cx: &mut Context<'_>) -> Option<Span> {
        while let Poll::Ready(bytes) = world.hubs[TERMINAL].poll_read(world.now, self.here, cx) {
            let Some(bytes) = bytes.expect("the content") else {
                assert_eq!(self.read, self.content.len());
                world.hubs[TERMINAL].release(world.now, self.here);
                if let Some(id) = self.there {
                    world.hubs[SERVER].release(world.now, id);
                }
                return Some(self.last.since(self.began));
            };
            let expected = self.content.slice(self.read..self.read + bytes.len());
            assert_eq!(bytes, expected, "at byte {}", self.read);
            self.read += bytes.len();
            self.last = world.now;
        }
        None
    }
}
