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
use bentpipe_association::{LEARN, SecretKey, Security};
use bentpipe_link::Streams;
use bentpipe_transport::Ports;
use bentpipe_transport::xstp;
use bentpipe_units::Instant;
use bentpipe_wire::{Ecn, Segment, udp};
use bytes::Bytes;

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
                paths: Default::default(),
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
        if let Some(sends) = self.of_node[flow.from] {
            self.hosts[sends].program.host().set_learning(LEARN);
        }
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

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// The ends whose connection has something for them.
    pub(crate) fn take_woken(&self) -> Vec<u32> {
        self.woken.take()
    }

    /// The part of what a node's host has sent that stands for `bytes` out of `all` that its connections handed over.
    pub(crate) fn share_of(&self, node: u16, bytes: u64, all: u64) -> Option<u64> {
        let hosts = self.hosts.iter().filter(|host| host.node == node);
        let sent: u64 = hosts.map(|host| host.sent).sum();
        let share = (u128::from(bytes) * u128::from(sent)).checked_div(u128::from(all))?;
        Some(share as u64)
    }

    /// Lets the next host do what it can do, and sends its datagrams. Gives its node.
    pub(crate) fn run_next(&mut self, now: Instant, network: &mut Network<'_>) -> Option<u16> {
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

    /// The next connection that was opened to a node.
    pub(crate) fn accept(&self, node: u16) -> Option<Incoming> {
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
        Some(Incoming { shared, id, port: local })
    }
}

/// A connection that a peer has opened.
pub(crate) struct Incoming {
    shared: Arc<Shared<Endpoint>>,
    id: ConnectionId,
    port: u16,
}

impl Incoming {
    /// The port that it was opened to.
    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// The end with this number has it.
    pub(crate) fn give(self, products: &Products, end: u32) -> Hosted {
        Hosted::new(self.shared, self.id, end, products.woken.clone())
    }

    /// Nobody wants it.
    pub(crate) fn refuse(self, now: Instant) {
        self.shared.endpoint().abort(now, self.id);
        self.shared.endpoint().release(now, self.id);
    }
}
