//! Copies of the segments that went out.

use std::collections::VecDeque;

use bentpipe_units::{Instant, Seq32};
use bentpipe_wire::tcp::Segment;

/// A segment and what happened to it.
#[derive(Debug)]
pub(super) struct Cached {
    pub(super) segment: Segment,
    /// When it was last sent, by whomever.
    pub(super) sent_at: Instant,
    /// How often the agent sent it again.
    pub(super) repairs: u32,
    /// Repairs for which duplicates asked.
    pub(super) asked: u32,
    /// The sender sent it again, or it came late: its loss is the network's.
    pub(super) of_sender: bool,
}

impl Cached {
    fn end(&self) -> Seq32 {
        self.segment.seq.plus(self.segment.payload.len() as u32)
    }
}

/// The copies of one connection, by sequence number.
#[derive(Debug)]
pub(super) struct Cache {
    segments: VecDeque<Cached>,
}

impl Cache {
    pub(super) const fn new() -> Self {
        Self { segments: VecDeque::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.segments.len()
    }

    /// The copy with the lowest number.
    pub(super) fn first_mut(&mut self) -> Option<&mut Cached> {
        self.segments.front_mut()
    }

    /// The copy with the lowest number.
    pub(super) fn first(&self) -> Option<&Cached> {
        self.segments.front()
    }

    /// The copy that begins here.
    pub(super) fn at(&mut self, seq: Seq32) -> Option<&mut Cached> {
        self.segments.iter_mut().find(|cached| cached.segment.seq == seq)
    }

    /// Keeps a copy in its place.
    pub(super) fn insert(&mut self, now: Instant, segment: &Segment, of_sender: bool) {
        let segment = segment.clone();
        let seq = segment.seq;
        let cached = Cached { segment, sent_at: now, repairs: 0, asked: 0, of_sender };
        let place = self.segments.partition_point(|other| other.segment.seq.is_before(seq));
        self.segments.insert(place, cached);
    }

    /// Gives up the copy with the lowest number.
    pub(super) fn drop_first(&mut self) {
        self.segments.pop_front();
    }

    /// Gives up the copy that begins here.
    pub(super) fn remove(&mut self, seq: Seq32) {
        self.segments.retain(|cached| cached.segment.seq != seq);
    }

    /// Gives up what lies before `ack`. Returns when the last of it was sent that was sent once.
    pub(super) fn free_before(&mut self, ack: Seq32) -> Option<Instant> {
        let mut sent = None;
        while let Some(first) = self.segments.front()
            && !first.end().is_after(ack)
        {
            if first.repairs == 0 && !first.of_sender {
                sent = Some(first.sent_at);
            }
            self.segments.pop_front();
        }
        sent
    }
}
