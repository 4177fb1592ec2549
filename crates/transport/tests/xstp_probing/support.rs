//! Paths, scripts and what a test asks of a run.

use bentpipe_record::{ProbingCycle, ProbingSummary};
use bentpipe_testkit::{Crossing, Direction, Fate, Pair};
use bentpipe_transport::xstp::{Config, ProbingConfig};
use bentpipe_transport::{Endpoint, Inspect, PathId, SenderState};
use bentpipe_units::{ByteCount, Instant, Seq32, Span};
use bentpipe_wire::Kind;
use bentpipe_wire::xstp::{Body, Flow, Gap, Report, ReportKind, Segment};

/// Decides the fate of each segment.
pub(crate) type Script = Box<dyn FnMut(&Crossing) -> Fate>;

/// One-way delay of every path here, unless a test says otherwise.
pub(crate) const DELAY: Span = Span::from_millis(150);
/// Round trip of such a path.
pub(crate) const RTT: Span = Span::from_millis(300);
/// Time between POLLs on it.
pub(crate) const INTERVAL: Span = Span::from_millis(100);
/// Longer than any run.
pub(crate) const LONG: Span = Span::from_secs(900);

/// A point of time.
pub(crate) fn ms(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

/// A client that probes.
pub(crate) fn prober() -> Config {
    Config { probing: true, ..Config::paper() }
}

/// A client that probes and takes the early timeout by the letter: no slack.
pub(crate) fn literal() -> Config {
    with_probe(|probe| probe.early_slack = 0.0)
}

/// A client that probes after gap reports only.
pub(crate) fn gaps_only() -> Config {
    with_probe(|probe| probe.early_timeout = false)
}

/// A client that probes, with other settings of probing.
pub(crate) fn with_probe(change: impl FnOnce(&mut ProbingConfig)) -> Config {
    let mut config = prober();
    change(&mut config.probe);
    config
}

/// Two ends with the window of the paper, 64 segments.
pub(crate) fn wide(client: Config) -> Pair {
    Pair::new(client, Config::paper(), DELAY)
}

/// Two ends in step: the receiver has so little room that one segment goes in a round trip, number
/// 999 + n at 300 n ms. POLL 1 goes with the first, POLL k leaves at 200 + 100 k ms, and the STAT
/// that answers it arrives together with the departure of POLL k + 3.
pub(crate) fn in_step(client: Config) -> Pair {
    let server = Config { rcv_buf: ByteCount::new(2_000), ..Config::paper() };
    Pair::new(client, server, DELAY)
}

/// When POLL k leaves on a path in step, and one round trip later its STAT arrives.
pub(crate) fn poll_time(k: u64) -> Instant {
    ms(200 + 100 * k)
}

/// The same with one POLL in a round trip, so that a cycle finds no answers to POLLs before the
/// loss: segment 999 + k and POLL k leave together at 300 k ms.
pub(crate) fn one_poll(client: Config) -> Pair {
    in_step(Config { poll_rate: 1, ..client })
}

/// A script of several: the first fate other than passing counts.
pub(crate) fn all_of(scripts: Vec<Script>) -> impl FnMut(&Crossing) -> Fate {
    let mut scripts = scripts;
    move |crossing| {
        // Every script sees every segment, or one that counts would miss some.
        let fates: Vec<_> = scripts.iter_mut().map(|script| script(crossing)).collect();
        fates.into_iter().find(|fate| *fate != Fate::Pass).unwrap_or(Fate::Pass)
    }
}

/// Drops the `nth` segment (from 1) of `kind` that goes `way`.
pub(crate) fn drop_nth(direction: Direction, kind: Kind, nth: u64) -> Script {
    let mut seen = 0;
    Box::new(move |crossing| {
        seen += u64::from(crossing.direction == direction && crossing.has(kind));
        if crossing.direction == direction && crossing.has(kind) && seen == nth {
            Fate::Drop
        } else {
            Fate::Pass
        }
    })
}

/// Drops a data segment the first `times` times that it is sent.
pub(crate) fn drop_data(seq: u32, times: u32) -> Script {
    let mut seen = 0;
    Box::new(move |crossing| {
        if crossing.direction == Direction::Forward
            && crossing.has(Kind::DATA)
            && crossing.segment.seq.get() == seq
        {
            seen += 1;
            return if seen <= times { Fate::Drop } else { Fate::Pass };
        }
        Fate::Pass
    })
}

/// Drops everything that is sent from `from` on and before `until`.
pub(crate) fn blackout(from: Instant, until: Instant) -> Script {
    Box::new(move |crossing| {
        let out = crossing.at >= from && crossing.at < until;
        if out { Fate::Drop } else { Fate::Pass }
    })
}

/// A script that ends.
pub(crate) fn until(end: Instant, mut script: Script) -> Script {
    Box::new(move |crossing| if crossing.at < end { script(crossing) } else { Fate::Pass })
}

/// Makes the answers to POLLs sent from `from` on late by `late`.
pub(crate) fn stretch(from: Instant, late: Span) -> Script {
    Box::new(move |crossing| {
        // POLLs take half a round trip before they are answered.
        let stretched = crossing.has(Kind::STAT) && crossing.at >= from + DELAY;
        if stretched { Fate::Late(late) } else { Fate::Pass }
    })
}

/// Drops the STATs that answer POLLs sent in `from..until`.
pub(crate) fn drop_answers(from: Instant, until: Instant) -> Script {
    Box::new(move |crossing| {
        let asked = crossing.at.before(DELAY);
        let lost = crossing.has(Kind::STAT) && asked >= from && asked < until;
        if lost { Fate::Drop } else { Fate::Pass }
    })
}

/// Makes every other STAT late by 20 ms. The estimate lies in the middle, so that STATs come by turns
/// 10 ms before and 10 ms after the POLL that they would meet.
pub(crate) fn jitter() -> Script {
    let mut count = 0;
    Box::new(move |crossing| {
        count += u32::from(crossing.has(Kind::STAT));
        let late = crossing.has(Kind::STAT) && count % 2 == 1;
        if late { Fate::Late(Span::from_millis(20)) } else { Fate::Pass }
    })
}

/// What probing did.
pub(crate) fn summary(pair: &Pair) -> ProbingSummary {
    let client = pair.client.session.as_ref().expect("a client");
    client.probing_summary().expect("probing is on")
}

/// Cycle `n`, from 0.
pub(crate) fn cycle(pair: &Pair, n: usize) -> ProbingCycle {
    summary(pair).first_cycles.get(n).expect("a cycle").clone()
}

/// When a cycle began.
pub(crate) fn start_of(cycle: &ProbingCycle) -> Instant {
    Instant::ZERO + Span::from_secs_f64(cycle.started_at)
}

/// How long a cycle lasted.
pub(crate) fn length_of(cycle: &ProbingCycle) -> Span {
    Span::from_secs_f64(cycle.seconds.expect("the cycle has ended"))
}

/// When a cycle ended.
pub(crate) fn end_of(cycle: &ProbingCycle) -> Instant {
    start_of(cycle) + length_of(cycle)
}

/// The measurements that decided a cycle.
pub(crate) fn measured(cycle: &ProbingCycle) -> Vec<Span> {
    cycle.measurements.iter().map(|seconds| Span::from_secs_f64(*seconds)).collect()
}

/// The client's sender.
pub(crate) fn state(pair: &Pair) -> SenderState {
    pair.client.session.as_ref().expect("a client").sender_state()
}

/// The client's window in segments.
pub(crate) fn window(pair: &Pair) -> u64 {
    state(pair).cwnd.expect("STP has a window").get() / 1000
}

/// How often the client reduced its window.
pub(crate) fn reductions(pair: &Pair) -> u64 {
    pair.client.session.as_ref().expect("a client").counters().reductions
}

/// When POLLs left.
pub(crate) fn polls(pair: &Pair) -> Vec<Instant> {
    pair.sent(Direction::Forward, Kind::POLL).map(|c| c.at).collect()
}

/// Times between POLLs that left in `from..=until`.
pub(crate) fn poll_gaps(pair: &Pair, from: Instant, until: Instant) -> Vec<Span> {
    let polls: Vec<_> = polls(pair).into_iter().filter(|at| *at >= from && *at <= until).collect();
    polls.windows(2).map(|two| two[1].since(two[0])).collect()
}

/// What the client sent at exactly this time.
pub(crate) fn sent_at(pair: &Pair, at: Instant) -> Vec<&Crossing> {
    pair.log.iter().filter(|c| c.direction == Direction::Forward && c.at == at).collect()
}

/// When a data segment was sent, each time.
pub(crate) fn times_sent(pair: &Pair, seq: u32) -> Vec<Instant> {
    let same = |c: &&Crossing| c.segment.seq.get() == seq;
    pair.sent(Direction::Forward, Kind::DATA).filter(same).map(|c| c.at).collect()
}

/// VT(S): the next new number of the client.
pub(crate) fn next_number(pair: &Pair) -> u32 {
    pair.sent(Direction::Forward, Kind::DATA).map(|c| c.segment.seq.get() + 1).max().expect("data")
}

/// VT(A): the oldest unacknowledged number of the client.
pub(crate) fn oldest_number(pair: &Pair) -> u32 {
    next_number(pair) - (state(pair).in_flight.get() / 1000) as u32
}

/// Timestamp of the client's latest POLL.
pub(crate) fn latest_poll(pair: &Pair) -> u32 {
    let polls = pair.sent(Direction::Forward, Kind::POLL);
    polls.last().and_then(|c| c.flow()).and_then(|flow| flow.poll).expect("a POLL")
}

/// The report that a segment carries.
pub(crate) fn report_of(crossing: &Crossing) -> Option<&Report> {
    crossing.flow().and_then(|flow| flow.report.as_ref())
}

/// The STAT that the server could send: it answers `echo`, expects `next` and misses `gaps`.
pub(crate) fn stat(echo: u32, next: u32, gaps: &[(u16, u16)]) -> Segment {
    from_server(64, ReportKind::Stat, echo, next, gaps)
}

/// The USTAT that the server could send.
pub(crate) fn ustat(window: u16, next: u32, gaps: &[(u16, u16)]) -> Segment {
    from_server(window, ReportKind::Ustat, 0, next, gaps)
}

fn from_server(
    window: u16,
    kind: ReportKind,
    ts_echo: u32,
    next: u32,
    gaps: &[(u16, u16)],
) -> Segment {
    let gaps = gaps.iter().map(|&(lower, upper)| Gap { lower, upper }).collect();
    let next = Seq32::new(next);
    let report = Report { kind, ts_echo, received_at: None, next, more: false, gaps };
    Segment {
        source_port: 5002,
        destination_port: 5001,
        sq: 7,
        window,
        seq: Seq32::new(0x2000),
        body: Body::Flow(Flow { report: Some(report), ..Flow::default() }),
    }
}

/// Lets the client hear a segment at this moment.
pub(crate) fn hear(pair: &mut Pair, segment: Segment) {
    pair.change(Direction::Forward, |client, now| {
        client.handle_segment(now, PathId(0), &mut bentpipe_wire::Segment::Xstp(segment));
    });
}
