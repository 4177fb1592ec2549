//! Which ways to a peer work, as the host finds out that has several.
//!
//! It sends a beat by every way from time to time, and the peer answers by the same way. While content is
//! sent the way in use has four beats a second, or one if there is no other link. One that had no answer for a round trip and two more beats
//! works no more; three answers in a row, and it does again.

use std::collections::VecDeque;

use bentpipe_units::{Instant, Span};

use super::route::{Carrier, Route};

/// Time between two beats on a way in use, if there is another link, and if there is only TCP.
const BUSY: Span = Span::from_millis(250);
const BUSY_ALONE: Span = Span::from_secs(1);
/// Time between two beats on others, and on all if nothing is sent.
const IDLE: Span = Span::from_secs(2);
/// Time between two beats on one that does not work.
const DOWN: Span = Span::from_millis(500);
/// A way is in use for so long after content was sent.
const USED: Span = Span::from_secs(2);
/// A round trip that was not measured yet: longer than any over a satellite.
const UNKNOWN: Span = Span::from_millis(1500);
/// Answers in a row after which a way works again.
const GOOD: u32 = 3;
/// Most beats that wait for an answer.
const MOST: usize = 64;

/// Ways to a peer, in the order of preference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The ways: one at least, four at most.
    pub ways: Vec<PlannedWay>,
    /// Connections are spread over all links that work.
    pub spread: bool,
}

/// A way that a host knows of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedWay {
    /// How it goes.
    pub route: Route,
    /// The link of this host that it begins with, 0 or 1.
    pub link: usize,
}

/// What is known of all ways.
#[derive(Debug)]
pub(super) struct Watch {
    ways: Vec<Watched>,
    serial: u32,
    /// Time between two beats on the way in use.
    busy: Span,
    /// Content was sent then.
    used: Option<Instant>,
    /// The latest beat that was answered. Before there is one the peer takes whatever comes first for the
    /// only way, so that beats go by the way in use alone.
    answered: Option<u32>,
}

/// What is known of one way.
#[derive(Debug)]
struct Watched {
    next: Instant,
    /// Beats without an answer: number and time.
    sent: VecDeque<(u32, Instant)>,
    up: bool,
    /// Answers since it works no more.
    good: u32,
    srtt: Option<Span>,
    /// A TCP connection is made only where UDP over the same link, this way, does not work.
    instead_of: Option<usize>,
}

impl Watch {
    /// The first way is taken for working.
    pub(super) fn new(now: Instant, plan: &Plan) -> Self {
        let udp = |link| {
            let same = |way: &PlannedWay| way.link == link && way.route.carrier == Carrier::Udp;
            plan.ways.iter().position(same)
        };
        let ways = plan.ways.iter().enumerate().map(|(n, way)| Watched {
            next: now,
            sent: VecDeque::new(),
            up: n == 0,
            good: 0,
            srtt: None,
            instead_of: if way.route.carrier == Carrier::Tcp { udp(way.link) } else { None },
        });
        let alone = plan.ways.iter().all(|way| way.link == 0);
        let busy = if alone { BUSY_ALONE } else { BUSY };
        Self { ways: ways.collect(), serial: 0, busy, used: None, answered: None }
    }

    /// A bit for each way that works.
    pub(super) fn up(&self) -> u8 {
        self.ways.iter().enumerate().map(|(n, way)| u8::from(way.up) << n).sum()
    }

    /// The round-trip time of a way.
    pub(super) fn round_trip(&self, way: usize) -> Option<Span> {
        self.ways.get(way)?.srtt
    }

    /// The request for keys was answered by this way. Of the others only those are known to work that have
    /// answered a beat.
    pub(super) fn associated(&mut self, by: usize) {
        self.answered = None;
        for (n, way) in self.ways.iter_mut().enumerate() {
            if n == by {
                way.up = true;
            } else if way.srtt.is_none() {
                way.up = false;
            }
        }
    }

    /// Content is sent, by this way as a rule.
    pub(super) fn used(&mut self, now: Instant, main: usize) {
        let slept = self.used.is_none_or(|at| now.since(at) >= USED);
        self.used = Some(now);
        if slept {
            self.hurry(now, main);
        }
    }

    /// A beat by this way is due now.
    pub(super) fn hurry(&mut self, now: Instant, way: usize) {
        self.ways[way].next = now;
    }

    /// The peer has answered a beat. True when it is the latest one that it has.
    pub(super) fn answered(&mut self, now: Instant, way: usize, serial: u32) -> bool {
        let Some(way) = self.ways.get_mut(way) else { return false };
        let sent = way.sent.iter().position(|(sent, _)| *sent == serial);
        let Some(place) = sent else { return false };
        let later = self.answered.is_none_or(|last| serial.wrapping_sub(last).cast_signed() > 0);
        if later {
            self.answered = Some(serial);
        }
        if let Some((_, at)) = way.sent.drain(..=place).next_back() {
            let sample = now.since(at);
            way.srtt = Some(way.srtt.map_or(sample, |srtt| (srtt * 7 + sample) / 8));
        }
        way.good += 1;
        if way.good >= GOOD {
            way.up = true;
        }
        later
    }

    /// Gives up ways that have had no answer for too long.
    pub(super) fn give_up(&mut self, now: Instant) {
        for way in &mut self.ways {
            if way.overdue(self.busy).is_some_and(|at| at <= now) {
                (way.up, way.good) = (false, 0);
                way.sent.pop_front();
            }
        }
    }

    /// The beats that are due: way and number. `main` is the way in use.
    pub(super) fn beat(&mut self, now: Instant, main: usize) -> Vec<(usize, u32)> {
        let used = self.used.is_some_and(|at| now.since(at) < USED);
        let mut beats = Vec::new();
        for way in 0..self.ways.len() {
            if self.ways[way].next > now || self.is_spared(way, main) {
                continue;
            }
            self.serial = self.serial.wrapping_add(1);
            let watched = &mut self.ways[way];
            if watched.sent.len() == MOST {
                watched.sent.pop_front();
            }
            watched.sent.push_back((self.serial, now));
            let pause = match (watched.up, used && way == main) {
                (false, _) => DOWN,
                (true, true) => self.busy,
                (true, false) => IDLE,
            };
            watched.next = now + pause;
            beats.push((way, self.serial));
        }
        beats
    }

    /// Whether nothing is to be sent by this way: because another one works, or because the peer does not
    /// know of several yet.
    fn is_spared(&self, way: usize, main: usize) -> bool {
        let early = self.answered.is_none() && way != main && self.ways[main].up;
        early || self.ways[way].instead_of.is_some_and(|udp| self.ways[udp].up)
    }

    /// When something has to be done. `main` is the way in use.
    pub(super) fn due(&self, main: usize) -> Option<Instant> {
        let all = self.ways.iter().enumerate().map(|(n, way)| {
            let next = (!self.is_spared(n, main)).then_some(way.next);
            Instant::earliest(next, way.overdue(self.busy))
        });
        all.fold(None, Instant::earliest)
    }
}

impl Watched {
    /// When the oldest beat without an answer has waited for too long.
    fn overdue(&self, busy: Span) -> Option<Instant> {
        let (_, at) = self.sent.front()?;
        let round_trip = self.srtt.unwrap_or(UNKNOWN);
        Some(*at + round_trip + round_trip / 4 + busy * 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Span = Span::from_millis(600);

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    fn plan(carriers: &[(usize, Carrier)]) -> Plan {
        let address = std::net::SocketAddr::from(([10, 0, 0, 1], 1));
        let ways = carriers.iter().map(|&(link, carrier)| PlannedWay {
            route: Route { carrier, ..address.into() },
            link,
        });
        Plan { ways: ways.collect(), spread: false }
    }

    /// Lets the time pass up to `until`, with content all the time. `works` says whether a way works then.
    /// Returns when what was up changed, and to what, and the beats on each way.
    fn run(
        watch: &mut Watch,
        from: u64,
        until: u64,
        works: impl Fn(usize, u64) -> bool,
    ) -> (Vec<(u64, u8)>, Vec<usize>) {
        let mut answers: VecDeque<(Instant, usize, u32)> = VecDeque::new();
        let (mut changes, mut beats) = (vec![], vec![0; watch.ways.len()]);
        let mut up = watch.up();
        for ms in from..until {
            let now = at(ms);
            while answers.front().is_some_and(|(when, ..)| *when <= now) {
                if let Some((_, way, serial)) = answers.pop_front() {
                    watch.answered(now, way, serial);
                }
            }
            watch.used(now, up.trailing_zeros() as usize % 4);
            watch.give_up(now);
            for (way, serial) in watch.beat(now, up.trailing_zeros() as usize) {
                beats[way] += 1;
                if works(way, ms) {
                    answers.push_back((now + RTT, way, serial));
                }
            }
            if std::mem::replace(&mut up, watch.up()) != up {
                changes.push((ms, up));
            }
        }
        (changes, beats)
    }

    #[test]
    fn a_way_in_use_that_goes_dark_is_given_up_in_a_round_trip_and_some_beats() {
        let mut watch = Watch::new(at(0), &plan(&[(0, Carrier::Udp), (1, Carrier::Udp)]));
        let (changes, beats) = run(&mut watch, 0, 60_000, |way, ms| way == 1 || ms < 20_000);
        let [(first, both), (dark, left)] = changes[..] else { panic!("{changes:?}") };
        assert_eq!((both, left), (3, 2));
        assert!(first <= 5_000, "{first}");
        assert!((20_900..21_600).contains(&dark), "{dark}");
        // Four a second while in use; a few on the other one until it is.
        assert!((150..200).contains(&beats[1]), "{beats:?}");
        assert!((150..170).contains(&beats[0]), "{beats:?}");
    }

    #[test]
    fn it_works_again_after_three_answers_in_a_row() {
        let mut watch = Watch::new(at(0), &plan(&[(0, Carrier::Udp), (1, Carrier::Udp)]));
        let dark = 10_000..30_000;
        let (changes, _) = run(&mut watch, 0, 60_000, |way, ms| way == 1 || !dark.contains(&ms));
        let back = changes.last().expect("a change");
        assert_eq!(back.1, 3);
        assert!((31_500..33_000).contains(&back.0), "{changes:?}");
    }

    #[test]
    fn one_lost_beat_in_five_changes_nothing() {
        let mut watch = Watch::new(at(0), &plan(&[(0, Carrier::Udp), (1, Carrier::Udp)]));
        let (changes, _) = run(&mut watch, 0, 60_000, |way, ms| way == 1 || ms % 1250 != 0);
        assert!(changes.iter().all(|(_, up)| up & 1 == 1), "{changes:?}");
    }

    #[test]
    fn tcp_is_tried_only_where_udp_does_not_work() {
        let mut watch = Watch::new(at(0), &plan(&[(0, Carrier::Udp), (0, Carrier::Tcp)]));
        let (changes, beats) = run(&mut watch, 0, 20_000, |_, _| true);
        assert_eq!((changes, beats[1]), (vec![], 0));
        let (changes, beats) = run(&mut watch, 20_000, 40_000, |way, _| way == 1);
        assert_eq!(changes.last().map(|change| change.1), Some(2), "{changes:?}");
        assert!(beats[1] > 10);
    }

    #[test]
    fn a_way_that_nobody_uses_has_a_beat_in_two_seconds() {
        let mut watch = Watch::new(at(0), &plan(&[(0, Carrier::Udp), (1, Carrier::Udp)]));
        let mut beats = 0;
        for ms in 0..60_000 {
            for (way, serial) in watch.beat(at(ms), 0) {
                beats += 1;
                watch.answered(at(ms), way, serial);
            }
        }
        assert!((60..70).contains(&beats), "{beats}");
    }
}
