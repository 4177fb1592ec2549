//! A peer with a valid key to which the endpoint sends lies about what it has: the endpoint goes on.

mod attack;

use attack::{World, begin, report};
use bentpipe_association::endpoint::{ConnectionId, Streams as _};
use bentpipe_association::{Share, Tuning};
use bentpipe_units::{BitRate, Seq32, Span};
use bentpipe_wire::xstp::Body;
use bytes::Bytes;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Run(u32),
    /// A STAT about the latest POLL, or one that many ticks away.
    Stat {
        off: i32,
        next: u32,
        window: u16,
        gaps: Vec<(u16, u16)>,
    },
    Ustat {
        next: u32,
        window: u16,
        gaps: Vec<(u16, u16)>,
    },
    All {
        window: u16,
    },
    Say(Vec<u8>),
    Write(u32),
    Begin(u16),
    Rate(u64),
    Calm(u32),
}

fn gaps() -> impl Strategy<Value = Vec<(u16, u16)>> {
    prop::collection::vec((0u16..60, 1u16..60), 0..20).prop_map(|all| {
        let mut at = 0u16;
        all.into_iter()
            .enumerate()
            .map(|(n, (hole, len))| {
                let lower = if n == 0 { 0 } else { at + hole + 1 };
                at = lower + len;
                (lower, at)
            })
            .collect()
    })
}

fn window() -> impl Strategy<Value = u16> {
    prop_oneof![Just(0u16), Just(1), Just(u16::MAX), any::<u16>()]
}

fn step() -> impl Strategy<Value = Step> {
    let off = prop_oneof![4 => Just(0i32), 1 => -300i32..3, 1 => any::<i32>()];
    let next = prop_oneof![3 => 0u32..5_000, 1 => any::<u32>(), 1 => Just(u32::MAX)];
    prop_oneof![
        8 => (0u32..400_000).prop_map(Step::Run),
        1 => (1_000_000u32..90_000_000).prop_map(Step::Run),
        6 => (off, next.clone(), window(), gaps())
            .prop_map(|(off, next, window, gaps)| Step::Stat { off, next, window, gaps }),
        4 => (next, window(), gaps())
            .prop_map(|(next, window, gaps)| Step::Ustat { next, window, gaps }),
        8 => window().prop_map(|window| Step::All { window }),
        2 => (1u8..16, prop::collection::vec(any::<u8>(), 0..20))
            .prop_map(|(code, rest)| Step::Say([&[0, code][..], &rest].concat())),
        4 => (1u32..3_000_000).prop_map(Step::Write),
        1 => prop_oneof![Just(1u16), Just(64), any::<u16>()].prop_map(Step::Begin),
        1 => prop_oneof![Just(1u64), 1_000u64..1_000_000_000_000].prop_map(Step::Rate),
        2 => (1u32..200).prop_map(Step::Calm),
    ]
}

struct Liar {
    world: World,
    number: u32,
    oldest: u32,
    near: u32,
    poll: Option<u32>,
    id: ConnectionId,
}

impl Liar {
    fn hear(&mut self) {
        for (number, segment) in self.world.segments(Seq32::new(self.near)) {
            if number != self.number {
                continue;
            }
            let end = segment.seq.plus(u32::from(segment.payload_len() > 0));
            if let Body::BeginAck(_) = &segment.body {
                (self.oldest, self.near) = (segment.seq.get(), segment.seq.get());
            } else if end.is_after(Seq32::new(self.near)) {
                self.near = end.get();
            }
            if let Body::Flow(flow) = &segment.body
                && flow.poll.is_some()
            {
                self.poll = flow.poll;
            }
        }
    }

    fn begin(&mut self, n: u32, mss: u16) {
        self.number = self.world.number(n);
        self.world.say(&begin(self.number, mss.max(1)));
        self.world.flush(true);
        self.hear();
        if let Some(id) = self.world.held.last() {
            self.id = *id;
        }
    }

    fn write(&mut self, bytes: usize) {
        let mut left = Bytes::from(vec![7; bytes]);
        self.world.write(self.id, &mut left);
        self.world.endpoint.changed(self.id);
    }
}

fn tunings() -> impl Strategy<Value = Tuning> {
    prop_oneof![
        Just(Tuning::default()),
        Just(Tuning { rate: Some(BitRate::from_bps(20_000_000)), ..Tuning::default() }),
        Just(Tuning { probing: Some(true), ..Tuning::default() }),
        prop::sample::select(vec!["bbr", "bbr3", "reno", "vegas", "westwood"])
            .prop_map(|name| Tuning { controller: Some(name.to_owned()), ..Tuning::default() }),
    ]
}

fn cases() -> u32 {
    std::env::var("BENTPIPE_HOSTILE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(300)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_shrink_iters: 300, ..ProptestConfig::default() })]

    #[test]
    fn whatever_a_peer_says_it_has_the_endpoint_goes_on(
        tuning in tunings(),
        share in prop::option::of(1u64..100_000_000),
        mss in prop_oneof![Just(64u16), Just(1_400), any::<u16>()],
        steps in prop::collection::vec(step(), 1..150),
    ) {
        let mut world = World::new(tuning.config().expect("settings"), 100_000_000, 1_000);
        let peer = world.public();
        if let Some(rate) = share {
            let rate = BitRate::from_bps(rate);
            world.endpoint.set_rate(world.now, 0, rate);
            world.endpoint.set_share(world.now, 0, peer, Share { rate, weight: 1 });
        }
        let number = world.number(0);
        world.say(&begin(number, mss.max(1)));
        world.flush(true);
        let Some(&id) = world.held.last() else { return Ok(()) };
        let mut liar = Liar { world, number, oldest: 0, near: 0, poll: None, id };
        liar.hear();
        liar.write(1_000_000);
        let mut opened = 0;
        for step in steps {
            // No round trip of nothing: another test has that.
            liar.world.now += Span::from_millis(20);
            match step {
                Step::Run(micros) => {
                    let turns = liar.world.run(Span::from_micros(micros.into()), true);
                    prop_assert!(turns < 1_900_000, "{turns} turns");
                    // Only what follows can be heard.
                }
                Step::Stat { off, next, window, gaps } => {
                    let echo = liar.poll.unwrap_or(1).wrapping_add_signed(off);
                    let plain = report(liar.number, Some(echo), liar.oldest.wrapping_add(next), window, &gaps);
                    liar.world.say(&plain);
                }
                Step::Ustat { next, window, gaps } => {
                    let plain = report(liar.number, None, liar.oldest.wrapping_add(next), window, &gaps);
                    liar.world.say(&plain);
                }
                Step::All { window } => {
                    if let Some(poll) = liar.poll.take() {
                        liar.world.say(&report(liar.number, Some(poll), liar.near, window, &[]));
                        liar.oldest = liar.near;
                    }
                }
                Step::Say(plain) => {
                    liar.world.say(&plain);
                    if plain[1] == 13 {
                        liar.world.associate(&[]);
                        opened += 1;
                        liar.begin(opened, mss);
                    }
                }
                Step::Write(bytes) => liar.write(bytes as usize),
                Step::Begin(mss) => {
                    opened += 1;
                    liar.begin(opened, mss);
                    liar.write(500_000);
                }
                Step::Rate(rate) => {
                    let rate = BitRate::from_bps(rate);
                    let now = liar.world.now;
                    liar.world.endpoint.set_rate(now, 0, rate);
                    liar.world.endpoint.set_share(now, 0, peer, Share { rate, weight: 1 });
                }
                Step::Calm(times) => {
                    // For a while everything is acknowledged.
                    for _ in 0..times {
                        liar.world.run(Span::from_millis(5), true);
                        liar.hear();
                        liar.world.run(Span::from_millis(20), true);
                        if let Some(poll) = liar.poll.take() {
                            let plain = report(liar.number, Some(poll), liar.near, u16::MAX, &[]);
                            liar.world.say(&plain);
                            liar.oldest = liar.near;
                        }
                    }
                }
            }
            liar.world.flush(true);
            liar.hear();
            if liar.world.now.as_nanos() > 170_000_000_000 {
                break;
            }
        }
    }
}
