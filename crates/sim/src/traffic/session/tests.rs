use bentpipe_link::Streams;

use super::super::{Connections, WebSpec};
use super::*;

const BEGIN: Instant = Instant::from_nanos(1_000_000_000);

fn session(spec: &TrafficSpec) -> Session {
    Session::new(spec, BEGIN, Streams::new(1).stream("session"))
}

/// When pieces come up, in seconds, and their bytes; each arrives `delay` later.
fn pieces(spec: &TrafficSpec, delay: Span, most: usize) -> Vec<(f64, u64)> {
    let mut session = session(spec);
    let mut pieces = Vec::new();
    let mut arrivals = std::collections::VecDeque::new();
    while pieces.len() < most {
        match (session.next(), arrivals.front().copied()) {
            (Some(next), arrival) if arrival.is_none_or(|at| next < at) => {
                if let Some(bytes) = session.fire(next) {
                    pieces.push((next.as_secs_f64(), bytes.get()));
                    arrivals.push_back(next + delay);
                }
            }
            (_, Some(at)) => {
                arrivals.pop_front();
                session.arrived(at);
            }
            _ => {
                assert!(session.is_over());
                break;
            }
        }
    }
    pieces
}

fn constant(jitter: f64, count: Option<u64>) -> TrafficSpec {
    let (packet, interval) = (ByteCount::new(200), Span::from_millis(20));
    TrafficSpec::Constant { packet, interval, jitter, count }
}

#[test]
fn packets_come_at_equal_intervals_and_then_no_more() {
    let times = pieces(&constant(0.0, Some(4)), Span::ZERO, 100);
    assert_eq!(times, [(1.0, 200), (1.02, 200), (1.04, 200), (1.06, 200)]);
    assert!(pieces(&constant(0.0, Some(0)), Span::ZERO, 100).is_empty());
}

#[test]
fn noise_stays_within_its_width_and_leaves_the_rate_as_it_is() {
    let times = pieces(&constant(0.5, None), Span::ZERO, 20_000);
    let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    assert!(gaps.iter().all(|gap| (0.01499..0.02501).contains(gap)));
    assert!(gaps.iter().any(|gap| *gap < 0.0151) && gaps.iter().any(|gap| *gap > 0.0249));
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    assert!((mean / 0.02 - 1.0).abs() < 0.005, "{mean}");
}

#[test]
fn bursts_offer_their_rate_for_their_share_of_the_time() {
    let (packet, interval) = (ByteCount::new(200), Span::from_millis(20));
    for (on, off) in [
        (Draw::Exponential(0.5), Draw::Exponential(1.0)),
        (Draw::Pareto(0.5, 2.5), Draw::Pareto(1.0, 2.5)),
    ] {
        let spec = TrafficSpec::OnOff { packet, interval, on, off, count: None };
        let times = pieces(&spec, Span::ZERO, 100_000);
        let rate = 100_000.0 / (times[99_999].0 - 1.0);
        // A third of 50 packets a second; every burst has a packet at least.
        assert!((rate / (50.0 / 3.0) - 1.0).abs() < 0.05, "{rate}");
        let silences = times.windows(2).filter(|pair| pair[1].0 - pair[0].0 > 0.0201).count();
        assert!((3_500..4_300).contains(&silences), "{silences}");
    }
}

#[test]
fn the_next_file_waits_for_the_one_before() {
    let spec = TrafficSpec::Files {
        size: ByteCount::new(5000),
        pause: Draw::Constant(2.0),
        count: Some(3),
    };
    let times = pieces(&spec, Span::from_millis(500), 100);
    assert_eq!(times, [(1.0, 5000), (3.5, 5000), (6.0, 5000)]);
}

fn web(start_to_start: bool, inter_page: Draw) -> TrafficSpec {
    TrafficSpec::Web(WebSpec {
        sessions: 1,
        session_gap: Span::ZERO,
        pages: 3,
        objects: Draw::Constant(2.0),
        inter_page,
        start_to_start,
        inter_object: Draw::Constant(0.25),
        object: Draw::Constant(999.5),
        connections: Connections::Persistent,
    })
}

#[test]
fn a_page_begins_when_the_one_before_is_there_and_read() {
    let times = pieces(&web(false, Draw::Constant(10.0)), Span::from_secs(1), 100);
    let pages = [(1.0, 1000), (1.25, 1000), (12.25, 1000), (12.5, 1000), (23.5, 1000)];
    assert_eq!((&times[..5], times.len()), (&pages[..], 6));
}

#[test]
fn a_page_may_begin_a_time_after_the_begin_of_the_one_before() {
    let times = pieces(&web(true, Draw::Constant(10.0)), Span::from_secs(60), 100);
    let pages = [(1.0, 1000), (1.25, 1000), (11.0, 1000), (11.25, 1000), (21.0, 1000)];
    assert_eq!((&times[..5], times.len()), (&pages[..], 6));
}

/// Users with these draws, in seconds and bytes, whose pages begin by the clock.
fn readers(pages: u32, objects: Draw, object: Draw) -> TrafficSpec {
    TrafficSpec::Web(WebSpec {
        sessions: 1,
        session_gap: Span::ZERO,
        pages,
        objects,
        inter_page: Draw::Exponential(15.0),
        start_to_start: true,
        inter_object: Draw::Exponential(0.01),
        object,
        connections: Connections::Persistent,
    })
}

#[test]
fn pages_and_objects_are_as_far_apart_as_their_means_say() {
    let spec = readers(20_000, Draw::Constant(4.0), Draw::Constant(1000.0));
    let times = pieces(&spec, Span::ZERO, usize::MAX);
    assert_eq!(times.len(), 80_000);
    let begins: Vec<f64> = times.iter().step_by(4).map(|(at, _)| *at).collect();
    let mean = (begins[begins.len() - 1] - begins[0]) / (begins.len() - 1) as f64;
    // Exponential of mean 15 s over 20,000 pages: 0.7 % is a standard deviation.
    assert!((mean / 15.0 - 1.0).abs() < 0.02, "{mean}");
    let mut gaps: Vec<f64> =
        times.chunks(4).flat_map(|page| page.windows(2).map(|two| two[1].0 - two[0].0)).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    assert!((mean / 0.01 - 1.0).abs() < 0.02, "{mean}");
    gaps.sort_by(f64::total_cmp);
    let median = gaps[gaps.len() / 2];
    assert!((median / (0.01 * std::f64::consts::LN_2) - 1.0).abs() < 0.03, "{median}");
}

#[test]
fn sizes_of_objects_are_whole_bytes_of_a_law_with_a_heavy_tail_up_to_the_longest() {
    let spec = readers(100_000, Draw::Constant(1.0), Draw::Lomax(12_000.0, 1.2));
    let pieces = pieces(&spec, Span::ZERO, usize::MAX);
    let mut sizes: Vec<u64> = pieces.into_iter().map(|(_, bytes)| bytes).collect();
    sizes.sort_unstable();
    // x = s (U^(-1/1.2) - 1) with s = 12,000 / 5.
    for share in [0.1f64, 0.5, 0.9, 0.99] {
        let right = 2400.0 * ((1.0 - share).powf(-1.0 / 1.2) - 1.0);
        let found = sizes[(share * sizes.len() as f64) as usize] as f64;
        assert!((found / right - 1.0).abs() < 0.05, "{share}: {found}, not {right}");
    }
    assert!(sizes[0] >= 1);
    // A mean of 1 GB: most objects are cut to 100,000 packets of 1000 bytes. A mean of a hundredth of a
    // byte: each has one.
    for (mean, right) in [(1e13, 100_000_000), (0.01, 1)] {
        let spec = readers(100, Draw::Constant(1.0), Draw::Constant(mean));
        assert!(self::pieces(&spec, Span::ZERO, 100).iter().all(|(_, bytes)| *bytes == right));
    }
}

#[test]
fn pages_have_one_object_more_than_the_whole_part_of_what_is_drawn() {
    let spec = readers(50_000, Draw::Exponential(3.0), Draw::Constant(1000.0));
    let objects = pieces(&spec, Span::ZERO, usize::MAX).len() as f64;
    // The mean of an exponential rounded up is 1 / (1 - exp(-1/3)).
    let right = 50_000.0 / (1.0 - (-1.0 / 3.0f64).exp());
    assert!((objects / right - 1.0).abs() < 0.02, "{objects}, not {right}");
}

#[test]
fn the_load_is_what_a_page_has_by_the_time_from_page_to_page() {
    let spec = TrafficSpec::Web(WebSpec {
        sessions: 1,
        session_gap: Span::ZERO,
        pages: 20_000,
        objects: Draw::Constant(5.0),
        inter_page: Draw::Exponential(1.0),
        start_to_start: false,
        inter_object: Draw::Constant(0.1),
        object: Draw::Exponential(10_000.0),
        connections: Connections::Persistent,
    });
    let pieces = pieces(&spec, Span::from_millis(300), usize::MAX);
    let bytes: u64 = pieces.iter().map(|(_, bytes)| bytes).sum();
    let rate = bytes as f64 / pieces[pieces.len() - 1].0;
    // 50 kB for four gaps of 0.1 s, 0.3 s on the path and a second of reading.
    assert!((rate / (50_000.0 / 1.7) - 1.0).abs() < 0.03, "{rate}");
}

#[test]
fn bursts_have_the_length_of_their_law_and_a_packet_at_least() {
    let bursts = |on: Draw| {
        let (packet, interval) = (ByteCount::new(200), Span::from_millis(20));
        let off = Draw::Constant(100.0);
        let spec = TrafficSpec::OnOff { packet, interval, on, off, count: Some(200_000) };
        let times = pieces(&spec, Span::ZERO, usize::MAX);
        let silences = times.windows(2).filter(|two| two[1].0 - two[0].0 > 50.0).count();
        200_000.0 / (silences + 1) as f64
    };
    let (exponential, pareto) = (bursts(Draw::Exponential(0.5)), bursts(Draw::Pareto(0.5, 2.5)));
    assert!((exponential / 25.0 - 1.0).abs() < 0.03, "{exponential}");
    assert!((pareto / 25.0 - 1.0).abs() < 0.03, "{pareto}");
    assert_eq!(bursts(Draw::Constant(0.001)), 1.0);
}

#[test]
fn a_user_draws_the_same_whatever_others_do_and_users_differ() {
    let spec = readers(50, Draw::Exponential(3.0), Draw::Lomax(12_000.0, 1.2));
    let drawn = |name: &str| {
        let mut session = Session::new(&spec, BEGIN, Streams::new(1).stream(name));
        let mut drawn = Vec::new();
        while let Some(next) = session.next() {
            drawn.push((next, session.fire(next)));
        }
        drawn
    };
    assert_eq!(drawn("flow/web/traffic/0"), drawn("flow/web/traffic/0"));
    assert_ne!(drawn("flow/web/traffic/0"), drawn("flow/web/traffic/1"));
}
