//! What a sweep measures of each run.

use bentpipe_record::SendLimit;

use crate::compare::Measured;

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A measure that may be missing.
    Number(Option<f64>),
    /// How many.
    Count(u64),
    /// Whether.
    Truth(bool),
}

/// The kind of a column's values.
#[derive(Clone, Copy, Debug)]
enum Take {
    Number(fn(&Measured) -> Option<f64>),
    Count(fn(&Measured) -> u64),
    Truth(fn(&Measured) -> bool),
}

/// A column of what is measured.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// The unit of its values, if they have one.
    pub unit: Option<&'static str>,
    /// What its values mean.
    pub about: &'static str,
    take: Take,
}

impl Column {
    /// The value of a run.
    pub fn of(&self, run: &Measured) -> Value {
        match self.take {
            Take::Number(take) => Value::Number(take(run)),
            Take::Count(take) => Value::Count(take(run)),
            Take::Truth(take) => Value::Truth(take(run)),
        }
    }

    /// Whether its values are measures, which may be missing.
    pub const fn is_number(&self) -> bool {
        matches!(self.take, Take::Number(_))
    }

    /// Whether its values are counts.
    pub const fn is_count(&self) -> bool {
        matches!(self.take, Take::Count(_))
    }
}

/// Which of the [`COLUMNS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnId(usize);

impl ColumnId {
    /// The column of this name, if there is one.
    pub fn named(name: &str) -> Option<Self> {
        COLUMNS.iter().position(|column| column.name == name).map(Self)
    }

    /// What a run has in this column.
    pub const fn value(self, values: &Values) -> Value {
        values[self.0]
    }
}

/// The values of a run, in the order of [`COLUMNS`].
pub type Values = [Value; COLUMNS.len()];

/// The values of a run that happened.
pub(super) fn values(run: &Measured) -> Values {
    std::array::from_fn(|place| COLUMNS[place].of(run))
}

/// The columns of what is measured, of all compared flows together.
pub const COLUMNS: [Column; 20] = [
    number("goodput_bps", Some("bit/s"), "user data that arrived", |run| Some(run.goodput)),
    number("utilisation", None, "share of the slowest link on the path that packets took", |run| {
        run.utilisation
    }),
    number("overhead_percent", Some("%"), "bytes that are no first-time user data", |run| {
        Some(run.overhead)
    }),
    number("fairness", None, "Jain's index of the flows' goodputs", |run| run.fairness),
    number("queueing_delay_s", Some("s"), "mean round-trip time above the least one", |run| {
        run.queueing_delay
    }),
    number("connection_time_s", Some("s"), "until the last file was there", |run| {
        run.connection_time
    }),
    Column {
        name: "complete",
        unit: None,
        about: "whether every file arrived whole",
        take: Take::Truth(|run| run.complete),
    },
    count("delivered_bytes", Some("B"), "user data that arrived", |run| run.delivered_bytes),
    count("data_segments", None, "data segments sent for the first time", |run| run.data_segments),
    count("retransmitted_segments", None, "data segments retransmitted", |run| {
        run.retransmitted_segments
    }),
    count("timeouts", None, "retransmission timeouts", |run| run.timeouts),
    count("lost_queue_full", None, "packets lost because a queue was full, on all links", |run| {
        run.lost_queue_full
    }),
    count("lost_on_link", None, "packets lost for any other reason, on all links", |run| {
        run.lost_on_link
    }),
    number("limited_by_cwnd", None, "share of time that the congestion window held the flows", {
        |run| limited(run, SendLimit::Cwnd)
    }),
    number("limited_by_pacing", None, "the same for the pace", |run| {
        limited(run, SendLimit::Pacing)
    }),
    number("limited_by_rcv_buf", None, "the same for the receive buffer", |run| {
        limited(run, SendLimit::RcvBuf)
    }),
    number("limited_by_snd_buf", None, "the same for the send buffer", |run| {
        limited(run, SendLimit::SndBuf)
    }),
    number("limited_by_application", None, "the same for want of data", |run| {
        limited(run, SendLimit::Application)
    }),
    number("simulated_s", Some("s"), "simulated time at the end of the run", |run| {
        Some(run.simulated_seconds)
    }),
    count("events", None, "events that the simulator handled", |run| run.events),
];

const fn number(
    name: &'static str,
    unit: Option<&'static str>,
    about: &'static str,
    take: fn(&Measured) -> Option<f64>,
) -> Column {
    Column { name, unit, about, take: Take::Number(take) }
}

const fn count(
    name: &'static str,
    unit: Option<&'static str>,
    about: &'static str,
    take: fn(&Measured) -> u64,
) -> Column {
    Column { name, unit, about, take: Take::Count(take) }
}

fn limited(run: &Measured, by: SendLimit) -> Option<f64> {
    let shares = run.limits.shares()?.largest_first();
    shares.into_iter().find_map(|(limit, share)| (limit == by).then_some(share))
}
