//! Clients that read nothing for a while, behind every kind of proxy.

use std::collections::BTreeMap;

use bentpipe_cc::Choice;
use bentpipe_pep::split::{Config, Side};
use bentpipe_transport::tcp::recovery::Mode;
use bentpipe_transport::{tcp, xstp};
use bentpipe_units::{ByteCount, Span};
use proptest::prelude::*;

use super::LONG;
use super::world::{Leg, World, pattern};

/// What runs between the two proxies.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Plain splitting.
    Tcp,
    /// AeroTCP.
    Aero,
    /// The satellite gateway of Zhou and Baras.
    Gateway,
    /// XCP, with routers that grant whatever is asked for.
    Xcp,
    /// Windows that are given from outside.
    SaTpep,
    /// XSTP.
    Xstp { probing: bool },
    /// One stream of SCTP.
    Sctp,
}

const KINDS: [Kind; 8] = [
    Kind::Tcp,
    Kind::Aero,
    Kind::Gateway,
    Kind::Xcp,
    Kind::SaTpep,
    Kind::Xstp { probing: false },
    Kind::Xstp { probing: true },
    Kind::Sctp,
];

/// A controller with the values that it has by itself.
fn controller(name: &str) -> Choice {
    Choice::new(name, BTreeMap::new()).expect("a controller")
}

impl Kind {
    /// The leg between the proxies; neither holds more than `buffer` because of it.
    fn leg(self, buffer: u64) -> Leg {
        let plain = match Leg::tcp(buffer) {
            Leg::Tcp(config) => config,
            other => return other,
        };
        Leg::Tcp(match self {
            Self::Tcp | Self::SaTpep => plain,
            Self::Aero => {
                tcp::Config { recovery: Mode::Aero, controller: controller("fixed"), ..plain }
            }
            Self::Gateway => {
                let gateway = tcp::Config {
                    mss: 512,
                    recovery: Mode::DepartureOrder,
                    release_reported: true,
                    window_in_segments: true,
                    controller: controller("fixed"),
                    ..plain
                };
                // A window may be stated too large by less than its unit.
                let rcv_buf = ByteCount::new(buffer + 1 - gateway.window_unit());
                tcp::Config { rcv_buf, ..gateway }
            }
            Self::Xcp => tcp::Config { controller: controller("xcp"), ..plain },
            Self::Xstp { probing } => {
                let (snd_buf, rcv_buf) = (ByteCount::new(buffer), ByteCount::new(buffer));
                return Leg::Xstp(xstp::Config {
                    snd_buf,
                    rcv_buf,
                    probing,
                    ..xstp::Config::paper()
                });
            }
            Self::Sctp => return Leg::of(2, buffer),
        })
    }
}

/// A run in which the client reads nothing at times.
#[derive(Clone, Debug)]
struct Case {
    kind: Kind,
    buffers: [u64; 3],
    config: Config,
    seed: u64,
    loss: u64,
    size: usize,
    /// The client stops to read after the first of these times and goes on after the second.
    stalls: Vec<(u64, u64)>,
    /// It gives up in the end instead of going on.
    gives_up: bool,
}

fn cases() -> impl Strategy<Value = Case> {
    let config = (any::<bool>(), prop::option::of(0..20_000u64)).prop_map(|(paced, spoof)| {
        Config { paced, spoof_window: spoof.map(ByteCount::new), buffer: None }
    });
    (
        prop::sample::select(&KINDS[..]),
        prop::array::uniform3(5_000..50_000u64),
        config,
        (any::<u64>(), prop_oneof![Just(0), 0..100u64], 0..200_000usize),
        prop::collection::vec((0..5_000u64, 1..60_000u64), 1..3),
        any::<bool>(),
    )
        .prop_map(|(kind, buffers, config, (seed, loss, size), stalls, gives_up)| {
            // Who frees what is reported cannot wait for the acknowledgement of it.
            let waits = !matches!(kind, Kind::Gateway);
            let spoof_window = config.spoof_window.filter(|_| waits);
            let config = Config { spoof_window, ..config };
            Case { kind, buffers, config, seed, loss, size, stalls, gives_up }
        })
}

fn run(case: &Case) -> World {
    let [first, second, third] = case.buffers;
    let legs = vec![Leg::tcp(first), case.kind.leg(second), Leg::tcp(third)];
    let mut world = World::new(legs, case.config, case.seed);
    world.loss = case.loss;
    world.granted = matches!(case.kind, Kind::SaTpep).then_some(2);
    world.source().outbox = pattern(case.size);
    // SCTP ends in both directions at once.
    world.sink().answers_last = true;
    let mut at = Span::ZERO;
    for (reads, stalls) in &case.stalls {
        at = at + Span::from_millis(*reads);
        world.run(at);
        world.sink().stalled = true;
        at = at + Span::from_millis(*stalls);
        world.run(at);
        // What the source wrote is in its own buffer, in those of the proxies, and at the client.
        let written = case.size - world.source().outbox.len();
        let waits = (written - world.sink().inbox.len()) as u64;
        assert!(
            waits <= first + first + second + third,
            "{waits} wait, of which the proxies hold {:?}",
            world.relays.iter().map(|r| r.occupied(Side::Near).get()).collect::<Vec<_>>()
        );
        world.sink().stalled = false;
        if !case.gives_up {
            world.change(true, |_, _| {});
        }
    }
    if case.gives_up {
        world.change(true, |endpoint, now| endpoint.abort(now));
    }
    assert!(world.run(LONG), "it never ends");
    for (most, buffer) in world.most.iter().zip([first, second]) {
        assert!(most[0] <= buffer, "{most:?} of {buffer}");
    }
    world
}

/// The client of SCTP between proxies reads on while the association is closing.
fn reads_on(buffers: [u64; 3], (seed, loss): (u64, u64), size: usize, stall: (u64, u64)) {
    let config = Config { paced: false, spoof_window: None, buffer: None };
    let stalls = vec![stall];
    let case =
        Case { kind: Kind::Sctp, buffers, config, seed, loss, size, stalls, gives_up: false };
    let mut world = run(&case);
    assert!(world.sink().inbox == pattern(size) && world.sink().saw_the_end());
}

#[test]
fn a_client_that_reads_on_while_sctp_is_closing_gets_the_rest() {
    // SHUTDOWN COMPLETE is lost.
    let lost = (14_257_497_701_350_310_509, 60);
    reads_on([18_598, 21_720, 36_652], lost, 89_777, (2_150, 3_900));
}

#[test]
fn no_heartbeat_aborts_what_the_client_has_not_read_while_sctp_is_closing() {
    // SHUTDOWN COMPLETE is lost, and a HEARTBEAT is due before SHUTDOWN ACK leaves again.
    let lost = (9_001_077_978_131_609_872, 70);
    reads_on([6_337, 42_001, 36_755], lost, 120_030, (1_282, 13_019));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn whatever_runs_between_proxies_they_hold_their_buffers_while_the_client_reads_nothing(
        case in cases(),
    ) {
        let mut world = run(&case);
        let sent = pattern(case.size);
        let whole = world.sink().inbox == sent;
        prop_assert!(sent.starts_with(&world.sink().inbox));
        prop_assert!(whole || !world.sink().saw_the_end(), "an end before the last byte");
        if !case.gives_up {
            prop_assert!(whole && world.sink().saw_the_end(), "lost without a reset");
            prop_assert!(!world.source().failed());
        }
    }
}
