//! One direction of a link: its models, the packets on it, its counters.

use std::collections::VecDeque;

use bentpipe_link::{Fate, LossCause, Model, Passing, Series, Stream};
use bentpipe_record::LinkSummary;
use bentpipe_units::Instant;
use bentpipe_wire::Kind;

use crate::packet::PacketId;

/// Models may forget their history after so many packets.
const FORGET_EVERY: u64 = 1024;

/// One direction of a link.
#[derive(Debug)]
pub(crate) struct Channel {
    /// Node at its far end.
    pub(crate) to: u16,
    /// What it carried.
    pub(crate) summary: LinkSummary,
    /// Where flipped bits are drawn in wire mode.
    pub(crate) flips: Stream,
    series: Series,
    /// Packets on their way, the next to arrive first.
    transit: VecDeque<InTransit>,
}

/// A packet on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InTransit {
    /// When it arrives.
    pub(crate) at: Instant,
    /// Its place among packets that arrive at the same time.
    pub(crate) serial: u64,
    /// Which packet it is.
    pub(crate) packet: PacketId,
    /// This link corrupted it.
    pub(crate) corrupt: bool,
}

impl Channel {
    /// An empty channel to node `to`.
    pub(crate) fn new(to: u16, series: Series, flips: Stream, summary: LinkSummary) -> Self {
        Self { to, summary, flips, series, transit: VecDeque::new() }
    }

    /// A packet enters. Returns false when it is lost; otherwise it will arrive.
    pub(crate) fn offer(
        &mut self,
        now: Instant,
        serial: u64,
        packet: PacketId,
        passing: &Passing,
    ) -> bool {
        self.summary.packets += 1;
        self.summary.bytes += passing.bytes.get();
        if self.summary.packets.is_multiple_of(FORGET_EVERY) {
            self.series.forget_before(now);
        }
        let (at, corrupt) = match self.series.pass(now, passing) {
            Fate::Leaves(at) => (at, false),
            Fate::LeavesCorrupt(at) => (at, true),
            Fate::Lost(cause) => {
                self.count_loss(now, cause, passing.kind);
                return false;
            }
        };
        let entry = InTransit { at, serial, packet, corrupt };
        match self.transit.back() {
            // Overtakes others: it goes where its time is, after those of the same time.
            Some(last) if last.at > at => {
                let place = self.transit.partition_point(|other| other.at <= at);
                self.transit.insert(place, entry);
            }
            _ => self.transit.push_back(entry),
        }
        true
    }

    /// The next packet to arrive.
    pub(crate) fn next(&self) -> Option<InTransit> {
        self.transit.front().copied()
    }

    /// Takes the packet that arrives.
    pub(crate) fn arrive(&mut self) -> Option<InTransit> {
        let arrived = self.transit.pop_front()?;
        self.summary.delivered += 1;
        self.summary.corrupted += u64::from(arrived.corrupt);
        Some(arrived)
    }

    fn count_loss(&mut self, now: Instant, cause: LossCause, kind: Kind) {
        let s = &mut self.summary;
        let counter = match cause {
            LossCause::QueueFull => &mut s.lost_queue_full,
            LossCause::Random => &mut s.lost_random,
            LossCause::Blackout => &mut s.lost_blackout,
            LossCause::Channel => &mut s.lost_channel,
            LossCause::Scripted => &mut s.lost_scripted,
        };
        *counter += 1;
        s.lost_data += u64::from(kind.contains(Kind::DATA));
        s.first_loss_ns.get_or_insert(now.as_nanos());
    }
}
