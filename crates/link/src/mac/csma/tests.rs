use bentpipe_units::ByteCount;

use super::*;
use crate::queue::DropTail;
use crate::queue::testing::{Watched, data, ms};
use crate::{QueueLimit, Streams};

/// 150 bytes take a second.
const RATE: BitRate = BitRate::from_bps(1200);
/// The longest frame of packet radio takes 1.7 s.
const FRAME: ByteCount = ByteCount::new(255);

/// A channel whose lines lead from station to station, these.
fn channel(config: CsmaConfig, hops: &[(usize, usize)]) -> Csma {
    let streams = Streams::new(1);
    let line = |(from, to): &(usize, usize)| -> (Hop, Box<dyn Discipline>) {
        let queue = DropTail::new(QueueLimit::Unlimited);
        (Hop { from: *from, to: *to }, Box::new(queue))
    };
    let stations = hops.iter().flat_map(|(from, to)| [*from, *to]).max().map_or(0, |last| last + 1);
    let streams = (0..stations).map(|n| streams.stream(&format!("station {n}")));
    Csma::new(RATE, config, hops.iter().map(line), streams)
}

/// Two stations, each with a line to the other one.
const PAIR: [(usize, usize); 2] = [(0, 1), (1, 0)];

/// A station that finds the channel free takes it.
fn greedy() -> CsmaConfig {
    CsmaConfig { persistence: 255, ..CsmaConfig::default() }
}

fn frame(id: u32, line: u16) -> Held {
    Held { line, bytes: FRAME, ..data(id) }
}

fn pass_time(csma: &mut Csma, seen: &mut Watched, until: Instant) {
    while let Some(at) = csma.poll_timeout()
        && at <= until
    {
        csma.handle_timeout(at, seen);
    }
}

/// Hands over frames, numbered from 0, at these times in milliseconds and on these lines.
fn play(csma: &mut Csma, arrivals: &[(u64, u16)]) -> Watched {
    let mut seen = Watched::default();
    for (id, (at, line)) in (0..).zip(arrivals) {
        pass_time(csma, &mut seen, ms(*at));
        csma.enqueue(ms(*at), frame(id, *line), &mut seen);
    }
    pass_time(csma, &mut seen, Instant::MAX);
    seen
}

/// Every line has `frames` frames to send from the start. Returns what became of them.
fn saturate(csma: &mut Csma, lines: u16, frames: u32) -> Watched {
    let arrivals: Vec<_> = (0..frames).flat_map(|_| (0..lines).map(|line| (0, line))).collect();
    play(csma, &arrivals)
}

#[test]
fn a_frame_takes_the_key_up_and_its_bits() {
    let seen = play(&mut channel(greedy(), &PAIR), &[(0, 0)]);
    assert_eq!(seen.departed, [(0, ms(500 + 1700))]);
}

#[test]
fn frames_that_wait_follow_one_key_up_and_no_more_than_may() {
    let config = CsmaConfig { max_frames: 2, ..greedy() };
    let seen = play(&mut channel(config, &PAIR), &[(0, 0), (0, 0), (100, 0)]);
    let times = [2200, 2200 + 1700, 2200 + 1700 + 2200].map(ms);
    assert_eq!(seen.departed, [(0, times[0]), (1, times[1]), (2, times[2])]);
}

#[test]
fn a_frame_that_comes_during_a_transmission_joins_it() {
    let seen = play(&mut channel(greedy(), &PAIR), &[(0, 0), (2100, 0)]);
    assert_eq!(seen.departed, [(0, ms(2200)), (1, ms(2200 + 1700))]);
}

#[test]
fn without_late_frames_it_has_a_key_up_of_its_own() {
    let config = CsmaConfig { late_frames: false, ..greedy() };
    let seen = play(&mut channel(config, &PAIR), &[(0, 0), (2100, 0)]);
    assert_eq!(seen.departed, [(0, ms(2200)), (1, ms(2200 + 2200))]);
    // Both that wait at key-up are behind it.
    let seen = play(&mut channel(config, &PAIR), &[(0, 0), (0, 0), (0, 0)]);
    let times = [2200, 4400, 4400 + 1700].map(ms);
    assert_eq!(seen.departed, [(0, times[0]), (1, times[1]), (2, times[2])]);
}

#[test]
fn with_a_slot_first_a_station_waits_for_one_in_which_the_channel_is_free() {
    let config = CsmaConfig { slot_first: true, ..greedy() };
    let seen = play(&mut channel(config, &PAIR), &[(0, 0)]);
    assert_eq!(seen.departed, [(0, ms(100 + 2200))]);
    // The other station wants the channel in the middle of that, and takes it a slot after it.
    let seen = play(&mut channel(config, &PAIR), &[(0, 0), (1000, 1)]);
    assert_eq!(seen.departed, [(0, ms(2300)), (1, ms(2300 + 100 + 2200))]);
    // A station that has just sent waits for a slot as well.
    let config = CsmaConfig { max_frames: 1, ..config };
    let seen = play(&mut channel(config, &PAIR), &[(0, 0), (0, 0)]);
    assert_eq!(seen.departed, [(0, ms(2300)), (1, ms(2 * 2300))]);
}

#[test]
fn a_slot_first_is_one_more_for_each_key_up_whatever_the_persistence() {
    let config = CsmaConfig { slot_first: true, max_frames: 1, ..CsmaConfig::default() };
    let seen = saturate(&mut channel(config, &[(0, 1)]), 1, 2000);
    let each = seen.departed.last().expect("frames").1.as_secs_f64() / 2000.0;
    // A slot, three more on average at 1 in 4, TXDELAY and 1.7 s.
    assert!((each - (0.1 + 0.3 + 0.5 + 1.7)).abs() < 0.03, "{each}");
}

#[test]
fn a_station_waits_until_the_carrier_of_the_other_one_is_off() {
    let config = CsmaConfig { tx_tail: Span::from_millis(50), ..greedy() };
    let seen = play(&mut channel(config, &PAIR), &[(0, 0), (100, 1)]);
    assert_eq!(seen.departed, [(0, ms(2200)), (1, ms(2250 + 2200))]);
}

#[test]
fn two_that_begin_within_the_carrier_detect_time_destroy_each_others_frames() {
    for apart in [0, 1, 99] {
        let seen = play(&mut channel(greedy(), &PAIR), &[(0, 0), (apart, 1)]);
        let lost = [(0, LossCause::Collision), (1, LossCause::Collision)];
        assert_eq!((seen.departed, &seen.lost[..]), (vec![], &lost[..]), "{apart} ms apart");
    }
}

#[test]
fn what_is_left_of_a_transmission_survives_when_the_other_one_is_over() {
    let config = greedy();
    let mut csma = channel(config, &PAIR);
    let seen = play(&mut csma, &[(0, 0), (0, 0), (0, 0), (50, 1)]);
    let lost: Vec<_> = seen.lost.iter().map(|(id, _)| *id).collect();
    // The other carrier goes off at 2,250 ms, within the second frame.
    assert_eq!((lost, seen.departed), (vec![0, 3, 1], vec![(2, ms(500 + 3 * 1700))]));
}

#[test]
fn equipment_is_busy_after_each_frame_and_not_before_the_first() {
    let config = CsmaConfig { proc_time: Span::from_millis(4300), ..greedy() };
    let seen = play(&mut channel(config, &PAIR), &[(0, 0), (0, 0), (3000, 1)]);
    // The other station needs no time for what it hears: its frame goes between the two.
    let times = [2200, 5200, 2200 + 4300 + 2200].map(ms);
    assert_eq!(seen.departed, [(0, times[0]), (2, times[1]), (1, times[2])]);
}

#[test]
fn stations_that_do_not_hear_each_other_meet_at_the_one_in_the_middle() {
    // Stations 0 and 2 are heard by 1 only.
    let hidden = [(0, 1), (2, 1)];
    let seen = play(&mut channel(greedy(), &hidden), &[(0, 0), (1000, 1)]);
    assert_eq!((seen.departed.len(), seen.lost.len()), (0, 2));
    // With a line between them the second one waits.
    let seen = play(&mut channel(greedy(), &[(0, 1), (2, 1), (0, 2)]), &[(0, 0), (1000, 1)]);
    assert_eq!((seen.departed.len(), seen.lost.len()), (2, 0));
}

#[test]
fn a_station_that_sends_receives_nothing() {
    // A chain: 0 to 1 to 2 to 3. Stations 0 and 2 do not hear each other, nor 1 and 3.
    let chain = [(0, 1), (1, 2), (2, 3)];
    let seen = play(&mut channel(greedy(), &chain), &[(0, 0), (1000, 2)]);
    // Station 2 sends to 3, which it reaches; station 1 hears 0 and 2 and gets nothing.
    assert_eq!((seen.departed, seen.lost), (vec![(1, ms(3200))], vec![(0, LossCause::Collision)]));
    // Station 1 does not hear 3 and begins while 3 sends; 2 hears both, and 0 hears 1 alone.
    let back = [(1, 0), (1, 2), (3, 2)];
    let seen = play(&mut channel(greedy(), &back), &[(0, 2), (1000, 0)]);
    assert_eq!((seen.departed, seen.lost), (vec![(1, ms(3200))], vec![(0, LossCause::Collision)]));
}

#[test]
fn lines_of_a_station_have_their_turns() {
    let config = CsmaConfig { max_frames: 1, ..greedy() };
    let seen = play(&mut channel(config, &[(0, 1), (0, 2)]), &[(0, 0), (0, 0), (0, 0), (0, 1)]);
    let order: Vec<_> = seen.departed.iter().map(|(id, _)| *id).collect();
    assert_eq!(order, [0, 3, 1, 2]);
}

#[test]
fn a_free_channel_is_taken_after_slots_as_many_as_chance_has_it() {
    // The number of slots before a frame is geometric: (1 - p) / p of them on average.
    for (persistence, p) in [(63, 0.25), (127, 0.5), (25, 26.0 / 256.0)] {
        let config = CsmaConfig { persistence, max_frames: 1, ..CsmaConfig::default() };
        let frames = 10_000;
        let seen = saturate(&mut channel(config, &PAIR[..1]), 1, frames);
        let all = seen.departed.last().expect("frames").1.since(Instant::ZERO).as_secs_f64();
        let slots = (all / f64::from(frames) - 2.2) / 0.1;
        let expected = (1.0 - p) / p;
        assert!((slots / expected - 1.0).abs() < 0.05, "{p}: {slots} slots, not {expected}");
    }
}

#[test]
fn one_station_alone_gets_what_key_ups_and_slots_leave_of_the_channel() {
    // Of n frames behind each key-up: n 1.7 s of TXDELAY 0.5 s, n 1.7 s and three slots on average.
    for (max_frames, frames) in [(1, 6_000), (7, 42_000)] {
        let config = CsmaConfig { max_frames, ..CsmaConfig::default() };
        let seen = saturate(&mut channel(config, &PAIR[..1]), 1, frames);
        let all = seen.departed.last().expect("frames").1.since(Instant::ZERO).as_secs_f64();
        let share = f64::from(frames) * 1.7 / all;
        let sent = f64::from(max_frames) * 1.7;
        let expected = sent / (0.3 + 0.5 + sent);
        assert!((share / expected - 1.0).abs() < 0.01, "{max_frames}: {share}, not {expected}");
    }
}

#[test]
fn of_two_that_always_have_something_one_transmission_in_seven_collides() {
    // In each slot both begin with probability p p, one with 2 p (1 - p): p / (2 - p) of all transmissions that
    // begin in a slot are collisions.
    for (persistence, p) in [(63, 0.25), (127, 0.5)] {
        let config = CsmaConfig { persistence, max_frames: 1, ..CsmaConfig::default() };
        let (mut csma, mut seen) = (channel(config, &PAIR), Watched::default());
        for id in 0..40_000 {
            csma.enqueue(ms(0), frame(id, (id % 2) as u16), &mut seen);
        }
        while let Some(at) = csma.poll_timeout()
            && [0, 1].iter().all(|line| csma.waiting(*line).packets > 0)
        {
            csma.handle_timeout(at, &mut seen);
        }
        let (both, alone) = (seen.lost.len() as f64 / 2.0, seen.departed.len() as f64);
        let (share, expected) = (both / (both + alone), p / (2.0 - p));
        assert!((share / expected - 1.0).abs() < 0.05, "{p}: {share}, not {expected}");
    }
}
