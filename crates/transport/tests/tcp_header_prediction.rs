//! The short ways of header prediction lead where the general ones lead.
//!
//! The same transfer happens twice. The second time every segment carries an option that no end acts on but
//! that no plain segment has, and bursts have a limit that none reaches, so that all segments are taken and written
//! the general way.

use std::collections::BTreeMap;
use std::sync::Arc;

use bentpipe_cc::Choice;
use bentpipe_testkit::protocol::Protocol;
use bentpipe_testkit::{Fate, Pair, Tcp, pattern};
use bentpipe_transport::tcp::recovery::Mode;
use bentpipe_transport::tcp::{Config, Connection, EcnMode};
use bentpipe_transport::{Inspect, PathId, Ports};
use bentpipe_units::{ByteCount, Instant, Span};
use bentpipe_wire::tcp::{Scps, Segment};
use bentpipe_wire::{Kind, Segment as AnySegment};
use proptest::prelude::*;

/// TCP whose segments arrive with the end of a record in each of them.
#[derive(Clone, Copy, Debug)]
struct Marked;

impl Protocol for Marked {
    type Endpoint = Connection;
    type Config = Config;
    type Segment = Segment;

    fn validate(config: &Config) {
        Tcp::validate(config);
    }

    fn connect(
        config: Arc<Config>,
        now: Instant,
        path: PathId,
        ports: Ports,
        entropy: u64,
    ) -> Connection {
        Tcp::connect(config, now, path, ports, entropy)
    }

    fn accept(
        config: Arc<Config>,
        now: Instant,
        path: PathId,
        segment: &Segment,
        entropy: u64,
    ) -> Option<Connection> {
        Tcp::accept(config, now, path, segment, entropy)
    }

    fn no_session_reset(segment: &Segment) -> Option<Segment> {
        Tcp::no_session_reset(segment)
    }

    fn is_gone(endpoint: &Connection) -> bool {
        Tcp::is_gone(endpoint)
    }

    fn into_any(segment: Segment) -> AnySegment {
        Tcp::into_any(Segment { scps: Scps::RECORD_BOUNDARY, ..segment })
    }

    fn taken_from(segment: AnySegment) -> Segment {
        Tcp::taken_from(segment)
    }

    fn kind(segment: &Segment) -> Kind {
        Tcp::kind(segment)
    }
}

/// What a network does: of 1000 segments so many are lost, come twice or come late.
#[derive(Clone, Copy, Debug)]
struct Network {
    seed: u64,
    loss: u64,
    twice: u64,
    late: u64,
}

/// A transfer both ways: everything that was sent and when, and the senders and counters at the end.
fn transfer<P>(network: Network, config: &Config, forth: usize, back: usize) -> Vec<String>
where
    P: Protocol<Endpoint = Connection, Config = Config, Segment = Segment>,
{
    let mut state = network.seed;
    let mut draw = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % 1000
    };
    let mut pair = Pair::<P>::of(config.clone(), config.clone(), Span::from_millis(40))
        .sending(pattern(forth))
        .answering(pattern(back))
        .with_script(move |_| {
            let (dice, late) = (draw(), Span::from_millis(draw() % 100));
            match dice {
                n if n < network.loss => Fate::Drop,
                n if n < network.loss + network.twice => Fate::Twice(late),
                n if n < network.loss + network.twice + network.late => Fate::Late(late),
                n if n >= 950 => Fate::Marked,
                _ => Fate::Pass,
            }
        });
    let ended = pair.run(Span::from_secs(2_000_000));
    let mut seen: Vec<_> = pair
        .log
        .iter()
        .map(|crossing| {
            let Segment { seq, ack, flags, window, timestamps, options, payload, .. } =
                &crossing.segment;
            let (at, direction, len) = (crossing.at, crossing.direction, payload.len());
            format!(
                "{at} {direction:?} {seq:?} {ack:?} {flags:?} {window} {timestamps:?} {options:?} {len}"
            )
        })
        .collect();
    for end in [&pair.client, &pair.server] {
        let session = end.session.as_ref().expect("a session");
        let (sender, counters) = (session.sender_state(), session.counters());
        seen.push(format!("{ended} {:?} {sender:?} {counters:?}", end.events));
    }
    seen
}

fn networks() -> impl Strategy<Value = Network> {
    let share = || prop_oneof![Just(0), 0..30u64];
    (any::<u64>(), share(), share(), share()).prop_map(|(seed, loss, twice, late)| Network {
        seed,
        loss,
        twice,
        late,
    })
}

fn ecn_modes() -> impl Strategy<Value = EcnMode> {
    prop::sample::select(vec![EcnMode::Off, EcnMode::Classic, EcnMode::Dctcp, EcnMode::L4s])
}

fn configs() -> impl Strategy<Value = Config> {
    let controller = || prop::sample::select(vec!["reno", "cubic", "vegas", "westwood", "bbr"]);
    (
        any::<[bool; 7]>(),
        prop::sample::select(&Mode::NAMES[..]),
        ecn_modes(),
        controller(),
        1..4u32,
        4..200u64,
    )
        .prop_map(|(flags, (recovery, _), ecn, controller, ack_every, buffer)| {
            let [ns2, linux, timestamps, nagle, every, bursts, pacing] = flags;
            let config = match (ns2, linux) {
                (true, _) => Config::ns2(),
                (false, true) => Config::linux(),
                (false, false) => Config::default(),
            };
            Config {
                timestamps,
                ecn,
                nagle,
                recovery,
                ack_every,
                controller: Choice::new(controller, BTreeMap::new()).expect("a controller"),
                sample_every_ack: every,
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
    fn plain_segments_do_what_they_would_do_the_general_way(
        network in networks(),
        config in configs(),
        forth in 0..200_000usize,
        back in prop_oneof![Just(0), 0..60_000usize],
    ) {
        let plain = transfer::<Tcp>(network, &config, forth, back);
        let max_burst = if config.max_burst == 0 { u32::MAX } else { config.max_burst };
        let general = transfer::<Marked>(network, &Config { max_burst, ..config }, forth, back);
        let differs = plain.iter().zip(&general).find(|(plain, general)| plain != general);
        prop_assert_eq!(differs, None);
        prop_assert_eq!(plain.len(), general.len());
    }
}
