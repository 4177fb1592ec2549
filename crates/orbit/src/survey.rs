//! A route between two stations over a time: its delays, its hops, the handovers on the way.

use bentpipe_units::{Instant, Span};

use crate::{Network, OrbitError, Route, Surveys};

/// What is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Survey {
    /// Station at which the route begins, by its place in the list.
    pub from: u32,
    /// Station at which it ends.
    pub to: u32,
    /// Time of the first sample.
    pub first: Instant,
    /// Samples are before this.
    pub end: Instant,
    /// The time from one sample to the next; more than zero.
    pub step: Span,
}

/// One sample.
#[derive(Clone, Debug)]
pub struct Sample {
    /// When.
    pub at: Instant,
    /// The route, if there is one.
    pub route: Option<Route>,
}

/// A change of the satellite that one of the two stations uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handover {
    /// When.
    pub at: Instant,
    /// The station.
    pub station: u32,
    /// The satellite that it gave up.
    pub from: Option<u32>,
    /// The satellite that it took.
    pub to: Option<u32>,
}

/// What a survey came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Number of samples.
    pub samples: u64,
    /// Samples at which there was a route.
    pub connected: u64,
    /// How often the nodes of the route were others than at the sample before.
    pub route_changes: u64,
    /// The one-way delays; `None` when there never was a route.
    pub delay: Option<Spread>,
    /// Fewest and most links of a route.
    pub hops: Option<(usize, usize)>,
    /// The handovers of the two stations after the start, in order.
    pub handovers: Vec<Handover>,
    /// How often the first and the last satellite of the route were others than at the last sample that
    /// had a route: handovers as packets see them that leave at the samples.
    pub seen: [u64; 2],
}

impl Report {
    /// How often a station took another satellite, at whatever check.
    pub fn handovers_of(&self, station: u32) -> usize {
        self.handovers.iter().filter(|h| h.station == station && h.to.is_some()).count()
    }
}

/// How delays are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// The shortest.
    pub min: Span,
    /// The mean.
    pub mean: Span,
    /// The one in the middle; of two the mean.
    pub median: Span,
    /// The longest.
    pub max: Span,
}

impl Spread {
    /// The spread of some delays, which it sorts; `None` of none.
    pub fn of(delays: &mut [Span]) -> Option<Self> {
        delays.sort_unstable();
        let (min, max) = (*delays.first()?, *delays.last()?);
        let count = delays.len();
        let between = |sum: u128, count: u128| Span::from_nanos((sum / count) as u64);
        let nanos = |span: &Span| u128::from(span.as_nanos());
        let middle = [&delays[(count - 1) / 2], &delays[count / 2]];
        Some(Self {
            min,
            mean: between(delays.iter().map(nanos).sum(), count as u128),
            median: between(middle.map(nanos).iter().sum(), 2),
            max,
        })
    }
}

impl Survey {
    /// Takes a network that has just been made through the time and tells `see` each sample.
    ///
    /// # Errors
    /// When the step is zero or a satellite is no longer in orbit.
    pub fn run(
        &self,
        network: &mut Network,
        mut see: impl FnMut(&Sample),
    ) -> Result<Report, OrbitError> {
        let Self { from, to, first, end, step } = *self;
        let surveys = Surveys { pairs: vec![(from, to)], first, end, step };
        let reports = surveys.run(network, |samples| samples.iter().for_each(&mut see))?;
        Ok(reports.into_iter().next().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between_the_two_in_the_middle() {
        let mut delays = [4, 1, 9, 2].map(Span::from_millis);
        let spread = Spread::of(&mut delays).expect("four");
        let [min, mean, median, max] = [1, 4, 3, 9].map(Span::from_millis);
        assert_eq!(spread, Spread { min, mean, median, max });
        assert_eq!(Spread::of(&mut []), None);
        assert_eq!(Spread::of(&mut [min, max, mean]).map(|s| s.median), Some(mean));
    }
}
