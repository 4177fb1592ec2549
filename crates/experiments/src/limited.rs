//! What held back the flows of a run.

use crate::compare::slowest_line;
use bentpipe_record::{LimitCounts, Sample, SendLimit};
use bentpipe_sim::{FlowSpec, Protocol, RunSpec};
use bentpipe_units::{ByteCount, Span};

/// Shares below this are not told.
const LEAST: f64 = 0.01;
/// A buffer that holds a flow back for longer than this is compared with what the path holds.
const NOTABLE: f64 = 0.2;

/// What was seen of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    limits: LimitCounts,
    min_rtt: Option<Span>,
}

impl Seen {
    /// Takes a sample.
    pub fn take(&mut self, sample: &Sample) {
        self.limits.take(sample.limit);
        let rtt = sample.srtt.map(|srtt| self.min_rtt.map_or(srtt, |min| min.min(srtt)));
        self.min_rtt = rtt.or(self.min_rtt);
    }
}

/// For each flow what held it back, and of a buffer how that compares with what the path holds.
pub fn lines(spec: &RunSpec, seen: &[Seen]) -> Vec<Option<String>> {
    spec.flows.iter().zip(seen).map(|(flow, seen)| line(spec, flow, seen)).collect()
}

fn line(spec: &RunSpec, flow: &FlowSpec, seen: &Seen) -> Option<String> {
    let shares = seen.limits.shares()?.largest_first();
    let told = shares.into_iter().filter(|(_, share)| *share >= LEAST);
    let told: Vec<String> =
        told.map(|(limit, share)| format!("{} {:.0} %", limit.name(), 100.0 * share)).collect();
    let buffer = shares.into_iter().filter(|(_, share)| *share > NOTABLE);
    let note = buffer.filter_map(|(limit, _)| {
        let size = buffer_of(&flow.protocol, limit)?;
        let (_, _, bps) = slowest_line(spec, flow)?;
        let holds = bps / 8.0 * seen.min_rtt?.as_secs_f64();
        let [size, holds] =
            [size.get() as f64, holds].map(|bytes| format!("{:.0} kB", bytes / 1e3));
        Some(format!("; {} is {size}, the path holds {holds}", limit.name()))
    });
    Some(told.join(", ") + &note.collect::<String>())
}

/// The buffer that a limit is about.
fn buffer_of(protocol: &Protocol, limit: SendLimit) -> Option<ByteCount> {
    let (snd_buf, rcv_buf) = match protocol {
        Protocol::Xstp { sender, receiver } => (sender.snd_buf, receiver.rcv_buf),
        Protocol::Tcp { sender, receiver } => (sender.snd_buf, receiver.rcv_buf),
        Protocol::Sctp { sender, receiver, .. } => (sender.snd_buf, receiver.rcv_buf),
        Protocol::Udp | Protocol::Bentpipe { .. } => return None,
    };
    match limit {
        SendLimit::SndBuf => Some(snd_buf),
        SendLimit::RcvBuf => Some(rcv_buf),
        SendLimit::Cwnd | SendLimit::Pacing | SendLimit::Application => None,
    }
}
