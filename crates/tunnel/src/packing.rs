//! Datagrams are packed into bodies of packets, one behind the other, and cut where a packet ends.

use bentpipe_units::{Instant, Seq32, Span};
use bytes::{BufMut as _, Bytes, BytesMut};

use crate::backlog::Backlog;
use crate::protection::Protection;
use crate::record::{RECORD_HEADER, Record};

/// A packet that is not full waits for more datagrams for so long.
pub(crate) const LINGER: Span = Span::from_millis(2);
/// Bytes of a body before what belongs to a datagram that began earlier.
const HEAD: usize = 3;
/// With less room than this no datagram is begun.
const LEAST: usize = RECORD_HEADER + 1;

/// From where datagrams are taken.
pub(crate) struct Source<'a> {
    pub(crate) backlog: &'a mut Backlog,
    pub(crate) protection: Protection,
    /// Those that go a second time, too.
    pub(crate) repeats: bool,
}

impl Source<'_> {
    fn pop(&mut self, now: Instant) -> Option<Record> {
        let repeated = self.repeats.then(|| self.backlog.pop_repeated(now)).flatten();
        repeated.or_else(|| self.backlog.pop(now, self.protection.repeats()))
    }
}

/// What was begun by a path.
#[derive(Debug, Default)]
pub(crate) struct Packing {
    /// What does not fit into the packet before, of a datagram that was begun there, and one that is begun next.
    rest: Bytes,
    stash: Option<Record>,
    /// Since when these wait.
    waits_since: Instant,
    /// Whose label is in what is begun, and the packet in which it begins.
    telling: Option<(u16, Seq32)>,
    /// The number of the packet before.
    last: Seq32,
}

impl Packing {
    /// The body of the packet of this number of a run, of so many bytes at most: the rest of what was begun, and what waits
    /// in the source if there is one.
    pub(crate) fn next(
        &mut self,
        now: Instant,
        (run, seq): (u16, Seq32),
        most: usize,
        mut from: Option<Source<'_>>,
    ) -> Option<Bytes> {
        let mut body = BytesMut::with_capacity(most);
        let head = self.rest.len().min(most - HEAD);
        let back = seq.distance_from(self.last);
        body.put_u8(u8::try_from(back).unwrap_or(1));
        body.put_u16(head as u16);
        body.extend_from_slice(&self.rest.split_to(head));
        if self.rest.is_empty()
            && let Some((flow, first)) = self.telling.take()
            && let Some(source) = &mut from
        {
            source.backlog.labels().left(flow, run, [first, seq]);
        }
        while self.rest.is_empty() && body.len() + LEAST <= most {
            let next = || from.as_mut().and_then(|source| source.pop(now));
            let Some(record) = self.stash.take().or_else(next) else { break };
            let room = most - body.len();
            let flow = record.datagram.flow;
            if record.len() <= room {
                record.put(&mut body);
                if record.digest.is_none()
                    && let Some(source) = &mut from
                {
                    source.backlog.labels().left(flow, run, [seq; 2]);
                }
            } else if record.is_sparse && body.len() > HEAD {
                // In one packet it is lost less often than in two.
                self.stash = Some(record);
                break;
            } else {
                let mut whole = BytesMut::with_capacity(record.len());
                record.put(&mut whole);
                let mut whole = whole.freeze();
                body.extend_from_slice(&whole.split_to(room));
                self.telling = record.digest.is_none().then_some((flow, seq));
                self.rest = whole;
            }
        }
        if body.len() == HEAD {
            return None;
        }
        (self.last, self.waits_since) = (seq, now);
        Some(body.freeze())
    }

    /// A datagram was begun and does not end yet, or one is begun next.
    pub(crate) const fn has_begun(&self) -> bool {
        !self.rest.is_empty() || self.stash.is_some()
    }

    /// Bytes of that.
    pub(crate) fn begun(&self) -> usize {
        self.rest.len() + self.stash.as_ref().map_or(0, Record::len)
    }

    /// One is begun next for which there was no room.
    pub(crate) const fn has_stash(&self) -> bool {
        self.stash.is_some()
    }

    pub(crate) fn has_sparse(&self) -> bool {
        self.stash.as_ref().is_some_and(|record| record.is_sparse)
    }

    /// When what was begun leaves in a packet that is not full.
    pub(crate) fn linger_due(&self) -> Option<Instant> {
        self.has_begun().then(|| self.waits_since + LINGER)
    }
}
