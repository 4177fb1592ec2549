//! A trace in memory.

use bentpipe_link::Opportunities;
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

/// A value that holds from this time on, unless it does already.
pub fn hold<T: PartialEq>(steps: &mut Vec<(Instant, T)>, at: Instant, value: T) {
    if steps.last().is_none_or(|(_, last)| *last != value) {
        steps.push((at, value));
    }
}
