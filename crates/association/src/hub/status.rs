//! What a hub knows of its peers and connections, for those who look on.

use std::net::SocketAddr;

use bentpipe_record::TransportCounters;
use bentpipe_transport::{Endpoint as _, SenderState};
use bentpipe_units::{BitRate, ByteCount, Span};

use super::{Carrier, ConnectionId, Hub, Share};
use crate::key::PublicKey;

/// Which connection, for one who looks on and does not hold it: it names nothing once that one is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionRef {
    id: usize,
    peer: PublicKey,
    number: u32,
}

/// What is known of a peer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PeerState {
    /// The link that leads to it, 0 or 1.
    pub link: usize,
    /// What carries the datagrams.
    pub carrier: Carrier,
    /// Where it is, if there is an association with it.
    pub address: Option<SocketAddr>,
    /// The round-trip time of the way in use, or what a connection measured last.
    pub srtt: Option<Span>,
    /// The share of the datagrams to it that get lost, from 0 to 1, as it reports.
    pub loss: Option<f64>,
    /// Connections, those that only hold the association up among them.
    pub connections: usize,
    /// Bytes that its connections hold.
    pub held: ByteCount,
    /// Its part of a dedicated link.
    pub share: Option<Share>,
}

impl Hub {
    /// A reference to a connection.
    pub fn reference(&self, id: ConnectionId) -> ConnectionRef {
        let connection = &self.connections[id.0];
        let peer = self.associations[connection.association].peer;
        ConnectionRef { id: id.0, peer, number: connection.number }
    }

    /// What the sender and the counters of a connection say, while it exists.
    pub fn look(&self, of: ConnectionRef) -> Option<(SenderState, TransportCounters)> {
        let connection = self.connections.get(of.id)?;
        let peer = self.associations[connection.association].peer;
        // Numbers are never given twice within an association; a peer that associates anew begins again.
        let same = peer == of.peer && connection.number == of.number;
        let endpoint = &connection.stream.endpoint;
        same.then(|| (endpoint.sender_state(), endpoint.counters()))
    }

    /// What is known of a peer.
    pub fn peer_state(&self, peer: PublicKey) -> PeerState {
        let shares = self.shares.get(&peer);
        let of = |link: usize| shares.and_then(|shares| shares[link]);
        let Some(id) = self.by_peer.get(&peer) else {
            return PeerState { share: of(0), ..PeerState::default() };
        };
        let association = &self.associations[*id];
        let main = association.ways.get(association.ways.main());
        let address = main.route.address;
        PeerState {
            address: Some(address).filter(|address| address.port() != 0),
            srtt: association
                .ways
                .round_trip(association.ways.main())
                .or(association.shield.round_trip()),
            loss: association.shield.losses.measured(),
            connections: association.roster.len(),
            held: self.held(peer),
            share: of(main.link),
            link: main.link,
            carrier: main.route.carrier,
        }
    }

    /// The rate of this host's own first link, if it is bounded.
    pub fn link_rate(&self) -> Option<BitRate> {
        Some(self.lines[0].rate()).filter(|rate| rate.as_bps() != u64::MAX)
    }
}
