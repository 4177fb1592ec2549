//! The ends of the connections and how segments find them.

use bentpipe_link::{Stream, Streams};
use bentpipe_transport::demux::Demux;
use bentpipe_transport::xstp::{self, Ports, no_session_reset};
use bentpipe_transport::{Endpoint, Event, Host, PathId, Transmit, drain};
use bentpipe_units::Instant;
use bentpipe_wire::Segment;

use crate::app::{App, BulkSource, Progress, Sink};
use crate::events::Slot;
use crate::network::Network;
use crate::{FlowSpec, Protocol};

/// Port of the first flow's listener; the others follow.
const SERVER_PORT: u16 = 5002;
/// Port of the first flow's client; the others follow.
const CLIENT_PORT: u16 = 49_152;

/// One end of a flow.
pub(crate) struct End {
    /// Its endpoint; none before the connection is opened.
    pub(crate) endpoint: Option<Box<dyn Endpoint>>,
    app: Box<dyn App>,
    node: u16,
    peer: u16,
    start: Option<Instant>,
    protocol: Protocol,
    ports: Ports,
    entropy: Stream,
}

/// All ends: those of flow `n` are 2n (it opens and sends) and 2n+1 (it listens and receives).
pub(crate) struct Endpoints {
    ends: Vec<End>,
    demux: Vec<Demux<u32>>,
    first_slot: Slot,
}

/// What an endpoint sees of the rest while it is drained.
struct Around<'a, 'o> {
    network: &'a mut Network<'o>,
    app: &'a mut dyn App,
    node: u16,
    peer: u16,
}

impl Host for Around<'_, '_> {
    fn transmit(&mut self, now: Instant, transmit: Transmit) {
        self.network.send(now, self.node, self.peer, transmit.segment);
    }

    fn event(&mut self, now: Instant, endpoint: &mut dyn Endpoint, event: Event) {
        self.app.on_event(now, endpoint, event);
    }
}

impl Endpoints {
    /// The ends of all flows; their timers are components `first_slot` and on.
    pub(crate) fn new(
        flows: &[FlowSpec],
        nodes: usize,
        streams: &Streams,
        first_slot: Slot,
    ) -> Self {
        let mut ends = Vec::new();
        let mut demux: Vec<Demux<u32>> = (0..nodes).map(|_| Demux::default()).collect();
        for (index, flow) in flows.iter().enumerate() {
            let client = CLIENT_PORT.wrapping_add(index as u16);
            let server = SERVER_PORT.wrapping_add(index as u16);
            let name = &flow.name;
            let (from, to) = (flow.from as u16, flow.to as u16);
            ends.push(End {
                endpoint: None,
                app: Box::new(BulkSource::new(flow.source)),
                node: from,
                peer: to,
                start: Some(flow.source.start),
                protocol: flow.protocol.clone(),
                ports: Ports { local: client, peer: server },
                entropy: streams.stream(&format!("flow/{name}/client")),
            });
            demux[flow.from].insert(PathId(u32::from(to)), client, server, 2 * index as u32);
            ends.push(End {
                endpoint: None,
                app: Box::new(Sink::default()),
                node: to,
                peer: from,
                start: None,
                protocol: flow.protocol.clone(),
                ports: Ports { local: server, peer: client },
                entropy: streams.stream(&format!("flow/{name}/server")),
            });
            demux[flow.to].listen(server, 2 * index as u32 + 1);
        }
        Self { ends, demux, first_slot }
    }

    /// Sets the timers that open the connections.
    pub(crate) fn schedule_starts(&self, network: &mut Network<'_>) {
        for (index, end) in self.ends.iter().enumerate() {
            if let Some(start) = end.start {
                network.queue.set_timer(self.first_slot + index as Slot, start);
            }
        }
    }

    /// The end of this number.
    pub(crate) fn end(&self, index: usize) -> &End {
        &self.ends[index]
    }

    /// A segment arrived at `node` from node `from`.
    pub(crate) fn arrive(
        &mut self,
        now: Instant,
        network: &mut Network<'_>,
        node: u16,
        from: u16,
        segment: Segment,
    ) {
        let (peer_port, local_port) = segment.ports();
        let path = PathId(u32::from(from));
        let demux = &mut self.demux[node as usize];
        let Some(index) = demux.session(path, local_port, peer_port) else {
            return self.listen(now, network, node, from, &segment);
        };
        if segment.opens() {
            return self.open_again(now, network, node, from, index, &segment);
        }
        let Some(endpoint) = &mut self.ends[index as usize].endpoint else { return };
        endpoint.handle_segment(now, path, segment);
        self.settle(now, network, index);
    }

    /// A BGN for a session that there is already: a duplicate, or its peer started anew. If the old
    /// session gives way to it, a listener may take it.
    #[cold]
    fn open_again(
        &mut self,
        now: Instant,
        network: &mut Network<'_>,
        node: u16,
        from: u16,
        index: u32,
        segment: &Segment,
    ) {
        let (peer_port, local_port) = segment.ports();
        let path = PathId(u32::from(from));
        let Some(endpoint) = &mut self.ends[index as usize].endpoint else { return };
        endpoint.handle_segment(now, path, segment.clone());
        self.settle(now, network, index);
        if self.demux[node as usize].session(path, local_port, peer_port).is_none() {
            self.listen(now, network, node, from, segment);
        }
    }

    /// A segment for which there is no session: a listener takes it, or it is answered by a reset.
    fn listen(
        &mut self,
        now: Instant,
        network: &mut Network<'_>,
        node: u16,
        from: u16,
        segment: &Segment,
    ) {
        let (peer_port, local_port) = segment.ports();
        let path = PathId(u32::from(from));
        let listener = self.demux[node as usize].listener(local_port);
        let accepted = listener.and_then(|index| {
            let end = &mut self.ends[index as usize];
            let entropy = end.entropy.bits();
            let (Protocol::Xstp { receiver, .. }, Segment::Xstp(begin)) = (&end.protocol, segment);
            let session = xstp::Session::accept(receiver.clone(), now, path, begin, entropy)?;
            end.endpoint = Some(Box::new(session));
            Some(index)
        });
        if let Some(index) = accepted {
            self.demux[node as usize].insert(path, local_port, peer_port, index);
            self.settle(now, network, index);
            return;
        }
        let Segment::Xstp(segment) = segment;
        if let Some(reset) = no_session_reset(segment) {
            network.send(now, node, from, Segment::Xstp(reset));
        }
    }

    /// The timer of an end fired. Returns false when there was nothing to do yet.
    pub(crate) fn fire(&mut self, now: Instant, network: &mut Network<'_>, slot: Slot) -> bool {
        let index = slot - self.first_slot;
        network.queue.clear(slot);
        let end = &mut self.ends[index as usize];
        if end.start.is_some_and(|start| start <= now) {
            end.start = None;
            let Protocol::Xstp { sender, .. } = &end.protocol;
            let entropy = end.entropy.bits();
            let path = PathId(u32::from(end.peer));
            let session = xstp::Session::connect(sender.clone(), now, path, end.ports, entropy);
            end.endpoint = Some(Box::new(session));
            self.settle(now, network, index);
            return true;
        }
        let Some(endpoint) = &mut end.endpoint else { return false };
        let endpoint_due = endpoint.poll_timeout().is_some_and(|at| at <= now);
        let app_due = end.app.next_timer().is_some_and(|at| at <= now);
        if endpoint_due {
            endpoint.handle_timeout(now);
            self.settle(now, network, index);
        } else if app_due {
            end.app.on_timer(now, &mut **endpoint);
            self.settle(now, network, index);
        } else {
            // It was put off since it was set.
            let next = Instant::earliest(endpoint.poll_timeout(), end.app.next_timer());
            if let Some(next) = next {
                network.queue.set_timer(slot, next);
            }
        }
        endpoint_due || app_due
    }

    /// Drains an end after a change and sets its timer.
    fn settle(&mut self, now: Instant, network: &mut Network<'_>, index: u32) {
        let end = &mut self.ends[index as usize];
        let Some(endpoint) = &mut end.endpoint else { return };
        let mut around = Around { network, app: &mut *end.app, node: end.node, peer: end.peer };
        let deadline = drain(&mut **endpoint, now, &mut around);
        if deadline.is_none() && endpoint.is_closed() {
            // From now on there is no such session, and its segments are answered by a reset.
            let path = PathId(u32::from(end.peer));
            self.demux[end.node as usize].remove(path, end.ports.local, end.ports.peer);
        }
        let next = Instant::earliest(deadline, end.app.next_timer());
        if let Some(next) = next {
            network.queue.set_timer(self.first_slot + index, next.max(now));
        }
    }
}

impl End {
    /// How far its application is.
    pub(crate) fn progress(&self) -> Progress {
        self.app.progress()
    }
}
