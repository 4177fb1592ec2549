//! The map, the decision and the counts by themselves.

use super::*;

/// Round trip when the loss was found, and time between probes.
const RTT: Span = Span::from_millis(200);
/// The usual idle threshold.
const THRESHOLD: Span = Span::from_secs(3);
/// When the loss was found.
const LOSS: u64 = 10_000;

fn ms(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

fn span(millis: u64) -> Span {
    Span::from_millis(millis)
}

/// Timestamp of a POLL that was sent at this time.
fn ts(millis: u64) -> u32 {
    super::super::timestamp::at(ms(millis))
}

/// When probe `n`, from 1, leaves.
fn probe_time(n: u64) -> u64 {
    LOSS + 200 * (n - 1)
}

/// A cycle and its settings.
struct Bench {
    probing: Probing,
    config: ProbingConfig,
}

impl Bench {
    /// A cycle that begins at [`LOSS`], with a map of `map_size` that needs `needed` answers.
    fn new(map_size: u32, needed: u32) -> Self {
        let config = ProbingConfig { map_size, probes_needed: needed, ..ProbingConfig::default() };
        let mut probing = Probing::new();
        probing.start(ms(LOSS), RTT, Trigger::EarlyTimeout);
        Self { probing, config }
    }

    /// Probe `n` leaves.
    fn probe(&mut self, n: u64) -> &mut Self {
        self.probing.probe_sent(ts(probe_time(n)), &self.config);
        self
    }

    /// The POLL of this time is answered after `rtt` milliseconds.
    fn answer_poll(&mut self, sent: u64, rtt: u64) -> &mut Self {
        self.probing.record(ts(sent), ms(sent), span(rtt));
        self
    }

    /// Probe `n` is answered after `rtt` milliseconds.
    fn answer(&mut self, n: u64, rtt: u64) -> &mut Self {
        self.answer_poll(probe_time(n), rtt)
    }

    fn verdict_at(&self, millis: u64) -> Option<Verdict> {
        self.probing.verdict(ms(millis), &self.config, THRESHOLD)
    }

    /// The verdict soon after the start.
    fn verdict(&self) -> Option<Verdict> {
        self.verdict_at(LOSS + 500)
    }

    /// The map: time of each POLL and measurement in milliseconds; 0 is an empty place.
    fn map(&self) -> Vec<(u64, u64)> {
        let millis = |span: Span| span.as_nanos() / 1_000_000;
        let entry = |(ts, measured): (Option<u32>, Option<Span>)| {
            (ts.map_or(0, |ts| u64::from(ts) / 10), measured.map_or(0, millis))
        };
        self.probing.map().into_iter().map(entry).collect()
    }
}

/// The window that decided shows in the record of the ended cycle, in milliseconds.
fn deciding(bench: &mut Bench) -> Vec<u64> {
    let verdict = bench.verdict().expect("enough answers");
    bench.probing.stop(ms(LOSS + 500), verdict, &bench.config);
    let cycles = bench.probing.summary().first_cycles;
    cycles[0].measurements.iter().map(|s| (s * 1000.0).round() as u64).collect()
}

const CONGESTION: Option<Verdict> = Some(Verdict::Congestion { persistent: false });

#[test]
fn p2_without_a_cycle_there_is_no_descriptor_no_map_and_no_verdict() {
    let config = ProbingConfig::default();
    let mut probing = Probing::new();
    assert!(!probing.is_active());
    // Nothing that comes outside of a cycle is kept.
    probing.probe_sent(7, &config);
    probing.record(7, ms(1), RTT);
    assert!(probing.map().is_empty());
    assert_eq!(probing.verdict(ms(2), &config, THRESHOLD), None);
    assert_eq!(probing.summary(), ProbingSummary::default());
}

#[test]
fn p2_the_map_is_ordered_by_time_and_never_longer_than_its_size() {
    for size in [3, 4, 16] {
        let mut bench = Bench::new(size, 2);
        bench.answer_poll(LOSS - 50, 210);
        for n in 1..40 {
            bench.probe(n);
            let map = bench.map();
            assert!(map.len() <= size as usize);
            assert!(map.windows(2).all(|two| two[0].0 < two[1].0), "{map:?}");
        }
        assert_eq!(bench.map().len(), size as usize);
    }
}

#[test]
fn p13_the_first_probe_takes_the_second_entry() {
    let mut bench = Bench::new(4, 2);
    assert_eq!(bench.map(), [(0, 0)]);
    bench.probe(1);
    assert_eq!(bench.map(), [(0, 0), (LOSS, 0)]);
}

#[test]
fn p13_the_reserved_entry_is_the_first_to_be_deleted_and_then_the_oldest_probe() {
    let mut bench = Bench::new(4, 2);
    bench.answer_poll(LOSS - 100, 210);
    bench.probe(1).probe(2).probe(3);
    let [one, two, three, four, five] = [1, 2, 3, 4, 5].map(probe_time);
    assert_eq!(bench.map(), [(LOSS - 100, 210), (one, 0), (two, 0), (three, 0)]);
    bench.probe(4);
    assert_eq!(bench.map(), [(one, 0), (two, 0), (three, 0), (four, 0)]);
    bench.probe(5);
    assert_eq!(bench.map(), [(two, 0), (three, 0), (four, 0), (five, 0)]);
}

#[test]
fn p13_a_map_as_small_as_the_answers_needed_has_room_for_the_probe_under_way() {
    let mut bench = Bench::new(2, 2);
    bench.probe(1).probe(2).answer(1, 201).probe(3).answer(2, 201);
    assert_eq!(bench.verdict(), Some(Verdict::Link));
}

#[test]
fn p19_a_pre_loss_answer_fills_the_reserved_entry_next_to_the_first_probe() {
    let mut bench = Bench::new(4, 2);
    bench.probe(1).answer_poll(LOSS - 130, 195);
    assert_eq!(bench.map(), [(LOSS - 130, 195), (LOSS, 0)]);
    assert_eq!(bench.verdict(), None);
    bench.answer(1, 205);
    assert_eq!(bench.verdict(), Some(Verdict::Link));
    assert_eq!(deciding(&mut bench), [195, 205]);
}

#[test]
fn p19_every_pre_loss_answer_overwrites_the_one_before() {
    let mut bench = Bench::new(4, 2);
    bench.probe(1);
    for (sent, rtt) in [(LOSS - 130, 195), (LOSS - 66, 230), (LOSS - 1, 201)] {
        bench.answer_poll(sent, rtt);
        assert_eq!(bench.map(), [(sent, rtt), (LOSS, 0)]);
    }
    bench.answer(1, 200);
    // The 230 ms in between would have been congestion.
    assert_eq!(bench.verdict(), Some(Verdict::Link));
}

#[test]
fn p19_a_pre_loss_answer_without_the_reserved_entry_is_ignored() {
    let mut bench = Bench::new(4, 2);
    bench.probe(1).probe(2).probe(3).probe(4);
    let before = bench.map();
    bench.answer_poll(LOSS - 10, 900);
    assert_eq!(bench.map(), before);
}

#[test]
fn p19_a_poll_of_the_moment_of_the_loss_is_pre_loss_if_it_is_no_probe() {
    // Two POLLs of one moment have different timestamps; only the second is in the map.
    let mut bench = Bench::new(4, 2);
    bench.probing.probe_sent(ts(LOSS) + 1, &bench.config);
    bench.answer_poll(LOSS, 199);
    assert_eq!(bench.map()[0], (LOSS, 199));
}

#[test]
fn p20_an_answer_fills_the_entry_of_its_probe() {
    let mut bench = Bench::new(4, 2);
    bench.probe(1).probe(2).answer(2, 222);
    assert_eq!(bench.map(), [(0, 0), (LOSS, 0), (probe_time(2), 222)]);
}

#[test]
fn p20_an_answer_to_a_probe_that_was_deleted_is_ignored() {
    let mut bench = Bench::new(4, 2);
    for n in 1..=5 {
        bench.probe(n);
    }
    let before = bench.map();
    bench.answer(1, 800);
    assert_eq!(bench.map(), before);
    assert_eq!(bench.verdict(), None);
}

#[test]
fn p20_an_answer_to_a_poll_that_was_never_sent_is_ignored() {
    let mut bench = Bench::new(4, 2);
    bench.probe(1).probe(2);
    let before = bench.map();
    bench.answer_poll(LOSS + 77, 200);
    assert_eq!(bench.map(), before);
}

#[test]
fn p21_nothing_is_recorded_by_the_start() {
    let bench = Bench::new(4, 2);
    assert_eq!(bench.map(), [(0, 0)]);
}

#[test]
fn p22_a_cycle_completes_with_as_many_consecutive_answers_as_are_needed() {
    for needed in 1..=3 {
        let mut bench = Bench::new(4, needed);
        for n in 1..=u64::from(needed) {
            assert_eq!(bench.verdict(), None, "{needed}");
            bench.probe(n).answer(n, 200);
        }
        assert_eq!(bench.verdict(), Some(Verdict::Link), "{needed}");
    }
}

#[test]
fn p22_the_measurements_that_decide_are_those_that_completed_the_cycle() {
    let mut bench = Bench::new(8, 2);
    bench.answer_poll(LOSS - 10, 300).probe(1).probe(2).answer(2, 205).probe(3).answer(3, 206);
    assert_eq!(deciding(&mut bench), [205, 206]);
}

#[test]
fn p23_an_empty_entry_in_between_breaks_the_row() {
    let mut bench = Bench::new(4, 2);
    bench.probe(1).answer(1, 500).probe(2).probe(3).answer(3, 200);
    assert_eq!(bench.verdict(), None);
    // The old exchange stays obsolete, slow as it was.
    bench.probe(4).answer(4, 200);
    assert_eq!(bench.verdict(), Some(Verdict::Link));
}

#[test]
fn p23_an_unanswered_first_probe_separates_the_reserved_entry_from_the_second() {
    let mut bench = Bench::new(4, 2);
    bench.answer_poll(LOSS - 10, 200).probe(1).probe(2).answer(2, 200);
    assert_eq!(bench.verdict(), None);
}

#[test]
fn p24_equal_to_the_limit_is_no_congestion_and_a_nanosecond_more_is() {
    for (tolerance, limit) in [(0.0, 200), (0.1, 220), (0.25, 250), (1.0, 400)] {
        for (more, verdict) in [(0, Some(Verdict::Link)), (1, CONGESTION)] {
            for slow in [1, 2] {
                let mut bench = Bench::new(4, 2);
                bench.config.rtt_tolerance = tolerance;
                for n in 1..=2 {
                    bench.probe(n);
                    let measured = if n == slow { span(limit) } else { span(200) };
                    let measured = measured + Span::from_nanos(if n == slow { more } else { 0 });
                    let sent = probe_time(n);
                    bench.probing.record(ts(sent), ms(sent), measured);
                }
                assert_eq!(bench.verdict(), verdict, "{tolerance} {more} {slow}");
            }
        }
    }
}

#[test]
fn p24_a_pre_loss_measurement_decides_like_any_other() {
    let mut bench = Bench::new(4, 2);
    bench.answer_poll(LOSS - 10, 221).probe(1).answer(1, 200);
    assert_eq!(bench.verdict(), CONGESTION);
}

#[test]
fn p26_p27_congestion_is_persistent_from_the_idle_threshold_on() {
    let mut bench = Bench::new(4, 2);
    bench.probe(1).answer(1, 300).probe(2).answer(2, 300);
    let threshold = LOSS + 3_000;
    let persistent = |persistent| Some(Verdict::Congestion { persistent });
    assert_eq!(bench.verdict_at(threshold - 1), persistent(false));
    assert_eq!(bench.verdict_at(threshold), persistent(true));
    let just_before = ms(threshold).before(Span::from_nanos(1));
    let verdict = bench.probing.verdict(just_before, &bench.config, THRESHOLD);
    assert_eq!(verdict, persistent(false));
}

#[test]
fn p27_a_long_cycle_without_congestion_is_a_link_error_all_the_same() {
    let mut bench = Bench::new(4, 2);
    bench.probe(1).answer(1, 200).probe(2).answer(2, 200);
    assert_eq!(bench.verdict_at(LOSS + 1_000_000), Some(Verdict::Link));
}

#[test]
fn p28_after_the_end_nothing_of_the_cycle_is_left() {
    let mut bench = Bench::new(4, 2);
    bench.probe(1).answer(1, 200).probe(2).answer(2, 200);
    bench.probing.stop(ms(LOSS + 400), Verdict::Link, &bench.config);
    assert!(!bench.probing.is_active() && bench.map().is_empty());
    assert_eq!(bench.verdict(), None);
    bench.probing.start(ms(LOSS + 900), span(400), Trigger::GapReport);
    assert_eq!(bench.map(), [(0, 0)]);
    // The reference is that of the new loss.
    for sent in [LOSS + 900, LOSS + 1_300] {
        bench.probing.probe_sent(ts(sent), &bench.config);
        bench.answer_poll(sent, 430);
    }
    assert_eq!(bench.verdict_at(LOSS + 1_800), Some(Verdict::Link));
}

#[test]
fn p32_a_cycle_is_counted_by_its_trigger_and_its_verdict() {
    let mut bench = Bench::new(4, 2);
    let endings = [
        (Trigger::EarlyTimeout, Verdict::Premature),
        (Trigger::GapReport, Verdict::Link),
        (Trigger::GapReport, Verdict::Congestion { persistent: false }),
        (Trigger::GapReport, Verdict::Congestion { persistent: true }),
    ];
    bench.probing = Probing::new();
    for (n, (trigger, verdict)) in (1..).zip(endings) {
        let start = ms(100_000 * n);
        bench.probing.start(start, RTT, trigger);
        for probe in 0..n as u32 {
            bench.probing.probe_sent(probe, &bench.config);
        }
        bench.probing.stop(start + Span::from_secs(n), verdict, &bench.config);
    }
    let summary = bench.probing.summary();
    assert_eq!((summary.cycles, summary.early, summary.explicit), (4, 1, 3));
    let verdicts = (summary.premature, summary.link_decisions, summary.congestion_decisions);
    assert_eq!((verdicts, summary.probes), ((1, 1, 2), 10));
    assert!((summary.mean_cycle_seconds - 2.5).abs() < 1e-9);
    let names: Vec<_> = summary.first_cycles.iter().map(|c| (c.trigger, c.verdict)).collect();
    assert_eq!(names[0], ("early_timeout", Some("premature")));
    assert_eq!(names[3], ("gap_report", Some("congestion")));
}

#[test]
fn p32_the_record_keeps_the_first_cycles_as_they_ended() {
    let mut bench = Bench::new(4, 2);
    bench.probing = Probing::new();
    for n in 1..=20 {
        bench.probing.start(ms(1_000 * n), RTT, Trigger::GapReport);
        let verdict = if n <= 16 { Verdict::Link } else { Verdict::Premature };
        bench.probing.stop(ms(1_000 * n + 300), verdict, &bench.config);
    }
    let summary = bench.probing.summary();
    assert_eq!((summary.link_decisions, summary.premature), (16, 4));
    assert_eq!(summary.first_cycles.len(), 16);
    assert!(summary.first_cycles.iter().all(|c| c.verdict == Some("link")));
}

#[test]
fn p32_a_cycle_that_the_end_of_the_session_cut_short_has_no_verdict() {
    let mut bench = Bench::new(4, 2);
    bench.probe(1).probing.forget();
    let summary = bench.probing.summary();
    assert_eq!((summary.cycles, summary.probes, summary.premature), (1, 1, 0));
    assert_eq!(summary.first_cycles[0].verdict, None);
    assert!(summary.mean_cycle_seconds.abs() < 1e-9);
}

/// Figure 4 of the paper: the map through the stages of a cycle.
#[test]
fn figure_4_the_map_goes_through_the_stages_of_a_cycle() {
    let mut bench = Bench::new(4, 2);
    // The start: a place for answers to POLLs before the loss, and the first probe.
    bench.probe(1);
    assert_eq!(bench.map(), [(0, 0), (10_000, 0)]);
    // Such an answer, and a later one in its place.
    bench.answer_poll(9_870, 190).answer_poll(9_935, 195);
    assert_eq!(bench.map(), [(9_935, 195), (10_000, 0)]);
    // The answer to the first probe is lost.
    bench.probe(2).probe(3);
    assert_eq!(bench.map(), [(9_935, 195), (10_000, 0), (10_200, 0), (10_400, 0)]);
    // The map is full: the oldest makes room.
    bench.answer(2, 205).probe(4);
    assert_eq!(bench.map(), [(10_000, 0), (10_200, 205), (10_400, 0), (10_600, 0)]);
    assert_eq!(bench.verdict(), None);
    // Two in a row.
    bench.answer(4, 206).probe(5).answer(5, 207);
    assert_eq!(bench.map(), [(10_200, 205), (10_400, 0), (10_600, 206), (10_800, 207)]);
    assert_eq!(bench.verdict(), Some(Verdict::Link));
    assert_eq!(deciding(&mut bench), [206, 207]);
    assert!(bench.map().is_empty());
}
