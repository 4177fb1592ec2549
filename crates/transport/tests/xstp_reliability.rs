//! What is read is what was written, whatever the network does.

use bentpipe_testkit::{Fate, Pair, pattern};
use bentpipe_transport::Endpoint;
use bentpipe_transport::xstp::{Config, ProbingConfig, StatRule, State};
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
        prop_oneof![Just(0), 0..100u64, 0..400u64],
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

fn configs() -> impl Strategy<Value = Config> {
    (
        any::<[bool; 9]>(),
        64..1500u16,
        1..64u64,
        1..64u64,
        1..6u32,
        1..6u32,
        1..20u32,
        (2..6u32, 0.0..0.5f64, 0.0..1.0f64),
    )
        .prop_map(|(flags, mss, snd, rcv, poll_rate, ustat_delay, max_burst, probe)| {
            let [
                probing,
                early_timeout,
                nagle,
                rtx_paced,
                ustat_single,
                rule,
                trigger,
                rides,
                in_data,
            ] = flags;
            let (map_size, rtt_tolerance, early_slack) = probe;
            Config {
                mss,
                // Small buffers, a window of a few segments, and not always whole ones.
                snd_buf: ByteCount::new(u64::from(mss) * snd + snd),
                rcv_buf: ByteCount::new(u64::from(mss.max(1500)) * rcv + rcv),
                poll_rate,
                poll_rides: rides,
                poll_in_data: in_data,
                poll_rate_max: if rides { poll_rate * 8 } else { 0 },
                ustat_delay,
                max_burst,
                nagle,
                rtx_paced,
                ustat_single,
                stat_max_gaps: poll_rate,
                stat_rule: if rule { StatRule::Elapsed } else { StatRule::Poll },
                probing,
                probe: ProbingConfig {
                    map_size,
                    probes_needed: 2,
                    rtt_tolerance,
                    early_timeout,
                    early_slack,
                    record_trigger_stat: trigger,
                },
                ctl_max_retries: None,
                keepalive: Span::ZERO,
                ..Config::default()
            }
        })
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
    let mut pair = Pair::new(client, server, Span::from_millis(network.delay_ms))
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
                _ => Fate::Pass,
            }
        });
    let ended = pair.run(Span::from_secs(200_000));
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
    fn the_papers_settings_deliver_with_probing_on_and_off(
        network in networks(),
        probing in any::<bool>(),
        forth in 0..200_000usize,
    ) {
        let config = Config { probing, ..Config::paper() };
        transfers(&network, config.clone(), config, forth, 0);
    }
}
