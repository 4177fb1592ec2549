//! One direction of a link: its models, the packets on it, its counters.

use bentpipe_link::queue::Backlog;
use bentpipe_link::{Fate, LossCause, Model, Passing, QueueLimit, Series, Stream};
use bentpipe_record::LinkSummary;
use bentpipe_units::{ByteCount, Instant};
use bentpipe_wire::Kind;

use crate::packet::Label;
use crate::transit::{InTransit, Transit};

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
    transit: Transit,
}

impl Channel {
    /// An empty channel to node `to`.
    pub(crate) fn new(to: u16, series: Series, flips: Stream, summary: LinkSummary) -> Self {
        Self { to, summary, flips, series, transit: Transit::default() }
    }

    /// A packet enters at `at`, which may lie after `now`. Returns when it leaves, if it does, and
    /// whether it is corrupt then. What happens after `end` is not counted.
    #[inline(always)]
    pub(crate) fn pass(
        &mut self,
        now: Instant,
        at: Instant,
        end: Instant,
        passing: &Passing,
    ) -> (Option<Instant>, bool) {
        if self.summary.packets.is_multiple_of(FORGET_EVERY) {
            self.series.forget_before(now);
        }
        let fate = self.series.pass(at, passing);
        if at > end {
            return after_the_end(fate);
        }
        self.summary.packets += 1;
        self.summary.bytes += passing.bytes.get();
        self.count(at, end, fate, passing.kind)
    }

    /// The same for a packet that a plain line takes, and before the end: `None`, and nothing is counted, for any other.
    #[inline(always)]
    pub(crate) fn pass_line(
        &mut self,
        at: Instant,
        end: Instant,
        bytes: ByteCount,
    ) -> Option<Instant> {
        if at > end {
            return None;
        }
        let leaves = self.series.pass_line(at, bytes)?;
        self.summary.packets += 1;
        self.summary.bytes += bytes.get();
        self.summary.delivered += u64::from(leaves <= end);
        Some(leaves)
    }

    /// A packet comes to the station before the models.
    pub(crate) fn offer(&mut self, now: Instant, bytes: u64) {
        if self.summary.packets.is_multiple_of(FORGET_EVERY) {
            self.series.forget_before(now);
        }
        self.summary.packets += 1;
        self.summary.bytes += bytes;
    }

    /// A packet leaves the station at `at`; otherwise as [`Channel::pass`].
    pub(crate) fn pass_on(
        &mut self,
        at: Instant,
        end: Instant,
        passing: &Passing,
    ) -> (Option<Instant>, bool) {
        let fate = self.series.pass(at, passing);
        if at > end {
            return after_the_end(fate);
        }
        self.count(at, end, fate, passing.kind)
    }

    /// Counts what becomes of a packet that entered the models at `at`.
    #[inline(always)]
    fn count(
        &mut self,
        at: Instant,
        end: Instant,
        fate: Fate,
        kind: Kind,
    ) -> (Option<Instant>, bool) {
        match fate {
            Fate::Leaves(leaves) => {
                self.summary.delivered += u64::from(leaves <= end);
                (Some(leaves), false)
            }
            Fate::LeavesCorrupt(leaves) => {
                self.summary.delivered += u64::from(leaves <= end);
                self.summary.corrupted += u64::from(leaves <= end);
                (Some(leaves), true)
            }
            Fate::Lost(cause) => {
                self.count_loss(at, cause, kind);
                (None, false)
            }
        }
    }

    /// A packet is on its way to the far end. Returns true when it is the next to arrive.
    #[inline(always)]
    pub(crate) fn push(&mut self, at: Instant, serial: u64, label: Label, damaged: bool) -> bool {
        self.transit.put(at, serial, label, damaged)
    }

    /// The next packet to arrive.
    #[inline]
    pub(crate) fn next(&self) -> Option<&InTransit> {
        self.transit.first()
    }

    /// Takes the packet that arrives.
    #[inline]
    pub(crate) fn arrive(&mut self) -> Option<InTransit> {
        self.transit.take_first()
    }

    /// A packet enters where links move, by a transmitter that other channels use as well if one is given. What comes of it
    /// is counted when it arrives.
    #[inline]
    pub(crate) fn enter(
        &mut self,
        now: Instant,
        passing: &Passing,
        mut shared: Option<&mut Series>,
    ) -> Fate {
        if self.summary.packets.is_multiple_of(FORGET_EVERY) {
            self.series.forget_before(now);
            shared.iter_mut().for_each(|line| line.forget_before(now));
        }
        self.summary.packets += 1;
        self.summary.bytes += passing.bytes.get();
        let sent = shared.map_or(Fate::Leaves(now), |line| line.pass(now, passing));
        let fate = match sent {
            Fate::Leaves(at) => self.series.pass(at, passing),
            lost => lost,
        };
        if let Fate::Lost(cause) = fate {
            self.count_loss(now, cause, passing.kind);
        }
        fate
    }

    /// From now on packets pass these models.
    pub(crate) fn renew(&mut self, series: Series) {
        self.series = series;
    }

    /// Takes the last packet on its way if it arrives after `at`.
    pub(crate) fn take_last_after(&mut self, at: Instant) -> Option<InTransit> {
        self.transit.last().filter(|last| last.at > at)?;
        self.transit.take_last()
    }

    /// What waits at `now` before its first model, and how much may.
    pub(crate) fn waiting(&self, now: Instant) -> Option<(Backlog, QueueLimit)> {
        self.series.waiting(now)
    }

    /// The bytes that stand before its transmitter; `None` where it has none.
    pub(crate) fn standing(&mut self, now: Instant) -> Option<ByteCount> {
        self.series.standing(now)
    }

    /// Packets that its queue had no room for, or would not take.
    pub(crate) const fn turned_away(&self) -> u64 {
        self.summary.lost_queue_full + self.summary.lost_early
    }

    /// Counts a packet that was lost.
    #[cold]
    pub(crate) fn count_loss(&mut self, at: Instant, cause: LossCause, kind: Kind) {
        let s = &mut self.summary;
        let counter = match cause {
            LossCause::QueueFull => &mut s.lost_queue_full,
            LossCause::Random => &mut s.lost_random,
            LossCause::Blackout => &mut s.lost_blackout,
            LossCause::Channel => &mut s.lost_channel,
            LossCause::Scripted => &mut s.lost_scripted,
            LossCause::Early => &mut s.lost_early,
            LossCause::Collision => &mut s.lost_collision,
            LossCause::PacketTooBig => &mut s.lost_packet_too_big,
            LossCause::Filtered => {
                s.acks_filtered += 1;
                return;
            }
        };
        *counter += 1;
        s.lost_data += u64::from(kind.contains(Kind::DATA));
        s.first_loss_ns.get_or_insert(at.as_nanos());
    }
}

#[cold]
fn after_the_end(fate: Fate) -> (Option<Instant>, bool) {
    match fate {
        Fate::Leaves(leaves) => (Some(leaves), false),
        Fate::LeavesCorrupt(leaves) => (Some(leaves), true),
        Fate::Lost(_) => (None, false),
    }
}
