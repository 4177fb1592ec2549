//! What a class is told. Times are in seconds, sizes in bytes, rates in bits per second.

use std::collections::BTreeMap;

use bentpipe_cc::{LossCause, PathView, RateSample};
use bentpipe_units::{ByteCount, Span};
use pyo3::prelude::*;

/// What a controller begins with.
#[pyclass(frozen, get_all, module = "bentpipe._native")]
pub(crate) struct Build {
    mss: u64,
    cwnd_init: u64,
    cwnd_min: u64,
    cwnd_max: u64,
    parameters: BTreeMap<String, f64>,
}

impl Build {
    pub(super) fn new(
        start: &bentpipe_cc::Build<'_>,
        parameters: &[bentpipe_cc::Parameter],
    ) -> Self {
        let sizes = [start.mss, start.cwnd_init, start.cwnd_min, start.cwnd_max];
        let [mss, cwnd_init, cwnd_min, cwnd_max] = sizes.map(ByteCount::get);
        let parameters = super::settings(start, parameters);
        Self { mss, cwnd_init, cwnd_min, cwnd_max, parameters }
    }
}

/// What the sender knows of the path.
#[pyclass(frozen, get_all, module = "bentpipe._native")]
pub(crate) struct Path {
    now: f64,
    mss: u64,
    in_flight: u64,
    peer_window: u64,
    srtt: f64,
    latest_rtt: f64,
    min_rtt: f64,
    round: u64,
    delivered: u64,
    cwnd_limited: bool,
}

impl From<&PathView> for Path {
    fn from(path: &PathView) -> Self {
        Self {
            now: path.now.as_secs_f64(),
            mss: path.mss.get(),
            in_flight: path.in_flight.get(),
            peer_window: path.peer_window.get(),
            srtt: path.srtt.as_secs_f64(),
            latest_rtt: path.latest_rtt.as_secs_f64(),
            min_rtt: path.min_rtt.as_secs_f64(),
            round: path.round,
            delivered: path.delivered.get(),
            cwnd_limited: path.cwnd_limited,
        }
    }
}

/// The delivery rate that a sample tells, in bits per second.
pub(super) fn rate(sample: RateSample) -> Option<f64> {
    let seconds = sample.interval.as_secs_f64();
    (seconds > 0.0).then(|| sample.delivered.bits() as f64 / seconds)
}

/// Data was acknowledged.
#[pyclass(frozen, get_all, module = "bentpipe._native")]
pub(crate) struct Ack {
    bytes: u64,
    segments: u64,
    acks: u64,
    delivery_rate: Option<f64>,
    app_limited: bool,
    in_recovery: bool,
    marked: u64,
}

impl From<&bentpipe_cc::Ack> for Ack {
    fn from(ack: &bentpipe_cc::Ack) -> Self {
        Self {
            bytes: ack.bytes.get(),
            segments: ack.segments,
            acks: ack.acks,
            delivery_rate: ack.rate_sample.and_then(rate),
            app_limited: ack.rate_sample.is_some_and(|sample| sample.app_limited),
            in_recovery: ack.in_recovery,
            marked: ack.marked.get(),
        }
    }
}

/// How a loss was found, in a word.
pub(super) const fn cause(cause: LossCause) -> &'static str {
    match cause {
        LossCause::Gap => "gap",
        LossCause::Timeout => "timeout",
        LossCause::Nack => "nack",
        LossCause::Persistent => "persistent",
    }
}

/// Data was found lost.
#[pyclass(frozen, get_all, module = "bentpipe._native")]
pub(crate) struct Loss {
    bytes: u64,
    cause: &'static str,
    new_episode: bool,
    again: bool,
    looks_corrupt: bool,
}

impl From<&bentpipe_cc::Loss> for Loss {
    fn from(loss: &bentpipe_cc::Loss) -> Self {
        Self {
            bytes: loss.bytes.get(),
            cause: cause(loss.cause),
            new_episode: loss.new_episode,
            again: loss.again,
            looks_corrupt: loss.looks_corrupt,
        }
    }
}

/// What happened since the object was told last: in a round trip, or until a loss.
#[pyclass(frozen, get_all, module = "bentpipe._native")]
#[derive(Clone, Debug, Default)]
pub(crate) struct Round {
    pub(super) seconds: f64,
    pub(super) acks: u64,
    pub(super) bytes: u64,
    pub(super) segments: u64,
    pub(super) lost_bytes: u64,
    pub(super) loss: Option<&'static str>,
    pub(super) min_rtt: Option<f64>,
    pub(super) mean_rtt: Option<f64>,
    pub(super) max_rtt: Option<f64>,
    pub(super) delivery_rate: Option<f64>,
    pub(super) marked: u64,
}

impl Round {
    /// Adds an acknowledgement.
    pub(super) fn add(&mut self, path: &PathView, ack: &bentpipe_cc::Ack) {
        self.acks += 1;
        self.bytes += ack.bytes.get();
        self.segments += ack.segments;
        self.marked += ack.marked.get();
        let measured = ack.rate_sample.and_then(rate);
        self.delivery_rate = [self.delivery_rate, measured].into_iter().flatten().reduce(f64::max);
        if path.latest_rtt > Span::ZERO {
            let rtt = path.latest_rtt.as_secs_f64();
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
            self.max_rtt = Some(self.max_rtt.map_or(rtt, |max| max.max(rtt)));
            let mean = self.mean_rtt.unwrap_or(rtt);
            self.mean_rtt = Some(mean + (rtt - mean) / self.acks as f64);
        }
    }
}
