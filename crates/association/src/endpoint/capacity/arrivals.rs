//! The host that a train arrives at.

use bentpipe_transport::xstp::receive_timestamp;
use bentpipe_units::{Instant, Span};

use super::message::{Arrival, CapacityProbe, CapacityReport};

/// The report waits for what is missing of a train for so long at least and at most, and for this many times the time
/// between two of its datagrams.
const REPORT_WAIT: (Span, Span) = (Span::from_millis(100), Span::from_secs(2));
const GAPS: u64 = 4;

/// What arrived of the train that came last.
#[derive(Debug, Default)]
pub(in crate::endpoint) struct Arrivals {
    train: Option<Arrived>,
}

#[derive(Debug)]
struct Arrived {
    serial: u32,
    count: u8,
    first: Instant,
    last: Instant,
    list: Vec<Arrival>,
    is_reported: bool,
}

impl Arrived {
    /// When it is reported, though something is missing.
    fn due(&self) -> Instant {
        let gaps = (self.list.len() as u64 - 1).max(1);
        let apart = self.last.since(self.first) / gaps;
        self.last + (apart * GAPS).max(REPORT_WAIT.0).min(REPORT_WAIT.1)
    }
}

fn micros(span: Span) -> u32 {
    (span.as_nanos() / 1_000).min(u64::from(u32::MAX)) as u32
}

impl Arrivals {
    /// A datagram of a train came.
    pub(in crate::endpoint) fn arrived(&mut self, now: Instant, probe: &CapacityProbe) {
        let same = |train: &&mut Arrived| train.serial == probe.serial;
        let Some(train) = self.train.as_mut().filter(same) else {
            let list = vec![Arrival { index: probe.index, after: 0 }];
            let (serial, count) = (probe.serial, probe.count);
            let (first, last, is_reported) = (now, now, false);
            self.train = Some(Arrived { serial, count, first, last, list, is_reported });
            return;
        };
        let is_new = train.list.iter().all(|arrival| arrival.index != probe.index);
        if is_new && !train.is_reported && probe.index < train.count {
            train.last = now;
            train.list.push(Arrival { index: probe.index, after: micros(now.since(train.first)) });
        }
    }

    /// The report that is due.
    pub(in crate::endpoint) fn report(&mut self, now: Instant) -> Option<CapacityReport> {
        let due = self.due()?;
        let train = self.train.as_mut().filter(|_| due <= now)?;
        train.is_reported = true;
        let (serial, arrivals) = (train.serial, train.list.clone());
        let (held, received_at) = (micros(now.since(train.last)), receive_timestamp(train.last));
        Some(CapacityReport { serial, held, received_at, arrivals })
    }

    /// When there is something to report.
    pub(in crate::endpoint) fn due(&self) -> Option<Instant> {
        let train = self.train.as_ref().filter(|train| !train.is_reported)?;
        let is_whole = train.list.len() == usize::from(train.count);
        Some(if is_whole { train.last } else { train.due() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Span::from_micros(micros)
    }

    fn probe(serial: u32, index: u8) -> CapacityProbe {
        CapacityProbe { serial, index, count: 4, len: 1_400 }
    }

    #[test]
    fn a_whole_train_is_reported_at_once_and_only_once() {
        let mut arrivals = Arrivals::default();
        for (index, micros) in [(0, 50), (2, 1_250), (1, 2_450), (3, 3_650)] {
            assert_eq!(arrivals.report(at(micros)), None);
            arrivals.arrived(at(micros), &probe(7, index));
            arrivals.arrived(at(micros + 1), &probe(7, index));
        }
        let list = [(0, 0), (2, 1_200), (1, 2_400), (3, 3_600)];
        let list = list.map(|(index, after)| Arrival { index, after }).to_vec();
        let received_at = receive_timestamp(at(3_650));
        let report = CapacityReport { serial: 7, held: 350, received_at, arrivals: list };
        assert_eq!(arrivals.report(at(4_000)), Some(report));
        arrivals.arrived(at(5_000), &probe(7, 3));
        assert_eq!((arrivals.report(at(9_000_000)), arrivals.due()), (None, None));
    }

    #[test]
    fn what_is_missing_is_waited_for_as_long_as_the_link_is_slow() {
        let mut arrivals = Arrivals::default();
        arrivals.arrived(at(0), &probe(1, 0));
        assert_eq!(arrivals.due(), Some(at(100_000)));
        arrivals.arrived(at(180_000), &probe(1, 1));
        assert_eq!(arrivals.due(), Some(at(900_000)));
        assert_eq!(arrivals.report(at(899_999)), None);
        assert_eq!(arrivals.report(at(900_000)).map(|report| report.held), Some(720_000));
    }

    #[test]
    fn another_train_takes_the_place_of_one_that_was_not_reported() {
        let mut arrivals = Arrivals::default();
        arrivals.arrived(at(0), &probe(1, 0));
        arrivals.arrived(at(5), &probe(2, 1));
        let report = arrivals.report(at(200_000)).expect("a report");
        assert_eq!((report.serial, report.arrivals.len()), (2, 1));
    }
}
