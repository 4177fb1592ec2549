//! How fast the datagrams of a train arrived.

use super::message::CapacityReport;

/// Fewest arrivals that tell something, and the shortest time: a host cannot tell apart what comes within less.
const ARRIVALS: usize = 3;
const SHORTEST: f64 = 0.001;

/// Datagrams that arrived evenly tell the rate to this part of it (its standard error), others that it may be another one:
/// delays differ, or others send.
const EVEN: f64 = 0.04;

/// How fast the datagrams of a train arrived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Pace {
    /// Faster than a host can tell: over a fast link, or a link that lets some pass at once.
    AtOnce,
    /// So many in a second, by least squares: one that is late, as hosts are, changes little. What was lost is not
    /// counted: where a queue is short only what it held tells of the link.
    EachSecond {
        /// Datagrams.
        rate: f64,
        /// They arrived evenly.
        is_even: bool,
    },
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
        let rate = together / spread;
        let places = count * (count * count - 1.0) / 12.0;
        let unexplained = (1.0 - together * together / (spread * places)).max(0.0);
        let error = (unexplained / (count - 2.0).max(1.0)).sqrt();
        (rate > 0.0 && rate.is_finite())
            .then_some(Self::EachSecond { rate, is_even: error <= EVEN })
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_wire::xstp::ReceiveTimestamp;

    use super::super::message::Arrival;
    use super::*;

    fn report(arrivals: Vec<Arrival>) -> CapacityReport {
        let received_at = ReceiveTimestamp::from_ticks(0);
        CapacityReport { serial: 1, held: 0, received_at, arrivals }
    }

    #[test]
    fn a_datagram_that_a_host_was_late_for_changes_little() {
        let arrival = |index: u8| Arrival { index, after: u32::from(index) * 1_200 };
        let arrivals = (0..24).map(arrival).collect();
        let mut report = report(arrivals);
        report.arrivals[23].after += 2_000;
        let Some(Pace::EachSecond { rate, is_even }) = Pace::of(&report) else { panic!("no rate") };
        assert!((rate * 1.2e-3 - 1.0).abs() < 0.02 && is_even, "{rate}");
    }

    #[test]
    fn what_comes_in_bunches_tells_no_more_than_a_guess() {
        // The path becomes 20 ms longer after a third of them.
        let after = |index: u32| index * 1_200 + if index < 8 { 0 } else { 20_000 };
        let arrivals = (0..24).map(|index: u8| Arrival { index, after: after(index.into()) });
        let report = report(arrivals.collect());
        let pace = Pace::of(&report);
        assert!(matches!(pace, Some(Pace::EachSecond { is_even: false, .. })), "{pace:?}");
    }
}
