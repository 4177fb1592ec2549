//! How fast the datagrams of a train arrived.

use super::message::CapacityReport;

/// Fewest arrivals that tell something, and the shortest time: a host cannot tell apart what comes within less.
const ARRIVALS: usize = 3;
const SHORTEST: f64 = 0.001;

/// How fast the datagrams of a train arrived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Pace {
    /// Faster than a host can tell: over a fast link, or a link that lets some pass at once.
    AtOnce,
    /// So many in a second, by least squares: one that is late, as hosts are, changes little. What was lost is not
    /// counted: where a queue is short only what it held tells of the link.
    EachSecond(f64),
}

impl Pace {
    pub(super) fn of(report: &CapacityReport) -> Option<Self> {
        let times: Vec<f64> =
            report.arrivals.iter().map(|arrival| f64::from(arrival.after) / 1e6).collect();
        if times.len() < ARRIVALS || times.windows(2).any(|pair| pair[1] < pair[0]) {
            return None;
        }
        if times.last().copied().unwrap_or(0.0) < SHORTEST {
            return Some(Self::AtOnce);
        }
        let count = times.len() as f64;
        let (mean, middle) = (times.iter().sum::<f64>() / count, (count - 1.0) / 2.0);
        let spread: f64 = times.iter().map(|time| (time - mean) * (time - mean)).sum();
        let places = (0..times.len()).map(|place| place as f64 - middle);
        let together: f64 = places.zip(&times).map(|(place, time)| place * (time - mean)).sum();
        let each_second = together / spread;
        (each_second > 0.0 && each_second.is_finite()).then_some(Self::EachSecond(each_second))
    }
}

#[cfg(test)]
mod tests {
    use super::super::message::Arrival;
    use super::*;

    #[test]
    fn a_datagram_that_a_host_was_late_for_changes_little() {
        let arrival = |index: u8| Arrival { index, after: u32::from(index) * 1_200 };
        let arrivals = (0..24).map(arrival).collect();
        let mut report = CapacityReport { serial: 1, held: 0, arrivals };
        report.arrivals[23].after += 2_000;
        let Some(Pace::EachSecond(rate)) = Pace::of(&report) else { panic!("no rate") };
        assert!((rate * 1.2e-3 - 1.0).abs() < 0.02, "{rate}");
    }
}
