//! A source, one proxy or two, and a sink in memory, joined by wires that lose.

use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;

use bentpipe_pep::split::{Config, Legs, Relay, Side, after_change};
use bentpipe_transport::{
    Event, FullEndpoint, Host, PathId, Ports, ProxyLeg, drain, sctp, tcp, xstp,
};
use bentpipe_units::{ByteCount, Instant, Span};
use bentpipe_wire::Segment;
use bentpipe_wire::xcp::Header;
use bytes::Bytes;

const CLIENT: u16 = 5001;
const SERVER: u16 = 80;
const PATH: PathId = PathId(0);

/// What runs on one leg, with the settings of both ends.
#[derive(Clone, Debug)]
pub(crate) enum Leg {
    Tcp(tcp::Config),
    Xstp(xstp::Config),
    Sctp(sctp::Config),
}

impl Leg {
    /// A leg with so much room at each end and no idle timeout.
    pub(crate) fn of(protocol: usize, buffer: u64) -> Self {
        let buffer = ByteCount::new(buffer);
        match protocol {
            0 => Self::Tcp(tcp::Config {
                snd_buf: buffer,
                rcv_buf: buffer,
                retries: None,
                syn_retries: None,
                // Longer than any timeout of the peer, whose last acknowledgement may be lost.
                time_wait: Span::from_secs(240),
                ..tcp::Config::default()
            }),
            1 => Self::Xstp(xstp::Config {
                snd_buf: buffer,
                rcv_buf: buffer,
                ..xstp::Config::paper()
            }),
            _ => Self::Sctp(sctp::Config {
                snd_buf: buffer,
                rcv_buf: buffer,
                ..sctp::Config::default()
            }),
        }
    }

    /// The same with the time that a closed TCP connection answers late segments by default.
    pub(crate) fn impatient(self) -> Self {
        match self {
            Self::Tcp(c) => {
                Self::Tcp(tcp::Config { time_wait: tcp::Config::default().time_wait, ..c })
            }
            other => other,
        }
    }

    /// TCP with so much room.
    pub(crate) fn tcp(buffer: u64) -> Self {
        Self::of(0, buffer)
    }

    fn connect(&self, now: Instant, entropy: u64) -> Box<dyn FullEndpoint> {
        let ports = Ports { local: CLIENT, peer: SERVER };
        match self.clone() {
            Self::Tcp(c) => {
                Box::new(tcp::Connection::connect(Arc::new(c), now, PATH, ports, entropy))
            }
            Self::Xstp(c) => {
                Box::new(xstp::Session::connect(Arc::new(c), now, PATH, ports, entropy))
            }
            Self::Sctp(c) => {
                let identity = sctp::Identity {
                    ports,
                    paths: vec![PATH],
                    addresses: Vec::new(),
                    key: sctp::CookieKey::new([0; 32]),
                    entropy,
                };
                Box::new(sctp::Association::connect(Arc::new(c), now, identity))
            }
        }
    }

    /// What a listener makes of a segment: an end, or an answer.
    fn accept(
        &self,
        now: Instant,
        segment: &mut Segment,
        entropy: u64,
    ) -> (Option<Box<dyn FullEndpoint>>, Option<Segment>) {
        match (self.clone(), segment) {
            (Self::Tcp(c), Segment::Tcp(syn)) => {
                let end = tcp::Connection::accept(Arc::new(c), now, PATH, syn, entropy);
                let answer = if end.is_none() { tcp::no_session_reset(syn) } else { None };
                (end.map(|end| Box::new(end) as _), answer.map(Segment::Tcp))
            }
            (Self::Xstp(c), Segment::Xstp(bgn)) => {
                let end = xstp::Session::accept(Arc::new(c), now, PATH, bgn, entropy);
                let answer = if end.is_none() { xstp::no_session_reset(bgn) } else { None };
                (end.map(|end| Box::new(end) as _), answer.map(Segment::Xstp))
            }
            (Self::Sctp(c), Segment::Sctp(packet)) => {
                let key = sctp::CookieKey::new([0; 32]);
                let listener = sctp::Listener::new(Arc::new(c), key, Vec::new());
                match listener.handle(now, PATH, &[PATH], packet, entropy) {
                    sctp::Answer::Open(association) => (Some(association), None),
                    sctp::Answer::Reply(packet) => (None, Some(Segment::Sctp(packet))),
                    sctp::Answer::Nothing => (None, None),
                }
            }
            _ => panic!("a segment of another protocol"),
        }
    }
}

/// An application at one of the two outer ends: writes what it has and reads what it may.
#[derive(Debug, Default)]
pub(crate) struct App {
    pub(crate) outbox: Bytes,
    pub(crate) inbox: Vec<u8>,
    pub(crate) events: Vec<Event>,
    /// Leaves what arrives unread.
    pub(crate) stalled: bool,
    /// Keeps its direction open until the peer has closed.
    pub(crate) answers_last: bool,
    /// Does not close at all.
    pub(crate) stays: bool,
}

impl App {
    pub(crate) fn heard(&self, wanted: impl Fn(&Event) -> bool) -> bool {
        self.events.iter().any(wanted)
    }

    pub(crate) fn failed(&self) -> bool {
        self.heard(|event| matches!(event, Event::Failed(_)))
    }

    pub(crate) fn saw_the_end(&self) -> bool {
        self.heard(|event| *event == Event::PeerClosed)
    }

    fn act(&mut self, now: Instant, endpoint: &mut dyn FullEndpoint) {
        if !self.stalled {
            while let Some(bytes) = endpoint.read(now) {
                self.inbox.extend_from_slice(&bytes);
            }
        }
        let waits = self.answers_last && !self.saw_the_end();
        if self.heard(|event| *event == Event::Connected) && !waits && !self.failed() {
            if !self.outbox.is_empty() && endpoint.write(now, &mut self.outbox).is_err() {
                self.outbox.clear();
            }
            if self.outbox.is_empty() && !self.stays {
                endpoint.close(now);
            }
        }
    }
}

/// An end: an outer one with an application, or one of a relay.
struct End {
    endpoint: Option<Box<dyn FullEndpoint>>,
    app: App,
}

/// Source, proxies and sink. Ends 2k and 2k + 1 are those of leg k; ends 2k + 1 and 2k + 2 belong to
/// relay k.
pub(crate) struct World {
    pub(crate) now: Instant,
    pub(crate) relays: Vec<Relay>,
    /// The most that each relay held at a time, by direction.
    pub(crate) most: Vec<[u64; 2]>,
    legs: Vec<Leg>,
    ends: Vec<End>,
    wire: BTreeMap<(Instant, u64), (usize, Sent)>,
    serial: u64,
    random: u64,
    /// Of 1000 segments on each leg so many are lost.
    pub(crate) loss: u64,
    /// Nothing passes on this leg.
    pub(crate) down: Option<usize>,
    pub(crate) delay: Span,
    /// This end gets another window with each segment that it hears.
    pub(crate) granted: Option<usize>,
}

/// A segment on a wire, with the congestion header before it.
type Sent = (Segment, Option<Header>);

/// What an end sees while it is drained.
struct DrainContext<'a> {
    app: &'a mut App,
    sent: &'a mut Vec<Sent>,
    place: Segment,
    header: Option<Header>,
}

impl Host<dyn FullEndpoint> for DrainContext<'_> {
    fn place(&mut self) -> &mut Segment {
        &mut self.place
    }

    fn congestion(&mut self, header: Header) {
        self.header = Some(header);
    }

    fn transmit(&mut self, _now: Instant, _path: PathId) {
        self.sent.push((mem::take(&mut self.place), self.header.take()));
    }

    fn event(&mut self, now: Instant, endpoint: &mut (dyn FullEndpoint + 'static), event: Event) {
        self.app.events.push(event);
        self.app.act(now, endpoint);
    }
}

/// The same for an end of a relay.
struct Relaying<'a> {
    relay: &'a mut Relay,
    side: Side,
    sent: &'a mut Vec<Sent>,
    place: Segment,
    header: Option<Header>,
}

impl Host<dyn FullEndpoint> for Relaying<'_> {
    fn place(&mut self) -> &mut Segment {
        &mut self.place
    }

    fn congestion(&mut self, header: Header) {
        self.header = Some(header);
    }

    fn transmit(&mut self, _now: Instant, _path: PathId) {
        self.sent.push((mem::take(&mut self.place), self.header.take()));
    }

    fn event(&mut self, now: Instant, endpoint: &mut (dyn FullEndpoint + 'static), event: Event) {
        self.relay.on_event(now, self.side, endpoint, event);
    }
}

/// The two ends of one relay.
struct Both<'a> {
    ends: &'a mut [End],
    sent: [Vec<Sent>; 2],
}

impl Legs for Both<'_> {
    fn endpoint(&mut self, side: Side) -> Option<&mut dyn ProxyLeg> {
        Some(&mut **self.ends[side as usize].endpoint.as_mut()?)
    }

    fn drain(&mut self, now: Instant, side: Side, relay: &mut Relay) {
        let Some(endpoint) = &mut self.ends[side as usize].endpoint else { return };
        let sent = &mut self.sent[side as usize];
        drain(
            &mut **endpoint,
            now,
            &mut Relaying { relay, side, sent, place: Segment::default(), header: None },
        );
    }
}

impl World {
    /// A proxy between each two legs.
    pub(crate) fn new(legs: Vec<Leg>, config: Config, seed: u64) -> Self {
        let mut ends = Vec::new();
        ends.resize_with(2 * legs.len(), || End { endpoint: None, app: App::default() });
        let relays: Vec<_> = (1..legs.len()).map(|_| Relay::new(config)).collect();
        Self {
            now: Instant::ZERO,
            most: vec![[0; 2]; relays.len()],
            relays,
            legs,
            ends,
            wire: BTreeMap::new(),
            serial: 0,
            random: seed,
            loss: 0,
            down: None,
            delay: Span::from_millis(50),
            granted: None,
        }
    }

    pub(crate) fn source(&mut self) -> &mut App {
        &mut self.ends[0].app
    }

    pub(crate) fn sink(&mut self) -> &mut App {
        let last = self.ends.len() - 1;
        &mut self.ends[last].app
    }

    /// Bytes that the source has written and that are not acknowledged.
    pub(crate) fn kept_by_source(&self) -> u64 {
        self.ends[0].endpoint.as_ref().map_or(0, |source| source.unacknowledged().get())
    }

    fn draw(&mut self) -> u64 {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.random >> 33
    }

    /// Changes an outer end: the source, or the sink.
    pub(crate) fn change(
        &mut self,
        sink: bool,
        change: impl FnOnce(&mut dyn FullEndpoint, Instant),
    ) {
        let index = if sink { self.ends.len() - 1 } else { 0 };
        if let Some(endpoint) = &mut self.ends[index].endpoint {
            change(&mut **endpoint, self.now);
        }
        self.drain(index);
    }

    /// An end changed: it is drained, and what follows from it happens.
    fn drain(&mut self, index: usize) {
        let now = self.now;
        if index == 0 || index == self.ends.len() - 1 {
            let End { endpoint: Some(endpoint), app } = &mut self.ends[index] else { return };
            let mut sent = Vec::new();
            app.act(now, &mut **endpoint);
            let mut context =
                DrainContext { app, sent: &mut sent, place: Segment::default(), header: None };
            drain(&mut **endpoint, now, &mut context);
            return self.send(index, sent);
        }
        let number = (index - 1) / 2;
        let first = 2 * number + 1;
        if index == first
            && self.ends[first + 1].endpoint.is_none()
            && self.ends[first].endpoint.is_some()
        {
            let entropy = self.draw() << 32 | self.draw();
            self.ends[first + 1].endpoint = Some(self.legs[number + 1].connect(now, entropy));
        }
        let side = if index == first { Side::Near } else { Side::Far };
        let ends = &mut self.ends[first..first + 2];
        let mut both = Both { ends, sent: [Vec::new(), Vec::new()] };
        after_change(&mut self.relays[number], now, side, &mut both);
        if side == Side::Near {
            // An end that was just opened has something to send.
            after_change(&mut self.relays[number], now, Side::Far, &mut both);
        }
        let [near, far] = both.sent;
        self.send(first, near);
        self.send(first + 1, far);
        let relay = &self.relays[number];
        for (most, from) in self.most[number].iter_mut().zip([Side::Near, Side::Far]) {
            *most = (*most).max(relay.occupied(from).get());
        }
    }

    fn send(&mut self, from: usize, segments: Vec<Sent>) {
        for segment in segments {
            if self.draw() % 1000 >= self.loss && self.down != Some(from / 2) {
                self.serial += 1;
                self.wire.insert((self.now + self.delay, self.serial), (from ^ 1, segment));
            }
        }
    }

    fn arrive(&mut self, to: usize, (mut segment, header): Sent) {
        let entropy = self.draw() << 32 | self.draw();
        let now = self.now;
        match &mut self.ends[to].endpoint {
            Some(endpoint) if !endpoint.is_closed() => {
                if let Some(header) = header {
                    endpoint.handle_congestion(now, &header);
                }
                if self.granted == Some(to) {
                    endpoint.override_cwnd(now, ByteCount::new(entropy % 100_000));
                }
                endpoint.handle_segment(now, PATH, &mut segment);
                self.drain(to);
            }
            Some(_) => {
                let answer = match &segment {
                    Segment::Tcp(segment) => tcp::no_session_reset(segment).map(Segment::Tcp),
                    Segment::Xstp(segment) => xstp::no_session_reset(segment).map(Segment::Xstp),
                    Segment::Sctp(packet) => sctp::out_of_the_blue(packet).map(Segment::Sctp),
                    Segment::Udp(_) | Segment::Icmp(_) => None,
                };
                self.send(to, answer.map(|answer| (answer, None)).into_iter().collect());
            }
            None => {
                let (end, answer) = self.legs[to / 2].accept(now, &mut segment, entropy);
                self.ends[to].endpoint = end;
                self.send(to, answer.map(|answer| (answer, None)).into_iter().collect());
                self.drain(to);
            }
        }
    }

    /// Lets things happen until nothing is left to happen or `until` has passed. True when nothing is
    /// left.
    pub(crate) fn run(&mut self, until: Span) -> bool {
        if self.ends[0].endpoint.is_none() {
            self.ends[0].endpoint = Some(self.legs[0].connect(self.now, 7 << 40 | 9));
            self.drain(0);
        }
        let end = Instant::ZERO + until;
        loop {
            let arrival = self.wire.keys().next().map(|(at, _)| *at);
            let mut next = arrival;
            let (mut timer, mut pace) = (None, None);
            for (index, end) in self.ends.iter().enumerate() {
                let due = end.endpoint.as_ref().and_then(|endpoint| endpoint.poll_timeout());
                if let Some(due) = due.map(|due| due.max(self.now))
                    && next.is_none_or(|next| due < next)
                {
                    (next, timer) = (Some(due), Some(index));
                }
            }
            for (number, relay) in self.relays.iter().enumerate() {
                let due = relay.poll_timeout().map(|due| due.max(self.now));
                if let Some(due) = due.filter(|due| next.is_none_or(|next| *due < next)) {
                    (next, timer, pace) = (Some(due), None, Some(number));
                }
            }
            let Some(next) = next else { return true };
            if next > end {
                self.now = end;
                return false;
            }
            self.now = next;
            if let Some(number) = pace {
                self.relays[number].handle_timeout(next);
                self.drain(2 * number + 1);
            } else if let Some(index) = timer {
                if let Some(endpoint) = &mut self.ends[index].endpoint {
                    endpoint.handle_timeout(next);
                }
                self.drain(index);
            } else if let Some((_, (to, segment))) = self.wire.pop_first() {
                self.arrive(to, segment);
            }
        }
    }
}

/// Bytes that tell their place.
pub(crate) fn pattern(len: usize) -> Bytes {
    (0..len).map(|n| (n * 7 % 251) as u8).collect()
}
