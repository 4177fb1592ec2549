//! TCP New Vegas: Vegas whose window converges quickly, paced and in pairs, for long round trips.

use bentpipe_units::{BitRate, Span};

use crate::algorithms::vegas::{ALPHA, BETA, GAMMA, Place, Vegas};
use crate::family::{Algorithm, Reduction, Windowed};
use crate::row::{Build, Row};
use crate::window::{ABC_LIMIT, INITIAL_SSTHRESH, Window};
use crate::{Ack, Gauge, PathView, Phase, Repair};

/// The registry row.
pub(crate) const ROW: Row = Row {
    name: "newvegas",
    summary: "Vegas paced in pairs; after slow start large steps, halved at each turn, until it has settled",
    citation: "Sing and Soh, TCP New Vegas, IEEE GLOBECOM 2005; the algorithm of the convergence is this \
               project's",
    parameters: &[ALPHA, BETA, GAMMA, ABC_LIMIT, INITIAL_SSTHRESH],
    build: &|build| Windowed::boxed(build, &ROW, NewVegas::new(build)),
};

#[derive(Debug)]
struct NewVegas {
    vegas: Vegas,
    /// Bytes of the next step, while the window converges.
    step: Option<f64>,
    /// Where the window stood at the last step: the next one is half as long if that has changed.
    towards: Place,
    /// The round shows what the last step did; the one before still shows the window before it.
    shows: bool,
}

impl NewVegas {
    fn new(build: &Build<'_>) -> Self {
        Self {
            vegas: Vegas::growing_every_round(build, &ROW),
            step: None,
            towards: Place::Above,
            shows: false,
        }
    }

    fn converge(&mut self, window: &mut Window, step: f64) {
        if !self.vegas.round_ended() {
            return;
        }
        self.shows = !self.shows;
        if self.shows {
            return;
        }
        let place = self.vegas.place();
        let step = if place == self.towards { step } else { step / 2.0 };
        let least = 2.0 * window.mss();
        match place {
            Place::Below => window.add(step),
            Place::Above => window.set((window.cwnd() - step).max(least)),
            Place::Within => {}
        }
        self.towards = place;
        self.step = (place != Place::Within && step >= window.mss()).then_some(step);
    }
}

impl Algorithm for NewVegas {
    fn measure(&mut self, window: &mut Window, path: &PathView, ack: &Ack) {
        self.vegas.measure(window, path, ack);
    }

    fn grow(&mut self, window: &mut Window, path: &PathView, ack: &Ack) {
        if let Some(step) = self.step {
            return self.converge(window, step);
        }
        let starting = window.in_slow_start();
        self.vegas.grow(window, path, ack);
        if starting && !window.in_slow_start() {
            (self.step, self.shows) = (Some(window.cwnd() / 4.0), false);
            self.towards = Place::Above;
        }
    }

    fn reduce(&mut self, window: &Window, path: &PathView, event: &Reduction) -> Option<f64> {
        self.step = None;
        self.vegas.reduce(window, path, event)
    }

    fn loss_window(&self) -> f64 {
        self.vegas.loss_window()
    }

    fn reduced(&mut self, window: &mut Window, path: &PathView, event: &Reduction) {
        self.vegas.reduced(window, path, event);
    }

    fn restart(&mut self) {
        self.step = None;
    }

    fn pacing(&self, window: &Window, srtt: Span) -> Option<BitRate> {
        if window.in_slow_start() { window.pacing(srtt) } else { None }
    }

    fn burst(&self) -> Option<u64> {
        // Pairs: a receiver that acknowledges every second segment answers each pair at once.
        Some(2)
    }

    fn groups(&self) -> bool {
        true
    }

    fn phase(&self) -> Option<Phase> {
        self.step.map(|_| Phase::Other("convergence"))
    }

    fn gauges(&self, _window: &Window) -> Vec<Gauge> {
        vec![self.vegas.gauge()]
    }

    fn repair(&self) -> Repair {
        self.vegas.repair()
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::ByteCount;

    use crate::testing::Play;
    use crate::{LossCause, Phase};

    #[test]
    fn slow_start_doubles_every_round_paced_in_pairs() {
        let mut play = Play::new("newvegas", &[]);
        for expected in [4.0, 8.0, 16.0] {
            play.round();
            assert_eq!(play.segments(), expected);
        }
        let limits = play.controller.limits();
        assert!(limits.pacing.is_some());
        assert_eq!((limits.burst, limits.groups), (Some(ByteCount::new(2000)), true));
    }

    #[test]
    fn after_slow_start_the_window_settles_sooner_than_vegas_would() {
        let rounds = |name| {
            let mut play = Play::new(name, &[]);
            (0..300)
                .take_while(|_| {
                    play.link(300.0, 0.6, 1);
                    let settled = (180.5..=184.0).contains(&play.segments());
                    !(settled && play.phase() == Phase::CongestionAvoidance)
                })
                .count()
        };
        let (new, old) = (rounds("newvegas"), rounds("vegas"));
        assert!(new + 10 < old, "{new} rounds, {old} of Vegas");
    }

    #[test]
    fn the_first_step_is_a_quarter_of_the_window_and_half_of_that_where_the_direction_changes() {
        for (rate, factor) in [(60.0, 0.75), (1e6, 1.125)] {
            let mut play = Play::new("newvegas", &[]);
            while play.phase() == Phase::SlowStart {
                play.link(100.0, 0.6, 1);
            }
            let before = play.segments();
            while play.segments() == before {
                play.link(rate, 0.6, 1);
            }
            assert!((play.segments() / before - factor).abs() < 1e-3, "{}", play.segments());
        }
    }

    #[test]
    fn a_loss_ends_the_convergence() {
        let mut play = Play::new("newvegas", &[]);
        while play.phase() == Phase::SlowStart {
            play.link(100.0, 0.6, 1);
        }
        assert_eq!(play.phase(), Phase::Other("convergence"));
        let before = play.segments();
        play.lose(LossCause::Gap);
        assert!((play.segments() / before - 0.75).abs() < 1e-3);
        play.recovered();
        assert_eq!(play.phase(), Phase::CongestionAvoidance);
    }
}
