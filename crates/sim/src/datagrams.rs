//! Flows of datagrams: packets that nobody acknowledges and nobody sends again.

use bentpipe_link::Streams;
use bentpipe_record::{Distribution, FlowMetrics, FlowSummary, PieceSummary, TransportCounters};
use bentpipe_units::{ByteCount, Instant};
use bentpipe_wire::{Segment, udp};
use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::FlowSpec;
use crate::app::pattern;
use crate::events::Slot;
use crate::flows::{DATAGRAM_PORT, datagram_flows};
use crate::network::Network;
use crate::traffic::Session;

/// Each datagram begins with its number, four bytes, and the time of its sending in nanoseconds.
const STAMP: usize = 12;

/// All flows of datagrams. Each one is a component of the event queue.
#[derive(Debug)]
pub(crate) struct Datagrams {
    flows: Vec<DatagramFlow>,
    first_slot: Slot,
}

/// One flow.
#[derive(Debug)]
struct DatagramFlow {
    /// Index in the run.
    flow: usize,
    from: u16,
    to: u16,
    port: u16,
    session: Session,
    sent: TransportCounters,
    received: TransportCounters,
    verified: u64,
    first_at: Option<Instant>,
    last_at: Option<Instant>,
    /// Number of a datagram in which a byte was not what was sent.
    wrong: Option<u32>,
    delays: Distribution,
}

impl Datagrams {
    /// The flows of a run that are datagrams, which are components `first_slot` and on.
    pub(crate) fn new(flows: &[FlowSpec], streams: &Streams, first_slot: Slot) -> Self {
        let flow = |(port, index, flow): (u16, usize, &FlowSpec)| {
            let traffic = flow.traffic.as_ref().filter(|traffic| traffic.is_timed())?;
            let stream = streams.stream(&format!("flow/{}/traffic/0", flow.name));
            Some(DatagramFlow {
                flow: index,
                from: flow.from as u16,
                to: flow.to as u16,
                port,
                session: Session::new(traffic, flow.source.start, stream),
                sent: TransportCounters::default(),
                received: TransportCounters::default(),
                verified: 0,
                first_at: None,
                last_at: None,
                wrong: None,
                delays: Distribution::default(),
            })
        };
        Self { flows: datagram_flows(flows).filter_map(flow).collect(), first_slot }
    }

    /// Sets the timers of the first datagrams.
    pub(crate) fn schedule_starts(&self, network: &mut Network<'_>) {
        for (index, flow) in self.flows.iter().enumerate() {
            if let Some(at) = flow.session.next() {
                network.queue.set_timer(self.first_slot + index as Slot, at);
            }
        }
    }

    /// The timer of a flow fired: a datagram goes.
    pub(crate) fn fire(&mut self, now: Instant, network: &mut Network<'_>, slot: Slot) {
        network.queue.clear(slot);
        let flow = &mut self.flows[(slot - self.first_slot) as usize];
        if let Some(bytes) = flow.session.fire(now) {
            flow.send(now, network, bytes);
        }
        if let Some(at) = flow.session.next() {
            network.queue.set_timer(slot, at);
        }
    }

    /// A datagram arrived at a node.
    pub(crate) fn arrive(&mut self, now: Instant, node: u16, datagram: &udp::Datagram) {
        let index = datagram.destination_port.wrapping_sub(DATAGRAM_PORT);
        if let Some(flow) = self.flows.get_mut(usize::from(index))
            && flow.to == node
        {
            flow.receive(now, datagram.payload.clone());
        }
    }

    /// What became of a flow, if it is one of datagrams.
    pub(crate) fn summary(
        &self,
        index: usize,
        spec: &FlowSpec,
        ended: Instant,
    ) -> Option<FlowSummary> {
        let flow = self.flows.iter().find(|flow| flow.flow == index)?;
        let (offered, arrived) = (flow.sent.data_segments, flow.delays.count());
        let wrong = flow.wrong.map(|n| format!("datagram {n} is not what was sent"));
        let complete = wrong.is_none() && flow.session.is_empty() && offered == arrived;
        let until = if complete { flow.last_at.unwrap_or(spec.source.start) } else { ended };
        let elapsed = until.since(spec.source.start);
        Some(FlowSummary {
            name: spec.name.clone(),
            protocol: spec.protocol.name(),
            controller: "",
            complete,
            failure: wrong,
            delivered_bytes: flow.verified,
            first_byte_after: flow.first_at.map(|at| at.since(spec.source.start).as_secs_f64()),
            metrics: FlowMetrics::new(flow.verified, elapsed, complete, &flow.sent, &flow.received),
            source: flow.sent,
            sink: flow.received,
            path_bytes: Vec::new(),
            pieces: Some(PieceSummary {
                offered,
                offered_bytes: flow.sent.payload_bytes,
                arrived,
                failed: 0,
                seconds: flow.delays.quantiles(),
            }),
            probing: None,
        })
    }
}

impl DatagramFlow {
    fn send(&mut self, now: Instant, network: &mut Network<'_>, bytes: ByteCount) {
        let number = self.sent.data_segments as u32;
        let len = (bytes.get() as usize).clamp(STAMP, udp::Datagram::LONGEST_PAYLOAD);
        let mut payload = BytesMut::with_capacity(len);
        payload.put_u32(number);
        payload.put_u64(now.as_nanos());
        payload.put_slice(pattern::slice(u64::from(number), len - STAMP));
        let (source_port, destination_port) = (self.port, self.port);
        let datagram = udp::Datagram { source_port, destination_port, payload: payload.freeze() };
        let sent = &mut self.sent;
        let wire_len = datagram.wire_len() as u64;
        sent.segments_sent += 1;
        sent.data_segments += 1;
        sent.bytes_sent += wire_len;
        sent.payload_bytes += len as u64;
        sent.first_header_bytes += wire_len - len as u64;
        *network.place() = Segment::Udp(datagram);
        network.send(now, self.from, self.to);
    }

    fn receive(&mut self, now: Instant, mut payload: Bytes) {
        self.received.segments_received += 1;
        let len = payload.len() as u64;
        let (Ok(number), Ok(sent_at)) = (payload.try_get_u32(), payload.try_get_u64()) else {
            return;
        };
        if pattern::first_difference(u64::from(number), &payload).is_some() {
            self.wrong.get_or_insert(number);
            return;
        }
        self.verified += len;
        self.first_at.get_or_insert(now);
        self.last_at = Some(now);
        self.delays.add(now.since(Instant::from_nanos(sent_at)));
    }
}
