//! Two gateways in a run, and the flows of TCP that they carry.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use bentpipe_association::host::{Runtime, lock};
use bentpipe_gateway::places::Kind;
use bentpipe_gateway::{Config, Destination, Gateway, Network, Surroundings};
use bentpipe_link::Streams;
use bentpipe_record::GatewaySummary;
use bentpipe_transport::Ports;
use bentpipe_units::{Instant, Span};
use ipnet::IpNet;

use super::{PORT, Placed, Products};
use crate::app::App;
use crate::app::socket::{Dialled, Socket};
use crate::endpoints::{End, Ends};
use crate::envelope::{address, node_at};
use crate::flows::ports;
use crate::lan::{NoUdp, Pipe, Running};
use crate::program::{Program, Virtual};
use crate::{BuildError, FlowSpec, GatewaysSpec, RunSpec};

/// Places for those who have said nothing yet, as a gateway has them where memory is no matter.
const UNKNOWN: usize = 1024;

/// A connection that the hub opens.
#[derive(Debug)]
struct Dial {
    to: SocketAddr,
    pipe: Pipe,
    dialled: Arc<Dialled>,
}

type Dials = Arc<Mutex<Vec<Dial>>>;

/// The gateways and the ends of TCP that they have.
#[derive(Debug, Default)]
pub(super) struct Gateways {
    nodes: Vec<usize>,
    terminal: Option<Arc<Gateway<Lan>>>,
    dials: Dials,
    /// The pair of ends of each pair of a flow's ends: the terminal's, and behind it the hub's.
    of_pair: BTreeMap<usize, u32>,
    /// Where the clients of a terminal's end want to get to.
    targets: BTreeMap<u32, SocketAddr>,
    /// The hub's end that leads to an address.
    leading_to: BTreeMap<SocketAddr, u32>,
}

/// The node and the role of each gateway.
pub(super) fn nodes(spec: &RunSpec) -> Vec<usize> {
    spec.gateways.iter().flat_map(|both| [both.terminal.node, both.hub.node]).collect()
}

impl Gateways {
    /// The programs of both gateways begin.
    pub(super) fn start(
        &mut self,
        spec: &GatewaysSpec,
        hosts: &[Placed],
    ) -> Result<(), BuildError> {
        let place = |node: usize| hosts.iter().find(|host| usize::from(host.node) == node);
        let (Some(terminal), Some(hub)) = (place(spec.terminal.node), place(spec.hub.node)) else {
            return Ok(());
        };
        let link = |rate: Option<_>| {
            let mode = match rate {
                Some(rate) => format!("mode = \"dedicated\"\nrate = \"{rate}\"\n"),
                None => "mode = \"shared\"\n".to_owned(),
            };
            let controller =
                spec.controller.as_ref().map(|name| format!("controller = \"{name}\"\n"));
            let fec = match spec.fec {
                bentpipe_association::Fec::Auto => "\"auto\"".to_owned(),
                bentpipe_association::Fec::Off => "\"off\"".to_owned(),
                bentpipe_association::Fec::Ratio(ratio) => format!("{ratio:?}"),
            };
            let buffer = spec.buffer.map(|buffer| format!("[limits]\nbuffer = \"{buffer}\"\n"));
            let controller = controller.unwrap_or_default();
            format!("[link]\n{mode}{controller}fec = {fec}\n{}", buffer.unwrap_or_default())
        };
        let key = |of: &Placed| of.program.host().public_key();
        let text = format!(
            "role = \"hub\"\nkey = \"k\"\nlisten = \"0.0.0.0:{PORT}\"\nallow = [\"10.0.0.0/8\"]\n\
             {}[peers.terminal]\nkey = \"{}\"\n",
            link(spec.hub.rate),
            key(terminal)
        );
        self.nodes = vec![spec.terminal.node, spec.hub.node];
        begin(&text, &hub.program, self.lan(hub))?;
        let text = format!(
            "role = \"terminal\"\nkey = \"k\"\nlisten = \"0.0.0.0:{PORT}\"\nearly_accept = {}\n{}[peers.hub]\nkey = \"{}\"\n\
             address = \"{}:{PORT}\"\n",
            spec.early_accept,
            link(spec.terminal.rate),
            key(hub),
            address(hub.node)
        );
        self.terminal = Some(begin(&text, &terminal.program, self.lan(terminal))?);
        Ok(())
    }

    /// Whether one of them stands there.
    pub(super) fn stand_at(&self, node: u16) -> bool {
        self.nodes.contains(&usize::from(node))
    }

    fn lan(&self, of: &Placed) -> Lan {
        Lan {
            runtime: of.program.runtime().clone(),
            own: IpAddr::V4(address(of.node)),
            dials: self.dials.clone(),
        }
    }
}

fn begin(text: &str, program: &Program, lan: Lan) -> Result<Arc<Gateway<Lan>>, BuildError> {
    let wrong = |message: String| BuildError::Gateway { message };
    let config = Config::parse("gateway", text).map_err(|error| wrong(error.to_string()))?;
    let gateway = Gateway::new(config, program.host().clone(), lan, UNKNOWN);
    let gateway = Arc::new(gateway.map_err(|error| wrong(error.to_string()))?);
    for work in gateway.work() {
        program.spawn(async move {
            let _ = work.await;
        });
    }
    Ok(gateway)
}

impl Products {
    /// The ends that gateways have of the flows which go through them, put behind the others: the one that listens at the
    /// terminal and the one that opens at the hub.
    pub(crate) fn add_ends(
        &mut self,
        spec: &RunSpec,
        pairs: &[(usize, usize)],
        streams: &Streams,
        ends: &mut Ends,
    ) {
        for (flow, (first, count)) in spec.flows.iter().zip(pairs) {
            for number in 0..*count {
                let Some(pair) = gateway_ends(flow, first + number, number, streams) else { break };
                let near = ends.len() as u32;
                let [listens, opens] = pair;
                let target = SocketAddr::from((address(opens.paths[0][1]), opens.ports.peer));
                self.gateways.of_pair.insert(first + number, near);
                self.gateways.targets.insert(near, target);
                self.gateways.leading_to.insert(target, near + 1);
                let app = self.accepting(near);
                let near = ends.add([End { app, ..listens }, opens]);
                ends.listen(near);
            }
        }
    }

    /// Makes the gateways' ends of a pair ready for another connection, from another port.
    pub(crate) fn use_again(&self, ends: &mut Ends, pair: usize, port: u16) {
        let Some(near) = self.gateways.of_pair.get(&pair).copied() else { return };
        let (listens, opens) = (near as usize, near as usize + 1);
        for end in [listens, opens] {
            ends.leave(end);
            ends[end].endpoint = None;
        }
        (ends[listens].app, ends[opens].app) = (self.accepting(near), App::Relay);
        (ends[listens].ports.peer, ends[opens].ports.local) = (port, port);
    }

    /// A client that has opened a connection to the terminal's end with this number is served.
    pub(crate) fn serve_client(&self, at: &mut End, end: u32) {
        let App::Socket(socket) = &mut at.app else { return };
        if let Some(pipe) = socket.take_offer()
            && let Some(gateway) = self.gateways.terminal.clone()
            && let Some(to) = self.gateways.targets.get(&end)
        {
            let [node, client] = at.paths[0];
            let from = SocketAddr::from((address(client), at.ports.peer));
            let to = Destination::Address(*to);
            let host = self.of_node[usize::from(node)];
            if let Some(host) = host.and_then(|host| self.hosts.get(host)) {
                host.program.spawn(async move {
                    // It has connected, and so it is where it says.
                    let unknown = gateway.unknown().take(from.ip(), Kind::Connection, 0);
                    let _ = gateway.serve("hub", pipe, from, to, unknown).await;
                });
            }
        }
    }

    /// The ends that the hub wants to open now, each ready to open its connection.
    pub(crate) fn dial(&self, ends: &mut Ends) -> Vec<u32> {
        let dials = std::mem::take(&mut *lock(&self.gateways.dials));
        let mut dialling = Vec::new();
        for Dial { to, pipe, dialled } in dials {
            let is_free =
                |index: &u32| ends[*index as usize].endpoint.is_none() && !dialling.contains(index);
            let Some(index) = self.gateways.leading_to.get(&to).copied().filter(is_free) else {
                dialled.refuse();
                continue;
            };
            let waker = self.woken.waker(index);
            let app = App::Socket(Box::new(Socket::dialling(pipe, waker, dialled)));
            ends[index as usize].app = app;
            dialling.push(index);
        }
        dialling
    }

    /// Whether a gateway has a connection that is not over.
    pub(crate) fn gateways_are_in_use(&self, ends: &Ends) -> bool {
        let first = self.gateways.of_pair.values();
        first.flat_map(|near| [*near, near + 1]).any(|end| {
            let end = &ends[end as usize];
            end.endpoint.is_some() && !end.is_closed()
        })
    }

    /// What each gateway sent to the other one because of losses.
    pub(crate) fn gateway_summaries(&self, spec: &RunSpec) -> Vec<GatewaySummary> {
        let [terminal, hub] = self.gateways.nodes[..] else { return Vec::new() };
        let of = |node: usize, peer: usize| {
            let host = |node: usize| self.of_node[node].map(|host| self.hosts[host].program.host());
            let state = host(node)?.peer_state(host(peer)?.public_key());
            Some(GatewaySummary {
                node: spec.nodes[node].clone(),
                retransmitted_segments: state.recovery.retransmitted_segments,
                retransmitted_bytes: state.recovery.retransmitted.get(),
                parity_datagrams: state.recovery.parity_datagrams,
                parity_bytes: state.recovery.parity.get(),
                srtt_seconds: state.srtt.map(Span::as_secs_f64),
            })
        };
        [(terminal, hub), (hub, terminal)].into_iter().filter_map(|(a, b)| of(a, b)).collect()
    }

    fn accepting(&self, end: u32) -> App {
        App::Socket(Box::new(Socket::accepting(self.woken.waker(end))))
    }
}

/// The two ends that gateways have of a connection, if its flow goes through them.
fn gateway_ends(
    flow: &FlowSpec,
    index: usize,
    number: usize,
    streams: &Streams,
) -> Option<[End; 2]> {
    let mut gateways = flow.gateways?;
    let (mut ends, mut protocol) = ([flow.from, flow.to], flow.protocol.clone());
    if flow.request.is_some() {
        gateways.reverse();
        ends.reverse();
        protocol = protocol.turned();
    }
    let (client, server) = ports(index);
    let end = |nodes: [usize; 2], ports, which| End {
        endpoint: None,
        app: App::Relay,
        paths: vec![nodes.map(|node| node as u16)],
        path_bytes: Vec::new(),
        start: None,
        protocol: protocol.clone(),
        ports,
        entropy: streams.stream(&format!("flow/{}/{number}/gateway/{which}", flow.name)),
        generator: None,
        readdressing: None,
        proxied: None,
    };
    Some([
        end([gateways[0], ends[0]], Ports { local: server, peer: client }, "terminal"),
        end([gateways[1], ends[1]], Ports { local: client, peer: server }, "hub"),
    ])
}

/// The network beside a gateway.
#[derive(Clone, Debug)]
pub(super) struct Lan {
    runtime: Virtual,
    own: IpAddr,
    dials: Dials,
}

impl Runtime for Lan {
    fn now(&self) -> Instant {
        Runtime::now(&self.runtime)
    }

    async fn sleep(&self, span: Span) {
        self.runtime.sleep(span).await;
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<T> {
        self.runtime.blocking(work).await
    }
}

impl Surroundings for Lan {
    fn is_own(&self, to: SocketAddr) -> bool {
        to.ip() == self.own
    }

    fn network_of(&self, _: IpAddr) -> Option<IpNet> {
        None
    }
}

impl Network for Lan {
    type Tcp = Pipe;
    type Udp = NoUdp;
    type Tasks = Running;

    fn calendar(&self) -> u64 {
        self.now().as_nanos()
    }

    fn tasks(&self) -> Running {
        Running::new(self.runtime.clone())
    }

    async fn connect(&self, to: SocketAddr, _: Option<SocketAddr>) -> io::Result<Pipe> {
        let is_node = matches!(to, SocketAddr::V4(to) if node_at(*to.ip()).is_some());
        if !is_node {
            return Err(io::ErrorKind::HostUnreachable.into());
        }
        let [near, far] = Pipe::pair();
        let dialled = Arc::<Dialled>::default();
        lock(&self.dials).push(Dial { to, pipe: far, dialled: dialled.clone() });
        dialled.opened().await?;
        Ok(near)
    }

    fn look_up(
        &self,
        _: String,
        _: u16,
        done: impl FnOnce(io::Result<Vec<SocketAddr>>) + Send + 'static,
    ) -> io::Result<()> {
        done(Err(io::ErrorKind::NotFound.into()));
        Ok(())
    }

    fn socket_to(&self, _: SocketAddr, _: Option<SocketAddr>) -> io::Result<NoUdp> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn socket_between(&self, _: SocketAddr, _: SocketAddr, _: bool) -> io::Result<NoUdp> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn esp_to(&self, _: IpAddr, _: IpAddr) -> io::Result<NoUdp> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
