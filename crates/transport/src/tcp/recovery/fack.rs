//! Loss recovery by the furthest report, as Linux did it for years.

use std::collections::VecDeque;

use super::{AckSeen, Found, Options, Path, Recovery, Scoreboard, Sent};

/// Forward acknowledgement (Mathis and Mahdavi, SIGCOMM 1996) with rate halving (Mathis, Semke and
/// Mahdavi, draft-mathis-tcp-ratehalving, 1999).
///
/// What lies more than a threshold below the furthest report is lost. A retransmission is lost when something
/// arrived that left for the first time after it, or a threshold of later retransmissions. While losses are
/// repaired one segment leaves for every two that left the network, until what is under way fits the
/// window.
#[derive(Debug)]
pub(crate) struct Fack {
    options: Options,
    active: bool,
    /// A recovery, or the time after a timeout, ends when everything before it is acknowledged.
    recover: u64,
    /// Retransmissions are under way: found by reports, or after a timeout.
    repairing: bool,
    /// Bytes that may be under way on the path to the window.
    halving: u64,
    /// Retransmissions that are under way, in the order in which they left.
    retransmissions: VecDeque<Retransmission>,
    /// Order of the latest retransmission that arrived.
    arrived: u64,
}

#[derive(Clone, Copy, Debug)]
struct Retransmission {
    /// Number of its departure.
    number: u64,
    /// Its place among the retransmissions.
    order: u64,
    start: u64,
    /// Offset of the first new data that left after it.
    next: u64,
}

impl Fack {
    pub(super) const fn new(options: Options) -> Self {
        Self {
            options,
            active: false,
            recover: 0,
            repairing: false,
            halving: 0,
            retransmissions: VecDeque::new(),
            arrived: 0,
        }
    }

    /// Finds retransmissions that are lost.
    fn lose_retransmissions(&mut self, board: &mut Scoreboard) -> u64 {
        let highest = board.runs().highest().unwrap_or(0);
        for retransmission in &self.retransmissions {
            if retransmission.fate(board) == Fate::Arrived {
                self.arrived = self.arrived.max(retransmission.order);
            }
        }
        let threshold = u64::from(self.options.threshold);
        let (arrived, mut lost) = (self.arrived, 0);
        self.retransmissions.retain(|retransmission| match retransmission.fate(board) {
            Fate::UnderWay
                if retransmission.next < highest || retransmission.order + threshold < arrived =>
            {
                lost += board.lose(board.find(retransmission.start));
                false
            }
            fate => fate == Fate::UnderWay,
        });
        lost
    }

    fn enter(&mut self, board: &Scoreboard, mss: u64) {
        (self.active, self.repairing, self.recover) = (true, true, board.next());
        self.halving = board.pipe() + mss;
    }
}

/// What became of a retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    UnderWay,
    Arrived,
    /// It left once more, or was given up.
    Replaced,
}

impl Retransmission {
    fn fate(&self, board: &Scoreboard) -> Fate {
        match board.get(board.find(self.start)).filter(|segment| segment.start <= self.start) {
            None => Fate::Arrived,
            Some(segment) if segment.sacked => Fate::Arrived,
            Some(segment) if segment.departure != self.number || !segment.repaired => {
                Fate::Replaced
            }
            Some(_) => Fate::UnderWay,
        }
    }
}

impl Recovery for Fack {
    fn departs(&mut self, board: &Scoreboard, segment: &Sent) {
        if segment.repaired {
            let order = self.retransmissions.back().map_or(self.arrived, |last| last.order) + 1;
            let (number, start, next) = (segment.departure, segment.start, board.next());
            self.retransmissions.push_back(Retransmission { number, order, start, next });
        }
        let len = u64::from(segment.len);
        self.halving = self.halving.min(board.pipe().saturating_sub(len).max(len));
    }

    fn on_ack(&mut self, board: &mut Scoreboard, ack: &AckSeen) -> Found {
        let mut found = Found::default();
        if self.repairing && ack.acked > 0 && board.una() >= self.recover {
            (self.active, self.repairing, self.halving, found.done) = (false, false, 0, true);
        }
        let furthest = board.runs().highest().unwrap_or(0);
        let edge = furthest.saturating_sub(u64::from(self.options.threshold) * ack.path.mss);
        let retransmissions = self.lose_retransmissions(board);
        found.again = retransmissions > 0;
        found.lost = retransmissions + board.lose_before(edge);
        self.halving = self.halving.min(board.pipe() + ack.path.mss);
        // While reports come the path works, and they tell of lost retransmissions: the timer need not.
        found.restart_timer = ack.sacked > 0;
        if found.lost > 0 && !self.active {
            found.new_episode = true;
            self.enter(board, ack.path.mss);
        }
        found
    }

    fn on_timeout(&mut self, board: &mut Scoreboard, _path: &Path) -> u64 {
        (self.active, self.repairing, self.halving) = (false, true, 0);
        self.recover = board.next();
        self.retransmissions.clear();
        board.doubt_head();
        let lost = board.lose_unreported();
        board.mark_timeout();
        lost
    }

    fn suspect(&mut self, board: &mut Scoreboard) -> Found {
        let new_episode = !self.active;
        let again = board.head().is_some_and(|head| head.transmissions > 1);
        let lost = board.lose(0);
        if new_episode {
            self.enter(board, lost);
        }
        Found { lost, new_episode, again, forced: 1, ..Found::default() }
    }

    fn is_active(&self) -> bool {
        self.active
    }

    fn window(&self, cwnd: u64) -> u64 {
        cwnd.max(self.halving)
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::{Instant, Span};

    use super::super::{Delivered, Stamp};
    use super::*;

    const MSS: u64 = 100;

    fn stamp() -> Stamp {
        let at = Instant::ZERO;
        Stamp { delivered: 0, delivered_at: at, first_sent_at: at, app_limited: false }
    }

    /// Segments of 100 bytes from offset 1 on.
    struct World {
        board: Scoreboard,
        fack: Fack,
    }

    impl World {
        /// Ten segments are under way.
        fn ten_out() -> Self {
            let options = Options {
                threshold: 3,
                limited_transmit: true,
                aero_burst: 1,
                aero_adaptive: false,
            };
            let mut world = Self { board: Scoreboard::new(1), fack: Fack::new(options) };
            (0..10).for_each(|_| world.send());
            world
        }

        fn send(&mut self) {
            self.board.push(MSS as u32, false, Instant::ZERO, stamp());
            let (_, segment) = self.board.last().expect("a segment");
            self.fack.departs(&self.board, segment);
        }

        fn retransmit(&mut self) {
            let index = self.board.next_retransmission().expect("something lost");
            self.board.resend(index, Instant::ZERO, stamp());
            self.fack.departs(&self.board, self.board.get(index).expect("a segment"));
        }

        /// The peer acknowledges everything before `offset` and reports a stretch.
        fn report(&mut self, offset: u64, (first, end): (u64, u64)) -> Found {
            let acked = offset - self.board.una();
            self.board.acknowledge(offset, &mut Delivered::default());
            let mut reported = Delivered::default();
            self.board.sack(first, end, &mut reported);
            let (now, srtt) = (Instant::ZERO, Span::from_millis(100));
            let sacked = reported.bytes;
            let duplicate = acked == 0;
            let path = Path { now, srtt, min_rtt: srtt, mss: MSS, delivered: 0 };
            let (delivered, twice) = (Delivered::default(), false);
            let ack = AckSeen { path, delivered, acked, sacked, duplicate, twice, asked: 0 };
            self.fack.on_ack(&mut self.board, &ack)
        }

        fn time_out(&mut self) -> u64 {
            let (now, srtt) = (Instant::ZERO, Span::from_millis(100));
            let path = Path { now, srtt, min_rtt: srtt, mss: MSS, delivered: 0 };
            self.fack.on_timeout(&mut self.board, &path)
        }

        /// What is under way, and what may be whatever the window says.
        fn flight(&self) -> (u64, u64) {
            (self.board.pipe(), self.fack.window(0))
        }
    }

    #[test]
    fn on_the_way_to_the_window_one_segment_leaves_for_two_that_arrive() {
        let mut world = World::ten_out();
        assert_eq!(world.flight(), (1000, 0), "before a loss the window alone counts");
        assert!(world.report(1, (101, 501)).new_episode);
        assert_eq!(world.flight(), (500, 600), "one may leave");
        world.retransmit();
        assert_eq!(world.flight(), (600, 500));
        world.report(1, (101, 601));
        assert_eq!(world.flight(), (500, 500), "and none for the next one");
        world.report(1, (101, 701));
        assert_eq!(world.flight(), (400, 500));
        world.send();
        assert_eq!(world.flight(), (500, 400));
        world.report(1, (101, 1001));
        assert_eq!(world.flight(), (200, 300), "one for many that came at once, too");
    }

    #[test]
    fn a_recovery_that_ends_or_a_timeout_leaves_the_window_alone() {
        let mut world = World::ten_out();
        world.report(1, (101, 501));
        (0..3).for_each(|_| world.send());
        assert!(world.report(1001, (0, 0)).done);
        assert_eq!(world.flight(), (300, 0));
        let mut world = World::ten_out();
        world.report(1, (101, 501));
        assert_eq!(world.time_out(), 500, "what was not given up before");
        assert_eq!(world.flight(), (0, 0));
        assert!(world.board.head().is_some_and(|head| head.timed_out));
        assert!(world.report(1001, (0, 0)).done, "the time after a timeout is over as well");
    }

    #[test]
    fn a_segment_that_a_clock_of_its_own_suspects_makes_room_for_itself() {
        let mut world = World::ten_out();
        let found = world.fack.suspect(&mut world.board);
        assert_eq!((found.lost, found.new_episode, found.forced), (100, true, 1));
        assert_eq!(world.flight(), (900, 1000));
    }

    #[test]
    fn the_loss_of_a_repair_is_said_to_be_one() {
        let mut world = World::ten_out();
        assert!(!world.report(1, (101, 501)).again);
        world.retransmit();
        world.send();
        let found = world.report(1, (101, 1101));
        assert_eq!((found.lost, found.again, found.new_episode), (100, true, false));
    }
}
