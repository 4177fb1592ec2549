//! Two hosts and somebody who has the network in his hands: he delivers, loses, keeps, repeats, changes and mixes what
//! they send, restarts them and sets their calendars.
#![allow(dead_code, reason = "the fuzzer has no seeds")]

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bentpipe_association::endpoint::{ConnectionId, Endpoint, Streams as _, Times};
use bentpipe_association::{Fec, SecretKey, Security};
use bentpipe_transport::xstp::Config;
use bentpipe_units::{ByteCount, Instant, Span};
use bentpipe_wire::Ecn;
use bytes::Bytes;

/// Datagrams that he can remember.
const REMEMBERED: usize = 64;
/// Connections of one history.
const STREAMS: usize = 12;
/// Time of the calendar at the beginning.
const YEAR: u64 = 365 * 86_400 * 1_000_000_000;
/// One path, when he lets them be.
const DELAY: Span = Span::from_millis(250);
/// When he does, a host that asks is heard within this time: the longest wait between two requests, and keys that
/// nobody has used.
const HEALED: Span = Span::from_secs(40);

/// Plays the history that the input says, four bytes for each step.
///
/// # Panics
///
/// If bytes arrive that nobody wrote, or twice, or an end that nobody said; and if hosts whose calendars do not go
/// back, or which keep the times of requests, cannot reach each other when they are let be again.
pub(crate) fn handshake_history(input: &[u8]) {
    let (order, steps) = input.split_first().unwrap_or((&0, &[]));
    let mut history =
        History::new(order % 2 == 1, if order & 8 == 0 { Fec::Off } else { Fec::Auto });
    for step in steps.chunks_exact(4).take(80) {
        history.step(step[0], [step[1], step[2], step[3]]);
        history.read();
    }
    // It takes longer than all that was before.
    if order & 6 == 0 {
        history.heal();
    }
}

/// A first host that connects and is restarted, one that asks for an old answer, and so on.
pub(crate) fn handshake_seeds() -> Vec<Vec<u8>> {
    const CONNECT: [u8; 4] = [0, 0, 3, 0];
    const BACK: [u8; 4] = [0, 1, 3, 0];
    const DELIVER: [u8; 4] = [2, 9, 0, 0];
    const SECOND: [u8; 4] = [6, 10, 1, 0];
    const MINUTES: [u8; 4] = [6, 50, 3, 0];
    const RESTART: [u8; 4] = [7, 0, 0, 0];
    const RESTART_OTHER: [u8; 4] = [7, 1, 0, 0];
    const LET_BE: [u8; 4] = [9, 30, 0, 0];
    let histories: [&[[u8; 4]]; 8] = [
        &[CONNECT, DELIVER, DELIVER, DELIVER, LET_BE, RESTART, CONNECT, DELIVER, LET_BE],
        &[CONNECT, LET_BE, RESTART_OTHER, BACK, CONNECT, LET_BE, SECOND, LET_BE],
        // Requests that cross.
        &[CONNECT, BACK, DELIVER, DELIVER, DELIVER, DELIVER, LET_BE],
        // An outage in which both ask, and what was captured in it comes after a restart.
        &[CONNECT, LET_BE, [3, 9, 0, 0], SECOND, [3, 9, 0, 0], RESTART, [4, 5, 0, 9], LET_BE],
        // Keys are renewed.
        &[CONNECT, LET_BE, MINUTES, LET_BE, [4, 3, 1, 0], [4, 4, 1, 0], LET_BE],
        // A calendar that goes back, with times that were kept and without.
        &[CONNECT, LET_BE, [7, 0, 5, 1], CONNECT, LET_BE, [7, 0, 5, 3], CONNECT, LET_BE],
        // Somebody shuts down; somebody moves.
        &[CONNECT, LET_BE, [8, 1, 0, 0], LET_BE, RESTART_OTHER, CONNECT, LET_BE],
        &[CONNECT, LET_BE, [10, 0, 7, 0], [1, 0, 50, 0], LET_BE, [4, 2, 3, 0], LET_BE],
    ];
    histories
        .into_iter()
        .flat_map(|steps| [0, 1].map(|o| [&[o], &steps.concat()[..]].concat()))
        .collect()
}

fn address(n: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, n], 25_300))
}

fn config() -> Arc<Config> {
    Arc::new(Config {
        snd_buf: ByteCount::new(20_000),
        rcv_buf: ByteCount::new(20_000),
        ..Config::default()
    })
}

/// The bytes of a stream: its name, and what belongs to it.
fn content(stream: u16, range: std::ops::Range<usize>) -> Vec<u8> {
    let [high, low] = stream.to_be_bytes();
    range
        .map(|at| match at {
            0 => high,
            1 => low,
            _ => (at as u8).wrapping_mul(31).wrapping_add(low),
        })
        .collect()
}

struct End {
    key: SecretKey,
    endpoint: Endpoint,
    address: SocketAddr,
    /// When its process was started, whose clock is at zero then.
    born: Instant,
    /// Nanoseconds that its calendar is wrong.
    wrong: i64,
    /// It keeps no times of requests, and its calendar is before the last of them.
    is_lost: bool,
    has_left: bool,
    /// Connections that it has accepted.
    accepted: Vec<Taken>,
}

/// A connection that was accepted.
struct Taken {
    id: ConnectionId,
    /// The name of its stream, as far as it has come, and how many bytes have.
    name: Vec<u8>,
    read: usize,
    has_ended: bool,
}

impl Taken {
    /// Bytes came, or the end: those that were written, once.
    fn check(
        &mut self,
        end: usize,
        came: Option<&Bytes>,
        streams: &[Stream],
        seen: &mut BTreeMap<u16, bool>,
    ) {
        let had = self.name.len();
        let bytes = came.cloned().unwrap_or_default();
        self.name.extend(bytes.iter().take(2 - had));
        let Some(name) = self.name.first_chunk() else {
            assert!(came.is_some(), "an end of nothing");
            self.read += bytes.len();
            return;
        };
        let name = u16::from_be_bytes(*name);
        let stream = &streams[usize::from(name)];
        let range = self.read..self.read + bytes.len();
        assert!(stream.of != end && range.end <= stream.written, "{name} at {end}");
        assert_eq!(bytes, content(name, range.clone()), "stream {name}");
        self.read = range.end;
        if had < 2 {
            assert!(seen.insert(name, false).is_none(), "stream {name} came twice");
        }
        if came.is_none() {
            assert!(stream.is_closed && self.read == stream.written, "end of {name}");
            seen.insert(name, true);
        }
    }
}

/// A connection that an end has opened.
struct Stream {
    of: usize,
    /// Until the end is restarted.
    id: Option<ConnectionId>,
    written: usize,
    is_closed: bool,
}

struct History {
    fec: Fec,
    now: Instant,
    ends: [End; 2],
    /// What is under way, when it arrives if he lets it, and where.
    in_flight: VecDeque<(Instant, usize, Vec<u8>)>,
    remembered: VecDeque<(usize, Vec<u8>)>,
    streams: Vec<Stream>,
    /// Streams of which something has been read, and whether their end was.
    seen: BTreeMap<u16, bool>,
    draws: u64,
}

impl History {
    fn new(is_reversed: bool, fec: Fec) -> Self {
        let keys = if is_reversed { [2, 1] } else { [1, 2] };
        let ends = [0, 1].map(|end: usize| {
            let key = SecretKey::from_bytes([keys[end]; 32]);
            let endpoint =
                Endpoint::new(key.clone(), Security::Full, YEAR, Box::new(|| 0), Instant::ZERO);
            let address = address(end as u8 + 1);
            let (born, accepted) = (Instant::ZERO, Vec::new());
            End {
                key,
                endpoint,
                address,
                born,
                wrong: 0,
                is_lost: false,
                has_left: false,
                accepted,
            }
        });
        let mut history = Self {
            fec,
            now: Instant::ZERO,
            ends,
            in_flight: VecDeque::new(),
            remembered: VecDeque::new(),
            streams: Vec::new(),
            seen: BTreeMap::new(),
            draws: 0,
        };
        for end in [0, 1] {
            history.start(end, None);
        }
        history
    }

    /// The process of an end starts.
    fn start(&mut self, end: usize, kept: Option<Times>) {
        self.draws += 1;
        let mut state = self.draws;
        let entropy = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 11
        };
        let peer = self.ends[1 - end].key.public();
        let true_time = YEAR + self.now.as_nanos() + self.draws;
        let this = &mut self.ends[end];
        let calendar = true_time.saturating_add_signed(this.wrong);
        let said = this.endpoint.times().own();
        if kept.is_none() && calendar <= said {
            this.is_lost = true;
        }
        this.born = self.now;
        this.has_left = false;
        this.accepted.clear();
        let entropy = Box::new(entropy);
        this.endpoint =
            Endpoint::new(this.key.clone(), Security::Full, calendar, entropy, Instant::ZERO);
        if let Some(kept) = kept {
            this.endpoint.set_times(kept);
        }
        this.endpoint.set_fec(self.fec);
        this.endpoint.allow(peer);
        this.endpoint.listen(config());
        for stream in self.streams.iter_mut().filter(|stream| stream.of == end) {
            stream.id = None;
        }
    }

    /// The time on the clock of an end.
    fn clock(&self, end: usize) -> Instant {
        Instant::ZERO + self.now.since(self.ends[end].born)
    }

    fn step(&mut self, what: u8, [a, b, c]: [u8; 3]) {
        let end = usize::from(a % 2);
        match what % 12 {
            0 if self.streams.len() < STREAMS && !self.ends[end].has_left => {
                self.connect(end, usize::from(b) * 40 + 2);
            }
            0 => {}
            1 => self.write(usize::from(a), usize::from(b) * 40, c % 4 == 0),
            // What is under way arrives, or is lost. It takes its time, or hosts take the path for a short one.
            2 => {
                self.let_time_pass(DELAY, false);
                for _ in 0..=a % 16 {
                    self.deliver(b);
                }
            }
            3 => drop(self.in_flight.drain(..self.in_flight.len().min(usize::from(a)))),
            // It comes again, later, from elsewhere, changed, or as parts of two.
            4 => {
                let Some((to, bytes)) = self.remembered(a) else { return };
                let from = if b % 4 == 0 { self.ends[1 - to].address } else { address(b) };
                let to = if b & 0x80 != 0 { 1 - to } else { to };
                for _ in 0..=c % 8 {
                    self.give(to, from, &bytes);
                }
            }
            5 => {
                let Some((to, mut bytes)) = self.remembered(a) else { return };
                match c % 3 {
                    0 => bytes.truncate(usize::from(b)),
                    1 => {
                        let Some((_, other)) = self.remembered(b) else { return };
                        let at = usize::from(c).min(bytes.len()).min(other.len());
                        bytes.splice(at.., other[at..].iter().copied());
                    }
                    _ => {
                        let at = usize::from(b) % bytes.len().max(1);
                        bytes[at] ^= c | 1;
                    }
                }
                self.give(to, self.ends[1 - to].address, &bytes);
            }
            6 => {
                let unit = [1_000_000, 30_000_000, 200_000_000, 3_000_000_000][usize::from(b % 4)];
                self.let_time_pass(Span::from_nanos(u64::from(a % 64) * unit), false);
            }
            7 => {
                let kept = (c & 2 == 0).then(|| self.ends[end].endpoint.times().clone());
                let step = i64::from(b) * 1_000_000_000;
                self.ends[end].wrong += if c & 1 == 1 { -step } else { step };
                self.start(end, kept);
            }
            8 => {
                let now = self.clock(end);
                self.ends[end].endpoint.shut_down(now);
                self.ends[end].has_left = true;
            }
            9 => self.let_time_pass(Span::from_millis(u64::from(a) * 50), true),
            // The second one stays where it is, or they would never find each other.
            10 => self.ends[0].address = address(b.max(3)),
            _ => {
                for end in [0, 1] {
                    self.release(end, usize::from(b));
                }
            }
        }
        self.pump();
    }

    fn connect(&mut self, end: usize, len: usize) {
        let (to, peer) = (self.ends[1 - end].address, self.ends[1 - end].key.public());
        let now = self.clock(end);
        let id = self.ends[end].endpoint.connect(now, to, peer, 7, config());
        self.streams.push(Stream { of: end, id: Some(id), written: 0, is_closed: false });
        self.write(self.streams.len() - 1, len, false);
    }

    fn write(&mut self, number: usize, len: usize, closes: bool) {
        let count = self.streams.len().max(1);
        let Some(stream) = self.streams.get(number % count) else { return };
        let (end, Some(id)) = (stream.of, stream.id) else { return };
        if stream.is_closed {
            return;
        }
        let now = self.clock(end);
        let stream = &mut self.streams[number % count];
        let range = stream.written..stream.written + len;
        let mut bytes = Bytes::from(content((number % count) as u16, range.clone()));
        let cx = &mut Context::from_waker(Waker::noop());
        let _ = self.ends[end].endpoint.poll_write(now, id, &mut bytes, cx);
        stream.written = range.end - bytes.len();
        if closes && stream.written > 2 {
            stream.is_closed = true;
            self.ends[end].endpoint.close(now, id);
        }
    }

    /// The application of an end lets go of one of its connections.
    fn release(&mut self, end: usize, which: usize) {
        let now = self.clock(end);
        let accepted = &mut self.ends[end].accepted;
        if !accepted.is_empty() {
            let taken = accepted.swap_remove(which % accepted.len());
            self.ends[end].endpoint.release(now, taken.id);
        }
    }

    fn remembered(&self, n: u8) -> Option<(usize, Vec<u8>)> {
        self.remembered.get(usize::from(n) % self.remembered.len().max(1)).cloned()
    }

    /// Collects what the ends send.
    fn pump(&mut self) {
        for end in [0, 1] {
            let now = self.clock(end);
            self.ends[end].endpoint.flush(now);
            while let Some(train) = self.ends[end].endpoint.outbox().front(1) {
                let (to, bytes) = (train.route.address, train.bytes.to_vec());
                self.ends[end].endpoint.outbox().pop(bytes.len());
                if self.remembered.len() == REMEMBERED {
                    self.remembered.pop_front();
                }
                self.remembered.push_back((1 - end, bytes.clone()));
                if to == self.ends[1 - end].address {
                    self.in_flight.push_back((self.now + DELAY, 1 - end, bytes));
                }
            }
        }
    }

    /// Something of what is under way arrives.
    fn deliver(&mut self, which: u8) {
        let at = usize::from(which) % self.in_flight.len().max(1);
        if let Some((_, to, bytes)) = self.in_flight.remove(at) {
            self.give(to, self.ends[1 - to].address, &bytes);
        }
    }

    fn give(&mut self, to: usize, from: SocketAddr, bytes: &[u8]) {
        let now = self.clock(to);
        self.ends[to].endpoint.handle_datagram(now, from, Ecn::NotCapable, bytes);
        self.pump();
    }

    /// Time passes in which all that is sent arrives, or nothing.
    fn let_time_pass(&mut self, span: Span, delivers: bool) {
        let until = self.now + span;
        loop {
            self.pump();
            let arrival = self.in_flight.front().map(|(at, ..)| *at).filter(|_| delivers);
            let timers = [0, 1].map(|end| {
                let born = self.ends[end].born;
                let at = self.ends[end].endpoint.next_deadline();
                at.map(|at| born + at.since(Instant::ZERO))
            });
            let next = Instant::earliest(arrival, Instant::earliest(timers[0], timers[1]));
            let Some(next) = next.filter(|next| *next <= until) else { break };
            self.now = self.now.max(next);
            if arrival == Some(next) {
                self.deliver(0);
            } else {
                for end in [0, 1] {
                    let now = self.clock(end);
                    self.ends[end].endpoint.handle_timeout(now);
                }
            }
            self.read();
        }
        self.now = until;
    }

    /// The applications read: nothing that nobody wrote, and nothing twice.
    fn read(&mut self) {
        let cx = &mut Context::from_waker(Waker::noop());
        for end in [0, 1] {
            let now = self.clock(end);
            let this = &mut self.ends[end];
            while let Poll::Ready(id) = this.endpoint.poll_accept(cx) {
                this.accepted.push(Taken { id, name: Vec::new(), read: 0, has_ended: false });
            }
            for taken in &mut this.accepted {
                while !taken.has_ended {
                    let came = match this.endpoint.poll_read(now, taken.id, cx) {
                        Poll::Ready(Ok(Some(bytes))) => Some(bytes),
                        Poll::Ready(Ok(None)) => None,
                        Poll::Ready(Err(_)) => {
                            taken.has_ended = true;
                            break;
                        }
                        Poll::Pending => break,
                    };
                    taken.has_ended = came.is_none();
                    taken.check(end, came.as_ref(), &self.streams, &mut self.seen);
                }
                this.endpoint.was_read(taken.id);
                this.endpoint.changed(taken.id);
            }
        }
    }

    /// He lets them be, and both reach each other.
    fn heal(&mut self) {
        self.in_flight.clear();
        for end in [0, 1] {
            if self.ends[end].has_left {
                let kept = self.ends[end].endpoint.times().clone();
                self.start(end, Some(kept));
            }
        }
        self.let_time_pass(HEALED, true);
        if self.ends.iter().any(|end| end.is_lost) {
            return;
        }
        // Who has not heard of a restart finds it out by the first connection, which ends if it has sent anything.
        for attempt in [1, 2] {
            for end in [0, 1] {
                self.connect(end, 500);
                self.write(self.streams.len() - 1, 0, true);
            }
            let until = self.now + HEALED;
            let latest = self.streams.len() - 2..self.streams.len();
            let arrived = |this: &Self, number| this.seen.get(&(number as u16)) == Some(&true);
            while self.now < until {
                self.let_time_pass(DELAY * 8, true);
                if latest.clone().all(|number| arrived(self, number)) {
                    return;
                }
            }
            assert!(attempt == 1, "streams {latest:?}: not all have arrived");
        }
    }
}
