//! A trace in memory.

use bentpipe_link::{Opportunities, Timeline};
use bentpipe_units::{BitRate, Instant, Span};

/// What a link could carry.
#[derive(Clone, Debug, PartialEq)]
pub enum Rate {
    /// Times at which something could leave.
    Opportunities(Opportunities),
    /// Rates with the times from which they hold, `None` for nothing.
    Steps(Vec<(Instant, Option<BitRate>)>),
}

/// A link over time. What is `None` the trace does not tell.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Its length: where it begins anew, if it does.
    pub length: Span,
    /// What could be carried.
    pub rate: Option<Rate>,
    /// One-way delays with the times from which they hold.
    pub delay: Option<Vec<(Instant, Span)>>,
    /// Probabilities that a packet is lost.
    pub loss: Option<Vec<(Instant, f64)>>,
    /// Whether the link is up.
    pub up: Option<Vec<(Instant, bool)>>,
}

impl Trace {
    /// A trace that tells nothing for so long.
    pub const fn silent(length: Span) -> Self {
        Self { length, rate: None, delay: None, loss: None, up: None }
    }

    /// The mean rate in bits per second, if the trace tells it.
    pub fn mean_rate(&self) -> Option<f64> {
        let seconds = self.length.as_secs_f64();
        match self.rate.as_ref()? {
            Rate::Opportunities(some) => {
                let bits = some.bytes().bits() as f64 * some.times().len() as f64;
                Some(bits / some.period().as_secs_f64())
            }
            Rate::Steps(steps) => {
                let bps = |rate: Option<BitRate>| rate.map_or(0.0, |rate| rate.as_bps() as f64);
                let bits = held(steps, self.length).map(|(rate, span)| bps(rate) * span);
                Some(bits.sum::<f64>() / seconds)
            }
        }
    }
}

/// Values with the seconds for which each of them holds.
pub(crate) fn held<T: Copy>(
    steps: &[(Instant, T)],
    length: Span,
) -> impl Iterator<Item = (T, f64)> + '_ {
    let end = Instant::ZERO + length;
    let until = steps.iter().skip(1).map(|(at, _)| *at).chain([end]);
    let begins = std::iter::once(Instant::ZERO).chain(steps.iter().skip(1).map(|(at, _)| *at));
    let spans = begins.zip(until).map(|(from, to)| to.since(from).as_secs_f64());
    steps.iter().map(|(_, value)| *value).zip(spans)
}

/// A timeline of steps that are in their order.
pub(crate) fn timeline<T: Copy>(
    steps: &[(Instant, T)],
    period: Option<Span>,
    start: Span,
) -> Option<Timeline<T>> {
    let timeline = Timeline::new(steps.to_vec(), period).ok()?;
    Some(timeline.starting_at(start))
}
