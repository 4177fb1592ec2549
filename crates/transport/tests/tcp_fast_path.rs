//! A segment that is answered in its place is answered as it would be the general way.
//!
//! The same transfer happens twice, once with [`Connection::fast_data`] at the sink and [`Connection::fast_ack`] at
//! the source wherever they take a segment, once without. Only what may come nearer is asked for a deadline there.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bentpipe_cc::Choice;
use bentpipe_testkit::pattern;
use bentpipe_transport::tcp::recovery::Mode;
use bentpipe_transport::tcp::{Config, Connection, EcnMode, FastPath};
use bentpipe_transport::{Endpoint, Event, Host, Inspect, PathId, Ports, drain};
use bentpipe_units::{ByteCount, Instant, Span};
use bentpipe_wire::{Ecn, Segment};
use bytes::Bytes;
use proptest::prelude::*;

const PATH: PathId = PathId(0);

/// The application of an end and what the end sends.
#[derive(Default)]
struct DrainContext {
    outbox: VecDeque<Bytes>,
    closes: bool,
    inbox: Vec<u8>,
    place: Segment,
    sent: Vec<Segment>,
}

impl DrainContext {
    fn feed(&mut self, now: Instant, connection: &mut Connection) {
        while let Some(chunk) = self.outbox.front_mut() {
            let _ = connection.write(now, chunk);
            if !chunk.is_empty() {
                return;
            }
            self.outbox.pop_front();
        }
        if std::mem::take(&mut self.closes) {
            connection.close(now);
        }
    }
}

impl Host<Connection> for DrainContext {
    fn place(&mut self) -> &mut Segment {
        &mut self.place
    }

    fn transmit(&mut self, _now: Instant, _path: PathId) {
        self.sent.push(self.place.clone());
    }

    fn event(&mut self, now: Instant, connection: &mut Connection, event: Event) {
        match event {
            Event::Connected | Event::Writable => self.feed(now, connection),
            Event::Readable => {
                while let Some(bytes) = connection.read(now) {
                    self.inbox.extend_from_slice(&bytes);
                }
            }
            Event::PeerClosed => connection.close(now),
            Event::Closed | Event::Failed(_) => {}
        }
    }
}

/// One end, with the timer that its host has.
struct End {
    connection: Option<Connection>,
    context: DrainContext,
    timer: Option<Instant>,
    fast: usize,
}

impl End {
    /// Takes a segment in its place. `None` when it is to be taken the general way.
    fn take_fast(&mut self, now: Instant, sink: bool, segment: &mut Segment) -> Option<()> {
        let (connection, context) = (self.connection.as_mut()?, &mut self.context);
        let tcp = segment.tcp_mut();
        let outcome = if sink {
            connection.fast_data(now, PATH, tcp, |bytes| context.inbox.extend_from_slice(bytes))
        } else {
            connection.fast_ack(now, PATH, tcp)
        };
        match outcome {
            FastPath::NotTaken => return None,
            FastPath::Taken => assert!(tcp.payload.is_empty()),
            FastPath::Answered => context.sent.push(segment.clone()),
        }
        self.fast += 1;
        if !connection.readiness().is_quiet {
            self.drain(now);
        }
        Some(())
    }

    fn drain(&mut self, now: Instant) {
        if let Some(connection) = &mut self.connection {
            self.timer = drain(connection, now, &mut self.context);
            let _ = connection.take_timer_dirty();
        }
    }

    fn fire(&mut self, now: Instant) {
        let Some(connection) = &mut self.connection else { return };
        if connection.poll_timeout().is_some_and(|at| at <= now) {
            connection.handle_timeout(now);
            self.drain(now);
        } else {
            self.timer = connection.poll_timeout();
        }
    }
}

/// What a network does: of 1000 segments so many are lost or come late.
#[derive(Clone, Copy, Debug)]
struct Network {
    seed: u64,
    loss: u64,
    late: u64,
}

/// Everything that was sent and when, what was read and the counters; and how many took the fast path.
fn transfer(network: Network, config: &Config, bytes: usize, fast: bool) -> (Vec<String>, usize) {
    let mut state = network.seed;
    let mut draw = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % 1000
    };
    let config = Arc::new(config.clone());
    let mut now = Instant::ZERO;
    let ports = Ports { local: 49_152, peer: 5_002 };
    let source = Connection::connect(config.clone(), now, PATH, ports, 0x1234_5678_9abc);
    let mut ends = [Some(source), None].map(|connection| {
        let context = DrainContext::default();
        End { connection, context, timer: None, fast: 0 }
    });
    let file = pattern(bytes);
    let chunks = (0..bytes).step_by(8_000);
    ends[0].context.outbox = chunks.map(|at| file.slice(at..bytes.min(at + 8_000))).collect();
    ends[0].context.closes = true;
    ends[0].drain(now);
    let mut wire: BTreeMap<(Instant, usize), (usize, Segment)> = BTreeMap::new();
    let mut seen = Vec::new();
    for _ in 0..100_000 {
        for (from, end) in ends.iter_mut().enumerate() {
            for mut segment in end.context.sent.drain(..) {
                seen.push(format!("{now} {from} {segment:?}"));
                let (dice, late) = (draw(), Span::from_millis(draw() % 100));
                let late = if dice < network.loss + network.late { late } else { Span::ZERO };
                let tcp = segment.tcp_mut();
                if dice >= 950 && tcp.ecn != Ecn::NotCapable {
                    tcp.ecn = Ecn::Congestion;
                }
                if dice >= network.loss {
                    let at = now + Span::from_millis(40) + late;
                    wire.insert((at, seen.len()), (1 - from, segment));
                }
            }
        }
        let arrival = wire.keys().next().map(|(at, _)| *at);
        let timer = Instant::earliest(ends[0].timer, ends[1].timer);
        let Some(next) = Instant::earliest(arrival, timer) else { break };
        now = next;
        if arrival != Some(next) {
            let first = usize::from(ends[0].timer != Some(next));
            ends[first].fire(now);
            continue;
        }
        let Some((_, (to, mut segment))) = wire.pop_first() else { break };
        let end = &mut ends[to];
        if fast && end.take_fast(now, to == 1, &mut segment).is_some() {
            continue;
        }
        match &mut end.connection {
            Some(connection) => connection.handle_segment(now, PATH, &mut segment),
            none => *none = Connection::accept(config.clone(), now, PATH, segment.tcp_mut(), 77),
        }
        end.drain(now);
    }
    for end in &ends {
        let connection = end.connection.as_ref().expect("a connection");
        seen.push(format!("{:?} {:?}", connection.sender_state(), connection.counters()));
    }
    assert!(ends[1].context.inbox == file, "what was read is what was written");
    (seen, ends[0].fast + ends[1].fast)
}

fn networks() -> impl Strategy<Value = Network> {
    let share = || prop_oneof![Just(0), 0..30u64];
    (any::<u64>(), share(), share()).prop_map(|(seed, loss, late)| Network { seed, loss, late })
}

fn ecn_modes() -> impl Strategy<Value = EcnMode> {
    prop::sample::select(vec![EcnMode::Off, EcnMode::Classic, EcnMode::Dctcp, EcnMode::L4s])
}

fn configs() -> impl Strategy<Value = Config> {
    let controller = || prop::sample::select(vec!["reno", "cubic", "vegas", "bbr", "xcp"]);
    (
        any::<[bool; 5]>(),
        prop::sample::select(&Mode::NAMES[..]),
        ecn_modes(),
        controller(),
        1..4u32,
        4..200u64,
    )
        .prop_map(|(flags, (recovery, _), ecn, controller, ack_every, buffer)| {
            let [ns2, linux, timestamps, bursts, pacing] = flags;
            let config = match (ns2, linux) {
                (true, _) => Config::ns2(),
                (false, true) => Config::linux(),
                (false, false) => Config::default(),
            };
            Config {
                timestamps,
                ecn,
                recovery,
                ack_every,
                controller: Choice::new(controller, BTreeMap::new()).expect("a controller"),
                pacing,
                max_burst: if bursts { 4 } else { 0 },
                snd_buf: ByteCount::new(1000 * buffer),
                rcv_buf: ByteCount::new(1500 * buffer),
                syn_retries: None,
                retries: None,
                ..config
            }
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn what_is_answered_in_its_place_is_answered_as_the_general_way_does(
        network in networks(),
        config in configs(),
        bytes in 0..200_000usize,
    ) {
        let (fast, _) = transfer(network, &config, bytes, true);
        let (general, _) = transfer(network, &config, bytes, false);
        let differs = fast.iter().zip(&general).find(|(fast, general)| fast != general);
        prop_assert_eq!(differs, None);
        prop_assert_eq!(fast.len(), general.len());
    }
}

#[test]
fn most_segments_of_a_long_transfer_without_losses_are_answered_in_their_places() {
    let network = Network { seed: 1, loss: 0, late: 0 };
    let (seen, fast) = transfer(network, &Config::ns2(), 2_000_000, true);
    assert!(fast > seen.len() * 7 / 10, "{fast} of {}", seen.len());
}
