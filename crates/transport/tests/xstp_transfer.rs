//! Opening, moving bytes, repairing and closing, over scripted wires.

use std::cell::Cell;
use std::rc::Rc;

use bentpipe_cc::Choice;
use bentpipe_testkit::{Crossing, Direction, Fate, Pair, pattern};
use bentpipe_transport::xstp::{Config, Session, StatRule, State};
use bentpipe_transport::{Endpoint, Event, Failure, Inspect};
use bentpipe_units::{ByteCount, Instant, Span};
use bentpipe_wire::Kind;
use bentpipe_wire::xstp::{Begin, Body, Flow, Gap, Report, ReportKind, ResetReason, Segment};

const DELAY: Span = Span::from_millis(100);
const LONG: Span = Span::from_secs(600);

fn pair() -> Pair {
    Pair::new(Config::default(), Config::default(), DELAY)
}

fn at_ms(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

fn states(pair: &Pair) -> (State, Option<State>) {
    let client = pair.client.session.as_ref().expect("a client").state();
    (client, pair.server.session.as_ref().map(Session::state))
}

fn client_told(pair: &Pair) -> Vec<Event> {
    pair.client.events.iter().map(|(_, event)| *event).collect()
}

/// Drops the `nth` segment (from 1) of `kind` that goes `way`.
fn drop_nth(direction: Direction, kind: Kind, nth: usize) -> impl FnMut(&Crossing) -> Fate {
    let mut seen = 0;
    move |crossing| {
        if crossing.direction == direction && crossing.has(kind) {
            seen += 1;
            if seen == nth {
                return Fate::Drop;
            }
        }
        Fate::Pass
    }
}

#[test]
fn what_is_written_is_read_both_ways_and_both_ends_close() {
    let mut pair = pair().sending(pattern(300_000)).answering(pattern(70_001));
    assert!(pair.run(LONG));
    assert_eq!(pair.server.inbox, pattern(300_000));
    assert_eq!(pair.client.inbox, pattern(70_001));
    assert_eq!(states(&pair), (State::Closed, Some(State::Closed)));
    assert!(client_told(&pair).contains(&Event::Connected));
    assert!(client_told(&pair).contains(&Event::Closed));
}

#[test]
fn the_client_is_connected_after_one_round_trip() {
    let mut pair = pair().sending(pattern(1));
    pair.run(LONG);
    assert_eq!(pair.client.events[0], (at_ms(200), Event::Connected));
    assert_eq!(pair.server.events[0], (at_ms(100), Event::Connected));
}

#[test]
fn the_first_segments_leave_at_once_if_that_is_wanted_and_the_others_are_spread() {
    for (unpaced, together) in [(0, 1), (3, 3)] {
        let client = Config { cwnd_init: 20, initial_burst: unpaced, ..Config::default() };
        let mut pair = Pair::new(client, Config::default(), DELAY).sending(pattern(12_000));
        assert!(pair.run(LONG));
        let data: Vec<_> = pair.sent(Direction::Forward, Kind::DATA).map(|c| c.at).collect();
        let first = data.iter().filter(|at| **at == data[0]).count();
        assert_eq!((first, data.len()), (together, 12), "{data:?}");
        // 20 in a round trip of 200 ms.
        assert!(data[first..].windows(2).all(|two| two[1].since(two[0]) >= Span::from_millis(10)));
    }
}

#[test]
fn a_lost_bgn_is_sent_again_after_one_second() {
    let mut pair =
        pair().sending(pattern(10)).with_script(drop_nth(Direction::Forward, Kind::BGN, 1));
    assert!(pair.run(LONG));
    let sent: Vec<_> = pair.sent(Direction::Forward, Kind::BGN).map(|c| c.at).collect();
    assert_eq!(sent, [at_ms(0), at_ms(1000)]);
    assert_eq!(pair.server.inbox, pattern(10));
}

#[test]
fn a_lost_bgnak_is_answered_again_by_the_same_session() {
    let mut pair =
        pair().sending(pattern(10)).with_script(drop_nth(Direction::Return, Kind::BGNAK, 1));
    assert!(pair.run(LONG));
    assert_eq!(pair.sent(Direction::Return, Kind::BGNAK).count(), 2);
    assert_eq!(pair.server.inbox, pattern(10));
}

#[test]
fn a_client_that_gets_data_instead_of_a_bgnak_asks_again_and_does_not_give_up() {
    let config = Config { ctl_max_retries: Some(3), ..Config::default() };
    let mut lost = 0;
    let lose = move |crossing: &Crossing| {
        lost += u32::from(crossing.has(Kind::BGNAK));
        if crossing.has(Kind::BGNAK) && lost <= 8 { Fate::Drop } else { Fate::Pass }
    };
    let mut pair =
        Pair::new(config, Config::default(), DELAY).answering(pattern(200_000)).with_script(lose);
    assert!(pair.run(LONG));
    assert_eq!(pair.client.inbox, pattern(200_000));
    let asked: Vec<_> = pair.sent(Direction::Forward, Kind::BGN).map(|c| c.at).collect();
    assert!(asked.windows(2).all(|two| two[1].since(two[0]) >= Span::from_secs(1)), "{asked:?}");
}

#[test]
fn a_bgnak_that_goes_again_with_polls_spares_a_new_request() {
    let server = Config { answer_copies: true, poll_rate: 16, ..Config::default() };
    let mut lost = 0;
    let lose = move |crossing: &Crossing| {
        lost += u32::from(crossing.has(Kind::BGNAK));
        if crossing.has(Kind::BGNAK) && lost <= 2 { Fate::Drop } else { Fate::Pass }
    };
    let mut pair =
        Pair::new(Config::default(), server, DELAY).answering(pattern(20_000)).with_script(lose);
    assert!(pair.run(LONG));
    assert_eq!(pair.client.inbox, pattern(20_000));
    assert_eq!(pair.sent(Direction::Forward, Kind::BGN).count(), 1);
    let answers: Vec<_> = pair.sent(Direction::Return, Kind::BGNAK).map(|c| c.at).collect();
    assert!(answers.len() <= 6, "none once the client has told what arrived: {answers:?}");
}

#[test]
fn without_an_answer_the_client_gives_up_after_its_last_retry() {
    let config = Config { ctl_max_retries: Some(3), ..Config::default() };
    let mut pair =
        Pair::new(config, Config::default(), DELAY).sending(pattern(1)).with_script(|_| Fate::Drop);
    assert!(pair.run(LONG));
    assert_eq!(client_told(&pair), [Event::Failed(Failure::NoAnswer)]);
    assert_eq!(pair.sent(Direction::Forward, Kind::BGN).count(), 4);
    assert_eq!(states(&pair).0, State::Closed);
}

#[test]
fn a_half_closed_session_still_sends_the_other_way() {
    // The client has nothing to send and closes at once; the server then sends for a long time.
    let mut pair = pair().answering(pattern(200_000));
    pair.run_to(at_ms(1500));
    assert_eq!(states(&pair).0, State::LocalHalf);
    assert_eq!(states(&pair).1, Some(State::PeerHalf));
    assert!(pair.run(LONG));
    assert_eq!(pair.client.inbox, pattern(200_000));
    assert_eq!(states(&pair), (State::Closed, Some(State::Closed)));
}

#[test]
fn lost_ends_and_endaks_are_repeated_until_both_sides_are_closed() {
    for (direction, kind) in [
        (Direction::Forward, Kind::END),
        (Direction::Return, Kind::END),
        (Direction::Forward, Kind::ENDAK),
        (Direction::Return, Kind::ENDAK),
    ] {
        let mut pair = pair().sending(pattern(5_000)).with_script(drop_nth(direction, kind, 1));
        assert!(pair.run(LONG), "{direction:?} {kind:?}");
        assert_eq!(pair.server.inbox, pattern(5_000));
        assert_eq!(states(&pair), (State::Closed, Some(State::Closed)), "{direction:?} {kind:?}");
        assert!(client_told(&pair).contains(&Event::Closed), "{direction:?} {kind:?}");
    }
}

#[test]
fn simultaneous_opening_ends_in_one_session_with_the_larger_number() {
    let mut pair = pair();
    pair.client.closes = false;
    let begin = Begin { mss: 1000, many_gaps: true, ts: 3, ts_echo: 0 };
    let crossing = Segment {
        source_port: 5002,
        destination_port: 5001,
        sq: 99,
        window: 64,
        seq: bentpipe_units::Seq32::new(5),
        body: Body::Begin(begin),
    };
    pair.inject(Direction::Return, crossing);
    pair.run_to(at_ms(150));
    let answer = pair.sent(Direction::Forward, Kind::BGNAK).next().expect("a BGNAK");
    assert_eq!(answer.segment.sq, 99);
    assert_eq!(states(&pair).0, State::Established);
}

#[test]
fn an_abort_resets_the_peer() {
    let mut pair = pair().sending(pattern(500_000));
    pair.run_to(at_ms(1000));
    pair.change(Direction::Forward, Session::abort);
    assert!(pair.run(LONG));
    assert!(client_told(&pair).contains(&Event::Failed(Failure::Aborted)));
    let reset = Event::Failed(Failure::Reset(ResetReason::UserAbort));
    assert!(pair.server.events.iter().any(|(_, e)| *e == reset));
    assert_eq!(states(&pair), (State::Closed, Some(State::Closed)));
}

#[test]
fn the_smaller_mss_of_both_ends_counts() {
    let server = Config { mss: 300, ..Config::default() };
    let mut pair = Pair::new(Config::default(), server, DELAY).sending(pattern(20_000));
    assert!(pair.run(LONG));
    assert_eq!(pair.server.inbox, pattern(20_000));
    assert!(pair.sent(Direction::Forward, Kind::DATA).all(|c| c.segment.payload_len() <= 300));
}

#[test]
fn a_lost_tail_is_recovered_by_polls_alone() {
    let mut pair =
        pair().sending(pattern(15_000)).with_script(drop_nth(Direction::Forward, Kind::DATA, 15));
    assert!(pair.run(LONG));
    assert_eq!(pair.server.inbox, pattern(15_000));
    assert_eq!(
        pair.client.session.as_ref().expect("a client").counters().retransmitted_segments,
        1
    );
    // No timer of the sender exists that could have found it: a STAT with the gap did.
    let repaired_at =
        pair.sent(Direction::Forward, Kind::DATA).last().expect("a retransmission").at;
    let told = pair
        .sent(Direction::Return, Kind::STAT)
        .find(|c| c.flow().and_then(|f| f.report.as_ref()).is_some_and(|r| !r.gaps.is_empty()));
    assert_eq!(told.expect("a gap list").at + DELAY, repaired_at);
}

#[test]
fn an_old_poll_is_not_answered_again() {
    let mut pair = pair().sending(pattern(3_000)).with_script(|c| {
        let poll = c.direction == Direction::Forward && c.has(Kind::POLL);
        if poll { Fate::Twice(Span::from_millis(30)) } else { Fate::Pass }
    });
    assert!(pair.run(LONG));
    let polls = pair.sent(Direction::Forward, Kind::POLL).count();
    assert_eq!(pair.sent(Direction::Return, Kind::STAT).count(), polls);
}

#[test]
fn a_ustat_repairs_once_and_then_the_stat_waits_a_round_trip() {
    // The twelfth segment is lost each time it is sent.
    let mut pair = pair().sending(pattern(60_000)).with_script(|c| {
        let lost =
            c.direction == Direction::Forward && c.has(Kind::DATA) && c.segment.seq.get() == 1011;
        if lost && c.at < at_ms(2600) { Fate::Drop } else { Fate::Pass }
    });
    assert!(pair.run(LONG));
    assert_eq!(pair.server.inbox, pattern(60_000));
    let sent: Vec<_> = pair
        .sent(Direction::Forward, Kind::DATA)
        .filter(|c| c.segment.seq.get() == 1011)
        .map(|c| c.at)
        .collect();
    assert!(sent.len() > 2, "{sent:?}");
    for again in sent.windows(2).skip(1) {
        assert!(again[1].since(again[0]) >= Span::from_millis(199), "{sent:?}");
    }
}

#[test]
fn many_losses_of_one_window_halve_it_once() {
    let mut pair = pair().sending(pattern(200_000)).with_script(|c| {
        let seq = c.segment.seq.get();
        let lost = c.has(Kind::DATA) && (1070..1080).contains(&seq) && c.at < at_ms(1800);
        if lost && c.direction == Direction::Forward { Fate::Drop } else { Fate::Pass }
    });
    assert!(pair.run(LONG));
    assert_eq!(pair.server.inbox, pattern(200_000));
    let counters = pair.client.session.as_ref().expect("a client").counters();
    assert!(counters.retransmitted_segments >= 10);
    assert_eq!(counters.reductions, 1);
}

#[test]
fn a_gap_that_reordering_fills_is_not_reported() {
    let mut pair = pair().sending(pattern(100_000)).with_script(|c| {
        let late = c.has(Kind::DATA) && c.segment.seq.get() == 1040;
        // Long enough to be overtaken by one or two, not by three.
        if late { Fate::Late(Span::from_micros(100)) } else { Fate::Pass }
    });
    assert!(pair.run(LONG));
    assert_eq!(pair.sent(Direction::Return, Kind::USTAT).count(), 0);
}

#[test]
fn a_ustat_waits_for_the_configured_number_of_segments_beyond_the_gap() {
    for (delay, beyond) in [(1, 1), (3, 3)] {
        let server = Config { ustat_delay: delay, ..Config::default() };
        // No STAT may come in between: one POLL per round trip.
        let client = Config { poll_rate: 1, ..Config::default() };
        let mut pair = Pair::new(client, server, DELAY)
            .sending(pattern(200_000))
            .with_script(drop_nth(Direction::Forward, Kind::DATA, 60));
        assert!(pair.run(LONG));
        let ustat = pair.sent(Direction::Return, Kind::USTAT).next().expect("a USTAT").at;
        let arrived = |c: &&Crossing| c.at + DELAY <= ustat && c.segment.seq.get() > 1059;
        let later = pair.sent(Direction::Forward, Kind::DATA).filter(arrived).count();
        // Segments of one burst arrive at the same time.
        assert!((beyond..beyond + 8).contains(&later), "{delay}: {later}");
    }
}

#[test]
fn a_second_gap_has_the_first_one_reported_at_once() {
    let server = Config { ustat_delay: 50, ..Config::default() };
    let client = Config { poll_rate: 1, ..Config::default() };
    let mut pair = Pair::new(client, server, DELAY).sending(pattern(200_000)).with_script(|c| {
        let seq = c.segment.seq.get();
        let lost = c.has(Kind::DATA) && (seq == 1060 || seq == 1066) && c.at < at_ms(2000);
        if lost { Fate::Drop } else { Fate::Pass }
    });
    assert!(pair.run(LONG));
    let ustat = pair.sent(Direction::Return, Kind::USTAT).next().expect("a USTAT");
    let report = ustat.flow().and_then(|f| f.report.clone()).expect("a report");
    assert_eq!(report.next.get(), 1060);
    assert_eq!(&report.gaps[..], [Gap { lower: 0, upper: 1 }]);
}

#[test]
fn a_receiver_without_room_is_polled_until_it_has_some() {
    let server = Config { rcv_buf: ByteCount::new(8_000), ..Config::default() };
    let mut pair = Pair::new(Config::default(), server, DELAY).sending(pattern(40_000));
    pair.server.stalled = true;
    pair.run_to(at_ms(20_000));
    let state = pair.client.session.as_ref().expect("a client").sender_state();
    assert_eq!(state.activity, "persisting");
    assert!(pair.server.inbox.is_empty());
    let waits: Vec<_> = pair
        .sent(Direction::Forward, Kind::POLL)
        .map(|c| c.at)
        .collect::<Vec<_>>()
        .windows(2)
        .map(|w| w[1].since(w[0]).as_nanos() / 1_000_000)
        .collect();
    assert!(
        waits.ends_with(&[500, 1000, 2000, 4000]) || waits.ends_with(&[1000, 2000, 4000, 8000]),
        "{waits:?}"
    );
    pair.server.stalled = false;
    pair.change(Direction::Return, |_, _| {});
    let mut late = Vec::new();
    if let Some(session) = &mut pair.server.session {
        while let Some(bytes) = session.read(pair.now) {
            late.extend_from_slice(&bytes);
        }
    }
    pair.server.inbox = late;
    assert!(pair.run(LONG));
    assert_eq!(pair.server.inbox, pattern(40_000));
}

#[test]
fn an_idle_session_keeps_itself_alive_and_notices_a_dead_peer() {
    let dead_after = at_ms(35_000);
    let mut pair = pair()
        .sending(pattern(10))
        .with_script(move |c| if c.at > dead_after { Fate::Drop } else { Fate::Pass });
    pair.client.closes = false;
    pair.server.closes = false;
    assert!(pair.run(LONG));
    assert!(client_told(&pair).contains(&Event::Failed(Failure::NoResponse)));
    let failed_at = pair.client.events.last().expect("an event").0;
    assert!(failed_at > at_ms(90_000) && failed_at < at_ms(110_000), "{failed_at}");
}

#[test]
fn polling_backs_off_through_an_outage_and_recovers_at_its_end() {
    let mut pair = pair().sending(pattern(400_000)).with_script(|c| {
        let out = c.at > at_ms(2_000) && c.at < at_ms(40_000);
        if out { Fate::Drop } else { Fate::Pass }
    });
    assert!(pair.run(LONG));
    assert_eq!(pair.server.inbox, pattern(400_000));
    let polls: Vec<_> = pair.sent(Direction::Forward, Kind::POLL).map(|c| c.at).collect();
    let longest = polls.windows(2).map(|w| w[1].since(w[0])).max().expect("polls");
    // A third of 200 ms, times the largest backoff of 8.
    assert!(longest > Span::from_millis(500) && longest < Span::from_millis(560), "{longest}");
}

#[test]
fn a_long_outage_costs_few_polls_and_its_end_is_found_within_a_sixteenth_of_it() {
    let config = Config {
        poll_rate: 16,
        silence_ratio: 1.0 / 16.0,
        rtt_init: Span::from_millis(4),
        cwnd_init: 64,
        ..Config::default()
    };
    for outage in [100, 1_000, 10_000, 60_000] {
        let (from, until) = (at_ms(20), at_ms(20 + outage));
        let mut pair = Pair::new(config.clone(), config.clone(), Span::from_millis(2))
            .sending(pattern(4_000_000))
            .with_script(
                move |c| if c.at > from && c.at < until { Fate::Drop } else { Fate::Pass },
            );
        assert!(pair.run(LONG));
        let polls: Vec<_> = pair.sent(Direction::Forward, Kind::POLL).map(|c| c.at).collect();
        let dark = polls.iter().filter(|at| **at > from && **at < until).count();
        // Sixteen for each factor of e by which the silence grows, and one a second at last.
        assert!(dark < 240, "{dark} POLLs in {outage} ms");
        let found = polls.iter().find(|at| **at >= until).expect("a POLL after the outage");
        let most = Span::from_millis(outage).mul_f64(1.0 / 16.0) + Span::from_millis(4);
        assert!(found.since(until) <= most, "{} after {outage} ms", found.since(until));
    }
}

#[test]
fn a_forced_poll_goes_out_when_half_the_send_buffer_was_sent_since_the_last() {
    // POLLs are wanted once in ten round trips only.
    let client = Config {
        poll_rate: 1,
        rtt_init: Span::from_secs(10),
        cwnd_init: 64,
        poll_buf_ratio: 0.5,
        ..Config::default()
    };
    let mut pair = Pair::new(client, Config::default(), DELAY).sending(pattern(64_000));
    assert!(pair.run(LONG));
    let mut since = 0;
    for data in pair.sent(Direction::Forward, Kind::DATA) {
        since += data.segment.payload_len();
        assert!(since <= 32_000);
        if data.has(Kind::POLL) {
            since = 0;
        }
    }
}

#[test]
fn polls_ride_on_data_that_leave_a_little_earlier_or_later_and_are_no_more_for_it() {
    let polls = |poll_rides| {
        let client = Config { poll_rate: 16, poll_rides, cwnd_init: 64, ..Config::default() };
        let mut pair = Pair::new(client, Config::default(), DELAY).sending(pattern(2_000_000));
        assert!(pair.run(LONG));
        let all = pair.sent(Direction::Forward, Kind::POLL).count();
        (all, pair.sent(Direction::Forward, Kind::POLL).filter(|poll| poll.has(Kind::DATA)).count())
    };
    let ((all, before), (as_many, riding)) = (polls(false), polls(true));
    assert!(riding * 4 > as_many * 3, "{riding} of {as_many}");
    assert!(before * 4 < all * 3, "{before} of {all}");
    assert!(all.abs_diff(as_many) * 10 < all, "{as_many} and {all}");
}

#[test]
fn data_bring_polls_where_bursts_are_about_as_far_apart() {
    // A POLL is due each 12.5 ms.
    let polls = |poll_in_data, tick| {
        let timer_tick = Span::from_millis(tick);
        let client =
            Config { poll_rate: 16, poll_in_data, timer_tick, cwnd_init: 64, ..Config::default() };
        let mut pair = Pair::new(client, Config::default(), DELAY).sending(pattern(2_000_000));
        assert!(pair.run(LONG));
        let all = pair.sent(Direction::Forward, Kind::POLL).count();
        (
            all,
            pair.sent(Direction::Forward, Kind::POLL).filter(|poll| !poll.has(Kind::DATA)).count(),
        )
    };
    let ((all, before), (as_many, alone)) = (polls(false, 10), polls(true, 10));
    assert!(alone * 4 < before, "{alone} and {before}");
    assert!(all.abs_diff(as_many) * 4 < all, "{as_many} and {all}");
    assert_eq!(polls(true, 3), polls(false, 3), "bursts are closer");
}

#[test]
fn a_small_window_leaves_in_one_burst_whatever_brings_polls() {
    let takes = |poll_in_data, window: f64| {
        let controller = Choice::new("fixed", [("window".to_owned(), window)].into()).unwrap();
        let client = Config {
            poll_rate: 16,
            poll_in_data,
            poll_share: 0.125,
            cwnd_init: 1,
            controller,
            ..Config::default()
        };
        // The link takes a millisecond for each segment.
        let mut free = Instant::ZERO;
        let rate = move |crossing: &Crossing| {
            if crossing.direction == Direction::Return {
                return Fate::Pass;
            }
            free = free.max(crossing.at) + Span::from_millis(1);
            Fate::Late(free.since(crossing.at))
        };
        let pair = Pair::new(client, Config::default(), DELAY).with_script(rate);
        let mut pair = pair.sending(pattern(100_000));
        assert!(pair.run(LONG));
        pair.sent(Direction::Forward, Kind::DATA).map(|data| data.at).max()
    };
    for window in [1.0, 2.0, 3.0] {
        assert_eq!(takes(true, window), takes(false, window), "{window}");
    }
}

#[test]
fn no_more_than_eight_segments_leave_back_to_back() {
    let mut pair = pair().sending(pattern(2_000_000));
    assert!(pair.run(LONG));
    let times: Vec<_> = pair.sent(Direction::Forward, Kind::DATA).map(|c| c.at).collect();
    let mut longest = 0;
    let mut run = 0;
    for pair in times.windows(2) {
        run = if pair[0] == pair[1] { run + 1 } else { 0 };
        longest = longest.max(run + 1);
    }
    assert!(longest <= 8, "{longest}");
}

#[test]
fn the_rate_of_a_clean_path_is_a_window_and_a_burst_per_round_trip_and_poll_interval() {
    // A segment is acknowledged by the first POLL after it, so that a full window takes a round trip
    // and a poll interval. The burst that a STAT sets free leaves with the next POLL, which covers
    // it too: the window counts for one burst more than it holds.
    for (delay, burst) in [(100, 4.0), (150, 3.0)] {
        let round_trip = 2.0 * delay as f64 / 1000.0;
        let expected = (64.0 + burst) * 8000.0 / (round_trip * (1.0 + 1.0 / 3.0));
        let delay = Span::from_millis(delay);
        let mut pair = Pair::new(Config::default(), Config::default(), delay);
        pair = pair.sending(pattern(4_000_000));
        assert!(pair.run(LONG));
        // The middle half, when the window is full.
        let times: Vec<_> = pair.sent(Direction::Forward, Kind::DATA).map(|c| c.at).collect();
        let span = times[3000].since(times[1000]).as_secs_f64();
        let rate = 2000.0 * 8000.0 / span;
        assert!((rate / expected - 1.0).abs() < 0.03, "{rate} bit/s, expected {expected}");
    }
}

#[test]
fn after_idle_time_the_window_starts_over() {
    let mut pair = pair().sending(pattern(200_000));
    pair.client.closes = false;
    pair.server.closes = false;
    pair.run_to(at_ms(8_000));
    let cwnd = |pair: &Pair| {
        pair.client.session.as_ref().expect("a client").sender_state().cwnd.expect("a window").get()
    };
    assert_eq!(cwnd(&pair), 64_000);
    pair.run_to(at_ms(12_000));
    pair.client.outbox = pattern(1_000);
    pair.change(Direction::Forward, |_, _| {});
    pair.run_to(at_ms(12_050));
    assert_eq!(cwnd(&pair), 1_000);
}

#[test]
fn short_segments_wait_for_each_other_unless_nagle_is_off() {
    for (nagle, most) in [(true, 2), (false, 5)] {
        let client = Config { nagle, cwnd_init: 16, ..Config::default() };
        let mut pair = Pair::new(client, Config::default(), DELAY);
        pair.client.closes = false;
        pair.server.closes = false;
        pair.run_to(at_ms(500));
        for n in 0..5 {
            pair.client.outbox = pattern(10);
            pair.change(Direction::Forward, |_, _| {});
            pair.run_to(at_ms(510 + n * 10));
        }
        let within_a_round_trip = pair.sent(Direction::Forward, Kind::DATA).count();
        assert_eq!(within_a_round_trip, if nagle { 1 } else { most });
    }
}

#[test]
fn retransmissions_leave_in_bursts_when_they_are_paced() {
    for (rtx_paced, most) in [(true, 8), (false, 30)] {
        let client = Config { rtx_paced, ..Config::default() };
        let mut pair = Pair::new(client, Config::default(), DELAY)
            .sending(pattern(300_000))
            .with_script(|c| {
                let seq = c.segment.seq.get();
                let lost = c.has(Kind::DATA) && (1100..1130).contains(&seq);
                if lost && c.at < at_ms(2200) { Fate::Drop } else { Fate::Pass }
            });
        assert!(pair.run(LONG));
        assert_eq!(pair.server.inbox, pattern(300_000));
        let mut seen = std::collections::BTreeMap::<Instant, u32>::new();
        let mut sent = std::collections::BTreeSet::new();
        for c in pair.sent(Direction::Forward, Kind::DATA) {
            if !sent.insert(c.segment.seq.get()) {
                *seen.entry(c.at).or_default() += 1;
            }
        }
        let longest = seen.values().copied().max().expect("retransmissions");
        assert!(longest <= most, "{rtx_paced}: {longest}");
        assert!(rtx_paced || longest > 8, "{longest}");
    }
}

fn report(next: u32, gaps: &[(u16, u16)]) -> Flow {
    let gaps = gaps.iter().map(|&(lower, upper)| Gap { lower, upper }).collect();
    let next = bentpipe_units::Seq32::new(next);
    let kind = ReportKind::Ustat;
    let report = Report { kind, ts_echo: 0, received_at: None, next, more: false, gaps };
    Flow { report: Some(report), ..Flow::default() }
}

fn from_server(sq: u8, window: u16, flow: Flow) -> Segment {
    Segment {
        source_port: 5002,
        destination_port: 5001,
        sq,
        window,
        seq: bentpipe_units::Seq32::new(0x2000),
        body: Body::Flow(flow),
    }
}

#[test]
fn lies_of_the_receiver_change_nothing() {
    let lies = [
        from_server(7, 64, report(999_999, &[])),
        from_server(7, 64, report(900, &[])),
        from_server(7, 64, report(1_001, &[(0, 60_000)])),
        from_server(7, 0, report(u32::MAX, &[(0, 1)])),
        from_server(8, 64, report(1_001, &[])),
    ];
    let mut pair = pair().sending(pattern(400_000));
    pair.run_to(at_ms(1_000));
    for lie in lies {
        pair.inject(Direction::Return, lie);
    }
    assert!(pair.run(LONG));
    assert_eq!(pair.server.inbox, pattern(400_000));
    let counters = pair.client.session.as_ref().expect("a client").counters();
    assert_eq!(counters.ignored_segments, 5);
    assert_eq!(counters.retransmitted_segments, 0);
    // The wrong session number, and only it, is answered by a reset of that other session.
    let resets: Vec<_> = pair.sent(Direction::Forward, Kind::RST).map(|c| c.segment.sq).collect();
    assert_eq!(resets, [8]);
}

#[test]
fn a_receiver_that_shrinks_its_window_stops_the_sender_and_no_more() {
    let mut pair = pair().sending(pattern(400_000));
    pair.run_to(at_ms(2_000));
    let acknowledged = pair.client.session.as_ref().expect("a client").sender_state();
    assert!(acknowledged.in_flight.get() > 10_000);
    pair.inject(Direction::Return, from_server(7, 0, report(1_060, &[])));
    assert!(pair.run(LONG));
    assert_eq!(pair.server.inbox, pattern(400_000));
}

#[test]
fn a_flood_beyond_the_window_is_ignored_and_memory_stays_within_the_buffer() {
    let mut pair = pair().sending(pattern(1_000));
    pair.client.closes = false;
    pair.server.closes = false;
    pair.run_to(at_ms(1_000));
    for n in 0..100_000u32 {
        let flow = Flow { payload: pattern(1_000), ..Flow::default() };
        let seq = bentpipe_units::Seq32::new(1_002 + n * 7);
        let segment = Segment {
            source_port: 5001,
            destination_port: 5002,
            sq: 7,
            window: 64,
            seq,
            body: Body::Flow(flow),
        };
        pair.change(Direction::Return, |server, now| {
            let mut segment = bentpipe_wire::Segment::Xstp(segment);
            server.handle_segment(now, Default::default(), &mut segment);
        });
    }
    let counters = pair.server.session.as_ref().expect("a server").counters();
    // 64 segments of window hold every seventh number: 9 of them, or 10.
    assert!(counters.ignored_segments >= 99_990, "{}", counters.ignored_segments);
    assert_eq!(pair.server.inbox.len(), 1_000);
}

#[test]
fn a_segment_longer_than_agreed_is_ignored() {
    let mut pair = pair().sending(pattern(1_000));
    pair.client.closes = false;
    pair.server.closes = false;
    pair.run_to(at_ms(1_000));
    let flow = Flow { payload: pattern(1_001), ..Flow::default() };
    let seq = bentpipe_units::Seq32::new(1_001);
    let segment = Segment {
        source_port: 5001,
        destination_port: 5002,
        sq: 7,
        window: 64,
        seq,
        body: Body::Flow(flow),
    };
    pair.inject(Direction::Forward, segment);
    pair.run_to(at_ms(2_000));
    assert_eq!(pair.server.inbox.len(), 1_000);
}

#[test]
fn a_peer_that_restarted_ends_the_old_session() {
    let mut pair = pair().sending(pattern(400_000));
    pair.run_to(at_ms(1_000));
    let begin = Begin { mss: 1000, many_gaps: true, ts: 1, ts_echo: 0 };
    let anew = Segment {
        source_port: 5001,
        destination_port: 5002,
        sq: 200,
        window: 64,
        seq: bentpipe_units::Seq32::new(77),
        body: Body::Begin(begin),
    };
    pair.inject(Direction::Forward, anew);
    pair.run_to(at_ms(1_200));
    let restarted = Event::Failed(Failure::PeerRestarted);
    assert!(pair.server.events.iter().any(|(_, e)| *e == restarted));
}

#[test]
fn data_after_the_peers_end_is_ignored() {
    let mut pair = pair().sending(pattern(1_000));
    pair.server.closes = false;
    pair.run_to(at_ms(2_000));
    assert_eq!(states(&pair).1, Some(State::PeerHalf));
    let flow = Flow { payload: pattern(10), ..Flow::default() };
    let segment = Segment {
        source_port: 5001,
        destination_port: 5002,
        sq: 7,
        window: 64,
        seq: bentpipe_units::Seq32::new(1_001),
        body: Body::Flow(flow),
    };
    pair.inject(Direction::Forward, segment);
    pair.run_to(at_ms(3_000));
    assert_eq!(pair.server.inbox.len(), 1_000);
}

#[test]
fn once_what_held_everything_up_is_over_the_round_trip_is_what_it_is_at_once() {
    let over = at_ms(60_000);
    let late = Span::from_secs(10);
    let script = move |c: &Crossing| if c.at < over { Fate::Late(late) } else { Fate::Pass };
    let mut pair = pair().sending(pattern(20_000_000)).with_script(script);
    let round_trip = |pair: &Pair| pair.client.session.as_ref().and_then(Session::round_trip);
    pair.run_to(over);
    assert!(round_trip(&pair).is_some_and(|srtt| srtt > late), "{:?}", round_trip(&pair));
    pair.run_to(over + Span::from_secs(3));
    assert_eq!(round_trip(&pair), Some(DELAY * 2));
}

/// So many segments are retransmitted of two megabytes of which one segment in ten comes 30 ms late, or is lost, and how many
/// those are.
fn repairs(fate: Fate) -> (u64, u64) {
    let config =
        Config { stat_rule: StatRule::Poll, selective: true, poll_rate: 16, ..Config::default() };
    let (mut seen, count) = (0, Rc::new(Cell::new(0)));
    let struck = count.clone();
    let script = move |crossing: &Crossing| {
        if crossing.direction == Direction::Return || !crossing.has(Kind::DATA) {
            return Fate::Pass;
        }
        seen += 1;
        if seen % 10 != 7 {
            return Fate::Pass;
        }
        struck.set(struck.get() + 1);
        fate
    };
    let mut pair =
        Pair::new(config.clone(), config, DELAY).with_script(script).sending(pattern(2_000_000));
    assert!(pair.run(LONG));
    assert!(pair.server.inbox == pattern(2_000_000));
    let session = pair.client.session.as_ref().expect("a client");
    (session.counters().retransmitted_segments, count.get())
}

#[test]
fn what_comes_late_is_not_retransmitted_once_that_is_known() {
    let (repairs_of_late, late) = repairs(Fate::Late(Span::from_millis(30)));
    assert!(repairs_of_late * 3 < late, "{repairs_of_late} of {late}");
    let (repairs_of_lost, lost) = repairs(Fate::Drop);
    assert!(
        repairs_of_lost >= lost && lost > 100,
        "{repairs_of_lost} of {lost}: losses are losses"
    );
}
