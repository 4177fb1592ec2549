//! All ends, and how segments find them.

use std::ops::{Index, IndexMut, Range};
use std::sync::Arc;

use bentpipe_transport::PathId;
use bentpipe_transport::demux::Demux;
use bentpipe_units::Instant;
use bentpipe_wire::{Segment, tcp};

use super::End;
use crate::Protocol;
use crate::events::{EventQueue, Slot};
use crate::network::Network;

/// Bytes of the headers of IPv4 and TCP without options.
const TCP_HEADERS: u16 = 20 + tcp::Segment::PLAIN_HEADER as u16;

/// All ends, in pairs: the one that opens and sends and the one that listens and receives. A flow has
/// one pair, or as many as its traffic has connections at the same time. Behind them are those of the
/// proxies, in pairs as well: the one that listens and the one that opens.
pub(crate) struct Ends {
    all: Vec<End>,
    /// Who has which ports, for each node and protocol: ports of different protocols have nothing to do
    /// with each other.
    demux: Vec<[Demux<u32>; Protocol::COUNT]>,
    first_slot: Slot,
}

impl Ends {
    /// None yet, between so many nodes; the timer of the first is this component.
    pub(super) fn new(nodes: usize, first_slot: Slot) -> Self {
        let mut demux = Vec::new();
        demux.resize_with(nodes, Default::default);
        Self { all: Vec::new(), demux, first_slot }
    }

    /// Two more. Gives the number of the first.
    pub(crate) fn add(&mut self, pair: [End; 2]) -> usize {
        self.all.extend(pair);
        self.all.len() - 2
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &End> {
        self.all.iter()
    }

    pub(crate) fn get(&self, index: usize) -> Option<&End> {
        self.all.get(index)
    }

    /// The end of a protocol at a node that has a connection to this peer and port.
    #[inline]
    pub(crate) fn session(
        &self,
        node: u16,
        protocol: usize,
        peer: u16,
        (local_port, peer_port): (u16, u16),
    ) -> Option<u32> {
        let demux = &self.demux[usize::from(node)][protocol];
        demux.session(PathId(u32::from(peer)), local_port, peer_port)
    }

    /// The same for who gets a segment.
    #[inline]
    pub(crate) fn session_of(&self, node: u16, from: u16, segment: &Segment) -> Option<u32> {
        let (peer_port, local_port) = segment.ports();
        self.session(node, Protocol::index_of(segment), from, (local_port, peer_port))
    }

    /// The end that listens at a port of a node.
    pub(crate) fn listener(&self, node: u16, protocol: usize, port: u16) -> Option<u32> {
        self.demux[usize::from(node)][protocol].listener(port)
    }

    /// Segments of its connection find an end, whatever path they come by.
    pub(crate) fn enter(&mut self, index: usize) {
        let end = &self.all[index];
        for [node, peer] in &end.paths {
            let demux = &mut self.demux[usize::from(*node)][end.protocol.index()];
            demux.insert(PathId(u32::from(*peer)), end.ports.local, end.ports.peer, index as u32);
        }
    }

    /// They find it no more.
    pub(crate) fn leave(&mut self, index: usize) {
        let end = &self.all[index];
        for [node, peer] in &end.paths {
            let demux = &mut self.demux[usize::from(*node)][end.protocol.index()];
            demux.remove(PathId(u32::from(*peer)), end.ports.local, end.ports.peer);
        }
    }

    /// Requests to open find it at each of its nodes.
    pub(crate) fn listen(&mut self, index: usize) {
        let end = &self.all[index];
        for [node, _] in &end.paths {
            let demux = &mut self.demux[usize::from(*node)][end.protocol.index()];
            demux.listen(end.ports.local, index as u32);
        }
    }

    /// The end whose timer this component is.
    #[inline]
    pub(crate) const fn of_slot(&self, slot: Slot) -> u32 {
        slot - self.first_slot
    }

    /// Sets the timer of an end.
    #[inline]
    pub(crate) fn set_timer(&self, queue: &mut EventQueue, index: usize, at: Instant) {
        queue.set_timer(self.first_slot + index as Slot, at);
    }
}

impl Ends {
    /// Hosts know what their own links carry: no end wants or sends longer segments of TCP, or longer packets of SCTP.
    pub(crate) fn fit_to_links(&mut self, network: &Network<'_>) {
        for end in &mut self.all {
            let links = end.paths.iter().filter_map(|path| network.first_mtu(*path));
            let Some(mtu) = links.min() else { continue };
            match &mut end.protocol {
                Protocol::Tcp { sender, receiver } => {
                    let most = mtu.saturating_sub(TCP_HEADERS);
                    for config in [sender, receiver].into_iter().filter(|config| config.mss > most)
                    {
                        Arc::make_mut(config).mss = most;
                    }
                }
                Protocol::Sctp { sender, receiver, .. } => {
                    for config in [sender, receiver].into_iter().filter(|config| config.mtu > mtu) {
                        Arc::make_mut(config).mtu = mtu;
                    }
                }
                Protocol::Xstp { .. } | Protocol::Udp | Protocol::Bentpipe { .. } => {}
            }
        }
    }
}

impl Index<usize> for Ends {
    type Output = End;

    #[inline]
    fn index(&self, index: usize) -> &End {
        &self.all[index]
    }
}

impl IndexMut<usize> for Ends {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut End {
        &mut self.all[index]
    }
}

impl Index<Range<usize>> for Ends {
    type Output = [End];

    fn index(&self, range: Range<usize>) -> &[End] {
        &self.all[range]
    }
}

impl IndexMut<Range<usize>> for Ends {
    fn index_mut(&mut self, range: Range<usize>) -> &mut [End] {
        &mut self.all[range]
    }
}
