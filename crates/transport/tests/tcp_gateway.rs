//! What a satellite gateway asks of TCP (Zhou and Baras): windows in segments, the order of departures,
//! and buffers that are freed by reports.

use std::collections::BTreeMap;

use bentpipe_cc::Choice;
use bentpipe_testkit::{Direction, Fate, Pair, Tcp, pattern};
use bentpipe_transport::tcp::Config;
use bentpipe_transport::tcp::recovery::Mode;
use bentpipe_transport::{Inspect, ProxyLeg};
use bentpipe_units::{ByteCount, Instant, Span};
use bentpipe_wire::Kind;
use bentpipe_wire::tcp::{Flags, Options};

const MSS: u16 = 512;

/// The gateway's and the client's settings.
fn gateway() -> Config {
    Config {
        mss: MSS,
        timestamps: false,
        nagle: false,
        recovery: Mode::DepartureOrder,
        release_reported: true,
        window_in_segments: true,
        snd_buf: ByteCount::new(200_000),
        rcv_buf: ByteCount::new(400 * u64::from(MSS)),
        controller: Choice::new("fixed", BTreeMap::from([("peak_rate".to_owned(), 600e3)]))
            .expect("a controller"),
        rto_min: Span::from_millis(100),
        tick: Span::from_millis(100),
        ..Config::default()
    }
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Span::from_millis(ms)
}

/// A transfer in which the data segment with this number is lost so often.
fn losing(times: u32, config: Config) -> Pair<Tcp> {
    let mut count = 0;
    let mut lost: Option<(u32, u32)> = None;
    Pair::tcp(config.clone(), config, Span::from_millis(250)).sending(pattern(100_000)).with_script(
        move |crossing| {
            if crossing.direction == Direction::Return || !crossing.has(Kind::DATA) {
                return Fate::Pass;
            }
            count += 1;
            let seq = crossing.segment.seq.get();
            let (victim, left) = match lost {
                None if count == 20 => (seq, times),
                Some(known) => known,
                None => return Fate::Pass,
            };
            let hit = seq == victim && left > 0;
            lost = Some((victim, left - u32::from(hit)));
            if hit { Fate::Drop } else { Fate::Pass }
        },
    )
}

#[test]
fn the_window_counts_segments_and_is_not_shifted() {
    let mut pair =
        Pair::tcp(gateway(), gateway(), Span::from_millis(250)).sending(pattern(300_000));
    assert!(pair.run(Span::from_secs(60)));
    assert_eq!(pair.server.inbox, pattern(300_000));
    let answer = pair.log.iter().find(|c| c.has(Kind::BGNAK)).expect("an answer");
    let Options::Syn(options) = &answer.segment.options else { panic!("options of a SYN") };
    assert_eq!(options.window_shift, None);
    assert_eq!(answer.segment.window, u16::MAX, "in bytes, as everywhere");
    let acks = pair.log.iter().filter(|c| c.direction == Direction::Return && c.has(Kind::ACK));
    assert_eq!(acks.map(|c| c.segment.window).max(), Some(400));
}

#[test]
fn a_repair_that_is_lost_twice_is_repaired_without_a_timer_while_data_flow() {
    let mut pair = losing(3, gateway());
    assert!(pair.run(Span::from_secs(60)));
    assert_eq!(pair.server.inbox, pattern(100_000));
    let counters = pair.client.session.as_ref().expect("a session").counters();
    assert_eq!((counters.retransmitted_segments, counters.timeouts), (3, 0));
}

#[test]
fn what_is_reported_is_freed_before_it_is_acknowledged() {
    for (release, freed) in [(true, true), (false, false)] {
        let mut pair = losing(1, Config { release_reported: release, ..gateway() });
        // Everything is written at once. Segment 20 leaves at 0.65 s, its retransmission is acknowledged at 1.7 s.
        pair.run_to(at(1_500));
        let client = pair.client.session.as_ref().expect("a session");
        let kept = client.unacknowledged().get();
        let unacknowledged = 100_000 - 19 * u64::from(MSS);
        assert_eq!(kept < unacknowledged - 20_000, freed, "{kept}, freed: {release}");
        assert!(pair.run(Span::from_secs(60)));
        assert_eq!(pair.server.inbox, pattern(100_000));
    }
}

#[test]
fn the_last_segment_is_repaired_by_two_copies_after_a_timer_that_does_not_back_off() {
    let mut pair = Pair::tcp(gateway(), gateway(), Span::from_millis(250))
        .sending(pattern(5 * usize::from(MSS)));
    let mut seen = 0;
    pair = pair.with_script(move |crossing| {
        let last =
            crossing.direction == Direction::Forward && crossing.segment.flags.contains(Flags::FIN);
        seen += u32::from(last);
        if last && seen <= 5 { Fate::Drop } else { Fate::Pass }
    });
    assert!(pair.run(Span::from_secs(60)));
    let left: Vec<u64> = pair
        .log
        .iter()
        .filter(|c| c.direction == Direction::Forward && c.segment.flags.contains(Flags::FIN))
        .map(|c| c.at.as_nanos() / 1_000_000)
        .collect();
    let waits: Vec<u64> = left.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(left.len(), 7, "{left:?}");
    assert_eq!((waits[1], waits[3], waits[5]), (0, 0, 0), "copies leave together: {left:?}");
    assert_eq!(waits[2], waits[4], "no backoff: {left:?}");
}
