//! Losses by time, as Linux finds them (RFC 8985).

use bentpipe_units::{Instant, Span};

use super::departures::{Departure, Departures};
use super::reordering::Reordering;
use super::{AckSeen, Delivered, Departed, Found, Options, Path, Recovery, Scoreboard, Sent};

/// The least time that a timer of losses runs: Linux waits for two of its ticks of a millisecond.
const LEAST_WAIT: Span = Span::from_millis(2);

/// What left before something that arrived, and has not come for a round trip and a settling time since, is lost,
/// retransmissions as well (RFC 8985). After a timeout it watches whether what left before arrives all the same
/// (F-RTO, RFC 5682, section 3).
#[derive(Debug)]
pub(crate) struct Rack {
    /// Segments above the oldest hole that make waiting for it pointless while nothing was seen out of order.
    threshold: u64,
    departures: Departures,
    arrived: Option<Arrived>,
    reordering: Reordering,
    state: State,
    /// A recovery, or the time after a timeout, ends when everything before it is acknowledged.
    recover: u64,
    /// When what is missing and has its time left is looked at again.
    deadline: Option<Instant>,
}

/// The departure of what left last of all that arrived (RACK.segment).
#[derive(Clone, Copy, Debug)]
struct Arrived {
    number: u64,
    sent_at: Instant,
    rtt: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// Losses found by time are being repaired.
    Repairing,
    TimedOut(Suspicion),
}

/// What is thought of a timeout (RFC 5682).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Suspicion {
    /// It was right.
    None,
    /// Nothing was heard since.
    Fresh,
    /// New data left, to see what becomes of them.
    NewData,
}

impl Rack {
    pub(super) fn new(options: Options) -> Self {
        Self {
            threshold: options.threshold.into(),
            departures: Departures::new(),
            arrived: None,
            reordering: Reordering::default(),
            state: State::Open,
            recover: 0,
            deadline: None,
        }
    }

    /// What arrived moves the clock on (RFC 8985, section 6.2, step 2).
    fn advance(&mut self, path: &Path, delivered: &Delivered) {
        // A retransmission that is answered sooner than any segment was: the answer is to what left before.
        let ambiguous = |at: Instant| delivered.resent && path.now.since(at) < path.min_rtt;
        let newest = delivered.newest.filter(|newest| !ambiguous(newest.sent_at));
        let Some(newest) = newest.or(delivered.sent_once) else { return };
        let (number, sent_at) = (newest.departure, newest.sent_at);
        if self.arrived.is_none_or(|arrived| arrived.number < number) {
            self.arrived = Some(Arrived { number, sent_at, rtt: path.now.since(sent_at) });
        }
    }

    /// How long what is missing may take longer than what arrived (RACK.reo_wnd).
    fn window(&self, board: &Scoreboard, path: &Path) -> Span {
        let evident = board.sacked_bytes() >= self.threshold * path.mss;
        if !self.reordering.is_seen() && (self.state != State::Open || evident) {
            return Span::ZERO;
        }
        self.reordering.window(path)
    }

    /// Gives up what had its time (RFC 8985, section 6.2, step 5): the bytes, and whether some had been
    /// retransmitted.
    fn detect(&mut self, board: &mut Scoreboard, path: &Path) -> (u64, bool) {
        self.deadline = None;
        let Some(arrived) = self.arrived else { return (0, false) };
        let window = self.window(board, path);
        let (mut lost, mut again) = (0, false);
        while let Some(departure) = self.departures.front().filter(|it| it.number < arrived.number)
        {
            let missing =
                departure.missing(board).and_then(|index| Some((index, board.get(index)?)));
            if let Some((index, segment)) = missing.filter(|(_, it)| !it.lost || it.repaired) {
                if segment.sent_at + arrived.rtt + window > path.now {
                    let all = arrived.sent_at + arrived.rtt + window;
                    self.deadline = Some(all.max(path.now) + LEAST_WAIT);
                    break;
                }
                again |= segment.transmissions > 1;
                lost += board.lose(index);
            }
            self.departures.pop_front();
        }
        (lost, again)
    }

    /// What follows from losses, where a recovery may just have been done.
    fn judge(&mut self, board: &Scoreboard, (lost, again): (u64, bool), done: bool) -> Found {
        let begins = match self.state {
            // What was lost behind the recovery that ends, and has not arrived yet, begins the next one
            // (tcp_time_to_recover of Linux).
            State::Open => lost > 0 || done && board.has_losses(),
            State::Repairing => false,
            // After a timeout only the loss of a retransmission is news.
            State::TimedOut(_) => again,
        };
        if begins {
            (self.state, self.recover) = (State::Repairing, board.next());
        }
        Found { lost, again, new_episode: begins, ..Found::default() }
    }

    /// What an acknowledgement says of a timeout. True when that was a mistake.
    fn doubt_timeout(&mut self, board: &Scoreboard, ack: &AckSeen) -> bool {
        let State::TimedOut(suspicion) = self.state else { return false };
        if suspicion == Suspicion::None {
            return false;
        }
        if ack.delivered.first_sent_once.is_some_and(|first| first < self.recover) {
            return true;
        }
        if suspicion == Suspicion::NewData {
            if ack.sacked > 0 || ack.duplicate {
                self.state = State::TimedOut(Suspicion::None);
            }
        } else if ack.acked > 0 && board.una() < self.recover {
            self.state = State::TimedOut(Suspicion::NewData);
        }
        false
    }
}

impl Recovery for Rack {
    fn departs(&mut self, board: &Scoreboard, segment: &Sent) {
        let una = board.una();
        while self.departures.front().is_some_and(|departure| departure.end <= una) {
            self.departures.pop_front();
        }
        self.departures.push_back(Departure::of(segment));
    }

    fn on_ack(&mut self, board: &mut Scoreboard, ack: &AckSeen) -> Found {
        self.reordering.look(board, ack);
        let mistaken = self.doubt_timeout(board, ack);
        let done = self.state != State::Open && ack.acked > 0 && board.una() >= self.recover;
        if done {
            self.state = State::Open;
            self.reordering.recovered();
        }
        self.advance(&ack.path, &ack.delivered);
        let losses = self.detect(board, &ack.path);
        // What had left before the oldest segment did again proves that the path works.
        let old = |head: &Sent| ack.delivered.sent_once.is_some_and(|it| it.sent_at < head.sent_at);
        let restart_timer = ack.acked == 0 && board.head().is_some_and(old);
        Found { done, mistaken, restart_timer, ..self.judge(board, losses, done) }
    }

    #[inline]
    fn on_plain_ack(&mut self, path: &Path, newest: &Departed) -> bool {
        let plain = self.state == State::Open && self.deadline.is_none();
        if plain {
            let (number, sent_at) = (newest.departure, newest.sent_at);
            self.arrived = Some(Arrived { number, sent_at, rtt: path.now.since(sent_at) });
        }
        plain
    }

    fn on_timeout(&mut self, board: &mut Scoreboard, path: &Path) -> u64 {
        let reneged = board.head().is_some_and(|head| head.sacked);
        let again = board.head().is_some_and(|head| head.timed_out);
        let doubtful = again || self.state == State::Open;
        self.state = State::TimedOut(if doubtful { Suspicion::Fresh } else { Suspicion::None });
        (self.recover, self.deadline) = (board.next(), None);
        let lost = if reneged {
            board.lose_all()
        } else {
            let left_by = self.arrived.map_or(path.now, |arrived| path.now.before(arrived.rtt));
            let next = board.next();
            board.lose(0) + board.lose_sent_by(left_by, next)
        };
        board.mark_timeout();
        lost
    }

    fn undone(&mut self, board: &Scoreboard) {
        self.state = State::Open;
        // What was given up is believed to be under way again.
        let waits = |segment: &&Sent| !segment.sacked && (!segment.lost || segment.repaired);
        let mut departures: Vec<_> = board.segments().filter(waits).map(Departure::of).collect();
        departures.sort_unstable_by_key(|departure| departure.number);
        self.departures = departures.into();
    }

    fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    fn on_timer(&mut self, board: &mut Scoreboard, path: &Path) -> Found {
        let losses = self.detect(board, path);
        self.judge(board, losses, false)
    }

    fn is_active(&self) -> bool {
        self.state == State::Repairing
    }

    fn is_open(&self) -> bool {
        self.state == State::Open
    }

    fn prefers_new(&self) -> bool {
        self.state == State::TimedOut(Suspicion::NewData)
    }
}

#[cfg(test)]
mod tests;
