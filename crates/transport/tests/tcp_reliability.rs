//! What is read is what was written, whatever the network does.

use bentpipe_testkit::{Fate, Pair, pattern};
use bentpipe_transport::Endpoint;
use bentpipe_transport::tcp::recovery::Mode;
use bentpipe_transport::tcp::{Config, EcnMode, InitialWindow, RtoMargin, State};
use bentpipe_units::{ByteCount, Span};
use proptest::prelude::*;

/// A network that loses, repeats, delays and goes dark, both ways.
#[derive(Clone, Debug)]
struct Network {
    seed: u64,
    delay_ms: u64,
    loss: u64,
    twice: u64,
    late: u64,
    late_ms: u64,
    blackouts: Vec<(u64, u64)>,
}

fn networks() -> impl Strategy<Value = Network> {
    (
        any::<u64>(),
        1..300u64,
        prop_oneof![Just(0), 0..100u64, 0..300u64],
        0..100u64,
        0..300u64,
        1..500u64,
        prop::collection::vec((0..20_000u64, 0..8_000u64), 0..3),
    )
        .prop_map(|(seed, delay_ms, loss, twice, late, late_ms, blackouts)| Network {
            seed,
            delay_ms,
            loss,
            twice,
            late,
            late_ms,
            blackouts,
        })
}

fn ecn_modes() -> impl Strategy<Value = EcnMode> {
    prop::sample::select(vec![EcnMode::Off, EcnMode::Classic, EcnMode::Dctcp, EcnMode::L4s])
}

fn configs() -> impl Strategy<Value = Config> {
    (
        (any::<[bool; 9]>(), any::<[bool; 4]>(), ecn_modes()),
        (64..1500u16, 1..64u64, 1..64u64, 0..5u32),
        prop::sample::select(&Mode::NAMES[..]),
        prop_oneof![
            Just(InitialWindow::Rfc3390),
            Just(InitialWindow::Rfc6928),
            (1..20u32).prop_map(InitialWindow::Segments),
        ],
        (1..5u32, 1..33u32, 0..4u32, 0..500u64),
    )
        .prop_map(
            |(
                (flags, linux, ecn),
                (mss, snd, rcv, max_burst),
                (recovery, _),
                initial_window,
                acks,
            )| {
                let [probe, proportional, linux_margin, grows] = linux;
                let [scaling, timestamps, sack, dsack, limited, nagle, every, adaptive, at_once] =
                    flags;
                let (dup_threshold, ack_every, quick_acks, ack_delay_ms) = acks;
                Config {
                    mss,
                    snd_buf: ByteCount::new(u64::from(mss) * snd + snd),
                    rcv_buf: ByteCount::new(u64::from(mss) * rcv + rcv),
                    window_scaling: scaling,
                    timestamps,
                    sack: sack
                        || matches!(
                            recovery,
                            Mode::Sack
                                | Mode::Fack
                                | Mode::Rack
                                | Mode::DepartureOrder
                                | Mode::Snack
                        ),
                    dsack,
                    ecn,
                    recovery,
                    tail_loss_probe: probe,
                    proportional_reduction: proportional,
                    rto_margin: if linux_margin { RtoMargin::Linux } else { RtoMargin::Rfc6298 },
                    rcv_buf_initial: grows.then(|| ByteCount::new(mss.into())),
                    compressed_acks: Span::from_millis(if grows { 1 } else { 0 }),
                    dup_threshold,
                    limited_transmit: limited,
                    aero_adaptive: adaptive,
                    initial_window,
                    max_burst,
                    nagle,
                    sample_every_ack: every,
                    syn_retries: None,
                    retries: None,
                    ack_every,
                    ack_delay: Span::from_millis(ack_delay_ms),
                    quick_acks,
                    ack_disorder_at_once: at_once,
                    ..Config::default()
                }
            },
        )
}

/// Runs a transfer both ways and checks that everything arrives and everything ends.
fn transfers(network: &Network, client: Config, server: Config, forth: usize, back: usize) {
    let mut state = network.seed;
    let mut draw = move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % 1000
    };
    let net = network.clone();
    let mut pair = Pair::tcp(client, server, Span::from_millis(network.delay_ms))
        .sending(pattern(forth))
        .answering(pattern(back))
        .with_script(move |crossing| {
            let ms = crossing.at.as_nanos() / 1_000_000;
            if net.blackouts.iter().any(|(from, lasts)| (*from..from + lasts).contains(&ms)) {
                return Fate::Drop;
            }
            let dice = draw();
            let late = Span::from_millis(draw() % net.late_ms);
            match dice {
                n if n < net.loss => Fate::Drop,
                n if n < net.loss + net.twice => Fate::Twice(late),
                n if n < net.loss + net.twice + net.late => Fate::Late(late),
                n if n >= 950 => Fate::Marked,
                _ => Fate::Pass,
            }
        });
    let ended = pair.run(Span::from_secs(2_000_000));
    assert_eq!(pair.server.inbox.len(), forth, "{network:?}");
    assert_eq!(pair.server.inbox, pattern(forth));
    assert_eq!(pair.client.inbox, pattern(back));
    assert!(ended, "the run never ends: {network:?}");
    for end in [&pair.client, &pair.server] {
        let session = end.session.as_ref().expect("a session");
        assert_eq!(session.state(), State::Closed);
        assert_eq!(session.poll_timeout(), None, "a timer is left running");
        assert!(session.is_closed());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn what_is_read_is_what_was_written_whatever_is_lost_reordered_or_repeated(
        network in networks(),
        client in configs(),
        server in configs(),
        forth in 0..40_000usize,
        back in 0..10_000usize,
    ) {
        transfers(&network, client, server, forth, back);
    }

    #[test]
    fn all_presets_deliver_in_every_mode_of_recovery(
        network in networks(),
        settings in prop::sample::select(vec![Config::ns2(), Config::default(), Config::linux()]),
        (recovery, _) in prop::sample::select(&Mode::NAMES[..]),
        forth in 0..300_000usize,
    ) {
        let config = Config { recovery, retries: None, syn_retries: None, ..settings };
        transfers(&network, config.clone(), config, forth, 0);
    }
}
