//! Losses found by the order of departures.

use std::collections::VecDeque;

use super::{AckSeen, Found, Recovery, Scoreboard, Sent};

/// On a path that keeps order, what left before something that arrived has arrived as well or is lost,
/// whether it left for the first time or again (Zhou and Baras). What the peer reported it keeps.
#[derive(Debug, Default)]
pub(crate) struct DepartureOrder {
    /// Departures that are not judged yet, in their order.
    departures: VecDeque<Departure>,
    /// The highest offset that was acknowledged or reported so far.
    highest: u64,
    active: bool,
    recover: u64,
}

#[derive(Clone, Copy, Debug)]
struct Departure {
    number: u64,
    start: u64,
    end: u64,
}

impl Departure {
    /// Number of its segment, if this is the latest departure of it and it did not arrive.
    fn missing(&self, board: &Scoreboard) -> Option<usize> {
        let index = board.find(self.start);
        let segment = board.get(index).filter(|segment| segment.start <= self.start)?;
        let latest = segment.departure == self.number && !segment.sacked;
        latest.then_some(index)
    }
}

impl DepartureOrder {
    /// Everything that left before what arrived with the highest offset. A segment that left several
    /// times may have arrived by any of its departures: the first one is taken, so that nothing that
    /// may be under way counts as lost.
    fn judge(&mut self, board: &mut Scoreboard) -> (u64, bool) {
        let highest = board.una().max(board.runs().highest().unwrap_or(0));
        if highest <= self.highest {
            return (0, false);
        }
        self.highest = highest;
        let is_it = |departure: &Departure| departure.start < highest && highest <= departure.end;
        let Some(place) = self.departures.iter().position(is_it) else { return (0, false) };
        let (mut lost, mut again) = (0, false);
        for departure in self.departures.drain(..=place).take(place) {
            if let Some(index) = departure.missing(board) {
                again |= board.get(index).is_some_and(|segment| segment.transmissions > 1);
                lost += board.lose(index);
            }
        }
        (lost, again)
    }
}

impl Recovery for DepartureOrder {
    fn departs(&mut self, _board: &Scoreboard, segment: &Sent) {
        let (number, start, end) = (segment.departure, segment.start, segment.end());
        self.departures.push_back(Departure { number, start, end });
    }

    fn on_ack(&mut self, board: &mut Scoreboard, _ack: &AckSeen) -> Found {
        let mut found = Found::default();
        if self.active && board.una() >= self.recover {
            (self.active, found.done) = (false, true);
        }
        (found.lost, found.again) = self.judge(board);
        if found.lost > 0 && !self.active {
            (self.active, self.recover, found.new_episode) = (true, board.next(), true);
        }
        found.forced = u32::from(found.new_episode || found.again);
        found
    }

    fn on_timeout(&mut self, board: &mut Scoreboard) -> u64 {
        // Timeouts in a row must not make the list grow.
        self.departures.retain(|departure| departure.missing(board).is_some());
        board.lose_head()
    }

    fn is_active(&self) -> bool {
        self.active
    }
}
