//! Two endpoints in memory with their own clock, joined by wires that a test scripts.

use std::collections::BTreeMap;
use std::sync::Arc;

use bentpipe_link::Direction;
use bentpipe_transport::{Endpoint, Event, Host, PathId, Ports, drain};
use bentpipe_units::{Instant, Span};
use bentpipe_wire::xstp::{Body, Flow};
use bentpipe_wire::{Ecn, Kind, Segment};
use bytes::Bytes;

use crate::protocol::{Protocol, Tcp, Xstp};

/// What the wire does with a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrives after the wire's delay.
    Pass,
    /// It is lost.
    Drop,
    /// It arrives this much later than others.
    Late(Span),
    /// It arrives, and once more this much later.
    Twice(Span),
    /// It arrives, and a router marked it if its sender heeds marks.
    Marked,
}

/// A segment on the wire, as a script sees it.
#[derive(Clone, Debug)]
pub struct Crossing<P: Protocol = Xstp> {
    /// When it was sent.
    pub at: Instant,
    /// Which way it goes.
    pub direction: Direction,
    /// What it is.
    pub segment: P::Segment,
    /// What became of it.
    pub fate: Fate,
}

impl<P: Protocol> Crossing<P> {
    /// True when the segment carries all of `kind`.
    pub fn has(&self, kind: Kind) -> bool {
        P::kind(&self.segment).contains(kind)
    }
}

impl Crossing {
    /// The composite, if it is one.
    pub fn flow(&self) -> Option<&Flow> {
        match &self.segment.body {
            Body::Flow(flow) => Some(flow),
            _ => None,
        }
    }
}

/// Decides the fate of each segment.
pub type Script<P> = Box<dyn FnMut(&Crossing<P>) -> Fate>;

/// One end with its application: writes what it was given, reads all it can.
#[derive(Debug)]
pub struct End<P: Protocol = Xstp> {
    /// The session; the server has none before the first request to open.
    pub session: Option<P::Endpoint>,
    /// What it still has to write.
    pub outbox: Bytes,
    /// It is still to close, once everything is written.
    pub closes: bool,
    /// It leaves arrived bytes unread.
    pub stalled: bool,
    /// What it has read.
    pub inbox: Vec<u8>,
    /// What it was told.
    pub events: Vec<(Instant, Event)>,
    /// The timer as a host has it that looks at it only when it may come nearer.
    timer: Option<Instant>,
}

impl<P: Protocol> End<P> {
    fn new(session: Option<P::Endpoint>) -> Self {
        Self {
            session,
            outbox: Bytes::new(),
            closes: true,
            stalled: false,
            inbox: Vec::new(),
            events: Vec::new(),
            timer: None,
        }
    }
}

/// A client and a server.
pub struct Pair<P: Protocol = Xstp> {
    /// The time.
    pub now: Instant,
    /// The end that opens.
    pub client: End<P>,
    /// The end that listens.
    pub server: End<P>,
    /// Everything that was sent, in order, with its fate.
    pub log: Vec<Crossing<P>>,
    /// One-way delay forth and back.
    pub delay: [Span; 2],
    script: Script<P>,
    server_config: Arc<P::Config>,
    wire: BTreeMap<(Instant, u64), (Direction, P::Segment)>,
    serial: u64,
}

/// What an end's drain loop needs of the pair.
struct Surroundings<'a, P: Protocol> {
    outbox: &'a mut Bytes,
    closes: &'a mut bool,
    stalled: bool,
    inbox: &'a mut Vec<u8>,
    events: &'a mut Vec<(Instant, Event)>,
    sent: Vec<P::Segment>,
    place: Segment,
}

impl<P: Protocol> Host<P::Endpoint> for Surroundings<'_, P> {
    fn place(&mut self) -> &mut Segment {
        &mut self.place
    }

    fn transmit(&mut self, _now: Instant, _path: PathId) {
        self.sent.push(P::taken_from(std::mem::take(&mut self.place)));
    }

    fn event(&mut self, now: Instant, endpoint: &mut P::Endpoint, event: Event) {
        self.events.push((now, event));
        if !self.stalled {
            while let Some(bytes) = endpoint.read(now) {
                self.inbox.extend_from_slice(&bytes);
            }
        }
        feed(now, endpoint, self.outbox, self.closes);
    }
}

/// Writes as much as fits and closes when that was all, once.
fn feed(now: Instant, endpoint: &mut impl Endpoint, outbox: &mut Bytes, closes: &mut bool) {
    if !outbox.is_empty() && endpoint.write(now, outbox).is_err() {
        outbox.clear();
    }
    if outbox.is_empty() && std::mem::take(closes) {
        endpoint.close(now);
    }
}

impl Pair {
    /// A client of XSTP that opens at time zero over wires of `delay` in each direction. Both ends close when
    /// they have nothing left to write.
    pub fn new(
        client: <Xstp as Protocol>::Config,
        server: <Xstp as Protocol>::Config,
        delay: Span,
    ) -> Self {
        Self::of(client, server, delay)
    }
}

impl Pair<Tcp> {
    /// The same with TCP.
    pub fn tcp(
        client: <Tcp as Protocol>::Config,
        server: <Tcp as Protocol>::Config,
        delay: Span,
    ) -> Self {
        Self::of(client, server, delay)
    }
}

impl<P: Protocol> Pair<P> {
    /// The same with any protocol.
    pub fn of(client: P::Config, server: P::Config, delay: Span) -> Self {
        P::validate(&client);
        P::validate(&server);
        let ports = Ports { local: 5001, peer: 5002 };
        let entropy = 7 << 32 | 1000;
        let session = P::connect(Arc::new(client), Instant::ZERO, PathId(0), ports, entropy);
        Self {
            now: Instant::ZERO,
            client: End::new(Some(session)),
            server: End::new(None),
            log: Vec::new(),
            delay: [delay; 2],
            script: Box::new(|_| Fate::Pass),
            server_config: Arc::new(server),
            wire: BTreeMap::new(),
            serial: 0,
        }
    }

    /// Lets `script` decide what the wires do.
    #[must_use]
    pub fn with_script(mut self, script: impl FnMut(&Crossing<P>) -> Fate + 'static) -> Self {
        self.script = Box::new(script);
        self
    }

    /// What the client writes.
    #[must_use]
    pub fn sending(mut self, bytes: impl Into<Bytes>) -> Self {
        self.client.outbox = bytes.into();
        self
    }

    /// What the server writes.
    #[must_use]
    pub fn answering(mut self, bytes: impl Into<Bytes>) -> Self {
        self.server.outbox = bytes.into();
        self
    }

    /// Puts a segment onto the wire as if an end had sent it.
    pub fn inject(&mut self, direction: Direction, segment: P::Segment) {
        let at = self.now + self.delay[direction as usize];
        self.serial += 1;
        self.wire.insert((at, self.serial), (direction, segment));
    }

    fn end(&mut self, direction: Direction) -> &mut End<P> {
        match direction {
            Direction::Forward => &mut self.client,
            Direction::Return => &mut self.server,
        }
    }

    /// Drains the end whose segments go `way` after `change` was done to it.
    pub fn change(&mut self, direction: Direction, change: impl FnOnce(&mut P::Endpoint, Instant)) {
        let now = self.now;
        let end = self.end(direction);
        let Some(session) = &mut end.session else { return };
        change(session, now);
        let mut around = Surroundings::<P> {
            outbox: &mut end.outbox,
            closes: &mut end.closes,
            stalled: end.stalled,
            inbox: &mut end.inbox,
            events: &mut end.events,
            sent: Vec::new(),
            place: Segment::default(),
        };
        if !P::is_gone(session) {
            feed(now, session, around.outbox, around.closes);
        }
        let deadline = drain(session, now, &mut around);
        if session.take_timer_dirty() {
            end.timer = deadline;
        }
        assert_eq!(Instant::earliest(end.timer, deadline), end.timer, "it came nearer unsaid");
        for segment in around.sent {
            self.send(direction, segment);
        }
    }

    fn send(&mut self, direction: Direction, segment: P::Segment) {
        let mut crossing = Crossing { at: self.now, direction, segment, fate: Fate::Pass };
        crossing.fate = (self.script)(&crossing);
        let arrives = self.now + self.delay[direction as usize];
        let mut carried = P::into_any(crossing.segment.clone());
        if crossing.fate == Fate::Marked && carried.ecn() != Ecn::NotCapable {
            carried.mark();
        }
        let mut put = |at: Instant| {
            self.serial += 1;
            self.wire.insert((at, self.serial), (direction, P::taken_from(carried.clone())));
        };
        match crossing.fate {
            Fate::Pass | Fate::Marked => put(arrives),
            Fate::Drop => {}
            Fate::Late(more) => put(arrives + more),
            Fate::Twice(more) => {
                put(arrives);
                put(arrives + more);
            }
        }
        self.log.push(crossing);
    }

    fn arrive(&mut self, direction: Direction, segment: P::Segment) {
        let to =
            if direction == Direction::Forward { Direction::Return } else { Direction::Forward };
        if to == Direction::Return && self.server.session.is_none() {
            let config = self.server_config.clone();
            self.server.session =
                P::accept(config, self.now, PathId(0), &segment, 0xabcd_0000_2000);
            if self.server.session.is_none()
                && let Some(reset) = P::no_session_reset(&segment)
            {
                self.send(to, reset);
            }
            self.change(to, |_, _| {});
            return;
        }
        // A host forgets closed sessions and answers for them.
        if self.end(to).session.as_ref().is_some_and(P::is_gone) {
            if let Some(reset) = P::no_session_reset(&segment) {
                self.send(to, reset);
            }
            return;
        }
        self.change(to, |session, now| {
            session.handle_segment(now, PathId(0), &mut P::into_any(segment));
        });
    }

    fn deadline(&self, direction: Direction) -> Option<Instant> {
        let end = if direction == Direction::Forward { &self.client } else { &self.server };
        end.session.as_ref()?.poll_timeout()
    }

    /// Lets the next thing happen, arrivals before timers; false when nothing is left.
    pub fn step(&mut self) -> bool {
        let arrival = self.wire.keys().next().map(|(at, _)| *at);
        let timer = [Direction::Forward, Direction::Return]
            .into_iter()
            .filter_map(|direction| Some((self.deadline(direction)?, direction)))
            .min();
        match (arrival, timer) {
            (None, None) => return false,
            (Some(at), Some((due, direction))) if due.max(self.now) < at => {
                self.fire(due, direction);
            }
            (None, Some((due, direction))) => self.fire(due, direction),
            (Some(at), _) => {
                self.now = at;
                if let Some((_, (direction, segment))) = self.wire.pop_first() {
                    self.arrive(direction, segment);
                }
            }
        }
        true
    }

    fn fire(&mut self, due: Instant, direction: Direction) {
        self.now = self.now.max(due);
        self.change(direction, P::Endpoint::handle_timeout);
    }

    /// Starts the client and runs until nothing is left to do or `until` has passed. True when
    /// nothing is left: both ends are closed and no timer runs.
    pub fn run(&mut self, until: Span) -> bool {
        if self.log.is_empty() {
            self.change(Direction::Forward, |_, _| {});
        }
        while self.now <= Instant::ZERO + until {
            if !self.step() {
                return true;
            }
        }
        false
    }

    /// Runs until `until`, however much there is left to do.
    pub fn run_to(&mut self, until: Instant) {
        if self.log.is_empty() {
            self.change(Direction::Forward, |_, _| {});
        }
        loop {
            let arrival = self.wire.keys().next().map(|(at, _)| *at);
            let timers =
                [Direction::Forward, Direction::Return].map(|direction| self.deadline(direction));
            let next = [arrival, timers[0], timers[1]].into_iter().flatten().min();
            if next.is_none_or(|next| next > until) {
                self.now = self.now.max(until);
                return;
            }
            self.step();
        }
    }

    /// Everything of `kind` that went `way`.
    pub fn sent(&self, direction: Direction, kind: Kind) -> impl Iterator<Item = &Crossing<P>> {
        self.log.iter().filter(move |c| c.direction == direction && c.has(kind))
    }
}

/// `len` bytes that differ from place to place.
pub fn pattern(len: usize) -> Bytes {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = Vec::with_capacity(len);
    for _ in 0..len {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        bytes.push((state >> 56) as u8);
    }
    Bytes::from(bytes)
}
