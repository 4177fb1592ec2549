//! A peer that says anything at all: nothing panics, nothing hangs, nothing grows.

use bentpipe_testkit::{Direction, Pair, pattern};
use bentpipe_transport::tcp::recovery::Mode;
use bentpipe_transport::tcp::{Config, EcnMode};
use bentpipe_units::{Instant, Seq32, Span};
use bentpipe_wire::Ecn;
use bentpipe_wire::tcp::{Flags, Options, SackBlock, Segment, SynOptions, Timestamps};
use proptest::prelude::*;

/// Numbers around those that the connections use: the ends begin at 1000 and at 0x2000.
fn numbers() -> impl Strategy<Value = Seq32> {
    prop_oneof![
        4 => 900..202_000u32,
        4 => 0x1ff0..0x7000u32,
        1 => any::<u32>(),
    ]
    .prop_map(Seq32::new)
}

fn options() -> impl Strategy<Value = Options> {
    let block = || (numbers(), numbers()).prop_map(|(first, end)| SackBlock { first, end });
    prop_oneof![
        3 => Just(Options::None),
        3 => prop::collection::vec(block(), 1..5)
            .prop_map(|blocks| Options::Sack(blocks.into_iter().collect())),
        1 => (any::<u16>(), prop::option::of(0..15u8), any::<bool>()).prop_map(
            |(mss, window_shift, sack_permitted)| {
                Options::Syn(SynOptions { mss: Some(mss), window_shift, sack_permitted, scps: None })
            }
        ),
    ]
}

fn segments() -> impl Strategy<Value = (bool, Segment)> {
    let flags = prop_oneof![
        12 => Just(0x10u8),
        2 => Just(0x11u8),
        2 => any::<u8>(),
    ];
    (
        any::<bool>(),
        flags,
        (numbers(), numbers(), prop_oneof![Just(0), 0..9u16, any::<u16>()]),
        prop_oneof![Just(0usize), 1..3usize, 1..1500usize],
        prop::option::of((0..20_000u32, 0..20_000u32)),
        options(),
    )
        .prop_map(|(forth, flags, (seq, ack, window), len, stamps, options)| {
            let (source_port, destination_port) = if forth { (5001, 5002) } else { (5002, 5001) };
            let segment = Segment {
                source_port,
                destination_port,
                seq,
                ack,
                flags: Flags::from_bits(flags),
                ecn: if len % 7 == 1 { Ecn::Congestion } else { Ecn::NotCapable },
                window,
                timestamps: stamps.map(|(value, echo)| Timestamps { value, echo }),
                options,
                payload: pattern(len),
                ..Segment::default()
            };
            (forth, segment)
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn forged_segments_of_any_kind_neither_panic_nor_hang_nor_fill_the_memory(
        (recovery, _) in prop::sample::select(&Mode::NAMES[..]),
        [linux, timestamps, keeps_alive] in any::<[bool; 3]>(),
        ecn in prop::sample::select(vec![EcnMode::Off, EcnMode::Classic, EcnMode::Dctcp]),
        forged in prop::collection::vec((0..200u64, segments()), 1..60),
    ) {
        let keepalive = if keeps_alive { Span::from_secs(2) } else { Span::ZERO };
        let settings = if linux { Config::linux() } else { Config::default() };
        let config = Config { recovery, timestamps, ecn, keepalive, ..settings };
        let mut pair = Pair::tcp(config.clone(), config, Span::from_millis(100))
            .sending(pattern(200_000))
            .answering(pattern(20_000));
        let mut at = 0;
        for (wait, (forth, segment)) in forged {
            at += wait;
            pair.run_to(Instant::from_nanos(at * 1_000_000));
            pair.inject(if forth { Direction::Forward } else { Direction::Return }, segment);
        }
        pair.run_to(Instant::from_nanos((at + 60_000) * 1_000_000));
        // Every answer has a cause: forged segments cannot make the ends talk without end.
        prop_assert!(pair.log.len() < 5_000, "{} segments", pair.log.len());
        // What was delivered cannot exceed what was sent by more than what was forged.
        prop_assert!(pair.server.inbox.len() <= 200_000 + 60 * 1_500);
    }
}
