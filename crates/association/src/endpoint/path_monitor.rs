//! Which paths to a peer work, as the host finds out that has several.
//!
//! It sends a probe by every path from time to time, and the peer answers by the same path. While content is
//! sent the path in use has four probes a second, or one if there is no other link. One that had no answer for a
//! round trip and two more probes works no more; three answers in a row, and it does again. More probes have to be without an
//! answer where many are lost anyway, and where something else comes from the peer by the path.

use std::collections::VecDeque;

use bentpipe_units::{Instant, Span};

use super::links::{LINKS, LinkPlan};
use super::route::{Outer, Route};

/// Time between two probes on a path in use, if there is another link, and if there is only TCP.
const BUSY: Span = Span::from_millis(250);
const BUSY_ALONE: Span = Span::from_secs(1);
/// Time between two probes on others, and on all if nothing is sent.
const IDLE: Span = Span::from_secs(2);
const IDLE_METERED: Span = Span::from_secs(30);
/// Time between two probes on one that does not work. Where each byte costs it doubles up to that of an idle one.
const DOWN: Span = Span::from_millis(500);
/// A path is in use for so long after content was sent.
const USED: Span = Span::from_secs(2);
/// A round trip that was not measured yet: longer than any over a satellite.
const UNKNOWN: Span = Span::from_millis(1500);
/// Answers in a row after which a path works again.
const GOOD: u32 = 3;
/// So many probes after the first one without an answer, at least and at most, show that a path works no more.
const MORE: (f64, f64) = (2.0, 12.0);
/// The same if something else came in the meantime.
const MORE_HEARD: f64 = 6.0;
/// How likely so many are lost on one that works.
const BY_CHANCE: f64 = 1e-6;
/// The latest probe counts for one in so many.
const SMOOTH: f64 = 16.0;
/// Time for connections to end, or to take another path, once theirs is closed.
const LEAVE: Span = Span::from_secs(3);
/// Most probes that wait for an answer.
const MOST: usize = 64;

/// Paths to a peer, in the order of preference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The paths: one at least, each of [`LINKS`](super::LINKS) links by UDP and TCP at most.
    pub paths: Vec<PlannedPath>,
    /// How each link may be used.
    pub links: [LinkPlan; LINKS],
    /// What is done with several links.
    pub multipath: Multipath,
}

/// What is done with several links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Multipath {
    /// All connections take the first path that works.
    #[default]
    Failover,
    /// Connections are spread over all links that work.
    LoadBalance,
    /// The same as with failover, but for connections that are bound to a link: what each link carries is found out.
    Bond,
}

/// A path that a host knows of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedPath {
    /// How it goes.
    pub route: Route,
    /// The link of this host that it begins with, from 0.
    pub link: usize,
}

/// What is known of all paths.
#[derive(Debug)]
pub(super) struct PathMonitor {
    paths: Vec<MonitoredPath>,
    serial: u32,
    /// Time between two probes on the path in use.
    busy: Span,
    /// Content was sent then.
    used: Option<Instant>,
    /// The latest probe that was answered. Before there is one the peer takes whatever comes first for the
    /// only path, so that probes go by the path in use alone.
    answered: Option<u32>,
}

/// What is known of one path.
#[derive(Debug)]
struct MonitoredPath {
    next: Instant,
    /// Probes without an answer: number and time.
    sent: VecDeque<(u32, Instant)>,
    up: bool,
    link: LinkPlan,
    /// It may not be used since then.
    closed: Option<Instant>,
    /// It may not, and the peer does not know it: the next probe says so.
    owes_word: bool,
    /// Answers since it works no more.
    good: u32,
    /// Probes since the latest answer.
    silent: u32,
    srtt: Option<Span>,
    /// Something came from the peer by it then.
    heard: Option<Instant>,
    /// The part of the probes, or of their answers, that was lost while it worked.
    lost: f64,
    /// A TCP connection is made only where UDP over the same link, this path, does not work.
    instead_of: Option<usize>,
}

impl PathMonitor {
    /// The first path is taken for working.
    pub(super) fn new(now: Instant, plan: &Plan) -> Self {
        let udp = |link| {
            let same = |path: &PlannedPath| path.link == link && path.route.outer == Outer::Udp;
            plan.paths.iter().position(same)
        };
        let paths = plan.paths.iter().enumerate().map(|(n, path)| MonitoredPath {
            next: now,
            sent: VecDeque::new(),
            up: n == 0,
            link: plan.links[path.link],
            closed: None,
            owes_word: false,
            good: 0,
            silent: 0,
            srtt: None,
            heard: None,
            lost: 0.0,
            instead_of: if path.route.outer == Outer::Tcp { udp(path.link) } else { None },
        });
        let alone = plan.paths.iter().all(|path| path.link == 0);
        let busy = if alone { BUSY_ALONE } else { BUSY };
        Self { paths: paths.collect(), serial: 0, busy, used: None, answered: None }
    }

    /// A bit for each path that works and is to be used.
    pub(super) fn usable(&self) -> u8 {
        let is_usable = |n: usize| self.paths[n].up && !self.is_barred(n);
        (0..self.paths.len()).map(|n| u8::from(is_usable(n)) << n).sum()
    }

    /// Whether nothing may use a path now: it is closed, or a reserve while another one works.
    pub(super) fn is_barred(&self, path: usize) -> bool {
        let works =
            |path: &MonitoredPath| path.up && path.closed.is_none() && !path.link.is_reserve;
        let path = &self.paths[path];
        path.closed.is_some() || path.link.is_reserve && self.paths.iter().any(works)
    }

    /// Whether a path may be used at all; true of one that is not known.
    pub(super) fn is_open(&self, path: usize) -> bool {
        self.paths.get(path).is_none_or(|path| path.closed.is_none())
    }

    /// Whether a path has been closed for so long that connections have left it which could.
    pub(super) fn is_shut(&self, now: Instant, path: usize) -> bool {
        let closed = self.paths.get(path).and_then(|path| path.closed);
        closed.is_some_and(|at| at + LEAVE <= now)
    }

    /// A path may be used from now on, or no more: then the peer is told by it once, and there are no probes.
    pub(super) fn set_open(&mut self, now: Instant, path: usize, is_open: bool) {
        let path = &mut self.paths[path];
        if path.closed.is_none() == is_open {
            return;
        }
        path.closed = (!is_open).then_some(now);
        path.owes_word = !is_open && path.up;
        (path.next, path.up, path.good, path.silent) = (now, false, 0, 0);
        path.sent.clear();
    }

    /// The round-trip time of a path.
    pub(super) fn round_trip(&self, path: usize) -> Option<Span> {
        self.paths.get(path)?.srtt
    }

    /// The request for keys was answered by this path. Of the others only those are known to work that have
    /// answered a probe.
    pub(super) fn associated(&mut self, by: usize) {
        self.answered = None;
        for (n, path) in self.paths.iter_mut().enumerate() {
            if n == by {
                path.up = path.closed.is_none();
            } else if path.srtt.is_none() {
                path.up = false;
            }
        }
    }

    /// Content is sent, by this path as a rule.
    pub(super) fn used(&mut self, now: Instant, main: usize) {
        let slept = self.used.is_none_or(|at| now.since(at) >= USED);
        self.used = Some(now);
        if slept {
            self.probe_soon(now, main);
            for path in &mut self.paths {
                path.next = path.next.min(now + IDLE);
            }
        }
    }

    /// A probe by this path is due now.
    pub(super) fn probe_soon(&mut self, now: Instant, path: usize) {
        self.paths[path].next = now;
    }

    /// The peer has answered a probe. True when it is the latest one that it has.
    pub(super) fn answered(&mut self, now: Instant, path: usize, serial: u32) -> bool {
        // A TCP connection tells at once what it has held back, while UDP is asked again and again: after an outage it would be
        // first, for as long as it takes UDP to prove that it works.
        let udp = self.paths.get(path).and_then(|path| path.instead_of);
        let is_needed = udp.is_none_or(|udp| self.paths[udp].good == 0);
        let Some(path) = self.paths.get_mut(path) else { return false };
        let sent = path.sent.iter().position(|(sent, _)| *sent == serial);
        let Some(offset) = sent else { return false };
        let later = self.answered.is_none_or(|last| serial.wrapping_sub(last).cast_signed() > 0);
        if later {
            self.answered = Some(serial);
        }
        if path.up {
            path.count_lost(offset);
        }
        path.owes_word = false;
        if let Some((_, at)) = path.sent.drain(..=offset).next_back() {
            let sample = now.since(at);
            path.srtt = Some(path.srtt.map_or(sample, |srtt| (srtt * 7 + sample) / 8));
        }
        path.good += 1;
        path.silent = 0;
        if !path.up {
            path.next = path.next.min(now + DOWN);
        }
        if path.good >= GOOD && is_needed {
            path.up = true;
        }
        later
    }

    /// Something came from the peer by this path.
    pub(super) fn heard(&mut self, now: Instant, path: usize) {
        if let Some(path) = self.paths.get_mut(path) {
            path.heard = Some(now);
            path.owes_word = path.closed.is_some();
        }
    }

    /// Gives up paths that have had no answer for too long.
    pub(super) fn give_up(&mut self, now: Instant) {
        for path in &mut self.paths {
            if path.overdue(self.busy).is_some_and(|at| at <= now) {
                (path.up, path.good) = (false, 0);
                path.sent.pop_front();
                // One probe may have been lost.
                if path.silent <= 1 {
                    path.next = path.next.min(now + DOWN);
                }
            }
        }
    }

    /// The probes that are due: path and number. `main` is the path in use.
    pub(super) fn probe(&mut self, now: Instant, main: usize) -> Vec<(usize, u32)> {
        let used = self.used.is_some_and(|at| now.since(at) < USED);
        let mut probes = Vec::new();
        for path in 0..self.paths.len() {
            if self.paths[path].next > now || self.is_spared(path, main) {
                continue;
            }
            self.serial = self.serial.wrapping_add(1);
            let monitored = &mut self.paths[path];
            if monitored.sent.len() == MOST {
                monitored.sent.pop_front();
            }
            monitored.sent.push_back((self.serial, now));
            monitored.owes_word = false;
            monitored.next =
                now + monitored.pause(used.then_some(if path == main { self.busy } else { IDLE }));
            monitored.silent += 1;
            probes.push((path, self.serial));
        }
        probes
    }

    /// Whether nothing is to be sent by this path: because another one works, or because the peer does not
    /// know of several yet.
    fn is_spared(&self, path: usize, main: usize) -> bool {
        let early = self.answered.is_none() && path != main && self.paths[main].up;
        let path = &self.paths[path];
        let is_closed = path.closed.is_some() && !path.owes_word;
        early || is_closed || path.instead_of.is_some_and(|udp| self.paths[udp].up)
    }

    /// When something has to be done. `main` is the path in use.
    pub(super) fn due(&self, main: usize) -> Option<Instant> {
        let all = self.paths.iter().enumerate().map(|(n, path)| {
            let next = (!self.is_spared(n, main)).then_some(path.next);
            Instant::earliest(next, path.overdue(self.busy))
        });
        all.fold(None, Instant::earliest)
    }
}

impl MonitoredPath {
    /// A probe was answered, and so many before it were not.
    fn count_lost(&mut self, missing: usize) {
        for _ in 0..missing {
            self.lost += (1.0 - self.lost) / SMOOTH;
        }
        self.lost -= self.lost / SMOOTH;
    }

    /// Time until the next probe, which is `used` where it works and content is sent, by it or by others.
    fn pause(&self, used: Option<Span>) -> Span {
        match (self.up, self.link.is_metered) {
            (true, false) => used.unwrap_or(IDLE),
            (true, true) => used.unwrap_or(IDLE_METERED),
            (false, false) => DOWN,
            (false, true) => (DOWN * (1 << self.silent.min(8))).min(IDLE_METERED),
        }
    }

    /// When the oldest probe without an answer has waited for too long.
    fn overdue(&self, busy: Span) -> Option<Instant> {
        let (_, at) = self.sent.front()?;
        let round_trip = self.srtt.unwrap_or(UNKNOWN);
        let late = *at + round_trip + round_trip / 4;
        let heard = self.heard.is_some_and(|heard| heard >= late);
        let least = if heard { MORE_HEARD } else { MORE.0 };
        let more = (BY_CHANCE.ln() / self.lost.ln()).ceil() - 1.0;
        Some(late + busy * more.clamp(least, MORE.1) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Span = Span::from_millis(600);

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    fn plan(outer: &[(usize, Outer)]) -> Plan {
        let address = std::net::SocketAddr::from(([10, 0, 0, 1], 1));
        let paths = outer
            .iter()
            .map(|&(link, outer)| PlannedPath { route: Route { outer, ..address.into() }, link });
        Plan {
            paths: paths.collect(),
            links: [LinkPlan::default(); LINKS],
            multipath: Multipath::Failover,
        }
    }

    /// Lets the time pass up to `until`, with content all the time. `works` says whether a path works then.
    /// Returns when what was up changed, and to what, and the probes on each path.
    fn run(
        monitor: &mut PathMonitor,
        from: u64,
        until: u64,
        works: impl Fn(usize, u64) -> bool,
    ) -> (Vec<(u64, u8)>, Vec<usize>) {
        let mut answers: VecDeque<(Instant, usize, u32)> = VecDeque::new();
        let (mut changes, mut probes) = (vec![], vec![0; monitor.paths.len()]);
        let mut up = monitor.usable();
        for ms in from..until {
            let now = at(ms);
            while answers.front().is_some_and(|(when, ..)| *when <= now) {
                if let Some((_, path, serial)) = answers.pop_front() {
                    monitor.answered(now, path, serial);
                }
            }
            monitor.used(now, up.trailing_zeros() as usize % 4);
            monitor.give_up(now);
            for (path, serial) in monitor.probe(now, up.trailing_zeros() as usize) {
                probes[path] += 1;
                if works(path, ms) {
                    answers.push_back((now + RTT, path, serial));
                }
            }
            if std::mem::replace(&mut up, monitor.usable()) != up {
                changes.push((ms, up));
            }
        }
        (changes, probes)
    }

    #[test]
    fn a_path_in_use_that_goes_dark_is_given_up_in_a_round_trip_and_some_probes() {
        let mut monitor = PathMonitor::new(at(0), &plan(&[(0, Outer::Udp), (1, Outer::Udp)]));
        let (changes, probes) = run(&mut monitor, 0, 60_000, |path, ms| path == 1 || ms < 20_000);
        let [(first, both), (down, left)] = changes[..] else { panic!("{changes:?}") };
        assert_eq!((both, left), (3, 2));
        assert!(first <= 5_000, "{first}");
        assert!((20_900..21_600).contains(&down), "{down}");
        // Four a second while in use; a few on the other one until it is.
        assert!((150..200).contains(&probes[1]), "{probes:?}");
        assert!((150..170).contains(&probes[0]), "{probes:?}");
    }

    #[test]
    fn it_works_again_after_three_answers_in_a_row() {
        let mut monitor = PathMonitor::new(at(0), &plan(&[(0, Outer::Udp), (1, Outer::Udp)]));
        let down = 10_000..30_000;
        let (changes, _) =
            run(&mut monitor, 0, 60_000, |path, ms| path == 1 || !down.contains(&ms));
        let back = changes.last().expect("a change");
        assert_eq!(back.1, 3);
        assert!((31_500..33_000).contains(&back.0), "{changes:?}");
    }

    #[test]
    fn one_lost_probe_in_five_changes_nothing() {
        let mut monitor = PathMonitor::new(at(0), &plan(&[(0, Outer::Udp), (1, Outer::Udp)]));
        let (changes, _) = run(&mut monitor, 0, 60_000, |path, ms| path == 1 || ms % 1250 != 0);
        assert!(changes.iter().all(|(_, up)| up & 1 == 1), "{changes:?}");
    }

    /// Loses this part of the probes in an hour. Gives how often the path was given up.
    fn given_up_by_chance(loss: f64) -> usize {
        let mut monitor = PathMonitor::new(at(0), &plan(&[(0, Outer::Udp), (1, Outer::Udp)]));
        let works = |path, ms: u64| {
            let mut draw = ms.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            draw = (draw ^ draw >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            path == 1 || (draw >> 32) as f64 >= loss * 2f64.powi(32)
        };
        let (changes, _) = run(&mut monitor, 0, 3_600_000, works);
        changes.iter().filter(|(_, up)| up & 1 == 0).count()
    }

    #[test]
    fn a_path_that_loses_a_third_of_the_probes_works() {
        assert_eq!(given_up_by_chance(0.05), 0);
        let often = given_up_by_chance(0.36);
        assert!(often <= 2, "given up {often} times in an hour");
    }

    #[test]
    fn a_path_by_which_something_comes_is_given_up_later() {
        let mut monitor = PathMonitor::new(at(0), &plan(&[(0, Outer::Udp), (0, Outer::Tcp)]));
        let (changes, _) = run(&mut monitor, 0, 20_000, |_, _| true);
        assert_eq!(changes, []);
        let gone = (20_000..40_000).find(|&ms| {
            monitor.heard(at(ms), 0);
            !run(&mut monitor, ms, ms + 1, |path, _| path == 1).0.is_empty()
        });
        assert!(gone.is_some_and(|ms| (26_000..29_000).contains(&ms)), "{gone:?}");
    }

    #[test]
    fn tcp_is_tried_only_where_udp_does_not_work() {
        let mut monitor = PathMonitor::new(at(0), &plan(&[(0, Outer::Udp), (0, Outer::Tcp)]));
        let (changes, probes) = run(&mut monitor, 0, 20_000, |_, _| true);
        assert_eq!((changes, probes[1]), (vec![], 0));
        let (changes, probes) = run(&mut monitor, 20_000, 40_000, |path, _| path == 1);
        assert_eq!(changes.last().map(|change| change.1), Some(2), "{changes:?}");
        assert!(probes[1] > 10);
    }

    #[test]
    fn tcp_that_has_held_back_probes_of_an_outage_does_not_take_the_place_of_udp() {
        let mut monitor = PathMonitor::new(at(0), &plan(&[(0, Outer::Udp), (0, Outer::Tcp)]));
        let back = |path| if path == 0 { 40_000 } else { 39_300 };
        let works = |path, ms| ms < 20_000 || ms >= back(path);
        let (changes, probes) = run(&mut monitor, 0, 60_000, works);
        let up: Vec<_> = changes.iter().map(|(_, up)| *up).collect();
        assert_eq!(up, [0, 1], "{changes:?}");
        assert!(changes[1].0 < 42_500 && probes[1] > 10, "{changes:?}, {probes:?}");
    }

    #[test]
    fn a_path_that_nobody_uses_has_a_probe_in_two_seconds() {
        let mut monitor = PathMonitor::new(at(0), &plan(&[(0, Outer::Udp), (1, Outer::Udp)]));
        let mut probes = 0;
        for ms in 0..60_000 {
            for (path, serial) in monitor.probe(at(ms), 0) {
                probes += 1;
                monitor.answered(at(ms), path, serial);
            }
        }
        assert!((60..70).contains(&probes), "{probes}");
    }
}
