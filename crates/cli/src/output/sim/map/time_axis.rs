//! Times along an axis: seconds, minutes or hours, at round distances.

/// Ticks of an axis, at most.
const MOST_TICKS: f64 = 13.0;
const MINUTE: f64 = 60.0;
const HOUR: f64 = 3600.0;

/// A unit with the distances of ticks that are round in it.
struct Unit {
    name: &'static str,
    seconds: f64,
    /// It is used for times shorter than this.
    shorter_than: f64,
    distances: &'static [f64],
}

const UNITS: [Unit; 3] = [
    Unit {
        name: "s",
        seconds: 1.0,
        shorter_than: 5.0 * MINUTE,
        distances: &[
            0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0,
        ],
    },
    Unit {
        name: "min",
        seconds: MINUTE,
        shorter_than: 4.0 * HOUR,
        distances: &[0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0],
    },
    Unit {
        name: "h",
        seconds: HOUR,
        shorter_than: f64::INFINITY,
        distances: &[0.5, 1.0, 2.0, 3.0, 6.0, 12.0, 24.0, 48.0],
    },
];

/// How a time is written along an axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TimeAxis {
    /// The unit of the ticks.
    pub(super) unit: &'static str,
    /// Its length in seconds.
    pub(super) seconds: f64,
    /// Where there are ticks, in that unit.
    pub(super) ticks: Vec<f64>,
}

impl TimeAxis {
    /// The axis from one time to another, both in seconds.
    pub(super) fn new(begin: f64, end: f64) -> Self {
        let length = end - begin;
        let unit = UNITS.iter().find(|unit| length < unit.shorter_than).unwrap_or(&UNITS[2]);
        let (begin, end) = (begin / unit.seconds, end / unit.seconds);
        let fits = |distance: &f64| (end - begin) / distance <= MOST_TICKS;
        let known = unit.distances.iter().copied().find(fits);
        // Beyond the last: so many times it.
        let last = unit.distances.last().copied().unwrap_or(1.0);
        let distance = known.unwrap_or_else(|| last * ((end - begin) / MOST_TICKS / last).ceil());
        let numbers = (begin / distance).ceil() as i64..=(end / distance).floor() as i64;
        // Divided where it is a part, so that 3 tenths are 0.3.
        let tick = |number: i64| {
            let parts = (1.0 / distance).round();
            if distance < 1.0 { number as f64 / parts } else { number as f64 * distance }
        };
        Self { unit: unit.name, seconds: unit.seconds, ticks: numbers.map(tick).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(begin: f64, end: f64) -> (&'static str, Vec<f64>) {
        let TimeAxis { unit, ticks, .. } = TimeAxis::new(begin, end);
        (unit, ticks)
    }

    #[test]
    fn a_minute_is_in_seconds_an_hour_in_minutes_a_day_in_hours() {
        let (unit, ticks) = axis(0.0, 59.0);
        assert_eq!((unit, &ticks[..3]), ("s", &[0.0, 5.0, 10.0][..]));
        let (unit, ticks) = axis(0.0, 599.0);
        assert_eq!((unit, ticks), ("min", (0..10).map(f64::from).collect()));
        let (unit, ticks) = axis(0.0, 3599.0);
        assert_eq!((unit, ticks[1]), ("min", 5.0));
        let (unit, ticks) = axis(0.5, 86_399.5);
        assert_eq!((unit, ticks), ("h", (1..12).map(|n| f64::from(2 * n)).collect()));
    }

    #[test]
    fn parts_of_a_second_are_round_and_years_have_few_ticks() {
        assert_eq!(axis(0.0, 1.0), ("s", (0..=10).map(|n| f64::from(n) / 10.0).collect()));
        let (unit, ticks) = axis(0.0, 400.0 * 86_400.0);
        assert_eq!((unit, ticks[1] % 24.0), ("h", 0.0));
        assert!((5..=14).contains(&ticks.len()), "{ticks:?}");
    }

    #[test]
    fn every_length_has_some_ticks_and_not_too_many() {
        for exponent in 1..80 {
            let end = 1.3_f64.powi(exponent) + 1.0;
            let (_, ticks) = axis(0.0, end);
            assert!((3..=14).contains(&ticks.len()), "{end}: {ticks:?}");
        }
    }
}
