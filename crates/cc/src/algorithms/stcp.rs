//! STCP, sharing TCP: a new connection starts with what others to the same destination know.

use crate::algorithms::reno;
use crate::family::{Algorithm, Reduction, Windowed};
use crate::row::{Build, Row};
use crate::shared::Member;
use crate::window::{ABC_LIMIT, INITIAL_SSTHRESH, Window};
use crate::{Ack, Controller, PathView, SharedState};

/// The registry row.
pub(crate) const ROW: Row = Row {
    name: "stcp",
    summary: "Reno that starts with its part of the windows of connections to the same host",
    citation: "sharing TCP; state sharing as in RFC 9040, section 8 (ensemble allocation)",
    parameters: &[ABC_LIMIT, INITIAL_SSTHRESH],
    build: &build,
};

#[derive(Debug)]
struct Stcp {
    member: Option<Member>,
}

fn build(build: &Build<'_>) -> Box<dyn Controller> {
    let mut window = Window::new(build, &ROW);
    let (member, start) = build.shared.map(SharedState::join).unzip();
    if let Some(start) = start.flatten() {
        window.set_ssthresh(start.ssthresh);
        window.set(start.cwnd.max(window.init()));
    }
    Box::new(Windowed::new(window, Stcp { member }))
}

impl Stcp {
    fn tell(&self, window: &Window, path: &PathView) {
        if let Some(member) = &self.member {
            member.tell(window.cwnd(), window.ssthresh(), path.now);
        }
    }
}

impl Algorithm for Stcp {
    fn measure(&mut self, window: &mut Window, path: &PathView, _ack: &Ack) {
        self.tell(window, path);
    }

    fn grow(&mut self, window: &mut Window, path: &PathView, ack: &Ack) {
        reno::grow(window, ack);
        self.tell(window, path);
    }

    fn reduced(&mut self, window: &mut Window, path: &PathView, _event: &Reduction) {
        self.tell(window, path);
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::ByteCount;

    use crate::Choice;
    use crate::testing::Play;
    use crate::{LossCause, Phase, SharedState};

    fn open(table: &SharedState) -> Play {
        let kb = |n: u64| ByteCount::new(1000 * n);
        let choice = Choice::new("stcp", Default::default()).expect("a registered name");
        Play::of(choice.sharing(table.clone()).build(kb(1), kb(2), kb(1), kb(1000)))
    }

    #[test]
    fn the_second_connection_starts_with_half_of_the_first_ones_window_and_its_threshold() {
        let table = SharedState::new();
        let mut first = open(&table);
        first.rounds(5);
        first.lose(LossCause::Gap);
        assert_eq!(first.segments(), 32.0);
        let second = open(&table);
        assert_eq!((second.segments(), second.ssthresh()), (16.0, 32.0));
    }

    #[test]
    fn one_after_another_takes_it_all() {
        let table = SharedState::new();
        let mut first = open(&table);
        first.rounds(5);
        first.lose(LossCause::Gap);
        drop(first);
        let second = open(&table);
        assert_eq!((second.segments(), second.phase()), (32.0, Phase::CongestionAvoidance));
    }

    #[test]
    fn without_a_table_or_an_entry_it_is_reno() {
        let mut alone = Play::new("stcp", &[]);
        alone.rounds(2);
        assert_eq!(alone.segments(), 8.0);
        assert_eq!(open(&SharedState::new()).segments(), 2.0);
    }
}
