use super::*;
use crate::queue::DropTail;
use crate::queue::testing::{Watched, data, ms};
use crate::{QueueLimit, Streams};

/// 1000 bytes take a millisecond.
const RATE: BitRate = BitRate::from_bps(8_000_000);

fn aloha(terminals: u16, config: AlohaConfig) -> Aloha {
    let streams = Streams::new(1);
    let terminal = |n: u16| -> (Box<dyn Discipline>, Stream) {
        let queue = DropTail::new(QueueLimit::Packets(50));
        (Box::new(queue), streams.stream(&format!("backoff {n}")))
    };
    let config = AlohaConfig { header: ByteCount::ZERO, ..config };
    Aloha::new(RATE, config, (0..terminals).map(terminal))
}

/// Hands over packets at their times, numbered from 0, given as microseconds and terminals.
fn play(aloha: &mut Aloha, arrivals: impl IntoIterator<Item = (u64, u16)>) -> Watched {
    let mut seen = Watched::default();
    for (id, (at, line)) in arrivals.into_iter().enumerate() {
        let at = Instant::from_nanos(at * 1000);
        while let Some(due) = aloha.poll_timeout()
            && due <= at
        {
            aloha.handle_timeout(due, &mut seen);
        }
        aloha.enqueue(at, Held { line, ..data(id as u32) }, &mut seen);
    }
    while let Some(due) = aloha.poll_timeout() {
        aloha.handle_timeout(due, &mut seen);
    }
    seen
}

#[test]
fn a_terminal_sends_at_once_and_then_waits_until_it_hears_its_packet() {
    let seen = play(&mut aloha(2, AlohaConfig::default()), [(0, 0), (500, 0), (2000, 1)]);
    assert_eq!(seen.departed, [(0, ms(1)), (2, ms(3)), (1, ms(252))]);
}

#[test]
fn what_overlaps_is_destroyed_even_if_only_in_a_chain_and_what_touches_is_not() {
    let config = AlohaConfig { retries: 0, ..AlohaConfig::default() };
    let chain = [(0, 0), (600, 1), (1500, 2), (2500, 3)];
    let seen = play(&mut aloha(4, config), chain);
    let lost: Vec<_> = seen.lost.iter().map(|(id, _)| *id).collect();
    assert_eq!((lost, seen.departed), (vec![0, 1, 2], vec![(3, ms(3) + Span::from_micros(500))]));
    assert!(seen.lost.iter().all(|(_, cause)| *cause == LossCause::Collision));
}

#[test]
fn both_are_sent_again_after_waits_of_their_own() {
    let seen = play(&mut aloha(2, AlohaConfig::default()), [(0, 0), (100, 1)]);
    assert!(seen.lost.is_empty());
    // Not before the timeout, and apart.
    let times: Vec<_> = seen.departed.iter().map(|(_, at)| *at).collect();
    assert!(times[0] > ms(271) && times[1].since(times[0]) > Span::from_millis(1), "{times:?}");
}

#[test]
fn what_collides_every_time_is_sent_four_times_and_then_lost() {
    // Both wait for a nanosecond or so, and meet again.
    let mean_backoff = Span::from_nanos(1);
    let config = AlohaConfig { mean_backoff, ..AlohaConfig::default() };
    let mut seen = play(&mut aloha(2, config), [(0, 0), (100, 1), (200_000, 0)]);
    seen.lost.sort_unstable_by_key(|(id, _)| *id);
    assert_eq!(seen.lost, [(0, LossCause::Collision), (1, LossCause::Collision)]);
    // Four transmissions of a millisecond, each missed after 270 ms: then the next packet has its turn.
    let [(2, left)] = seen.departed[..] else { panic!("{:?}", seen.departed) };
    let expected = ms(4 * 271 + 1);
    assert!((expected..expected + Span::from_micros(1)).contains(&left), "{left}");
}

#[test]
fn waits_before_a_packet_is_sent_again_are_exponential() {
    // One packet of each pair has long found its way when the next pair comes.
    let pairs = (0..4_000u64).flat_map(|n| [(n * 100_000_000, 0), (n * 100_000_000 + 100, 1)]);
    let seen = play(&mut aloha(2, AlohaConfig { retries: 99, ..AlohaConfig::default() }), pairs);
    assert_eq!(seen.departed.len(), 8_000);
    let waits = seen.departed.iter().map(|(id, at)| {
        let began = u64::from(id / 2) * 100_000_000 + u64::from(id % 2) * 100;
        at.since(Instant::from_nanos(began * 1000)).as_secs_f64() - 0.272
    });
    // Two that wait for a second on average meet again now and then, once in some 500 times.
    let mean = waits.sum::<f64>() / 8_000.0;
    assert!((mean - 1.0).abs() < 0.05, "{mean}");
}

#[test]
fn the_link_header_takes_its_time() {
    let queue: Box<dyn Discipline> = Box::new(DropTail::new(QueueLimit::Unlimited));
    let terminals = [(queue, Streams::new(1).stream("backoff"))];
    let seen = play(&mut Aloha::new(RATE, AlohaConfig::default(), terminals), [(0, 0)]);
    assert_eq!(seen.departed, [(0, Instant::ZERO + Span::from_micros(1016))]);
}

#[test]
fn of_random_transmissions_as_many_survive_as_theory_says() {
    // 200 terminals that never retransmit and need not listen: with load G the share exp(-2G)
    // survives.
    let config =
        AlohaConfig { echo: Span::ZERO, timeout: Span::ZERO, retries: 0, ..AlohaConfig::default() };
    for load in [0.1, 0.3, 0.5] {
        let mut stream = Streams::new(2).stream("arrivals");
        let mut at = 0.0;
        let arrivals: Vec<_> = (0..40_000u64)
            .map(|_| {
                at += stream.exponential(1000.0 / load);
                (at as u64, stream.below(200) as u16)
            })
            .collect();
        let seen = play(&mut aloha(200, config), arrivals);
        let survived = seen.departed.len() as f64 / 40_000.0;
        assert!((survived - libm::exp(-2.0 * load)).abs() < 0.015, "{load}: {survived}");
    }
}
