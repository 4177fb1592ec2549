//! Losses found by the order of departures.

use super::departures::{Departure, Departures};
use super::{AckSeen, Found, Path, Recovery, Scoreboard, Sent};

/// On a path that keeps order, what left before something that arrived has arrived as well or is lost,
/// whether it left for the first time or again (Zhou and Baras). What the peer reported it keeps.
#[derive(Debug, Default)]
pub(crate) struct DepartureOrder {
    /// Departures that are not judged yet, in their order.
    departures: Departures,
    /// The highest offset that was acknowledged or reported so far.
    highest: u64,
    active: bool,
    recover: u64,
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
        self.departures.push_back(Departure::of(segment));
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

    fn on_timeout(&mut self, board: &mut Scoreboard, _path: &Path) -> u64 {
        // Timeouts in a row must not make the list grow.
        self.departures.retain(|departure| departure.missing(board).is_some());
        board.lose_head()
    }

    fn is_active(&self) -> bool {
        self.active
    }
}
