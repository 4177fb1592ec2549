//! Traces out of what measuring programs write.

mod dish;
mod iperf3;
mod irtt;
mod lens;
mod ping;
pub(crate) mod probes;

use bentpipe_units::Span;

use crate::{Trace, TraceError, table};

/// Programs whose output can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// What `ping` prints; with `-D` it has the time of each answer.
    Ping,
    /// The JSON of `irtt client -o`.
    Irtt,
    /// The JSON of `iperf3 --json`.
    Iperf3,
    /// CSV of the LENS data set: `timestamp, rtt`, and `uplink, downlink` if there are one-way delays.
    Lens,
    /// The status of a dish as JSON lines, one for each second unless they have a `timestamp`.
    Dish,
}

impl Source {
    /// All of them with their names.
    pub const NAMES: [(Self, &'static str); 5] = [
        (Self::Ping, "ping"),
        (Self::Irtt, "irtt"),
        (Self::Iperf3, "iperf3"),
        (Self::Lens, "lens"),
        (Self::Dish, "dish"),
    ];
}

/// Which way along the link the trace is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// Towards whoever measured.
    #[default]
    Down,
    /// From there.
    Up,
}

/// How answers become a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportOptions {
    /// Which way.
    pub way: Way,
    /// More answers in a row than this that are missing are an outage; fewer are losses.
    pub gap: usize,
    /// Time from one probe to the next, where the output does not tell.
    pub interval: Span,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self { way: Way::Down, gap: 3, interval: Span::from_secs(1) }
    }
}

/// The trace that the text of a file tells of; `name` is what errors call the file.
///
/// # Errors
/// When the text is not what the program writes, with the line and the field.
pub fn import(
    source: Source,
    name: &str,
    text: &str,
    options: &ImportOptions,
) -> Result<Trace, TraceError> {
    let trace = match source {
        Source::Ping => ping::import(name, text, options),
        Source::Irtt => irtt::import(name, text, options),
        Source::Iperf3 => iperf3::import(name, text),
        Source::Lens => lens::import(name, text, options),
        Source::Dish => dish::import(name, text, options),
    }?;
    table::check(&trace).map_err(|(column, problem)| {
        let problem = format!("it makes a trace whose {problem}");
        TraceError { field: Some(column), ..TraceError::whole(name, problem) }
    })?;
    Ok(trace)
}

impl Trace {
    /// The same with what another one tells that this one does not: a rate of one measurement beside the delay of
    /// another.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            length: self.length.max(other.length),
            rate: self.rate.or(other.rate),
            delay: self.delay.or(other.delay),
            loss: self.loss.or(other.loss),
            up: self.up.or(other.up),
        }
    }
}
