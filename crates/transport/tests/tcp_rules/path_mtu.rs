//! How long segments are: what routers say, and what the search finds where they say nothing.

use super::support::*;
use bentpipe_transport::{Inspect, NetworkFeedback, PathId};

/// Packets have 40 bytes of headers here.
const HEADERS: u16 = 40;

fn sends(script: &mut Script) -> Vec<(u32, usize)> {
    let sent = script.sent();
    sent.iter().map(|s| (s.seq.distance_from(Seq32::new(ISS)), s.payload.len())).collect()
}

/// A router drops the segment from `seq` on and says what the next link carries.
fn too_long(script: &mut Script, mtu: u16, seq: u32) {
    let number = Seq32::new(ISS).plus(seq).get();
    script.end.handle_packet_too_big(script.now, PathId(0), mtu, number);
}

/// The far end of a path that carries packets of `carries` bytes and says nothing of longer ones.
struct Far {
    carries: u16,
    /// The number that it waits for, and what it has beyond.
    next: u32,
    beyond: Vec<(u32, u32)>,
}

impl Far {
    fn new(carries: u16) -> Self {
        Self { carries, next: 1, beyond: Vec::new() }
    }

    /// Takes a segment, and acknowledges it with reports.
    fn take(&mut self, seq: u32, len: usize) -> Segment {
        self.beyond.push((seq, seq + len as u32));
        self.beyond.sort_unstable();
        while let Some(place) = self.beyond.iter().position(|(first, _)| *first <= self.next) {
            self.next = self.next.max(self.beyond.remove(place).1);
        }
        let newest: Vec<_> = self.beyond.iter().rev().take(3).copied().collect();
        if newest.is_empty() { peer(".", 1, self.next, 0) } else { sack(self.next, &newest) }
    }

    /// A transfer of so many seconds, a round trip of 100 ms after another. Returns the payloads that were sent.
    fn transfer(&mut self, script: &mut Script, secs: u64) -> Vec<usize> {
        let until = script.now + Span::from_secs(secs);
        let most = usize::from(self.carries - HEADERS);
        let mut lens = Vec::new();
        while script.now < until {
            top_up(script);
            let mut sent = sends(script);
            let due = script.end.poll_timeout().expect("a timer");
            if sent.is_empty() || due <= script.now {
                script.now = script.now.max(due);
                script.end.handle_timeout(script.now);
                sent.extend(sends(script));
            }
            script.now += ms(100);
            lens.extend(sent.iter().map(|(_, len)| *len));
            for (seq, len) in sent.into_iter().filter(|(_, len)| (1..=most).contains(len)) {
                let answer = self.take(seq, len);
                script.hear(answer);
            }
        }
        lens
    }
}

/// There is always enough to send.
fn top_up(script: &mut Script) {
    let missing = 200_000_usize.saturating_sub(script.end.unsent());
    let mut bytes = Bytes::from(vec![1; missing]);
    assert!(script.end.write(script.now, &mut bytes).is_ok());
}

fn searching() -> Script {
    let config = Config { mtu_search: true, mss: 1460, ..plain() };
    let mut script = Script::start(config);
    assert_eq!(script.sent().len(), 1);
    script.pass(100);
    script.hear(syn_ack(SynOptions { sack_permitted: true, ..mss(1460) }));
    script.expect(&[("", 1, 1, 0)]);
    top_up(&mut script);
    script
}

#[test]
fn a_segment_that_a_router_dropped_leaves_again_in_shorter_ones_and_the_window_stays() {
    let mut script = Script::four_out(plain());
    let before = script.end.sender_state().cwnd;
    too_long(&mut script, 640, 3_001);
    script.expect(&[("", 2_001, 1, 600)]);
    // The others were dropped as well; nothing new follows from that.
    too_long(&mut script, 640, 4_001);
    too_long(&mut script, 640, 5_001);
    script.expect(&[]);
    script.hear(peer(".", 1, 2_601, 0));
    let again = sends(&mut script);
    assert!(again[0].0 == 2_601 && again.iter().all(|(_, len)| *len <= 600), "{again:?}");
    assert_eq!(
        (script.end.sender_state().cwnd >= before, script.end.counters().reductions),
        (true, 0)
    );
}

#[test]
fn what_can_not_have_been_too_long_changes_nothing() {
    let mut script = Script::four_out(plain());
    // Of something else, acknowledged, not sent, within a segment, and no shorter than what is sent.
    for (mtu, seq) in [(640, 777_000), (640, 1), (640, 6_001), (640, 3_002), (1_040, 3_001)] {
        too_long(&mut script, mtu, seq);
    }
    assert_eq!(script.end.counters().ignored_segments, 5);
    script.hear(peer(".", 1, 6_001, 0));
    assert!(sends(&mut script).iter().all(|(_, len)| *len == 1_000));
}

#[test]
fn a_router_that_says_next_to_nothing_is_not_believed_below_the_least_segment() {
    let mut script = Script::four_out(plain());
    too_long(&mut script, 1, 2_001);
    script.expect(&[("", 2_001, 1, 64)]);
}

#[test]
fn ten_minutes_later_one_longer_segment_is_tried_and_no_sooner() {
    let mut script = Script::four_out(plain());
    script.hear(peer(".", 1, 6_001, 0));
    sends(&mut script);
    too_long(&mut script, 640, 6_001);
    let told_at = script.now;
    let mut acked = 6_001;
    let mut longer = None;
    while script.now.since(told_at) < Span::from_secs(700) && longer.is_none() {
        let sent = sends(&mut script);
        for (seq, len) in &sent {
            if *len > 600 && *seq >= 12_001 {
                longer = Some((*seq, script.now.since(told_at)));
            } else {
                acked = acked.max(seq + *len as u32);
            }
        }
        script.now += Span::from_secs(1);
        script.hear(peer(".", 1, longer.map_or(acked, |(seq, _)| seq), 0));
        top_up(&mut script);
    }
    let (seq, after) = longer.expect("a longer segment");
    assert!((600..603).contains(&(after.as_nanos() / 1_000_000_000)), "{after}");
    let before = script.end.sender_state().cwnd;
    // The path is as it was: a router says so again, and nothing but the one segment is retransmitted.
    too_long(&mut script, 640, seq);
    let again = sends(&mut script);
    assert_eq!(again[0], (seq, 600));
    assert_eq!((script.end.sender_state().cwnd, script.end.counters().reductions), (before, 0));
}

#[test]
fn a_search_begins_short_and_finds_what_the_ends_agreed_on_by_one_probe() {
    let mut script = searching();
    let lens = Far::new(1_500).transfer(&mut script, 5);
    let first = lens.iter().position(|len| *len > 984).expect("a probe");
    assert!(lens[..first].iter().all(|len| *len == 984));
    // The probe travels alone; its acknowledgement lets all others be as long.
    let after =
        lens[first + 1..].iter().position(|len| *len > 984).expect("longer ones") + first + 1;
    assert!(lens[after..].iter().all(|len| *len == 1_460));
    assert!(after > first + 1, "{first} {after}");
    assert!(lens.last() == Some(&1_460) && script.end.counters().timeouts == 0);
}

#[test]
fn a_narrow_path_is_found_without_a_word_and_its_probes_are_no_congestion() {
    let mut script = searching();
    let lens = Far::new(1_300).transfer(&mut script, 60);
    let last = *lens.last().expect("segments");
    assert!((1_252..=1_260).contains(&last), "{last}");
    let counters = script.end.counters();
    assert_eq!((counters.timeouts, counters.reductions), (0, 0));
    let tried: Vec<_> = lens.iter().filter(|len| **len > 1_260).collect();
    assert!((3..=20).contains(&tried.len()), "{tried:?}");
}

#[test]
fn a_path_that_carries_less_than_the_least_is_found_by_the_timer() {
    let mut script = searching();
    let lens = Far::new(1_000).transfer(&mut script, 90);
    let last = *lens.last().expect("segments");
    assert!((952..=960).contains(&last), "{last}");
    assert_eq!(script.end.counters().timeouts, 3);
}

#[test]
fn a_path_that_becomes_narrow_on_the_way_is_a_black_hole_for_seconds() {
    let mut script = searching();
    let mut far = Far::new(1_500);
    assert_eq!(far.transfer(&mut script, 5).last(), Some(&1_460));
    far.carries = 1_200;
    // Timeouts make it doubtful that packets pass which did; three times two seconds later short ones leave.
    let lost = far.transfer(&mut script, 3);
    assert!(lost.iter().all(|len| *len >= 1_460));
    let found = far.transfer(&mut script, 60);
    let last = found.last().expect("segments");
    assert!((1_152..=1_160).contains(last), "{last}");
}

#[test]
fn without_the_search_a_path_that_says_nothing_is_a_black_hole_for_ever() {
    let mut script = Script::four_out(Config { retries: None, ..plain() });
    for _ in 0..8 {
        let due = script.end.poll_timeout().expect("a timer");
        script.now = due;
        script.end.handle_timeout(due);
        assert_eq!(sends(&mut script), [(2_001, 1_000)]);
    }
}
