//! Scripts: what comes to the agent, and what it does with it.

use bentpipe_units::{Instant, Seq32, Span};
use bentpipe_wire::tcp::{Flags, Options, SackBlock, Segment};
use bytes::Bytes;

use super::{Config, Snoop};
use crate::{Address, Agent, Direction, Emission, Ends, Packet, Verdict};

/// Number of the first byte, near the wrap.
const FIRST: u32 = u32::MAX - 2_500;
const SERVER: Address = Address(1);
const CLIENT: Address = Address(2);
const DOWN: Ends = Ends { from: SERVER, to: CLIENT };

/// An agent between server and client, and the time.
struct Script {
    agent: Snoop,
    now: Instant,
}

/// Data segment `n` of 1000 bytes.
fn segment(n: u32) -> Segment {
    Segment {
        source_port: 80,
        destination_port: 5001,
        seq: Seq32::new(FIRST).plus(n * 1000),
        flags: Flags::ACK,
        payload: Bytes::from(vec![n as u8; 1000]),
        ..Segment::default()
    }
}

/// The client expects segment `n` next.
fn acknowledgement(n: u32) -> Segment {
    Segment {
        source_port: 5001,
        destination_port: 80,
        ack: Seq32::new(FIRST).plus(n * 1000),
        flags: Flags::ACK,
        window: 60_000,
        ..Segment::default()
    }
}

impl Script {
    fn new(config: Config) -> Self {
        Self { agent: Snoop::new(config), now: Instant::from_nanos(1_000_000_000) }
    }

    /// An agent that acts on the first duplicate.
    fn at_once() -> Self {
        Self::new(Config { threshold: 0, ..Config::default() })
    }

    fn pass(
        &mut self,
        ends: Ends,
        direction: Direction,
        segment: &mut Segment,
    ) -> (Verdict, Vec<u32>) {
        let mut out = Vec::new();
        let packet = Packet { ends, direction, segment };
        let verdict = self.agent.handle_packet(self.now, packet, &mut out);
        (verdict, numbers(&out))
    }

    /// Segments of the server pass, a millisecond apart; they always go on.
    fn data(&mut self, numbers: impl IntoIterator<Item = u32>) {
        for n in numbers {
            self.now += Span::from_millis(1);
            assert_eq!(
                self.pass(DOWN, Direction::Out, &mut segment(n)),
                (Verdict::Forward, vec![])
            );
        }
    }

    /// An acknowledgement of the client, 10 ms later: true when it goes on, and what is repaired.
    fn ack(&mut self, n: u32) -> (bool, Vec<u32>) {
        self.now += Span::from_millis(10);
        let (verdict, repairs) = self.pass(DOWN.reversed(), Direction::In, &mut acknowledgement(n));
        (verdict == Verdict::Forward, repairs)
    }

    /// Lets the deadline come: when it was, and what is repaired.
    fn timeout(&mut self) -> Option<(u64, Vec<u32>)> {
        let at = self.agent.poll_timeout()?;
        let before = self.now;
        self.now = at;
        let mut out = Vec::new();
        self.agent.handle_timeout(at, &mut out);
        Some((at.since(before).as_nanos() / 1_000_000, numbers(&out)))
    }
}

/// The data segments that were sent, all from the server to the client.
fn numbers(out: &[Emission]) -> Vec<u32> {
    let number = |emission: &Emission| {
        assert_eq!(emission.ends, DOWN);
        let n = emission.segment.seq.distance_from(Seq32::new(FIRST)) / 1000;
        assert_eq!(emission.segment, segment(n), "the copy is what was sent");
        assert!(emission.first, "a repair waits for nothing else");
        n
    };
    out.iter().map(number).collect()
}

const PASSES: (bool, Vec<u32>) = (true, Vec::new());
const ENDS_HERE: (bool, Vec<u32>) = (false, Vec::new());

#[test]
fn a_single_loss_is_repaired_and_no_duplicate_reaches_the_sender() {
    let mut script = Script::at_once();
    script.data(0..6);
    assert_eq!(script.ack(1), PASSES);
    // Segment 1 is lost; 2 to 5 cause four duplicates.
    assert_eq!(script.ack(1), (false, vec![1]));
    for _ in 0..3 {
        assert_eq!(script.ack(1), ENDS_HERE);
    }
    assert_eq!(script.ack(6), PASSES);
    assert_eq!(script.agent.poll_timeout(), None, "nothing is left to be repaired");
}

#[test]
fn one_duplicate_passes_where_the_agent_acts_on_the_second() {
    let mut script = Script::new(Config::default());
    script.data(0..6);
    assert_eq!(script.ack(1), PASSES);
    assert_eq!(script.ack(1), PASSES);
    assert_eq!(script.ack(1), (false, vec![1]));
    assert_eq!((script.ack(1), script.ack(1)), (ENDS_HERE, ENDS_HERE));
    assert_eq!(script.ack(6), PASSES);
}

#[test]
fn what_was_lost_before_the_agent_is_the_senders_to_repair() {
    let mut script = Script::at_once();
    script.data([0, 2, 3, 4]);
    assert_eq!(script.ack(1), PASSES);
    for _ in 0..3 {
        assert_eq!(script.ack(1), PASSES, "there is no copy of 1");
    }
    // Its repair comes by: what is lost of it now is still the network's.
    script.data([1]);
    assert_eq!(script.ack(1), PASSES);
    assert_eq!(script.ack(5), PASSES);
}

#[test]
fn what_the_sender_sent_again_is_left_to_it() {
    let mut script = Script::at_once();
    script.data(0..4);
    assert_eq!(script.ack(1), PASSES);
    script.data([1]);
    assert_eq!(script.ack(1), PASSES);
}

#[test]
fn of_a_burst_of_losses_each_is_repaired_when_its_turn_comes() {
    let mut script = Script::at_once();
    script.data(0..8);
    assert_eq!(script.ack(1), PASSES);
    // 1, 2 and 3 are lost; 4 to 7 cause four duplicates, three less than the agent expects.
    assert_eq!(script.ack(1), (false, vec![1]));
    for _ in 0..3 {
        assert_eq!(script.ack(1), ENDS_HERE);
    }
    // The repair brings the receiver to the next hole. The first new segment shows it.
    assert_eq!(script.ack(2), PASSES);
    script.data([8]);
    assert_eq!(script.ack(2), (false, vec![2]));
    assert_eq!(script.ack(3), PASSES);
    script.data([9]);
    assert_eq!(script.ack(3), (false, vec![3]));
    assert_eq!(script.ack(10), PASSES);
}

#[test]
fn a_repair_that_is_lost_is_sent_again_after_a_timeout() {
    let mut script = Script::at_once();
    script.data(0..4);
    assert_eq!(script.ack(1), PASSES);
    assert_eq!(script.ack(1), (false, vec![1]));
    assert_eq!(script.ack(1), ENDS_HERE);
    // A round trip of 13 ms was measured: 7/8 of 100 ms and 1/8 of 13 ms are 89.125 ms, 3/4 of 250 ms
    // and 1/4 of 87 ms are 209.25 ms, and the timeout is 926.125 ms from the repair 10 ms ago.
    assert_eq!(script.timeout(), Some((916, vec![1])));
    assert_eq!(script.ack(4), PASSES);
}

#[test]
fn no_timeout_is_shorter_than_the_shortest() {
    let mut script = Script::at_once();
    for n in 0..200 {
        script.data([n]);
        assert_eq!(script.ack(n + 1), PASSES);
    }
    script.data([200]);
    assert_eq!(script.timeout(), Some((100, vec![200])));
}

#[test]
fn after_its_last_repair_the_agent_leaves_a_segment_to_the_sender() {
    let mut script = Script::new(Config { threshold: 0, most_repairs: 3, ..Config::default() });
    script.data(0..3);
    for _ in 0..3 {
        assert_eq!(script.timeout().map(|(_, repairs)| repairs), Some(vec![0]));
    }
    assert_eq!(script.agent.poll_timeout(), None);
    script.ack(0);
    assert_eq!(script.ack(0), PASSES);
}

#[test]
fn duplicates_that_make_no_sense_pass_after_two_repairs() {
    let mut script = Script::at_once();
    script.data(0..2);
    assert_eq!(script.ack(1), PASSES);
    assert_eq!(script.ack(1), (false, vec![1]));
    assert_eq!(script.ack(1), (false, vec![1]));
    assert_eq!((script.ack(1), script.ack(1)), (PASSES, PASSES));
}

#[test]
fn an_answer_to_something_that_came_twice_asks_for_no_repair() {
    let mut script = Script::at_once();
    script.data(0..5);
    assert_eq!(script.ack(2), PASSES);
    let place = |n: u32| Seq32::new(FIRST).plus(n * 1000);
    let block = |first, end| SackBlock { first: place(first), end: place(end) };
    let up = DOWN.reversed();
    let mut pass = |blocks: &[SackBlock]| {
        let options = Options::Sack(blocks.iter().copied().collect());
        script.pass(up, Direction::In, &mut Segment { options, ..acknowledgement(2) })
    };
    let passes = (Verdict::Forward, vec![]);
    assert_eq!(pass(&[block(0, 1)]), passes, "1 came twice, below the acknowledgement");
    assert_eq!(pass(&[block(4, 5), block(3, 5)]), passes, "4 came twice, above it");
    assert_eq!(pass(&[block(3, 5)]), (Verdict::Suppress, vec![2]));
}

#[test]
fn lost_acknowledgements_do_no_harm() {
    let mut script = Script::at_once();
    script.data(0..5);
    // Those for 0 to 2 are lost.
    assert_eq!(script.ack(4), PASSES);
    assert_eq!(script.ack(2), PASSES, "an old one passes as well");
    assert_eq!(script.ack(4), (false, vec![4]));
}

#[test]
fn acknowledgements_with_data_or_another_window_are_no_duplicates() {
    let mut script = Script::at_once();
    script.data(0..3);
    assert_eq!(script.ack(1), PASSES);
    let up = DOWN.reversed();
    let mut wider = Segment { window: 61_000, ..acknowledgement(1) };
    assert_eq!(script.pass(up, Direction::In, &mut wider), (Verdict::Forward, vec![]));
    let mut data = Segment { payload: Bytes::from_static(b"get"), window: 61_000, ..wider };
    assert_eq!(script.pass(up, Direction::In, &mut data), (Verdict::Forward, vec![]));
}

#[test]
fn a_full_cache_lets_newcomers_pass_without_a_copy_or_gives_up_the_oldest() {
    for (drop_oldest, kept) in [(false, 0), (true, 2)] {
        let config = Config { cache: 2, threshold: 0, drop_oldest, ..Config::default() };
        let mut script = Script::new(config);
        script.data(0..4);
        for n in 0..4 {
            // Two duplicates of each, of which the first says what the window is.
            script.ack(n);
            let repaired = script.ack(n).1;
            assert_eq!(repaired.len(), usize::from((kept..kept + 2).contains(&n)), "{n}");
        }
    }
}

#[test]
fn what_the_queue_had_no_room_for_is_the_senders_to_repair() {
    let mut script = Script::at_once();
    script.data(0..4);
    script.agent.handle_drop(script.now, DOWN, &segment(1));
    assert_eq!(script.ack(1), PASSES);
    assert_eq!((script.ack(1), script.ack(1)), (PASSES, PASSES));
}

#[test]
fn a_new_connection_of_the_same_ports_finds_nothing_of_the_old_one() {
    let mut script = Script::at_once();
    script.data(0..4);
    let syn = Segment { flags: Flags::SYN, payload: Bytes::new(), ..segment(7) };
    assert_eq!(script.pass(DOWN, Direction::Out, &mut syn.clone()), (Verdict::Forward, vec![]));
    assert_eq!(script.agent.poll_timeout(), None);
    script.data(0..4);
    let reset = Segment { flags: Flags::RST, ..acknowledgement(1) };
    script.pass(DOWN.reversed(), Direction::In, &mut reset.clone());
    assert_eq!(script.agent.poll_timeout(), None);
}

#[test]
fn a_connection_is_forgotten_when_the_receiver_has_everything() {
    let mut script = Script::at_once();
    script.data([0]);
    let mut last = Segment { flags: Flags::ACK.with(Flags::FIN), ..segment(1) };
    script.pass(DOWN, Direction::Out, &mut last);
    assert_eq!(script.agent.out.len(), 1);
    let end = Seq32::new(FIRST).plus(2001);
    let mut all = Segment { ack: end, ..acknowledgement(0) };
    script.pass(DOWN.reversed(), Direction::In, &mut all);
    assert!(script.agent.out.is_empty());
}

#[test]
fn duplicates_for_data_that_were_lost_on_their_way_in_are_marked() {
    let mut script = Script::at_once();
    let up = DOWN.reversed();
    // The server sends over the link now: 0, 1, 3 arrive, 2 does not.
    for n in [0, 1, 3] {
        script.pass(up, Direction::In, &mut segment_up(n));
    }
    let mut marked = |n: u32| {
        let mut ack = Segment { source_port: 80, destination_port: 5001, ..acknowledgement(n) };
        assert_eq!(script.pass(DOWN, Direction::Out, &mut ack).0, Verdict::Forward);
        ack.scps.contains(bentpipe_wire::tcp::Scps::CORRUPTION_EXPERIENCED)
    };
    assert_eq!([marked(1), marked(2), marked(4)], [false, true, false]);
    script.pass(up, Direction::In, &mut segment_up(2));
    let mut ack = Segment { source_port: 80, destination_port: 5001, ..acknowledgement(2) };
    script.pass(DOWN, Direction::Out, &mut ack);
    assert!(
        !ack.scps.contains(bentpipe_wire::tcp::Scps::CORRUPTION_EXPERIENCED),
        "what is asked for now was lost elsewhere"
    );
}

/// Data segment `n` of the other direction.
fn segment_up(n: u32) -> Segment {
    Segment { source_port: 5001, destination_port: 80, ..segment(n) }
}
