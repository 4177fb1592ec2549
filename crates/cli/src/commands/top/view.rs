//! Which flows are shown, and in which order.

use bentpipe_gateway::FlowStatus;
use bentpipe_units::Span;

/// Which flows are shown, and in which order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct View {
    pub(super) sort: Sort,
    /// Those are shown of which a cell has this in it, in whatever letters.
    pub(super) filter: String,
}

/// What comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sort {
    /// The flow that carries most now.
    #[default]
    Rate,
    /// The one that has carried most.
    Bytes,
    /// The youngest one.
    Age,
    /// The one with the longest round trip.
    RoundTrip,
    /// The one with the most retransmissions.
    Retransmitted,
}

impl Sort {
    /// The order after this one.
    pub(super) const fn next(self) -> Self {
        match self {
            Self::Rate => Self::Bytes,
            Self::Bytes => Self::Age,
            Self::Age => Self::RoundTrip,
            Self::RoundTrip => Self::Retransmitted,
            Self::Retransmitted => Self::Rate,
        }
    }

    /// What it is called.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Bytes => "bytes",
            Self::Age => "age",
            Self::RoundTrip => "RTT",
            Self::Retransmitted => "retransmissions",
        }
    }

    /// The larger it is, the earlier a flow that carries so many bits per second comes.
    pub(super) fn place(self, flow: &FlowStatus, rate: f64) -> f64 {
        let sender = flow.connection;
        match self {
            Self::Rate => rate,
            Self::Bytes => (flow.sent + flow.received).get() as f64,
            Self::Age => -flow.age.as_secs_f64(),
            Self::RoundTrip => {
                sender.and_then(|sender| sender.srtt).map_or(-1.0, Span::as_secs_f64)
            }
            Self::Retransmitted => {
                sender.map_or(-1.0, |sender| sender.retransmitted_segments as f64)
            }
        }
    }
}
