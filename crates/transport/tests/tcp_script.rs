//! One end of a connection against a script: what is sent, when, and that nothing is sent before.

use std::sync::Arc;

use bentpipe_transport::recovery::Mode;
use bentpipe_transport::tcp::{Config, Connection, InitialWindow, State};
use bentpipe_transport::xstp::Ports;
use bentpipe_transport::{Endpoint, Event, Failure, PathId};
use bentpipe_units::{ByteCount, Instant, Seq32, Span};
use bentpipe_wire::tcp::{Flags, Options, SackBlock, Segment, SynOptions, Timestamps};
use bentpipe_wire::{Ecn, Segment as Any};
use bytes::Bytes;

/// Initial sequence numbers: ours just before the wrap, and the peer's.
const ISS: u32 = u32::MAX - 2_500;
const IRS: u32 = 7_000;

/// The end under test and the time. Numbers in the script count from the SYNs.
struct Script {
    end: Connection,
    now: Instant,
    told: Option<Event>,
}

fn ms(n: u64) -> Span {
    Span::from_millis(n)
}

fn flags(text: &str) -> Flags {
    let of = |c| match c {
        'S' => Flags::SYN,
        'F' => Flags::FIN,
        'R' => Flags::RST,
        'P' => Flags::PSH,
        'E' => Flags::ECE,
        'W' => Flags::CWR,
        '.' => Flags::ACK,
        other => panic!("no flag {other}"),
    };
    text.chars().map(of).fold(Flags::NONE, Flags::with)
}

/// A segment of the peer.
fn peer(control: &str, seq: u32, ack: u32, len: usize) -> Segment {
    Segment {
        source_port: 80,
        destination_port: 5001,
        seq: Seq32::new(IRS).plus(seq),
        ack: Seq32::new(ISS).plus(ack),
        flags: flags(control),
        window: 60_000,
        payload: Bytes::from(vec![7; len]),
        ..Segment::default()
    }
}

fn sack(ack: u32, blocks: &[(u32, u32)]) -> Segment {
    let block = |&(first, end): &(u32, u32)| SackBlock {
        first: Seq32::new(ISS).plus(first),
        end: Seq32::new(ISS).plus(end),
    };
    Segment { options: Options::Sack(blocks.iter().map(block).collect()), ..peer(".", 1, ack, 0) }
}

/// Segments of 1000 bytes, no timestamps, two segments at first, acknowledgements at once.
fn plain() -> Config {
    Config {
        mss: 1000,
        timestamps: false,
        window_scaling: false,
        initial_window: InitialWindow::Segments(2),
        ack_every: 1,
        nagle: false,
        ..Config::default()
    }
}

impl Script {
    /// The end has sent its SYN.
    fn start(config: Config) -> Self {
        config.validate().expect("valid settings");
        let ports = Ports { local: 5001, peer: 80 };
        let entropy = 1 << 32 | u64::from(ISS);
        let end = Connection::connect(Arc::new(config), Instant::ZERO, PathId(0), ports, entropy);
        Self { end, now: Instant::ZERO, told: None }
    }

    /// The connection is open after a round trip of 100 ms; the peer can what a modern host can.
    fn open(config: Config) -> Self {
        let mut script = Self::start(config);
        let syn = script.sent();
        assert_eq!(syn.len(), 1);
        script.pass(100);
        script.hear(syn_ack(SynOptions { sack_permitted: true, ..mss(1000) }));
        script.expect(&[("", 1, 1, 0)]);
        assert_eq!(script.told(), Some(Event::Connected));
        script
    }

    /// Everything that the end sends now.
    fn sent(&mut self) -> Vec<Segment> {
        let mut place = Any::default();
        let mut sent = Vec::new();
        while self.end.poll_transmit(self.now, &mut place).is_some() {
            sent.push(place.tcp_mut().clone());
        }
        sent
    }

    /// The end sends exactly this now: flags besides ACK, number, acknowledgement, payload.
    #[track_caller]
    fn expect(&mut self, expected: &[(&str, u32, u32, usize)]) -> Vec<Segment> {
        let sent = self.sent();
        let seen: Vec<_> = sent
            .iter()
            .map(|s| {
                let control = s.flags.without(Flags::ACK.with(Flags::PSH));
                let seq = s.seq.distance_from(Seq32::new(ISS));
                (control, seq, s.ack.distance_from(Seq32::new(IRS)), s.payload.len())
            })
            .collect();
        let expected: Vec<_> =
            expected.iter().map(|(f, seq, ack, len)| (flags(f), *seq, *ack, *len)).collect();
        assert_eq!(seen, expected, "at {}", self.now);
        sent
    }

    /// Nothing is sent until so many milliseconds have passed; timers run when they are due.
    #[track_caller]
    fn pass(&mut self, millis: u64) {
        let until = self.now + ms(millis);
        self.expect(&[]);
        while let Some(due) = self.end.poll_timeout().filter(|due| *due < until) {
            self.now = self.now.max(due);
            self.end.handle_timeout(self.now);
            self.expect(&[]);
        }
        self.now = until;
        if self.end.poll_timeout().is_some_and(|due| due <= until) {
            self.end.handle_timeout(until);
        }
    }

    fn hear(&mut self, segment: Segment) {
        self.end.handle_segment(self.now, PathId(0), &mut Any::Tcp(segment));
        self.told();
    }

    /// The last thing that the application was told; it reads all there is.
    fn told(&mut self) -> Option<Event> {
        while let Some(event) = self.end.poll_event() {
            self.told = Some(event);
            while self.end.read(self.now).is_some() {}
        }
        self.told
    }

    fn write(&mut self, len: usize) {
        let mut bytes = Bytes::from(vec![1; len]);
        assert_eq!(self.end.write(self.now, &mut bytes), Ok(len));
    }

    /// Four segments are out, of which the first two are acknowledged: 2001 to 6001 are under way.
    fn four_out(config: Config) -> Self {
        let mut script = Self::open(config);
        script.write(50_000);
        script.expect(&[("", 1, 1, 1000), ("", 1001, 1, 1000)]);
        script.pass(100);
        script.hear(peer(".", 1, 1001, 0));
        script.expect(&[("", 2001, 1, 1000), ("", 3001, 1, 1000)]);
        script.hear(peer(".", 1, 2001, 0));
        script.expect(&[("", 4001, 1, 1000), ("", 5001, 1, 1000)]);
        script
    }
}

fn mss(mss: u16) -> SynOptions {
    SynOptions { mss: Some(mss), ..SynOptions::default() }
}

fn syn_ack(options: SynOptions) -> Segment {
    Segment { options: Options::Syn(options), ..peer("S.", 0, 1, 0) }
}

#[test]
fn a_syn_is_repeated_after_one_two_and_four_seconds_and_then_given_up() {
    let mut script = Script::start(Config { syn_retries: Some(2), ..plain() });
    for wait in [1_000, 2_000, 4_000] {
        let syn = script.sent();
        assert_eq!((syn.len(), syn[0].flags), (1, Flags::SYN));
        script.pass(wait);
    }
    assert_eq!(script.told(), Some(Event::Failed(Failure::NoAnswer)));
    assert_eq!(script.end.state(), State::Closed);
}

#[test]
fn both_ends_may_open_at_once() {
    let mut script = Script::start(plain());
    script.sent();
    script.hear(Segment { options: Options::Syn(mss(1000)), ..peer("S", 0, 0, 0) });
    assert_eq!(script.end.state(), State::SynReceived);
    script.expect(&[("S", 0, 1, 0)]);
    script.hear(peer("S.", 0, 1, 0));
    assert_eq!(script.end.state(), State::Established);
}

#[test]
fn a_wrong_acknowledgement_of_the_syn_is_reset_and_a_right_reset_refuses() {
    let mut script = Script::start(plain());
    script.sent();
    script.hear(peer("S.", 0, 9, 0));
    let reset = script.sent();
    assert_eq!((reset[0].flags, reset[0].seq), (Flags::RST, Seq32::new(ISS).plus(9)));
    script.hear(peer("R.", 0, 9, 0));
    assert_eq!(script.end.state(), State::SynSent);
    script.hear(peer("R.", 0, 1, 0));
    assert_eq!(script.told(), Some(Event::Failed(Failure::ResetByPeer)));
}

#[test]
fn the_end_that_closes_first_waits_and_answers_a_fin_that_comes_again() {
    let mut script = Script::open(plain());
    script.write(10);
    script.end.close(script.now);
    script.expect(&[("F", 1, 1, 10)]);
    assert_eq!(script.end.state(), State::FinWait1);
    script.hear(peer(".", 1, 12, 0));
    assert_eq!(script.end.state(), State::FinWait2);
    script.hear(peer("F.", 1, 12, 5));
    script.expect(&[("", 12, 7, 0)]);
    assert_eq!(script.end.state(), State::TimeWait);
    script.pass(900);
    script.hear(peer("F.", 6, 12, 0));
    script.expect(&[("", 12, 7, 0)]);
    script.pass(999);
    assert_eq!(script.end.state(), State::TimeWait);
    script.pass(1);
    assert_eq!((script.end.state(), script.end.poll_timeout()), (State::Closed, None));
}

#[test]
fn the_end_that_closes_last_is_closed_by_the_acknowledgement_of_its_fin() {
    let mut script = Script::open(plain());
    script.hear(peer("F.", 1, 1, 0));
    script.expect(&[("", 1, 2, 0)]);
    assert_eq!(script.end.state(), State::CloseWait);
    script.end.close(script.now);
    script.expect(&[("F", 1, 2, 0)]);
    assert_eq!(script.end.state(), State::LastAck);
    script.hear(peer(".", 2, 2, 0));
    assert_eq!(script.end.state(), State::Closed);
}

#[test]
fn only_the_next_number_resets_and_others_are_challenged() {
    let mut script = Script::open(plain());
    script.hear(peer("R", 500, 0, 0));
    script.expect(&[("", 1, 1, 0)]);
    script.hear(peer("S", 300, 0, 0));
    script.expect(&[("", 1, 1, 0)]);
    script.hear(peer("R", 99_000, 0, 0));
    script.expect(&[]);
    script.hear(peer("R", 1, 0, 0));
    assert_eq!(script.end.state(), State::Closed);
}

#[test]
fn challenges_are_answered_ten_times_in_five_seconds() {
    let mut script = Script::open(plain());
    for n in 0..50 {
        script.hear(peer("S", 300, 0, 0));
        assert_eq!(script.sent().len(), usize::from(n < 10));
    }
}

#[test]
fn what_was_never_sent_can_not_be_acknowledged() {
    let mut script = Script::open(plain());
    script.write(1000);
    script.expect(&[("", 1, 1, 1000)]);
    script.hear(peer(".", 1, 1002, 0));
    script.expect(&[("", 1001, 1, 0)]);
    assert_eq!(script.end.sender_state().in_flight, ByteCount::new(1000));
}

#[test]
fn limited_transmit_sends_new_data_for_the_first_two_duplicates_and_the_third_repairs() {
    for (recovery, reports) in [(Mode::NewReno, false), (Mode::Reno, false), (Mode::Sack, true)] {
        let mut script = Script::four_out(Config { recovery, ..plain() });
        script.pass(100);
        let duplicate =
            |end| if reports { sack(2001, &[(3001, end)]) } else { peer(".", 1, 2001, 0) };
        script.hear(duplicate(4001));
        script.expect(&[("", 6001, 1, 1000)]);
        script.hear(duplicate(5001));
        script.expect(&[("", 7001, 1, 1000)]);
        script.hear(duplicate(6001));
        script.expect(&[("", 2001, 1, 1000)]);
    }
}

#[test]
fn without_limited_transmit_the_first_two_duplicates_send_nothing() {
    let config = Config { limited_transmit: false, recovery: Mode::NewReno, ..plain() };
    let mut script = Script::four_out(config);
    for _ in 0..2 {
        script.hear(peer(".", 1, 2001, 0));
        script.expect(&[]);
    }
    script.hear(peer(".", 1, 2001, 0));
    script.expect(&[("", 2001, 1, 1000), ("", 6001, 1, 1000)]);
}

#[test]
fn tahoe_starts_again_from_one_segment_and_goes_back() {
    let config = Config { recovery: Mode::Tahoe, limited_transmit: false, ..plain() };
    let mut script = Script::four_out(config);
    script.pass(100);
    for _ in 0..3 {
        script.expect(&[]);
        script.hear(peer(".", 1, 2001, 0));
    }
    script.expect(&[("", 2001, 1, 1000)]);
    script.pass(100);
    // The receiver has only the first of the rest.
    script.hear(peer(".", 1, 4001, 0));
    script.expect(&[("", 4001, 1, 1000), ("", 5001, 1, 1000)]);
}

#[test]
fn newreno_repairs_a_second_loss_by_a_partial_acknowledgement_and_reno_does_not() {
    for (recovery, repairs) in [(Mode::NewReno, true), (Mode::Reno, false)] {
        let config = Config { recovery, limited_transmit: false, ..plain() };
        let mut script = Script::four_out(config);
        script.pass(100);
        for _ in 0..3 {
            script.hear(peer(".", 1, 2001, 0));
        }
        // Half of the window, and the three that have left it (RFC 5681, section 3.2).
        script.expect(&[("", 2001, 1, 1000), ("", 6001, 1, 1000)]);
        script.pass(100);
        script.hear(peer(".", 1, 4001, 0));
        let sent = script.sent();
        let again = sent.iter().any(|s| s.seq == Seq32::new(ISS).plus(4001));
        assert_eq!(again, repairs, "{recovery:?}");
    }
}

#[test]
fn sack_repairs_every_hole_below_three_reports_and_nothing_else() {
    let mut script =
        Script::open(Config { initial_window: InitialWindow::Segments(10), ..plain() });
    script.write(10_000);
    assert_eq!(script.sent().len(), 10);
    script.pass(100);
    for end in [3001, 4001] {
        script.hear(sack(1001, &[(2001, end)]));
        script.expect(&[]);
    }
    script.hear(sack(1001, &[(5001, 6001), (2001, 4001)]));
    // 1001 is lost; above 4001 there is one segment only.
    script.expect(&[("", 1001, 1, 1000)]);
    script.hear(sack(1001, &[(5001, 8001), (2001, 4001)]));
    // Besides the hole the last segment goes again, once, so that it may be reported (rule 4).
    script.expect(&[("", 4001, 1, 1000), ("", 9001, 1, 1000)]);
}

#[test]
fn aero_repairs_by_the_first_duplicate_and_runs_ahead_at_a_partial_acknowledgement() {
    let mut script = Script::four_out(Config { recovery: Mode::Aero, ..plain() });
    script.pass(100);
    script.hear(peer(".", 1, 2001, 0));
    script.expect(&[("", 2001, 1, 1000)]);
    script.pass(100);
    script.hear(peer(".", 1, 3001, 0));
    let again: Vec<_> =
        script.sent().iter().map(|s| s.seq.distance_from(Seq32::new(ISS))).collect();
    assert!(again.contains(&3001), "{again:?}");
}

#[test]
fn the_order_of_departures_shows_the_loss_of_a_repair_at_once() {
    let config = Config { recovery: Mode::DepartureOrder, ..plain() };
    let mut script = Script::four_out(config);
    script.pass(100);
    script.hear(sack(2001, &[(3001, 4001)]));
    let sent = script.sent();
    assert_eq!(sent[0].seq, Seq32::new(ISS).plus(2001), "the first report is enough");
    script.hear(sack(2001, &[(3001, 6001)]));
    let after = script.sent();
    assert!(after.iter().all(|s| s.seq != Seq32::new(ISS).plus(2001)), "it is under way");
    script.pass(100);
    // What left after the repair arrived: the repair did not.
    script.hear(sack(2001, &[(3001, 8001)]));
    let again = script.sent();
    assert!(again.iter().any(|s| s.seq == Seq32::new(ISS).plus(2001)), "{again:?}");
}

#[test]
fn the_timer_doubles_and_each_timeout_sends_one_segment() {
    let mut script = Script::four_out(plain());
    // The sample of the round trip is 100 ms: the least timeout counts.
    script.pass(1_000);
    script.expect(&[("", 2001, 1, 1000)]);
    script.pass(2_000);
    script.expect(&[("", 2001, 1, 1000)]);
    script.pass(4_000);
    script.expect(&[("", 2001, 1, 1000)]);
    script.hear(peer(".", 1, 6001, 0));
    assert_eq!(script.sent().len(), 2, "slow start goes on");
}

#[test]
fn a_silent_peer_is_given_up_after_the_last_retry() {
    let mut script = Script::four_out(Config { retries: Some(2), ..plain() });
    for wait in [1_000, 2_000] {
        script.pass(wait);
        script.expect(&[("", 2001, 1, 1000)]);
    }
    script.pass(4_000);
    let reset = script.sent();
    assert!(reset[0].flags.contains(Flags::RST));
    assert_eq!(script.told(), Some(Event::Failed(Failure::NoResponse)));
}

#[test]
fn acknowledgements_are_delayed_for_one_segment_and_not_for_two_or_for_disorder() {
    let mut script = Script::open(Config { ack_every: 2, ..plain() });
    script.hear(peer(".", 1, 1, 1000));
    script.pass(200);
    script.expect(&[("", 1, 1001, 0)]);
    script.hear(peer(".", 1001, 1, 1000));
    script.hear(peer(".", 2001, 1, 1000));
    script.expect(&[("", 1, 3001, 0)]);
    script.hear(peer(".", 4001, 1, 1000));
    let duplicate = script.expect(&[("", 1, 3001, 0)]);
    assert_eq!(blocks(&duplicate[0]), [(4001, 5001)]);
    script.hear(peer(".", 3001, 1, 1000));
    script.expect(&[("", 1, 5001, 0)]);
}

/// The blocks that a segment reports.
fn blocks(segment: &Segment) -> Vec<(u32, u32)> {
    let Options::Sack(blocks) = &segment.options else { return Vec::new() };
    let place = |seq: Seq32| seq.distance_from(Seq32::new(IRS));
    blocks.iter().map(|block| (place(block.first), place(block.end))).collect()
}

#[test]
fn quick_acknowledgements_come_first() {
    let mut script = Script::open(Config { ack_every: 2, quick_acks: 2, ..plain() });
    for n in 0..2 {
        script.hear(peer(".", 1 + 1000 * n, 1, 1000));
        script.expect(&[("", 1, 1001 + 1000 * n, 0)]);
    }
    script.hear(peer(".", 2001, 1, 1000));
    script.expect(&[]);
}

#[test]
fn what_comes_twice_is_reported_first() {
    let mut script = Script::open(plain());
    script.hear(peer(".", 1, 1, 1000));
    script.expect(&[("", 1, 1001, 0)]);
    script.hear(peer(".", 2001, 1, 1000));
    script.expect(&[("", 1, 1001, 0)]);
    script.hear(peer(".", 1, 1, 1000));
    let answer = script.expect(&[("", 1, 1001, 0)]);
    assert_eq!(blocks(&answer[0]), [(1, 1001), (2001, 3001)]);
    script.hear(peer(".", 2001, 1, 1000));
    let answer = script.expect(&[("", 1, 1001, 0)]);
    assert_eq!(blocks(&answer[0]), [(2001, 3001), (2001, 3001)]);
}

#[test]
fn a_mark_is_echoed_until_the_peer_has_reduced_and_our_window_is_reduced_once() {
    let mut script = Script::start(Config { ecn: true, ..plain() });
    assert_eq!(script.sent()[0].flags, flags("SEW"));
    script.pass(100);
    let answer = syn_ack(mss(1000));
    script.hear(Segment { flags: flags("S.E"), ..answer });
    script.sent();
    script.hear(Segment { ecn: Ecn::Congestion, ..peer(".", 1, 1, 100) });
    script.expect(&[("E", 1, 101, 0)]);
    script.hear(peer(".", 101, 1, 100));
    script.expect(&[("E", 1, 201, 0)]);
    script.hear(peer(".W", 201, 1, 100));
    script.expect(&[("", 1, 301, 0)]);
    script.write(50_000);
    let sent = script.expect(&[("", 1, 301, 1000), ("", 1001, 301, 1000)]);
    assert_eq!(sent[0].ecn, Ecn::Capable0);
    script.hear(peer(".E", 301, 1001, 0));
    assert!(script.end.counters().reductions <= 1);
    let after = script.sent();
    assert!(after.first().is_none_or(|s| s.flags.contains(Flags::CWR)), "{after:?}");
}

#[test]
fn a_closed_window_is_probed_by_one_byte_ever_more_rarely() {
    let mut script = Script::open(plain());
    script.hear(Segment { window: 0, ..peer(".", 1, 1, 0) });
    script.write(5_000);
    script.pass(1_000);
    script.expect(&[("", 1, 1, 1)]);
    script.hear(Segment { window: 0, ..peer(".", 1, 1, 0) });
    script.pass(1_000);
    script.expect(&[("", 1, 1, 1)]);
    script.pass(2_000);
    script.expect(&[("", 1, 1, 1)]);
    script.hear(peer(".", 1, 1, 0));
    let sent = script.sent();
    assert_eq!((sent[0].payload.len(), sent[1].payload.len()), (1, 1000));
    assert_eq!(script.end.counters().reductions, 0);
}

#[test]
fn an_idle_connection_asks_and_gives_up() {
    let (keepalive, keepalive_interval) = (Span::from_secs(10), Span::from_secs(5));
    let config = Config { keepalive, keepalive_interval, keepalive_max: 2, ..plain() };
    let mut script = Script::open(config);
    script.pass(10_000);
    script.expect(&[("", 0, 1, 0)]);
    script.hear(peer(".", 1, 1, 0));
    script.pass(10_000);
    script.expect(&[("", 0, 1, 0)]);
    script.pass(5_000);
    script.expect(&[("", 0, 1, 0)]);
    script.pass(5_000);
    assert!(script.sent()[0].flags.contains(Flags::RST));
    assert_eq!(script.told(), Some(Event::Failed(Failure::NoResponse)));
}

#[test]
fn nagle_holds_a_short_segment_until_everything_is_acknowledged() {
    let mut script = Script::open(Config { nagle: true, ..plain() });
    script.write(10);
    script.expect(&[("", 1, 1, 10)]);
    script.write(10);
    script.expect(&[]);
    script.hear(peer(".", 1, 11, 0));
    script.expect(&[("", 11, 1, 10)]);
}

#[test]
fn a_smaller_path_mtu_cuts_what_is_sent_again_and_keeps_the_window() {
    let mut script = Script::four_out(plain());
    let before = script.end.sender_state().cwnd;
    script.end.set_path_mtu(script.now, 540);
    let sent = script.sent();
    assert!(sent.iter().all(|s| s.payload.len() <= 500), "{sent:?}");
    assert_eq!(sent[0].seq, Seq32::new(ISS).plus(2001));
    assert_eq!(script.end.sender_state().cwnd, before);
}

#[test]
fn old_duplicates_are_known_by_their_stamp() {
    let mut script = Script::start(Config { timestamps: true, ..plain() });
    script.sent();
    script.pass(100);
    let stamp =
        |value, segment| Segment { timestamps: Some(Timestamps { value, echo: 1 }), ..segment };
    script.hear(stamp(1_000, syn_ack(mss(1000))));
    assert_eq!(script.sent()[0].timestamps.map(|stamps| stamps.echo), Some(1_000));
    script.hear(stamp(999, peer(".", 1, 1, 100)));
    script.expect(&[("", 1, 1, 0)]);
    script.hear(stamp(1_001, peer(".", 1, 1, 100)));
    script.expect(&[("", 1, 101, 0)]);
    script.hear(peer(".", 101, 1, 100));
    script.expect(&[]);
}

#[test]
fn windows_are_scaled_when_both_ends_say_so() {
    for (offered, scaled) in [(Some(3), true), (None, false)] {
        let mut script = Script::start(Config { window_scaling: true, ..plain() });
        script.sent();
        script.hear(syn_ack(SynOptions { window_shift: offered, ..mss(1000) }));
        let window = script.sent()[0].window;
        assert_eq!(window == 62_500, scaled, "{window} times 64 bytes, or bytes");
    }
}

#[test]
fn after_idle_time_the_window_starts_over() {
    let mut script = Script::open(plain());
    script.write(6_000);
    for ack in [0, 1001, 2001, 4001, 6001] {
        if ack > 0 {
            script.hear(peer(".", 1, ack, 0));
        }
        script.sent();
    }
    script.pass(2_000);
    script.write(20_000);
    assert_eq!(script.sent().len(), 2);
}

#[test]
fn a_repair_that_was_needless_gives_the_window_back() {
    let mut script = Script::start(Config { timestamps: true, mss: 1012, ..plain() });
    script.sent();
    script.pass(100);
    let stamp =
        |echo, segment| Segment { timestamps: Some(Timestamps { value: 5, echo }), ..segment };
    script.hear(stamp(1, syn_ack(mss(1012))));
    script.sent();
    script.write(50_000);
    let first = script.sent();
    let echo = first[0].timestamps.expect("a stamp").value;
    let before = script.end.sender_state().cwnd;
    script.pass(1_000);
    assert_eq!(script.sent().len(), 1);
    assert!(script.end.sender_state().cwnd < before);
    script.hear(stamp(echo, peer(".", 1, 1001, 0)));
    assert!(script.end.sender_state().cwnd >= before);
}
