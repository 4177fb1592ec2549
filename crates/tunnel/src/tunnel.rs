//! Both directions of a tunnel.

use bentpipe_transport::xstp::SharedMember;
use bentpipe_units::{ByteCount, Instant, Span};
use bentpipe_wire::Ecn;
use serde::{Deserialize, Serialize};

use crate::bounds::Bounds;
use crate::incoming::Incoming;
use crate::labels::LONGEST;
use crate::message::Message;
use crate::outgoing::Outgoing;
use crate::protection::Protection;
use crate::record::{Datagram, LABEL_HEADER};
use crate::schedule::PathPlan;

/// Longest datagram that is carried: what UDP over IPv4 may carry at most, and a label that says whose it is, with its length.
pub const MOST_DATAGRAM: usize = 65_535;
/// Bytes that a packet must have room for.
const ROOM_MIN: usize = 64;

/// What a tunnel is told at its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// How long a lost datagram is worth waiting for: until then it is retransmitted, and what follows it in its flow is
    /// held back. None for one and a half round trips of the path, zero for no retransmission.
    pub deadline: Option<Span>,
    /// Bytes of datagrams and packets that it may hold in both directions, some headers not counted; 40 MiB where none are
    /// given. What is too much is lost, or handed over before what it waits for.
    pub memory: Option<ByteCount>,
}

/// What was done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Packets sent for the first time.
    pub packets: u64,
    /// Packets sent a second time.
    pub retransmitted: u64,
    /// Parity packets sent.
    pub parity: u64,
    /// Packets that came back from parity, of the peer's.
    pub recovered: u64,
    /// Datagrams that waited for too long, or of which too many waited, and were dropped.
    pub dropped: u64,
    /// Datagrams that waited for too long and were marked (RFC 3168).
    pub marked: u64,
}

/// A tunnel for datagrams between two hosts.
#[derive(Debug)]
pub struct Tunnel {
    outgoing: Outgoing,
    incoming: Incoming,
}

impl Tunnel {
    /// A tunnel through which nothing came yet. Which flows share a queue follows from the seed.
    pub fn new(config: Config, seed: u64) -> Self {
        let bounds = config.memory.map_or_else(Bounds::default, Bounds::of);
        let outgoing = Outgoing::new(config.deadline, &bounds, seed);
        Self { outgoing, incoming: Incoming::new(&bounds) }
    }

    /// What is done against losses, from now on.
    pub fn set_protection(&mut self, protection: Protection) {
        self.outgoing.set_protection(protection);
    }

    /// These paths work, numbered from 0 to 7, the first one being used where nothing else counts; at the beginning path 0 alone does.
    /// What was sent by others and has not arrived goes by the nearest one of these.
    pub fn set_paths(&mut self, now: Instant, paths: &[(usize, PathPlan)]) {
        self.outgoing.set_paths(now, paths);
    }

    /// The path by which calls go, and what is retransmitted: others are to be asked for messages after it.
    pub const fn nearest(&self) -> usize {
        self.outgoing.nearest()
    }

    /// What leaves by a path is a part of its window, which others share. Without one somebody else says when something
    /// leaves.
    pub fn set_window(&mut self, path: usize, member: Option<SharedMember>) {
        if let Some(window) = self.outgoing.window(path) {
            window.set(member);
        }
    }

    /// A router marked something on the way to the peer as a sign of congestion, by whatever path.
    pub fn handle_mark(&mut self, now: Instant) {
        for window in self.outgoing.windows() {
            if let Some(member) = window.member() {
                member.marked(now);
            }
        }
    }

    /// A datagram is to be carried. False if it is longer, with its label, than [`MOST_DATAGRAM`], or its label too long.
    pub fn offer(&mut self, now: Instant, datagram: Datagram) -> bool {
        let len = LABEL_HEADER + datagram.label.len() + datagram.bytes.len();
        let fits = len <= MOST_DATAGRAM && datagram.label.len() <= LONGEST;
        if fits {
            self.outgoing.push(now, datagram);
        }
        fits
    }

    /// What the receiver's part has to tell of a path, which is short and waits for nobody; to be asked for until there is
    /// nothing.
    pub fn poll_report(&mut self, now: Instant) -> Option<Message> {
        self.incoming.report(now).map(Message::Report)
    }

    /// The next message with datagrams or parity that leaves by a path, in at most `room` bytes, of which there must be 64, but
    /// for what is retransmitted of a path with more room; without the time of [`Tunnel::deadline`] nothing leaves.
    pub fn poll_transmit(&mut self, now: Instant, path: usize, room: usize) -> Option<Message> {
        self.outgoing.poll(now, path, room.max(ROOM_MIN))
    }

    /// Whether [`Tunnel::poll_transmit`] has something now.
    pub fn is_ready(&self, now: Instant, path: usize, room: usize) -> bool {
        self.outgoing.due(path, room.max(ROOM_MIN)).is_some_and(|due| due <= now)
    }

    /// A message came, with this mark in the IP header around it.
    pub fn handle_message(&mut self, now: Instant, ecn: Ecn, message: Message) {
        match message {
            Message::Packet(packet) => {
                self.incoming.handle_packet(now, &packet, ecn == Ecn::Congestion);
            }
            Message::Parity(parity) => self.incoming.handle_parity(now, parity),
            Message::Report(report) => self.outgoing.handle_report(now, &report),
        }
    }

    /// The next datagram that came.
    pub fn poll_datagram(&mut self) -> Option<Datagram> {
        self.incoming.pop()
    }

    /// When [`Tunnel::handle_timeout`] must be called, and messages asked for that leave by a path.
    pub fn deadline(&self, path: usize, room: usize) -> Option<Instant> {
        Instant::earliest(self.outgoing.due(path, room.max(ROOM_MIN)), self.timers_due())
    }

    /// The same without what leaves as soon as somebody asks for it.
    pub fn timers_due(&self) -> Option<Instant> {
        Instant::earliest(self.outgoing.timers_due(), self.incoming.deadline())
    }

    /// Something of a flow waits that sends little, such as a call.
    pub fn is_urgent(&self) -> bool {
        self.outgoing.has_sparse()
    }

    /// Flows of which something waits.
    pub fn flows_waiting(&self) -> usize {
        self.outgoing.flows_waiting()
    }

    /// The time passes.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.outgoing.handle_timeout(now);
        self.incoming.handle_timeout(now);
    }

    /// What was done so far.
    pub fn counters(&self) -> Counters {
        Counters { recovered: self.incoming.recovered(), ..self.outgoing.counters() }
    }
}
