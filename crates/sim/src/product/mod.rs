//! What is deployed, at the nodes of a run: hosts with keys, associations between them, and connections in those.
//!
//! Nothing here decides anything about a packet: a [`Program`] is the host that `send` and the gateway have, its datagrams are
//! packets of UDP on the links, and its clock is that of the run.

mod connection;
mod gateways;

use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bentpipe_association::endpoint::{ConnectionId, Endpoint, Share, Streams as _};
use bentpipe_association::host::Shared;
use bentpipe_association::{SecretKey, Security};
use bentpipe_link::Streams;
use bentpipe_record::TransportCounters;
use bentpipe_transport::Ports;
use bentpipe_transport::xstp;
use bentpipe_units::Instant;
use bentpipe_wire::{Ecn, Segment, udp};
use bytes::Bytes;

use crate::app::App;
use crate::connection::Connection;
use crate::endpoints::{End, Endpoints};
use crate::envelope::{address, node_at};
use crate::events::Slot;
use crate::network::Network;
use crate::program::{Begins, Outgoing, Program};
use crate::{BuildError, FlowSpec, Protocol, RunSpec};

use self::connection::Woken;
use self::gateways::Gateways;

pub(crate) use self::connection::Hosted;

/// The port of UDP that hosts have, as they do without a word on real networks.
const PORT: u16 = 25_300;
/// Nanoseconds since 1970 at the start of a run: its results do not depend on the day.
const CALENDAR: u64 = 1_700_000_000_000_000_000;

/// All hosts of a run. Each one is a component of the event queue.
#[derive(Debug, Default)]
pub(crate) struct Products {
    hosts: Vec<Placed>,
    /// The host of each node.
    of_node: Vec<Option<usize>>,
    first_slot: Slot,
    woken: Arc<Woken>,
    /// Hosts that are to be run.
    touched: Vec<usize>,
    out: Vec<Outgoing>,
    gateways: Gateways,
}

#[derive(Debug)]
struct Placed {
    node: u16,
    program: Program,
    is_touched: bool,
    /// Bytes of its datagrams, headers of UDP included.
    sent: u64,
}

/// The nodes that are hosts: gateways, and the ends of flows that use the product.
fn nodes(spec: &RunSpec) -> Vec<usize> {
    let users = spec.flows.iter().filter(|flow| matches!(flow.protocol, Protocol::Bentpipe { .. }));
    let ends = users.flat_map(|flow| [flow.from, flow.to]);
    let mut nodes: Vec<usize> = ends.chain(gateways::nodes(spec)).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// How many hosts there are.
pub(crate) fn count(spec: &RunSpec) -> usize {
    nodes(spec).len()
}

impl Products {
    /// The hosts of a run, which are components `first_slot` and on.
    ///
    /// # Errors
    /// When gateways cannot be like this.
    pub(crate) fn new(
        spec: &RunSpec,
        streams: &Streams,
        first_slot: Slot,
    ) -> Result<Self, BuildError> {
        let nodes = nodes(spec);
        let mut of_node = vec![None; spec.nodes.len()];
        let mut hosts: Vec<Placed> = Vec::new();
        for node in nodes {
            let mut random = streams.stream(&format!("node/{}/host", spec.nodes[node]));
            let mut bytes = [0; 32];
            bytes.iter_mut().for_each(|byte| *byte = random.bits() as u8);
            let begins = Begins {
                key: SecretKey::from_bytes(bytes),
                calendar: CALENDAR,
                times: Default::default(),
                seed: random.bits(),
                security: Security::Full,
            };
            of_node[node] = Some(hosts.len());
            let program = Program::new(begins, Instant::ZERO);
            hosts.push(Placed { node: node as u16, program, is_touched: false, sent: 0 });
        }
        let mut products = Self { hosts, of_node, first_slot, ..Self::default() };
        for flow in spec.flows.iter().rev() {
            products.admit(flow);
        }
        if let Some(gateways) = &spec.gateways {
            products.gateways.start(gateways, &products.hosts)?;
        }
        Ok(products)
    }

    /// Both hosts of a flow know each other, and what the flow wants of them. The first flow is admitted last: hosts listen
    /// with its settings.
    fn admit(&mut self, flow: &FlowSpec) {
        let Protocol::Bentpipe { sender, receiver, fec, rates } = &flow.protocol else { return };
        let ends =
            [(flow.from, flow.to, sender, rates[0]), (flow.to, flow.from, receiver, rates[1])];
        for (node, peer, config, rate) in ends {
            let (Some(host), Some(peer)) = (self.of_node[node], self.of_node[peer]) else {
                continue;
            };
            let peer = self.hosts[peer].program.host().public_key();
            let host = self.hosts[host].program.host();
            host.allow(peer);
            host.set_fec(*fec);
            host.listen(config.clone());
            if let Some(rate) = rate {
                host.set_share(0, peer, Share { rate, weight: 1 });
            }
        }
    }

    /// Sets the timers of the hosts whose programs do something by themselves.
    pub(crate) fn schedule_starts(&self, network: &mut Network<'_>) {
        for (index, host) in self.hosts.iter().enumerate() {
            if host.program.has_work() {
                network.queue.set_timer(self.first_slot + index as Slot, Instant::ZERO);
            }
        }
    }

    /// True when hosts have something to do.
    #[inline]
    pub(crate) fn wait(&self) -> bool {
        !self.touched.is_empty() || self.woken.any()
    }

    /// An end opens its connection: from `node` to the listener of a port at another one.
    pub(crate) fn open(
        &mut self,
        now: Instant,
        [node, peer]: [u16; 2],
        port: u16,
        config: &Arc<xstp::Config>,
        end: u32,
    ) -> Option<Hosted> {
        let to = SocketAddr::from((address(peer), PORT));
        let peer = self.hosts[self.of_node[usize::from(peer)]?].program.host().public_key();
        let shared = self.shared(node)?;
        let id = shared.endpoint().connect(now, to, peer, port, config.clone());
        Some(Hosted::new(shared, id, end, self.woken.clone()))
    }

    fn shared(&self, node: u16) -> Option<Arc<Shared<Endpoint>>> {
        let host = self.of_node.get(usize::from(node)).copied().flatten()?;
        Some(self.hosts[host].program.host().shared().clone())
    }

    /// Something at the host of this node was changed.
    pub(crate) fn touch(&mut self, node: u16) {
        if let Some(host) = self.of_node.get(usize::from(node)).copied().flatten()
            && !std::mem::replace(&mut self.hosts[host].is_touched, true)
        {
            self.touched.push(host);
        }
    }

    /// The timer of a host fired.
    pub(crate) fn fire(&mut self, slot: Slot) {
        self.touch(self.hosts[(slot - self.first_slot) as usize].node);
    }

    /// A datagram arrived at a node. False if there is no host, or it is not for that.
    pub(crate) fn receive(
        &mut self,
        now: Instant,
        [node, from]: [u16; 2],
        datagram: &udp::Datagram,
    ) -> bool {
        let Some(host) = self.of_node.get(usize::from(node)).copied().flatten() else {
            return false;
        };
        if datagram.destination_port != PORT {
            return false;
        }
        let from = SocketAddr::from((address(from), datagram.source_port));
        let _ = self.hosts[host].program.receive(now, from, Ecn::NotCapable, &datagram.payload);
        self.touch(node);
        true
    }

    /// Lets the next host do what it can do, and sends its datagrams. Gives its node.
    fn run_next(&mut self, now: Instant, network: &mut Network<'_>) -> Option<u16> {
        let index = self.touched.pop()?;
        let host = &mut self.hosts[index];
        host.is_touched = false;
        host.program.run(now, &mut self.out);
        let node = host.node;
        for Outgoing { route, bytes, .. } in self.out.drain(..) {
            let SocketAddr::V4(to) = route.address else { continue };
            let Some(peer) = node_at(*to.ip()) else { continue };
            let payload = Bytes::from(bytes);
            let datagram =
                udp::Datagram { source_port: PORT, destination_port: to.port(), payload };
            host.sent += datagram.wire_len() as u64;
            *network.place() = Segment::Udp(datagram);
            let _ = network.send(now, node, peer);
        }
        let slot = self.first_slot + index as Slot;
        network.queue.clear(slot);
        if let Some(at) = host.program.next_deadline() {
            network.queue.set_timer(slot, at.max(now));
        }
        Some(node)
    }

    /// The next connection that was opened to a node, and the port that it was opened to.
    fn accept(&self, node: u16) -> Option<(Arc<Shared<Endpoint>>, ConnectionId, u16)> {
        if self.gateways.stand_at(node) {
            return None; // Their programs take what is for them.
        }
        let shared = self.shared(node)?;
        let mut endpoint = shared.endpoint();
        let Poll::Ready(id) = endpoint.poll_accept(&Context::from_waker(Waker::noop())) else {
            return None;
        };
        let Ports { local, .. } = endpoint.stream(id).endpoint.ports();
        drop(endpoint);
        Some((shared, id, local))
    }
}

impl Endpoints {
    /// Whether a host has a connection that is not over.
    pub(crate) fn are_in_use(&self) -> bool {
        let hosted = |end: &End| matches!(end.endpoint, Some(Connection::Bentpipe(_)));
        !self.products.hosts.is_empty()
            && (self.ends.iter().any(|end| hosted(end) && !end.is_closed())
                || self.gateways_are_in_use())
    }

    /// Hosts do what they can do, and the ends of flows hear of it, until nobody has anything for anybody.
    pub(crate) fn run_products(&mut self, now: Instant, network: &mut Network<'_>) {
        while self.products.wait() {
            for end in self.products.woken.take() {
                match self.ends[end as usize].app {
                    App::Socket(_) => self.serve_gateways(now, network, end),
                    _ => self.drain(now, network, end),
                }
            }
            let Some(node) = self.products.run_next(now, network) else { continue };
            self.dial(now, network);
            while let Some((shared, id, port)) = self.products.accept(node) {
                self.take_in(now, network, node, Incoming { shared, id, port });
            }
            self.follow_up(now, network);
        }
    }

    /// What a flow's two ends sent, as it was on the links: what its hosts sent, keys, parity and reports of the association
    /// included, in the proportion of what its connections handed over.
    pub(crate) fn count_datagrams(&self, flow: usize, ends: [&mut TransportCounters; 2]) {
        let (first, count) = self.pairs[flow];
        if count == 0 || !matches!(self.ends[2 * first].endpoint, Some(Connection::Bentpipe(_))) {
            return;
        }
        for (side, counters) in ends.into_iter().enumerate() {
            let [node, _] = self.ends[2 * first + side].paths[0];
            let at_node = |end: &&End| {
                end.paths[0][0] == node && matches!(end.endpoint, Some(Connection::Bentpipe(_)))
            };
            let of = |end: &End| end.endpoint.as_ref().map(|e| e.endpoint().counters().bytes_sent);
            let all: u64 = self.ends.iter().filter(at_node).filter_map(of).sum();
            let hosts = self.products.hosts.iter();
            let sent: u64 = hosts.filter(|host| host.node == node).map(|host| host.sent).sum();
            if let Some(share) =
                (u128::from(counters.bytes_sent) * u128::from(sent)).checked_div(u128::from(all))
            {
                counters.bytes_sent = share as u64;
            }
        }
    }

    /// A connection was opened to a node: the end that listens at its port has it.
    fn take_in(&mut self, now: Instant, network: &mut Network<'_>, node: u16, new: Incoming) {
        let Incoming { shared, id, port } = new;
        let Some(index) = self.ends.listener(node, Protocol::BENTPIPE, port) else {
            shared.endpoint().abort(now, id);
            return shared.endpoint().release(now, id);
        };
        let hosted = Hosted::new(shared, id, index, self.products.woken.clone());
        self.ends[index as usize].endpoint = Some(Connection::Bentpipe(Box::new(hosted)));
        self.drain(now, network, index);
    }
}

/// A connection that a peer has opened.
struct Incoming {
    shared: Arc<Shared<Endpoint>>,
    id: ConnectionId,
    port: u16,
}
