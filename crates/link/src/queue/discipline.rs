//! What a queue knows of packets, and what it may do with them.

use std::fmt::Debug;
use std::ops::Add;

use bentpipe_units::{ByteCount, Instant, Seq32};
use bentpipe_wire::xcp::{RateChange, Request};
use bentpipe_wire::xstp::{Body, ReportKind};
use bentpipe_wire::{Ecn, Kind, Segment, tcp};

use crate::LossCause;

/// One direction of one connection, as a router tells it from others: by addresses and ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey(pub u64);

/// What an acknowledgment acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cumulative {
    /// Everything before this number has arrived.
    pub next: Seq32,
    /// The packet says nothing else: a later one says all of it.
    pub plain: bool,
}

impl Cumulative {
    /// What a segment acknowledges that carries nothing else.
    pub fn of(segment: &Segment) -> Option<Self> {
        match segment {
            Segment::Tcp(segment) if segment.kind() == Kind::ACK => Some(Self {
                next: segment.ack,
                plain: segment.options == tcp::Options::None && segment.flags == tcp::Flags::ACK,
            }),
            Segment::Xstp(segment) if segment.kind() == Kind::STAT => match &segment.body {
                Body::Flow(flow) => flow.report.as_ref().map(|report| Self {
                    next: report.next,
                    plain: report.kind == ReportKind::Stat
                        && report.gaps.is_empty()
                        && !report.more,
                }),
                Body::Begin(_) | Body::BeginAck(_) | Body::Reset(_) => None,
            },
            Segment::Tcp(_)
            | Segment::Xstp(_)
            | Segment::Sctp(_)
            | Segment::Udp(_)
            | Segment::Icmp(_) => None,
        }
    }
}

/// What a queue knows of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The owner's number of the packet.
    pub id: u32,
    /// Line of the [`Mac`](crate::mac::Mac) that it waits for; 0 where there is only one.
    pub line: u16,
    /// What it carries.
    pub kind: Kind,
    /// The ECN field around it.
    pub ecn: Ecn,
    /// Length on the link, all headers included.
    pub bytes: ByteCount,
    /// Connection and direction.
    pub flow: FlowKey,
    /// What it acknowledges, if it carries nothing but an acknowledgment.
    pub ack: Option<Cumulative>,
    /// It goes before everything that waits, but for others that do, and no limit applies to it: a
    /// repair of the link's own.
    pub first: bool,
}

/// The packets that a queue holds: whoever owns them does with them what the queue says.
pub trait Packets {
    /// The packet is taken by the line and leaves it at `at`, which may lie ahead.
    fn departs(&mut self, packet: &Held, at: Instant);

    /// The packet is gone.
    fn lost(&mut self, packet: &Held, cause: LossCause);

    /// Sets the congestion mark in the packet's IP header. Asked only for packets that are
    /// [`Ecn::Capable0`] or [`Ecn::Capable1`].
    fn mark(&mut self, packet: &Held);

    /// The request in the packet's congestion header, if it has one.
    fn request(&self, packet: &Held) -> Option<Request>;

    /// Writes what is granted of the request.
    fn grant(&mut self, packet: &Held, change: RateChange);

    /// A copy of an acknowledgment that acknowledges only what is before `next`; `None` when the
    /// packet cannot be copied.
    fn copy_of_ack(&mut self, packet: &Held, next: Seq32) -> Option<Held>;
}

/// What waits in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets.
    pub packets: usize,
    /// Their bytes.
    pub bytes: ByteCount,
}

impl Backlog {
    /// Counts one packet more.
    pub(super) fn add(&mut self, packet: &Held) {
        self.packets += 1;
        self.bytes += packet.bytes;
    }

    /// Counts one packet less.
    pub(super) fn take(&mut self, packet: &Held) {
        self.packets -= 1;
        self.bytes -= packet.bytes;
    }
}

impl Add for Backlog {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}

/// Whether a packet that comes has to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineState {
    /// The line takes the packet at once if the queue gives it: no limit applies.
    Idle,
    /// The packet waits.
    Busy,
}

/// A way to hold packets.
///
/// Calls come in order of time. The packet in transmission has left the queue.
pub trait Discipline: Debug + Send {
    /// A packet comes. It is held or lost, and with it others may be.
    fn enqueue(&mut self, now: Instant, line: LineState, packet: Held, packets: &mut dyn Packets);

    /// The next packet for the line; `None` when there is none that may go now.
    fn dequeue(&mut self, now: Instant, packets: &mut dyn Packets) -> Option<Held>;

    /// What waits.
    fn backlog(&self) -> Backlog;

    /// From when on [`Discipline::dequeue`] has a packet, if something waits.
    fn ready_at(&self) -> Instant {
        Instant::ZERO
    }
}
