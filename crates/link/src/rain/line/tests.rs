use bentpipe_units::{ByteCount, Percent, Span};
use bentpipe_wire::Kind;
use proptest::prelude::*;

use super::super::attenuation::DrawnRain;
use super::super::coding::Acm;
use super::super::modcod::Modcod;
use super::super::testing::path;
use super::*;
use crate::{Carried, Description, Direction, Hop, ModelSpec, Path, Streams, Timeline};

/// 1,000 bytes take a millisecond in clear sky.
const CLEAR: BitRate = BitRate::from_bps(8_000_000);
/// 32APSK 9/10 with a margin of 1 dB.
const CLEAR_SKY: Decibels = Decibels(17.1);

fn ms(n: u64) -> Instant {
    Instant::ZERO + Span::from_millis(n)
}

fn file(steps: &[(u64, f64)]) -> Attenuation {
    let steps = steps.iter().map(|(at, db)| (ms(*at), Decibels(*db))).collect();
    Attenuation::Trace(Timeline::new(steps, None).expect("steps"))
}

fn drawn(exceeded: f64) -> Attenuation {
    let step = Span::from_secs(1);
    let rain = DrawnRain::new(&path(20.0), Percent(5.0), Some(Percent(exceeded)), step);
    Attenuation::Drawn(rain.expect("rain"))
}

fn adaptive(delay: Span) -> Coding {
    Coding::Adaptive(Acm { delay, ..Acm::default() })
}

fn line(coding: &Coding, attenuation: Attenuation, seed: u64) -> RainLine {
    let spec = RainSpec::new(CLEAR, QueueLimit::Unlimited, CLEAR_SKY, coding, attenuation);
    let streams = Streams::new(seed);
    RainLine::new(&spec.expect("a line"), streams.stream("rain"), streams.stream("losses"))
}

fn offer(line: &mut RainLine, at: Instant) -> Fate {
    line.pass(at, &Passing { bytes: ByteCount::new(1_000), kind: Kind::DATA })
}

/// Milliseconds that a packet takes which enters then; `None` for one that is lost.
fn takes(line: &mut RainLine, at: u64) -> Option<f64> {
    match offer(line, ms(at)) {
        Fate::Leaves(leaves) => Some(leaves.since(ms(at)).as_secs_f64() * 1e3),
        _ => None,
    }
}

#[test]
fn the_rate_falls_with_the_spectral_efficiency_of_what_gets_through() {
    // 17.1 dB less so much: 9.1 dB carry 8PSK 3/4, 4.1 dB QPSK 2/3, each with 1 dB of margin.
    let steps = [(0, 0.0), (100, 8.0), (200, 13.0), (300, 0.0)];
    let mut line = line(&adaptive(Span::ZERO), file(&steps), 1);
    let efficiencies = [4.453027, 2.228124, 1.322253, 4.453027];
    for (at, efficiency) in [50, 150, 250, 350].into_iter().zip(efficiencies) {
        let took = takes(&mut line, at).expect("it arrives");
        assert!((took - 4.453027 / efficiency).abs() < 1e-4, "{at} ms: {took}");
    }
}

#[test]
fn until_the_modulation_has_followed_what_is_sent_is_lost() {
    let steps = [(0, 0.0), (100, 8.0), (1_000, 0.0)];
    let mut line = line(&adaptive(Span::from_millis(600)), file(&steps), 1);
    assert_eq!(takes(&mut line, 99), Some(1.0));
    for at in [100, 400, 690] {
        assert_eq!(offer(&mut line, ms(at)), Fate::Lost(LossCause::Channel), "{at} ms");
    }
    assert!(takes(&mut line, 700).is_some_and(|took| took > 1.99), "it has followed");
    // It is slow for as long after the shower, and loses nothing.
    assert!(takes(&mut line, 1_500).is_some_and(|took| took > 1.99));
    assert_eq!(takes(&mut line, 1_600), Some(1.0));
}

#[test]
fn where_not_even_the_most_robust_gets_through_the_link_is_down() {
    let steps = [(0, 0.0), (100, 21.0), (200, 0.0)];
    let mut line = line(&adaptive(Span::ZERO), file(&steps), 1);
    assert_eq!(takes(&mut line, 50), Some(1.0));
    assert_eq!(offer(&mut line, ms(110)), Fate::Lost(LossCause::Blackout));
    assert_eq!(takes(&mut line, 250), Some(1.0));
}

#[test]
fn constant_coding_keeps_its_rate_and_loses_below_its_threshold() {
    let modcod = Modcod::named("8PSK 3/4").expect("it is there");
    // 7.92 dB, 7.61 dB, which is 0.3 dB below the threshold, and 7.5 dB.
    let steps = [(0, 0.0), (10_000, 9.18), (20_000, 9.49), (30_000, 9.6)];
    let mut line = line(&Coding::Constant(modcod), file(&steps), 1);
    let mut lost =
        |from: u64| (0..2_000).filter(|n| takes(&mut line, from + 4 * n).is_none()).count();
    assert_eq!([lost(0), lost(10_000)], [0, 0]);
    let tenth = lost(20_000);
    assert!((150..260).contains(&tenth), "7.61 dB lose a tenth: {tenth}");
    assert_eq!(lost(30_000), 2_000);
}

#[test]
fn a_packet_across_a_change_is_sent_at_both_rates_and_lost_if_either_loses_it() {
    let mut across = line(&adaptive(Span::ZERO), file(&[(0, 0.0), (10, 8.0)]), 1);
    let enters = Instant::ZERO + Span::from_micros(9_500);
    let rest = 0.5 * 4.453027 / 2.228124;
    let Fate::Leaves(leaves) = offer(&mut across, enters) else { panic!("it arrives") };
    assert!((leaves.since(enters).as_secs_f64() * 1e3 - 0.5 - rest).abs() < 1e-5, "{leaves:?}");
    let mut hit = line(&adaptive(Span::from_secs(1)), file(&[(0, 0.0), (10, 8.0)]), 1);
    assert_eq!(offer(&mut hit, enters), Fate::Lost(LossCause::Channel));
}

#[test]
fn the_same_seed_has_the_same_rain_whoever_asks_and_how_often() {
    let at = |second: u64| ms(1_000 * second);
    let fates = |seed, every: usize, forgets: bool| -> Vec<Fate> {
        let mut line = line(&adaptive(Span::from_millis(600)), drawn(0.01), seed);
        (0..3_600)
            .step_by(every)
            .map(|second| {
                if forgets {
                    line.forget_before(at(second));
                }
                offer(&mut line, at(second))
            })
            .collect()
    };
    let all = fates(1, 1, false);
    assert_eq!(all, fates(1, 1, true));
    assert_ne!(all, fates(2, 1, false));
    let tenth: Vec<_> = all.iter().step_by(10).copied().collect();
    // Which of those near a threshold are lost is drawn for each packet: times alone are compared.
    for (all, few) in tenth.into_iter().zip(fates(1, 10, false)) {
        if let (Fate::Leaves(all), Fate::Leaves(few)) = (all, few) {
            assert_eq!(all, few);
        }
    }
}

/// A packet of 1,000 bytes.
struct Numbered(u64);

impl Carried for Numbered {
    fn describe(&self) -> Description {
        Description { bytes: ByteCount::new(1_000), ..Description::default() }
    }
}

#[test]
fn both_directions_of_a_path_stand_in_the_same_rain() {
    let coding = adaptive(Span::ZERO);
    let spec = RainSpec::new(CLEAR, QueueLimit::Unlimited, CLEAR_SKY, &coding, drawn(0.03));
    let models = vec![ModelSpec::Rain(Box::new(spec.expect("a line")))];
    let hop = Hop { name: "space".to_owned(), forward_link: models.clone(), return_link: models };
    let mut path = Path::new(&[hop], 5);
    let mut leaves = [const { Vec::new() }; 2];
    for second in 0..600 {
        for direction in Direction::BOTH {
            path.enter(ms(1_000 * second), direction, Numbered(second));
        }
        while let Some(next) = path.next() {
            let left = path.leave(next).expect("it leaves");
            leaves[left.0 as usize].push((next, left.1.0));
        }
    }
    assert!(leaves[0].len() > 590, "{}", leaves[0].len());
    assert_eq!(leaves[0], leaves[1]);
}

#[test]
fn a_shower_goes_by() {
    let mut line = line(&adaptive(Span::from_millis(600)), drawn(0.01), 3);
    let (mut slow, mut clear) = (0, 0);
    for second in 0..86_400 {
        match takes(&mut line, 1_000 * second) {
            Some(took) if took <= 1.0 => clear += 1,
            _ => slow += 1,
        }
    }
    assert!(slow > 300 && clear > 40_000, "{slow} s of rain, {clear} s without");
}

#[test]
fn the_end_of_time_is_never_reached() {
    let mut line = line(&adaptive(Span::ZERO), drawn(0.1), 1);
    assert_eq!(offer(&mut line, Instant::MAX), Fate::Leaves(Instant::MAX));
}

proptest! {
    #[test]
    fn packets_keep_their_order_and_are_never_faster_than_in_clear_sky(
        seed in 0u64..1_000,
        steps in prop::collection::vec((1u64..400, 0.0f64..30.0), 1..20),
        delay in 0u64..500,
        from_file: bool,
        packets in prop::collection::vec((0u64..20_000, 1u64..2_000), 1..200),
    ) {
        let mut at = 0;
        let steps: Vec<_> = steps.into_iter().map(|(gap, db)| {
            at += gap;
            (at, db)
        }).collect();
        let rain = if from_file { file(&steps) } else { drawn(0.1) };
        let mut line = line(&adaptive(Span::from_millis(delay)), rain, seed);
        let mut clear = RateQueue::new(CLEAR, QueueLimit::Unlimited);
        let (mut now, mut last) = (Instant::ZERO, Instant::ZERO);
        for (gap, bytes) in packets {
            now += Span::from_micros(gap);
            let packet = Passing { bytes: ByteCount::new(bytes), kind: Kind::DATA };
            let Fate::Leaves(earliest) = clear.pass(now, &packet) else { panic!("no limit") };
            if let Fate::Leaves(leaves) = line.pass(now, &packet) {
                prop_assert!(leaves >= earliest && leaves >= last, "{leaves:?} {earliest:?}");
                last = leaves;
            }
        }
    }

    #[test]
    fn without_rain_it_is_a_plain_line(
        packets in prop::collection::vec((0u64..3_000, 1u64..2_000), 1..200),
    ) {
        let limit = QueueLimit::Packets(5);
        let rain = file(&[(0, 0.0), (7, 0.0), (100, 0.0)]);
        let spec = RainSpec::new(CLEAR, limit, CLEAR_SKY, &adaptive(Span::ZERO), rain);
        let streams = Streams::new(1);
        let (rain, losses) = (streams.stream("rain"), streams.stream("losses"));
        let mut line = RainLine::new(&spec.expect("a line"), rain, losses);
        let mut plain = RateQueue::new(CLEAR, limit);
        let mut now = Instant::ZERO;
        for (gap, bytes) in packets {
            now += Span::from_micros(gap);
            let packet = Passing { bytes: ByteCount::new(bytes), kind: Kind::DATA };
            prop_assert_eq!(line.pass(now, &packet), plain.pass(now, &packet));
        }
    }
}
