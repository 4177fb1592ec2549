//! What an endpoint knows of its peers and connections, for those who look on.

use std::net::SocketAddr;

use bentpipe_record::TransportCounters;
use bentpipe_tunnel::Counters;
use bentpipe_units::{BitRate, ByteCount, Span};

use super::route::Outer;
use super::shaper::Share;
use crate::key::PublicKey;

/// Which connection, for one who looks on and does not hold it: it names nothing once that one is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionRef {
    id: usize,
    peer: PublicKey,
    number: u32,
}

impl ConnectionRef {
    pub(super) const fn new(id: usize, peer: PublicKey, number: u32) -> Self {
        Self { id, peer, number }
    }

    /// Its number in the association, by which both hosts know it.
    pub const fn number(self) -> u32 {
        self.number
    }

    /// Its number in the endpoint, which another one may have by now.
    pub(super) const fn id(self) -> usize {
        self.id
    }
}

/// What is known of a peer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PeerState {
    /// The link that leads to it, 0 or 1.
    pub link: usize,
    /// What carries the datagrams.
    pub outer: Outer,
    /// Where it is, if there is an association with it.
    pub address: Option<SocketAddr>,
    /// The round-trip time of the path in use, or what a connection measured last.
    pub srtt: Option<Span>,
    /// The share of the datagrams to it that get lost, from 0 to 1, as it reports.
    pub loss: Option<f64>,
    /// Connections, those that only hold the association up among them.
    pub connections: usize,
    /// Bytes that its connections hold.
    pub held: ByteCount,
    /// Rate that the path in use was found to carry while nobody used it, all headers included.
    pub capacity: Option<BitRate>,
    /// Its part of a dedicated link.
    pub share: Option<Share>,
    /// What was sent to it beyond the data themselves.
    pub recovery: RecoveryCounters,
    /// What was done for datagrams of applications.
    pub tunnel: Counters,
}

/// What was sent to a peer so that losses do not matter, since the association with it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryCounters {
    /// Data segments retransmitted.
    pub retransmitted_segments: u64,
    /// Header and payload bytes of them.
    pub retransmitted: ByteCount,
    /// Datagrams of parity.
    pub parity_datagrams: u64,
    /// Bytes of them, UDP payload.
    pub parity: ByteCount,
}

impl RecoveryCounters {
    /// A connection of the association has counted this.
    pub(super) fn add_connection(&mut self, counters: &TransportCounters) {
        self.retransmitted_segments += counters.retransmitted_segments;
        self.retransmitted += ByteCount::new(counters.retransmitted_bytes);
    }

    /// A datagram of parity leaves.
    pub(super) fn add_parity(&mut self, bytes: usize) {
        self.parity_datagrams += 1;
        self.parity += ByteCount::new(bytes as u64);
    }
}
