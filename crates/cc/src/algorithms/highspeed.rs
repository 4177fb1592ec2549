//! HighSpeed TCP: grows faster and gives way less, the larger the window.

use crate::family::{Algorithm, Reduction, Windowed};
use crate::row::Row;
use crate::window::{ABC_LIMIT, INITIAL_SSTHRESH, LINUX, Window};
use crate::{Ack, PathView};

/// The registry row.
pub(crate) const ROW: Row = Row {
    name: "highspeed",
    summary: "Reno up to 38 segments; above, growth and decrease depend on the window",
    citation: "RFC 3649",
    parameters: &[ABC_LIMIT, INITIAL_SSTHRESH, LINUX],
    build: &|build| Windowed::boxed(build, &ROW, HighSpeed),
};

/// RFC 3649, section 5: Low_Window, High_Window and High_Decrease.
const LOW_WINDOW: f64 = 38.0;
const HIGH_WINDOW: f64 = 83_000.0;
const HIGH_DECREASE: f64 = 0.1;

#[derive(Debug)]
struct HighSpeed;

/// The share of the window that a loss takes.
fn decrease(w: f64) -> f64 {
    if w <= LOW_WINDOW {
        return 0.5;
    }
    let place = libm::log(w / LOW_WINDOW) / libm::log(HIGH_WINDOW / LOW_WINDOW);
    ((HIGH_DECREASE - 0.5) * place + 0.5).max(HIGH_DECREASE)
}

/// Segments by which a round trip without a loss enlarges the window.
fn increase(w: f64) -> f64 {
    if w <= LOW_WINDOW {
        return 1.0;
    }
    let (p, b) = (0.078 / libm::pow(w, 1.2), decrease(w));
    (w * w * p * 2.0 * b / (2.0 - b)).max(1.0)
}

/// The share in the table of Linux, in 256ths: that of the row for the next whole growth.
fn decrease_in_table(w: f64) -> f64 {
    let row = libm::ceil(increase(w));
    if row <= 1.0 {
        return 0.5;
    }
    // The largest window that grows by so much.
    let (mut low, mut high) = (w, HIGH_WINDOW);
    while high - low > 1.0 {
        let middle = (low + high) / 2.0;
        if increase(middle) < row { low = middle } else { high = middle }
    }
    libm::floor(256.0 * decrease(high)) / 256.0
}

impl Algorithm for HighSpeed {
    fn grow(&mut self, window: &mut Window, _path: &PathView, ack: &Ack) {
        let segments = window.slow_start(ack);
        let growth = increase(window.segments());
        if window.is_whole() {
            // Linux has the RFC's table, in which whole numbers stand for all windows below.
            window.gather(libm::ceil(growth) * segments);
        } else {
            window.avoid(growth, segments);
        }
    }

    fn reduce(&mut self, window: &Window, _path: &PathView, event: &Reduction) -> Option<f64> {
        let w = event.flight / window.mss();
        let share = if window.is_whole() {
            // Whole segments: three of seven.
            window.whole_segments(event.flight * decrease_in_table(w))
        } else {
            event.flight * decrease(w)
        };
        Some(event.flight - share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LossCause;
    use crate::testing::Play;

    #[test]
    fn the_table_of_the_rfc_comes_out() {
        // RFC 3649, appendix B: w, a(w), b(w).
        let table = [
            (38.0, 1.0, 0.50),
            (118.0, 2.0, 0.44),
            (221.0, 3.0, 0.41),
            (1058.0, 8.0, 0.33),
            (10_661.0, 30.0, 0.21),
            (83_981.0, 71.0, 0.10),
        ];
        for (w, a, b) in table {
            assert!((increase(w) - a).abs() <= 0.06 * a, "a({w}) = {}", increase(w));
            assert!((decrease(w) - b).abs() <= 0.006, "b({w}) = {}", decrease(w));
        }
    }

    #[test]
    fn a_round_adds_and_a_loss_takes_what_the_window_says() {
        let mut play = Play::new("highspeed", &[("initial_ssthresh", 1000.0)]);
        play.rounds(9);
        play.ack_at_once(2);
        let before = play.segments();
        assert!((999.0..1010.0).contains(&before), "{before}");
        play.round();
        let grown = play.segments() - before;
        assert!((grown - 7.7).abs() < 0.2, "{grown}");
        let before = play.segments();
        play.lose(LossCause::Gap);
        assert!((play.segments() / before - 0.67).abs() < 0.01);
    }

    #[test]
    fn linux_takes_whole_segments_and_the_share_of_the_next_row() {
        for (w, share) in [(7.0, 0.5), (38.0, 0.5), (60.0, 112.0), (115.0, 112.0), (200.0, 104.0)] {
            let share = if share < 1.0 { share } else { share / 256.0 };
            assert_eq!(decrease_in_table(w), share, "{w}");
        }
        let mut play = Play::new("highspeed", &[("initial_ssthresh", 6.0), ("linux", 1.0)]);
        play.rounds(2);
        play.ack_at_once(3);
        assert_eq!(play.segments(), 7.0);
        play.lose(LossCause::Gap);
        assert_eq!(play.ssthresh(), 4.0);
    }

    #[test]
    fn small_windows_are_renos() {
        let mut play = Play::new("highspeed", &[("initial_ssthresh", 16.0)]);
        play.rounds(3);
        let before = play.segments();
        play.round();
        assert!((play.segments() - before - 1.0).abs() < 0.05);
        play.lose(LossCause::Gap);
        assert!((play.segments() - (before + 1.0) / 2.0).abs() < 0.05);
    }
}
