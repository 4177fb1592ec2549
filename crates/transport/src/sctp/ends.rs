//! The two ends of an association: ports, verification tags, addresses and numbers of streams.

use std::net::IpAddr;

use bentpipe_wire::sctp::{Chunk, Init, Packet};

use super::auth::{self, Auth, Random, Terms};
use super::cookie::{Cookie, addresses};
use super::offer::{Host, Offer};
use super::{Config, CookieKey};
use crate::Ports;

/// What is agreed on between the ends.
#[derive(Debug)]
pub(super) struct Ends {
    key: CookieKey,
    ports: Ports,
    /// Told to the peer.
    own_addresses: Vec<IpAddr>,
    peer_addresses: Vec<IpAddr>,
    local_tag: u32,
    /// 0 until the peer has named it.
    peer_tag: u32,
    /// Streams that this end may send on, and those that the peer may.
    outbound: u16,
    inbound: u16,
    /// This end's part of the key of AUTH, where it offers changes of addresses.
    random: Option<Random>,
    /// What both agree on.
    auth: Option<Auth>,
}

impl Ends {
    pub(super) fn new(
        config: &Config,
        key: CookieKey,
        ports: Ports,
        own_addresses: Vec<IpAddr>,
        local_tag: u32,
        random: Option<Random>,
    ) -> Self {
        Self {
            key,
            ports,
            own_addresses,
            peer_addresses: Vec::new(),
            local_tag,
            peer_tag: 0,
            outbound: config.outbound_streams,
            inbound: config.most_inbound(),
            random,
            auth: None,
        }
    }

    /// What proves chunks genuine, where both ends know how.
    pub(super) const fn auth(&self) -> Option<&Auth> {
        self.auth.as_ref()
    }

    /// The peer has another address.
    pub(super) fn learn_peer(&mut self, address: IpAddr) {
        if !self.peer_addresses.contains(&address) {
            self.peer_addresses.push(address);
        }
    }

    /// The peer has an address no more.
    pub(super) fn forget_peer(&mut self, address: IpAddr) {
        self.peer_addresses.retain(|known| *known != address);
    }

    /// This end's addresses change; those that the peer was told of are told it again at a restart.
    pub(super) fn readdress(&mut self, added: Option<IpAddr>, deleted: Option<IpAddr>) {
        self.own_addresses.retain(|known| Some(*known) != deleted);
        self.own_addresses.extend(added);
    }

    pub(super) const fn ports(&self) -> Ports {
        self.ports
    }

    pub(super) const fn peer_tag(&self) -> u32 {
        self.peer_tag
    }

    /// The tags of both ends, which tie a cookie to this association (RFC 9260, section 5.2.2).
    pub(super) const fn tags(&self) -> (u32, u32) {
        (self.local_tag, self.peer_tag)
    }

    pub(super) const fn outbound(&self) -> u16 {
        self.outbound
    }

    pub(super) const fn inbound(&self) -> u16 {
        self.inbound
    }

    pub(super) fn own_addresses(&self) -> &[IpAddr] {
        &self.own_addresses
    }

    pub(super) fn peer_addresses(&self) -> &[IpAddr] {
        &self.peer_addresses
    }

    /// The cookie, if this host has made it and it belongs to these ports and this tag.
    pub(super) fn open_cookie(&self, bytes: &[u8], tag: u32) -> Option<Cookie> {
        Cookie::open(bytes, &self.key)
            .filter(|cookie| cookie.ports == self.ports && cookie.local_tag == tag)
    }

    /// Who answers an INIT.
    pub(super) fn host<'a>(&'a self, config: &'a Config) -> Host<'a> {
        Host { config, key: &self.key, ports: self.ports, own: &self.own_addresses }
    }

    /// This end's tag, with its first TSN.
    pub(super) const fn offer(&self, first: bentpipe_units::Seq32) -> Offer {
        Offer { tag: self.local_tag, first, random: self.random }
    }

    /// The peer's INIT ACK says this.
    pub(super) fn agree(&mut self, config: &Config, init: &Init) {
        self.outbound = config.outbound_streams.min(init.inbound_streams);
        self.inbound = config.most_inbound().min(init.outbound_streams);
        self.peer_addresses = addresses(init);
        let terms = self.random.and_then(|random| Terms::of(random, init));
        self.auth = terms.as_ref().map(Auth::new);
    }

    /// Whether the peer wants chunks authenticated for which this end has no codes, and takes this end for one that has.
    pub(super) fn is_overasked(&self, init: &Init) -> bool {
        self.random.is_some() && auth::wants_more(init)
    }

    /// The peer's tag is known before anything is agreed on: an ABORT needs it.
    pub(super) const fn name_peer(&mut self, tag: u32) {
        self.peer_tag = tag;
    }

    /// Takes over what a cookie says of both ends.
    pub(super) fn adopt(&mut self, cookie: &Cookie) {
        self.peer_tag = cookie.peer_tag;
        self.outbound = cookie.outbound;
        self.inbound = cookie.inbound;
        self.peer_addresses = cookie.peer_addresses.clone();
        self.auth = cookie.terms.as_ref().map(Auth::new);
    }

    /// This end has the tag of a cookie from now on.
    pub(super) const fn rename(&mut self, tag: u32) {
        self.local_tag = tag;
    }

    /// Whether the peer proves by its verification tag that the packet is its own.
    pub(super) const fn is_own(&self, tag: u32) -> bool {
        tag == self.local_tag && tag != 0
    }

    /// Whether the verification tag is one that the peer may use (RFC 9260, section 8.5).
    pub(super) fn accepts(&self, packet: &Packet) -> bool {
        match packet.chunks.first() {
            Some(Chunk::Init(_)) => packet.tag == 0,
            // The cookie says which tag it is for.
            Some(Chunk::CookieEcho(_)) => true,
            Some(
                Chunk::Abort { reflected: true, .. } | Chunk::ShutdownComplete { reflected: true },
            ) => packet.tag == self.peer_tag && self.peer_tag != 0,
            _ => packet.tag == self.local_tag,
        }
    }

    /// A packet to the peer without chunks.
    pub(super) fn packet(&self, tag: u32) -> Packet {
        let Ports { local, peer } = self.ports;
        Packet { source_port: local, destination_port: peer, tag, ..Packet::default() }
    }
}
