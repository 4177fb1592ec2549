//! Peers with a valid key that say anything: they get no more memory than is theirs, end nobody else's
//! connection and stop no endpoint.

mod history;
mod peer;
mod polls;
mod stage;

use bentpipe_association::endpoint::Streams as _;
use bentpipe_testkit::fuzz::bounded_runs;
use bentpipe_units::Span;
use bentpipe_wire::Ecn;
use proptest::prelude::*;

use history::{hostile_history, hostile_seeds};
use peer::{begin, data};
use stage::{LIMIT, Stage, hostile};

#[test]
fn whatever_the_bytes_are_that_a_peer_says_the_others_go_on() {
    for seed in hostile_seeds() {
        hostile_history(&seed);
    }
    bounded_runs(300, &hostile_seeds(), hostile_history);
}

#[test]
fn the_endpoint_goes_on_when_a_peer_closes_and_asks_again_while_its_connections_are_held() {
    let mut stage = Stage::new();
    stage.run(Span::from_secs(1));
    let number = stage.hostile.number(0);
    stage.say(&begin(number, 1_000));
    stage.run(Span::from_millis(10));
    assert_eq!(stage.held.len(), 1);
    // The host ends, it says.
    stage.say(&[0, 13]);
    stage.hostile.restart();
    let (_, request) = stage.hostile.request(&[]);
    let from = stage.hostile.address;
    stage.endpoint.handle_datagram(stage.now, from, Ecn::NotCapable, &request);
    stage.run(Span::from_secs(40));
    let held = stage.held.pop().expect("a connection");
    assert_eq!(stage.endpoint.peer(held), hostile());
    stage.endpoint.release(stage.now, held);
    stage.check();
}

/// One thing that a hostile peer may say.
fn saying() -> impl Strategy<Value = Vec<u8>> {
    let number = prop_oneof![Just(0u8), Just(1), Just(3), Just(2), any::<u8>()];
    prop_oneof![
        // Anything at all.
        1 => prop::collection::vec(any::<u8>(), 0..60),
        // Messages about the association, whole and cut.
        4 => (0u8..17, prop::collection::vec(any::<u8>(), 0..40)).prop_map(|(code, rest)| {
            [&[0, code][..], &rest].concat()
        }),
        // Parity over what came.
        2 => (1u16..40, 1u16..4, 0u16..4, 1u8..5, any::<u64>(), 2usize..90).prop_map(
            |(of, count, index, slices, check, len)| {
                let mut plain = vec![0, 9];
                for field in [of, count, index] {
                    plain.extend(field.to_be_bytes());
                }
                plain.push(slices);
                plain.extend(check.to_be_bytes());
                plain.resize(plain.len() + len, 3);
                plain
            }
        ),
        // Segments of all kinds.
        4 => (number, any::<u8>(), prop::collection::vec(any::<u8>(), 0..40)).prop_map(
            |(number, flags, rest)| [&[number & 0x7f, flags][..], &rest].concat()
        ),
        2 => (any::<u16>(), any::<u16>()).prop_map(|(number, mss)| begin(number.into(), mss)),
        2 => (any::<u8>(), any::<u32>()).prop_map(|(number, seq)| {
            data(number.into(), seq % 70_000, b"payload")
        }),
    ]
}

/// What a hostile peer does.
#[derive(Clone, Debug)]
enum Step {
    Say(Vec<u8>),
    Wait(u16),
    Associate { restarted: bool },
    Ask,
    Release,
    Move(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        30 => saying().prop_map(Step::Say),
        4 => (1u16..2_000).prop_map(Step::Wait),
        1 => (20_000u16..60_000).prop_map(Step::Wait),
        1 => any::<bool>().prop_map(|restarted| Step::Associate { restarted }),
        1 => Just(Step::Ask),
        1 => Just(Step::Release),
        1 => (9u8..12).prop_map(Step::Move),
    ]
}

/// How many histories are tried.
fn cases() -> u32 {
    std::env::var("BENTPIPE_HOSTILE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(200)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn whatever_a_peer_with_a_key_says_the_others_go_on(
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let mut stage = Stage::new();
        for step in steps {
            match step {
                Step::Say(plain) => stage.say(&plain),
                Step::Wait(millis) => stage.run(Span::from_millis(millis.into())),
                Step::Associate { restarted } => {
                    if restarted {
                        stage.hostile.restart();
                    }
                    stage.run(Span::from_millis(1));
                    stage.hostile.associate(&mut stage.endpoint, stage.now);
                }
                Step::Ask => {
                    let (_, request) = stage.hostile.request(&[0, 3, 1, 2, 3]);
                    let from = stage.hostile.address;
                    stage.endpoint.handle_datagram(stage.now, from, Ecn::NotCapable, &request);
                }
                Step::Release => {
                    if let Some(id) = stage.held.pop() {
                        stage.endpoint.release(stage.now, id);
                    }
                }
                Step::Move(n) => {
                    stage.hostile.address = std::net::SocketAddr::from(([10, 0, 0, n], 25_300));
                }
            }
            prop_assert!(stage.endpoint.held(hostile()) <= LIMIT);
        }
        stage.check();
    }
}
