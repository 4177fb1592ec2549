//! What ends of connections are told besides segments: of their first link, and of packets that were too long.

use std::sync::Arc;

use bentpipe_transport::PathId;
use bentpipe_units::Instant;
use bentpipe_wire::icmp::PacketTooBig;
use bentpipe_wire::tcp;

use crate::Protocol;
use crate::endpoints::{End, Endpoints};
use crate::envelope::node_at;
use crate::network::Network;

/// Bytes of the headers of IPv4 and TCP without options.
const TCP_HEADERS: u16 = 20 + tcp::Segment::PLAIN_HEADER as u16;

impl Endpoints {
    /// A link went down or came up: the ends beside it that use it first are told.
    pub(crate) fn tell_link_state(
        &mut self,
        now: Instant,
        network: &mut Network<'_>,
        link: u32,
        up: bool,
    ) {
        for index in 0..self.ends.len() {
            let end = &mut self.ends[index];
            let beside = network.first_link(end.paths[0]) == Some(link);
            let Some(connection) = end.endpoint.as_mut().filter(|_| beside) else { continue };
            connection.endpoint_mut().handle_link_state(now, up);
            self.settle(now, network, index as u32);
            self.follow_up(now, network);
        }
    }

    /// A router says that a packet of some end of a node was too long.
    pub(crate) fn hear_too_long(
        &mut self,
        now: Instant,
        network: &mut Network<'_>,
        node: u16,
        message: &PacketTooBig,
    ) {
        let PacketTooBig { mtu, packet } = message;
        let (Some(peer), tcp::PROTOCOL) = (node_at(packet.destination), packet.protocol) else {
            return;
        };
        let demux = &self.demux[usize::from(node)][Protocol::TCP];
        let session = demux.session(PathId(u32::from(peer)), packet.ports.0, packet.ports.1);
        if let Some(index) = session
            && let Some(connection) = &mut self.ends[index as usize].endpoint
        {
            connection.endpoint_mut().handle_packet_too_big(now, *mtu, packet.number);
            self.settle(now, network, index);
        }
    }

    /// Hosts know what their own links carry: no end wants or sends longer segments of TCP.
    pub(crate) fn fit_to_links(&mut self, network: &Network<'_>) {
        for end in &mut self.ends {
            let mtu = network.first_mtu(end.paths[0]);
            let most = mtu.map(|mtu| mtu.saturating_sub(TCP_HEADERS));
            let (Some(most), Protocol::Tcp { sender, receiver }) = (most, &mut end.protocol) else {
                continue;
            };
            for config in [sender, receiver].into_iter().filter(|config| config.mss > most) {
                Arc::make_mut(config).mss = most;
            }
        }
    }
}

impl End {
    /// Its endpoint was just made: it is told if the first link is down.
    pub(crate) fn tell_if_down(&mut self, now: Instant, network: &Network<'_>) {
        if let Some(connection) = &mut self.endpoint {
            network.tell_if_down(now, connection.endpoint_mut(), self.paths[0]);
        }
    }
}
