//! The state of a flow at one moment.

use bentpipe_units::{ByteCount, Instant, Span};
use serde::Serialize;

use crate::SendLimit;

/// The sender's state at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When it was taken.
    pub at: Instant,
    /// Index of the flow in the scenario.
    pub flow: usize,
    /// Congestion window.
    pub cwnd: Option<ByteCount>,
    /// Slow start threshold, for controllers that have one.
    pub ssthresh: Option<ByteCount>,
    /// Smoothed round-trip time; `None` before the first sample.
    pub srtt: Option<Span>,
    /// Bytes sent and not acknowledged.
    pub in_flight: ByteCount,
    /// Bytes that the sink received in order.
    pub delivered: ByteCount,
    /// What the controller is doing.
    pub phase: &'static str,
    /// What the sender is doing: `transmitting`, `persisting`, `idle` or `probing`.
    pub activity: &'static str,
    /// What holds back its next data; `None` when nothing is to be sent any more or the connection is not open.
    pub limit: Option<SendLimit>,
    /// Propagation delay of the flow's route over satellites at the last check; `None` without them and
    /// when there is no route.
    pub route_delay: Option<Span>,
}

impl Sample {
    /// Names of the columns of a sample in a file.
    pub const COLUMNS: [&'static str; 11] = [
        "time_s",
        "flow",
        "cwnd_bytes",
        "ssthresh_bytes",
        "srtt_s",
        "in_flight_bytes",
        "delivered_bytes",
        "phase",
        "activity",
        "route_delay_s",
        "limited_by",
    ];

    /// The sample in the order of [`Sample::COLUMNS`]; what is not known is empty.
    pub fn fields(&self, flow_name: &str) -> [String; 11] {
        let bytes = |b: Option<ByteCount>| b.map(|b| b.get().to_string()).unwrap_or_default();
        let seconds =
            |s: Option<Span>| s.map(|s| format!("{:.6}", s.as_secs_f64())).unwrap_or_default();
        [
            format!("{:.6}", self.at.as_secs_f64()),
            flow_name.to_owned(),
            bytes(self.cwnd),
            bytes(self.ssthresh),
            seconds(self.srtt),
            bytes(Some(self.in_flight)),
            bytes(Some(self.delivered)),
            self.phase.to_owned(),
            self.activity.to_owned(),
            seconds(self.route_delay),
            self.limit.map_or("", SendLimit::name).to_owned(),
        ]
    }
}

impl Serialize for Sample {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut row = serializer.serialize_struct("Sample", 11)?;
        row.serialize_field("time_s", &self.at.as_secs_f64())?;
        row.serialize_field("flow", &self.flow)?;
        row.serialize_field("cwnd_bytes", &self.cwnd.map(ByteCount::get))?;
        row.serialize_field("ssthresh_bytes", &self.ssthresh.map(ByteCount::get))?;
        row.serialize_field("srtt_s", &self.srtt.map(Span::as_secs_f64))?;
        row.serialize_field("in_flight_bytes", &self.in_flight.get())?;
        row.serialize_field("delivered_bytes", &self.delivered.get())?;
        row.serialize_field("phase", self.phase)?;
        row.serialize_field("activity", self.activity)?;
        row.serialize_field("route_delay_s", &self.route_delay.map(Span::as_secs_f64))?;
        row.serialize_field("limited_by", &self.limit)?;
        row.end()
    }
}
