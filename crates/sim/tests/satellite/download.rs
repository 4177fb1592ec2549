//! A download: the terminal opens a connection and asks, the server answers with so many bytes.

use std::task::{Context, Poll, Waker};

use bentpipe_association::endpoint::{ConnectionId, Streams as _};
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
            let endpoint = &mut world.endpoints[TERMINAL];
            let _ = endpoint.poll_write(world.now, self.here, &mut self.request, cx);
            if self.request.is_empty() {
                endpoint.close(world.now, self.here);
            }
        }
        world.pump();
        if self.there.is_none()
            && let Poll::Ready(id) = world.endpoints[SERVER].poll_accept(cx)
        {
            self.there = Some(id);
        }
        self.answer(world, cx);
        self.receive(world, cx)
    }

    /// The server's part.
    fn answer(&mut self, world: &mut World, cx: &mut Context<'_>) {
        let Some(id) = self.there.filter(|_| !self.closed) else { return };
        let endpoint = &mut world.endpoints[SERVER];
        while let Poll::Ready(got) = endpoint.poll_read(world.now, id, cx) {
            if got.expect("a request").is_none() {
                break;
            }
            self.asked = true;
        }
        while self.asked && !self.left.is_empty() {
            match endpoint.poll_write(world.now, id, &mut self.left, cx) {
                Poll::Ready(written) => drop(written.expect("an open connection")),
                Poll::Pending => break,
            }
        }
        if self.left.is_empty() {
            self.closed = true;
            endpoint.close(world.now, id);
        }
    }

    /// The terminal's part.
    fn receive(&mut self, world: &mut World, cx: &mut Context<'_>) -> Option<Span> {
        while let Poll::Ready(bytes) = world.endpoints[TERMINAL].poll_read(world.now, self.here, cx)
        {
            let Some(bytes) = bytes.expect("the content") else {
                assert_eq!(self.read, self.content.len());
                world.endpoints[TERMINAL].release(world.now, self.here);
                if let Some(id) = self.there {
                    world.endpoints[SERVER].release(world.now, id);
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

/// Lets downloads go on until all have ended. Returns what each took.
pub(crate) fn together(world: &mut World, downloads: &mut [Download]) -> Vec<Span> {
    let mut took = vec![None; downloads.len()];
    while took.contains(&None) {
        turn_all(world, downloads, &mut took);
    }
    took.into_iter().flatten().collect()
}

/// Lets downloads go on for so long. Returns what each took that has ended.
pub(crate) fn meanwhile(
    world: &mut World,
    downloads: &mut [Download],
    span: Span,
) -> Vec<Option<Span>> {
    let (mut took, until) = (vec![None; downloads.len()], world.now + span);
    while world.now < until {
        turn_all(world, downloads, &mut took);
    }
    took
}

fn turn_all(world: &mut World, downloads: &mut [Download], took: &mut [Option<Span>]) {
    for (download, took) in downloads.iter_mut().zip(took) {
        *took = took.or_else(|| download.turn(world));
    }
    let until = world.now + Span::from_secs(60);
    assert!(world.step(until), "nothing happens");
}
