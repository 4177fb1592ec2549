//! Who sends next over a link that several connections share.
//!
//! The gateway before a satellite link knows its rate and all connections that cross it, so that none of
//! them has to find out what it may send (Zhou and Baras, section III.A). A [`Scheduler`] asks one
//! connection after another for a segment, at exactly the rate of the link, and skips those that have
//! none: the link is never idle while one of them has something to send, and never has a queue.

use std::collections::BTreeSet;

use bentpipe_units::{BitRate, ByteCount, Instant, Span};
use slab::Slab;

/// In what order connections are asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Discipline {
    /// One segment each, in turn. With segments of one size all have the same share.
    #[default]
    RoundRobin,
    /// Shares in proportion to weights (self-clocked fair queueing: Golestani, INFOCOM 1994).
    Weighted,
}

/// Virtual time that a byte takes at weight 1.
const SCALE: u64 = 1 << 20;
/// Nobody knows how long a segment is before it is there: this orders those who ask.
const SEGMENT: u64 = 1500;

/// What leaves out of turn, or a rate that falls, keeps the line busy for no longer than this after the last turn: a link
/// on which all the rate goes to such things would carry nothing else, for ever.
const LONGEST_WAIT: Span = Span::from_secs(2);

/// A scheduler of the connections that share a link.
#[derive(Debug)]
pub struct Scheduler {
    rate: BitRate,
    discipline: Discipline,
    catch_up: Span,
    members: Slab<Member>,
    /// Those that may have something to send, in the order of their turns.
    awake: BTreeSet<Turn>,
    /// When the line has sent what it was given.
    free_at: Instant,
    /// When somebody had the last turn.
    served_at: Instant,
    /// Virtual time: the start of the segment that was given last.
    virtual_now: u64,
    /// Turns given so far, which orders those that start at the same virtual time.
    given: u64,
}

#[derive(Debug)]
struct Member {
    weight: u64,
    /// The turn that it waits for.
    turn: Option<Turn>,
    /// Virtual time at which what it sent is over.
    finish: u64,
}

/// A turn: when it will be over and when it starts in virtual time, the place among those of the same
/// times, and whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    over: u64,
    start: u64,
    place: u64,
    member: u32,
}

impl Scheduler {
    /// A scheduler of a link of this rate.
    pub const fn new(rate: BitRate, discipline: Discipline) -> Self {
        Self {
            rate,
            discipline,
            catch_up: Span::ZERO,
            members: Slab::new(),
            awake: BTreeSet::new(),
            free_at: Instant::ZERO,
            served_at: Instant::ZERO,
            virtual_now: 0,
            given: 0,
        }
    }

    /// What could have been sent in the last so much time, and was not because the clock rang late or
    /// nobody had anything, may be sent at once. A simulated clock is never late and needs none.
    #[must_use]
    pub const fn with_catch_up(mut self, span: Span) -> Self {
        self.catch_up = span;
        self
    }

    /// The rate is another one from now on. What is owed for bytes that have left already is owed in bytes: a link that
    /// was slow for a while is not busy for long once it is fast.
    pub fn set_rate(&mut self, now: Instant, rate: BitRate) {
        if rate != self.rate && self.free_at > now {
            // Without a bound nothing is owed: what time there is comes from rounding.
            let is_bounded = self.rate.as_bps() < u64::MAX;
            let owed = if is_bounded { self.free_at.since(now) } else { Span::ZERO };
            let scaled = now + owed.mul_div(self.rate.as_bps(), rate.as_bps());
            // A rate that rises makes it shorter anyhow.
            self.free_at = scaled.min(self.latest().max(self.free_at));
        }
        self.rate = rate;
    }

    /// A connection more, with its weight, which counts as 1 if it is 0. Returns its number.
    pub fn join(&mut self, weight: u32) -> u32 {
        let weight = u64::from(weight.max(1));
        self.members.insert(Member { weight, turn: None, finish: 0 }) as u32
    }

    /// The weight of a connection is now this, from its next segment on.
    pub fn set_weight(&mut self, member: u32, weight: u32) {
        self.members[member as usize].weight = u64::from(weight.max(1));
    }

    /// A connection is gone. Its number may be given to another one.
    pub fn leave(&mut self, member: u32) {
        if let Some(turn) = self.members.remove(member as usize).turn {
            self.awake.remove(&turn);
        }
    }

    /// A connection may have something to send.
    pub fn wake(&mut self, member: u32) {
        let this = &self.members[member as usize];
        if this.turn.is_none() {
            // What it did not ask for it does not get later.
            self.enqueue(member, this.finish.max(self.virtual_now));
        }
    }

    fn enqueue(&mut self, member: u32, start: u64) {
        let this = &mut self.members[member as usize];
        let (start, over) = match self.discipline {
            Discipline::RoundRobin => (0, 0),
            Discipline::Weighted => (start, start + SEGMENT * SCALE / this.weight),
        };
        self.given += 1;
        let turn = Turn { over, start, place: self.given, member };
        this.turn = Some(turn);
        self.awake.insert(turn);
    }

    /// Who is to be asked for a segment now; `None` while the line is busy or when nobody has any. The
    /// answer is told by [`Scheduler::sent`] or [`Scheduler::passed`].
    pub fn next(&self, now: Instant) -> Option<u32> {
        if now < self.free_at {
            return None;
        }
        self.awake.first().map(|turn| turn.member)
    }

    /// The connection that was asked sent so many bytes, all headers included.
    pub fn sent(&mut self, now: Instant, member: u32, bytes: ByteCount) {
        self.occupy(now, bytes);
        self.served_at = now;
        let this = &mut self.members[member as usize];
        if let Some(turn) = this.turn.take() {
            self.awake.remove(&turn);
            self.virtual_now = self.virtual_now.max(turn.start);
            this.finish = turn.start + bytes.get() * SCALE / this.weight;
        }
        // It goes on from there: a segment shorter than those of others must not cost it the rest.
        self.enqueue(member, self.members[member as usize].finish);
    }

    /// So many bytes were sent out of turn: the line is busy for as long, but whoever waits has a turn two seconds after the
    /// last one.
    pub fn charge(&mut self, now: Instant, bytes: ByteCount) {
        let before = self.free_at;
        self.occupy(now, bytes);
        self.free_at = self.free_at.min(self.latest().max(before));
    }

    /// When the line is free for the next turn at the latest.
    fn latest(&self) -> Instant {
        self.served_at + LONGEST_WAIT
    }

    fn occupy(&mut self, now: Instant, bytes: ByteCount) {
        let earliest = Instant::from_nanos(now.as_nanos().saturating_sub(self.catch_up.as_nanos()));
        self.free_at = self.free_at.max(earliest) + self.rate.time_for(bytes);
    }

    /// So many bytes of a connection were sent out of turn: the line is busy for as long, and its next turn is as much later
    /// as if they had been sent in turn.
    pub fn charge_to(&mut self, now: Instant, member: u32, bytes: ByteCount) {
        self.charge(now, bytes);
        let this = &mut self.members[member as usize];
        let turn = this.turn.take();
        let start = turn.map_or(this.finish.max(self.virtual_now), |turn| turn.start);
        this.finish = start + bytes.get() * SCALE / this.weight;
        if let Some(turn) = turn {
            self.awake.remove(&turn);
            self.enqueue(member, self.members[member as usize].finish);
        }
    }

    /// The connection that was asked had nothing to send.
    pub fn passed(&mut self, member: u32) {
        if let Some(turn) = self.members[member as usize].turn.take() {
            self.awake.remove(&turn);
        }
    }

    /// How long the line is busy with what it was given.
    pub const fn busy_for(&self, now: Instant) -> Span {
        self.free_at.since(now)
    }

    /// When [`Scheduler::next`] has an answer; `None` while nobody may have anything.
    pub fn poll_timeout(&self) -> Option<Instant> {
        (!self.awake.is_empty()).then_some(self.free_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who sends, and when in milliseconds, where each has so many segments of so many bytes.
    fn order(scheduler: &mut Scheduler, mut left: Vec<(u32, u64)>) -> Vec<(u32, u64)> {
        let mut sent = Vec::new();
        (0..left.len()).for_each(|member| scheduler.wake(member as u32));
        let mut now = Instant::ZERO;
        while let Some(at) = scheduler.poll_timeout() {
            now = now.max(at);
            let Some(member) = scheduler.next(now) else { continue };
            let (count, bytes) = &mut left[member as usize];
            if *count == 0 {
                scheduler.passed(member);
                continue;
            }
            *count -= 1;
            scheduler.sent(now, member, ByteCount::new(*bytes));
            sent.push((member, now.as_nanos() / 1_000_000));
        }
        sent
    }

    fn scheduler(discipline: Discipline, weights: &[u32]) -> Scheduler {
        let mut scheduler = Scheduler::new(BitRate::from_bps(8_000_000), discipline);
        weights.iter().for_each(|weight| _ = scheduler.join(*weight));
        scheduler
    }

    #[test]
    fn connections_take_turns_at_the_rate_of_the_link_and_empty_ones_are_skipped() {
        let mut scheduler = scheduler(Discipline::RoundRobin, &[1, 1, 1]);
        let sent = order(&mut scheduler, vec![(3, 1000), (0, 1000), (2, 1000)]);
        assert_eq!(sent, [(0, 0), (2, 1), (0, 2), (2, 3), (0, 4)]);
    }

    #[test]
    fn one_that_wakes_up_later_gets_the_next_turn_but_one() {
        let mut scheduler = scheduler(Discipline::RoundRobin, &[1, 1]);
        scheduler.wake(0);
        scheduler.sent(Instant::ZERO, 0, ByteCount::new(1000));
        scheduler.wake(1);
        scheduler.wake(1);
        let free = scheduler.poll_timeout().expect("somebody waits");
        assert_eq!(scheduler.next(Instant::ZERO), None, "the line is busy");
        assert_eq!(scheduler.next(free), Some(0));
        scheduler.passed(0);
        assert_eq!(scheduler.next(free), Some(1));
        scheduler.passed(1);
        assert_eq!(scheduler.poll_timeout(), None);
    }

    #[test]
    fn what_leaves_out_of_turn_takes_nobody_the_line_for_ever() {
        let mut scheduler = scheduler(Discipline::Weighted, &[1]);
        scheduler.set_rate(Instant::ZERO, BitRate::from_bps(10_000));
        let (mut turns, mut now) = (0, Instant::ZERO);
        for _ in 0..600 {
            now += Span::from_millis(100);
            // Four times what the line carries.
            scheduler.charge(now, ByteCount::new(500));
            scheduler.wake(0);
            if scheduler.next(now).is_some() {
                scheduler.sent(now, 0, ByteCount::new(500));
                turns += 1;
            }
        }
        assert!((25..=30).contains(&turns), "{turns} in a minute");
    }

    #[test]
    fn what_is_owed_when_the_rate_falls_is_owed_for_two_seconds() {
        let mut scheduler = scheduler(Discipline::Weighted, &[1]);
        scheduler.set_rate(Instant::ZERO, BitRate::from_bps(1_000_000));
        scheduler.sent(Instant::ZERO, 0, ByteCount::new(125_000));
        scheduler.set_rate(Instant::ZERO, BitRate::from_bps(10_000));
        assert_eq!(scheduler.busy_for(Instant::ZERO), LONGEST_WAIT);
    }

    #[test]
    fn weights_give_shares_whatever_the_sizes_of_segments() {
        let mut scheduler = scheduler(Discipline::Weighted, &[3, 1]);
        let sent = order(&mut scheduler, vec![(10_000, 500), (10_000, 1500)]);
        let busy = &sent[..1000];
        let bytes = |member| {
            let size = if member == 0 { 500 } else { 1500 };
            busy.iter().filter(|(who, _)| *who == member).count() as f64 * f64::from(size)
        };
        let ratio = bytes(0) / bytes(1);
        assert!((ratio - 3.0).abs() < 0.05, "{ratio}");
    }

    #[test]
    fn a_short_segment_now_and_then_costs_nobody_his_share() {
        let mut scheduler = scheduler(Discipline::Weighted, &[3, 1]);
        (0..2).for_each(|member| scheduler.wake(member));
        let (mut now, mut bytes, mut count) = (Instant::ZERO, [0, 0], [0, 0]);
        for _ in 0..4000 {
            now = now.max(scheduler.poll_timeout().expect("somebody waits"));
            let member = scheduler.next(now).expect("somebody");
            let who = member as usize;
            count[who] += 1;
            let size = if count[who] % 5 == 0 { 60 } else { 1500 };
            scheduler.sent(now, member, ByteCount::new(size));
            bytes[who] += size;
        }
        let ratio = bytes[0] as f64 / bytes[1] as f64;
        assert!((ratio - 3.0).abs() < 0.02, "{ratio}");
    }

    #[test]
    fn what_is_sent_out_of_turn_is_of_ones_own_share() {
        let mut scheduler = scheduler(Discipline::Weighted, &[1, 1]);
        (0..2).for_each(|member| scheduler.wake(member));
        let (mut now, mut bytes) = (Instant::ZERO, [0, 0]);
        for round in 0..2000 {
            if round % 4 == 0 {
                scheduler.charge_to(now, 0, ByteCount::new(500));
                bytes[0] += 500;
            }
            now = now.max(scheduler.poll_timeout().expect("somebody waits"));
            let member = scheduler.next(now).expect("somebody");
            scheduler.sent(now, member, ByteCount::new(1000));
            bytes[member as usize] += 1000;
        }
        let ratio = f64::from(bytes[0]) / f64::from(bytes[1]);
        assert!((ratio - 1.0).abs() < 0.01, "{bytes:?}");
        assert_eq!(now, Instant::ZERO + Span::from_millis(2_249), "at the rate of the line");
    }

    #[test]
    fn one_that_was_silent_does_not_make_up_for_it() {
        let mut scheduler = scheduler(Discipline::Weighted, &[1, 1]);
        scheduler.wake(0);
        let mut now = Instant::ZERO;
        let turn = |scheduler: &mut Scheduler, now: &mut Instant| {
            *now = scheduler.poll_timeout().expect("somebody waits").max(*now);
            let member = scheduler.next(*now).expect("somebody");
            scheduler.sent(*now, member, ByteCount::new(1000));
            member
        };
        (0..100).for_each(|_| _ = turn(&mut scheduler, &mut now));
        scheduler.wake(1);
        let late = (0..20).filter(|_| turn(&mut scheduler, &mut now) == 1).count();
        assert!((9..=11).contains(&late), "{late}");
    }

    #[test]
    fn time_that_a_late_clock_lost_is_made_up_for_and_idle_time_only_in_part() {
        let mut scheduler = Scheduler::new(BitRate::from_bps(8_000_000), Discipline::RoundRobin)
            .with_catch_up(Span::from_millis(3));
        let member = scheduler.join(1);
        scheduler.wake(member);
        let second = Instant::ZERO + Span::from_secs(1);
        let mut burst = 0;
        while scheduler.next(second) == Some(member) {
            scheduler.sent(second, member, ByteCount::new(1000));
            burst += 1;
        }
        assert_eq!(burst, 4, "three for the last three milliseconds, and one");
        let late = second + Span::from_millis(3);
        let due = (0..9).take_while(|_| {
            let free = scheduler.next(late).is_some();
            free.then(|| scheduler.sent(late, member, ByteCount::new(1000))).is_some()
        });
        assert_eq!(due.count(), 3);
    }

    #[test]
    fn a_heavy_connection_that_wakes_up_goes_before_all_light_ones() {
        let mut scheduler = scheduler(Discipline::Weighted, &[1, 1, 1, 1, 16]);
        (0..4).for_each(|member| scheduler.wake(member));
        scheduler.sent(Instant::ZERO, 0, ByteCount::new(1000));
        scheduler.wake(4);
        let at = scheduler.poll_timeout().expect("somebody");
        assert_eq!(scheduler.next(at), Some(4));
    }

    #[test]
    fn a_connection_that_leaves_is_not_asked_and_its_number_is_used_again() {
        let mut scheduler = scheduler(Discipline::Weighted, &[1, 1]);
        scheduler.wake(0);
        scheduler.wake(1);
        scheduler.leave(0);
        assert_eq!(scheduler.next(Instant::ZERO), Some(1));
        assert_eq!(scheduler.join(5), 0);
        scheduler.passed(1);
        assert_eq!(scheduler.poll_timeout(), None);
    }

    #[test]
    fn a_heavier_connection_goes_first_and_a_new_rate_counts_from_the_next_segment_on() {
        let mut scheduler = scheduler(Discipline::Weighted, &[1, 1]);
        scheduler.set_weight(1, 10);
        let sent = order(&mut scheduler, vec![(20, 1000), (10, 1000)]);
        assert_eq!(sent[..12].iter().filter(|(member, _)| *member == 1).count(), 10);
        scheduler.set_rate(Instant::ZERO, BitRate::from_bps(4_000_000));
        scheduler.wake(0);
        let at = scheduler.poll_timeout().expect("somebody");
        scheduler.sent(at, 0, ByteCount::new(1000));
        assert_eq!(scheduler.poll_timeout(), Some(at + Span::from_millis(2)));
    }

    #[test]
    fn what_left_while_the_link_was_slow_is_owed_in_bytes_once_it_is_fast() {
        let (mut scheduler, now) = (scheduler(Discipline::Weighted, &[1]), Instant::ZERO);
        scheduler.set_rate(now, BitRate::from_bps(8_000));
        scheduler.wake(0);
        scheduler.sent(now, 0, ByteCount::new(10_000));
        assert_eq!(scheduler.poll_timeout(), Some(now + Span::from_secs(10)));
        let later = now + Span::from_secs(2);
        scheduler.set_rate(later, BitRate::from_bps(8_000_000));
        assert_eq!(scheduler.poll_timeout(), Some(later + Span::from_millis(8)));
    }

    #[test]
    fn what_left_while_the_link_had_no_bound_is_not_owed_once_it_has_one() {
        let mut scheduler = Scheduler::new(BitRate::from_bps(u64::MAX), Discipline::Weighted);
        let (member, now) = (scheduler.join(1), Instant::ZERO);
        scheduler.wake(member);
        (0..1000).for_each(|_| scheduler.sent(now, member, ByteCount::new(1500)));
        scheduler.set_rate(now, BitRate::from_bps(8_000));
        assert_eq!(scheduler.next(now), Some(member));
    }
}
