//! Who sends next over a link that several connections share.
//!
//! The gateway before a satellite link knows its rate and all connections that cross it, so that none of
//! them has to find out what it may send (Zhou and Baras, section III.A). A [`Scheduler`] asks one
//! connection after another for a segment, at exactly the rate of the link, and skips those that have
//! none: the link is never idle while one of them has something to send, and never has a queue.

use std::collections::VecDeque;

use bentpipe_units::{BitRate, ByteCount, Instant};

/// In what order connections are asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Turns {
    /// One segment each, in turn. With segments of one size all have the same share.
    #[default]
    RoundRobin,
    /// Shares in proportion to weights (self-clocked fair queueing: Golestani, INFOCOM 1994).
    Weighted,
}

/// Virtual time that a byte takes at weight 1.
const SCALE: u64 = 1 << 20;

/// Turns of the connections that share a link.
#[derive(Debug)]
pub struct Scheduler {
    rate: BitRate,
    turns: Turns,
    members: Vec<Member>,
    /// Those that may have something to send, in the order of their turns.
    awake: VecDeque<u32>,
    /// When the line has sent what it was given.
    free_at: Instant,
    /// Virtual time: the start of the segment that was given last.
    virtual_now: u64,
}

#[derive(Debug)]
struct Member {
    weight: u64,
    awake: bool,
    /// Virtual time at which what it sent is over.
    finish: u64,
}

impl Scheduler {
    /// A scheduler of a link of this rate.
    pub const fn new(rate: BitRate, turns: Turns) -> Self {
        Self {
            rate,
            turns,
            members: Vec::new(),
            awake: VecDeque::new(),
            free_at: Instant::ZERO,
            virtual_now: 0,
        }
    }

    /// A connection more, with its weight, which counts as 1 if it is 0. Returns its number.
    pub fn join(&mut self, weight: u32) -> u32 {
        self.members.push(Member { weight: u64::from(weight.max(1)), awake: false, finish: 0 });
        self.members.len() as u32 - 1
    }

    /// A connection may have something to send.
    pub fn wake(&mut self, member: u32) {
        let this = &mut self.members[member as usize];
        if !std::mem::replace(&mut this.awake, true) {
            self.awake.push_back(member);
        }
    }

    /// Who is to be asked for a segment now; `None` while the line is busy or when nobody has any. The
    /// answer is told by [`Scheduler::sent`] or [`Scheduler::passed`].
    pub fn next(&self, now: Instant) -> Option<u32> {
        if now < self.free_at {
            return None;
        }
        match self.turns {
            Turns::RoundRobin => self.awake.front().copied(),
            Turns::Weighted => self.awake.iter().copied().min_by_key(|member| self.start(*member)),
        }
    }

    /// Virtual time at which the next segment of a connection starts.
    fn start(&self, member: u32) -> u64 {
        self.members[member as usize].finish.max(self.virtual_now)
    }

    /// The connection that was asked sent so many bytes, all headers included.
    pub fn sent(&mut self, now: Instant, member: u32, bytes: ByteCount) {
        self.free_at = self.free_at.max(now) + self.rate.time_for(bytes);
        self.virtual_now = self.start(member);
        let this = &mut self.members[member as usize];
        this.finish = self.virtual_now + bytes.get() * SCALE / this.weight;
        self.leave(member);
        self.awake.push_back(member);
    }

    /// The connection that was asked had nothing to send.
    pub fn passed(&mut self, member: u32) {
        self.leave(member);
        self.members[member as usize].awake = false;
    }

    fn leave(&mut self, member: u32) {
        if let Some(place) = self.awake.iter().position(|other| *other == member) {
            self.awake.remove(place);
        }
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

    fn scheduler(turns: Turns, weights: &[u32]) -> Scheduler {
        let mut scheduler = Scheduler::new(BitRate::from_bps(8_000_000), turns);
        weights.iter().for_each(|weight| _ = scheduler.join(*weight));
        scheduler
    }

    #[test]
    fn connections_take_turns_at_the_rate_of_the_link_and_empty_ones_are_skipped() {
        let mut scheduler = scheduler(Turns::RoundRobin, &[1, 1, 1]);
        let sent = order(&mut scheduler, vec![(3, 1000), (0, 1000), (2, 1000)]);
        assert_eq!(sent, [(0, 0), (2, 1), (0, 2), (2, 3), (0, 4)]);
    }

    #[test]
    fn one_that_wakes_up_later_gets_the_next_turn_but_one() {
        let mut scheduler = scheduler(Turns::RoundRobin, &[1, 1]);
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
    fn weights_give_shares_whatever_the_sizes_of_segments() {
        let mut scheduler = scheduler(Turns::Weighted, &[3, 1]);
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
    fn one_that_was_silent_does_not_make_up_for_it() {
        let mut scheduler = scheduler(Turns::Weighted, &[1, 1]);
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
}
