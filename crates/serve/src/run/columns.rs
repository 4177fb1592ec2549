//! Samples on their way to the page: a column for each quantity of each flow, with the names that samples have in files, and one for
//! what waits for each direction of a link.

use bentpipe_record::SendLimit;
use bentpipe_units::{ByteCount, Span};
use serde::Serialize;

use super::packets::Packet;
use super::watch::Moment;

/// Directions of links of which the queue is shown: the first ones of so many.
pub(super) const MOST_QUEUES: usize = 128;

/// Samples of some moments.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Columns {
    time_s: Vec<f64>,
    flows: Vec<Flow>,
    /// The bytes that wait; nulls where nobody knows.
    queues: Vec<Vec<Option<u64>>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    packets: Vec<Packet>,
}

/// Those of one flow; of a flow without samples there is nothing but nulls.
#[derive(Clone, Debug, Default, Serialize)]
struct Flow {
    cwnd_bytes: Vec<Option<u64>>,
    ssthresh_bytes: Vec<Option<u64>>,
    srtt_s: Vec<Option<f64>>,
    in_flight_bytes: Vec<Option<u64>>,
    delivered_bytes: Vec<Option<u64>>,
    route_delay_s: Vec<Option<f64>>,
    /// As they are at the last moment.
    phase: &'static str,
    activity: &'static str,
    limited_by: &'static str,
}

impl Columns {
    /// Empty columns of so many flows and directions of links.
    pub(super) fn of((flows, directions): (usize, usize)) -> Self {
        let queues = vec![Vec::new(); directions.min(MOST_QUEUES)];
        Self { flows: vec![Flow::default(); flows], queues, ..Self::default() }
    }

    /// Moments that are in it.
    pub(super) fn len(&self) -> usize {
        self.time_s.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.time_s.is_empty()
    }

    /// Makes room for other moments.
    pub(super) fn clear(&mut self) {
        *self = Self::of((self.flows.len(), self.queues.len()));
    }

    pub(super) fn push(&mut self, moment: &Moment) {
        self.time_s.push(moment.at());
        self.packets.extend_from_slice(moment.packets());
        for column in &mut self.queues {
            column.push(None);
        }
        for (direction, waiting) in moment.queues() {
            if let Some(last) = self.queues[*direction].last_mut() {
                *last = Some(waiting.get());
            }
        }
        for (number, flow) in self.flows.iter_mut().enumerate() {
            let sample = moment.samples().iter().find(|sample| sample.flow == number);
            let bytes = |count: Option<ByteCount>| count.map(ByteCount::get);
            let seconds = |span: Option<Span>| span.map(Span::as_secs_f64);
            flow.cwnd_bytes.push(sample.and_then(|sample| bytes(sample.cwnd)));
            flow.ssthresh_bytes.push(sample.and_then(|sample| bytes(sample.ssthresh)));
            flow.srtt_s.push(sample.and_then(|sample| seconds(sample.srtt)));
            flow.in_flight_bytes.push(sample.map(|sample| sample.in_flight.get()));
            flow.delivered_bytes.push(sample.map(|sample| sample.delivered.get()));
            flow.route_delay_s.push(sample.and_then(|sample| seconds(sample.route_delay)));
            if let Some(sample) = sample {
                (flow.phase, flow.activity) = (sample.phase, sample.activity);
                flow.limited_by = sample.limit.map_or("", SendLimit::name);
            }
        }
    }
}
