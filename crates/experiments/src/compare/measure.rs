//! What is measured of a run that is compared with others.

use bentpipe_link::ModelSpec;
use bentpipe_record::{LimitCounts, LinkSummary, RunSummary, Sample, TransportCounters};
use bentpipe_sim::{FlowSpec, Observer, RunSpec};
use bentpipe_units::Span;

use super::place;
use crate::progress::Progress;

/// Time between looks at the round-trip times.
const EVERY: Span = Span::from_millis(100);

/// What one run came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Bits per second of user data that arrived, of all compared flows together.
    pub goodput: f64,
    /// Bytes that are no first-time user data, of all compared flows, % of the user data; of the leg that has most of
    /// them where proxies split a connection.
    pub overhead: f64,
    /// Jain's index of the flows' goodputs; `None` for one flow, or if nothing arrived.
    pub fairness: Option<f64>,
    /// Mean of the smoothed round-trip times above the minimum of the flow, in seconds.
    pub queueing_delay: Option<f64>,
    /// Until the last file was there, in seconds; `None` if one was not.
    pub connection_time: Option<f64>,
    /// Every file arrived whole.
    pub complete: bool,
    /// Share of the slowest link of the path that packets took.
    pub utilisation: Option<f64>,
    /// What held back the compared flows.
    pub limits: LimitCounts,
    /// Bytes of user data that arrived.
    pub delivered_bytes: u64,
    /// Data segments that the compared flows' sources sent for the first time.
    pub data_segments: u64,
    /// Data segments that they retransmitted.
    pub retransmitted_segments: u64,
    /// Retransmission timeouts of the sources.
    pub timeouts: u64,
    /// Packets that all links lost because a queue was full.
    pub lost_queue_full: u64,
    /// Packets that all links lost for any other reason.
    pub lost_on_link: u64,
    /// Simulated time at the end of the run, in seconds.
    pub simulated_seconds: f64,
    /// Events that the simulator handled: the work that the run was.
    pub events: u64,
}

/// What was seen of one flow: of round-trip times how many, their sum and the minimum, in seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    count: u64,
    sum: f64,
    min: f64,
    limits: LimitCounts,
}

/// Looks at the round-trip times of each flow while a run happens.
pub(crate) struct Watch<'a> {
    flows: Vec<Seen>,
    progress: &'a dyn Progress,
}

impl<'a> Watch<'a> {
    /// Of a run of so many flows.
    pub(crate) fn new(flows: usize, progress: &'a dyn Progress) -> Self {
        Self { flows: vec![Seen { min: f64::INFINITY, ..Seen::default() }; flows], progress }
    }

    /// What the run came to for these of its flows.
    pub(crate) fn measure(&self, spec: &RunSpec, run: &RunSummary, flows: &[usize]) -> Measured {
        let of = || flows.iter().map(|flow| &run.flows[*flow]);
        let goodputs: Vec<f64> = of().map(|flow| flow.metrics.effective_throughput).collect();
        let delivered: u64 = of().map(|flow| flow.delivered_bytes).sum();
        let times: Option<Vec<f64>> = of().map(|flow| flow.metrics.connection_time).collect();
        let waits = flows.iter().map(|flow| &self.flows[*flow]).filter(|trips| trips.count > 0);
        let waits: Vec<f64> =
            waits.map(|trips| trips.sum / trips.count as f64 - trips.min).collect();
        Measured {
            goodput: goodputs.iter().sum(),
            overhead: 100.0 * flows.iter().map(|flow| overhead(run, *flow)).sum::<u64>() as f64
                / delivered.max(1) as f64,
            fairness: jain(&goodputs),
            queueing_delay: (!waits.is_empty())
                .then(|| waits.iter().sum::<f64>() / waits.len() as f64),
            connection_time: times.map(|times| times.into_iter().fold(0.0, f64::max)),
            complete: of().all(|flow| flow.complete),
            utilisation: utilisation(spec, run, flows),
            limits: flows.iter().map(|flow| self.flows[*flow].limits).sum(),
            delivered_bytes: delivered,
            data_segments: of().map(|flow| flow.source.data_segments).sum(),
            retransmitted_segments: of().map(|flow| flow.source.retransmitted_segments).sum(),
            timeouts: of().map(|flow| flow.source.timeouts).sum(),
            lost_queue_full: run.links.iter().map(|link| link.lost_queue_full).sum(),
            lost_on_link: run.links.iter().map(lost_on_link).sum(),
            simulated_seconds: run.simulated_seconds,
            events: run.events,
        }
    }
}

impl Observer for Watch<'_> {
    fn sample_every(&self) -> Option<Span> {
        Some(EVERY)
    }

    fn goes_on(&self) -> bool {
        self.progress.is_wanted()
    }

    fn sample(&mut self, sample: &Sample) {
        self.flows[sample.flow].limits.take(sample.limit);
        let Some(srtt) = sample.srtt else { return };
        let (trips, seconds) = (&mut self.flows[sample.flow], srtt.as_secs_f64());
        trips.count += 1;
        trips.sum += seconds;
        trips.min = trips.min.min(seconds);
    }
}

/// The share of the slowest link on the way of the first compared flow's data that packets took, all of them, from the start of
/// that flow on: until the last file was there, where nothing but files that are compared is sent, and until the end of the run
/// otherwise. The first is the time that goodput counts, so that the two can be compared.
fn utilisation(spec: &RunSpec, run: &RunSummary, flows: &[usize]) -> Option<f64> {
    let flow = flows.first().map(|flow| &spec.flows[*flow])?;
    let (name, from, rate) = slowest_line(spec, flow)?;
    let link = run.links.iter().find(|link| link.name == name && link.from == from)?;
    let lost_behind =
        link.lost_random + link.lost_channel + link.lost_blackout + link.lost_scripted;
    let taken = (link.delivered + lost_behind) as f64;
    let bits = 8.0 * taken * link.bytes as f64 / link.packets.max(1) as f64;
    let start = flow.source.start.as_secs_f64();
    let ends = spec.flows.iter().zip(&run.flows).enumerate().map(|(at, (flow, summary))| {
        let took = summary.metrics.connection_time.filter(|_| flows.contains(&at))?;
        Some(flow.source.start.as_secs_f64() + took)
    });
    let ends: Option<Vec<f64>> = ends.collect();
    let end = ends.map_or(run.simulated_seconds, |ends| ends.into_iter().fold(start, f64::max));
    let seconds = end - start;
    // Copies that pass behind the last byte are among the bits.
    (seconds > 0.0).then(|| (bits / (rate * seconds)).min(1.0))
}

/// Packets that a link lost, but not because its queue was full.
const fn lost_on_link(link: &LinkSummary) -> u64 {
    link.lost_random
        + link.lost_blackout
        + link.lost_channel
        + link.lost_scripted
        + link.lost_early
        + link.lost_collision
        + link.lost_packet_too_big
}

/// The slowest link on the way of a flow's data: its link, the node before it, and its rate in bits per second, the
/// mean of one that changes. `None` where no line has a rate.
pub fn slowest_line<'a>(spec: &'a RunSpec, flow: &FlowSpec) -> Option<(&'a str, &'a str, f64)> {
    let way = place::way(spec, flow)?.into_iter();
    let rate = |models: &[ModelSpec]| models.iter().find_map(|model| model.mean_bps(spec.duration));
    way.filter_map(|(link, models, from)| Some((link, from, rate(models)?)))
        .min_by(|a, b| a.2.total_cmp(&b.2))
}

/// Bytes of both ends of a leg that are no first-time user data, on the leg of a flow that has most of them.
fn overhead(run: &RunSummary, flow: usize) -> u64 {
    let flow = &run.flows[flow];
    let own = || run.proxies.iter().filter(|proxy| proxy.flow == flow.name);
    let senders = std::iter::once(&flow.source).chain(own().map(|proxy| &proxy.far));
    let receivers = own().map(|proxy| &proxy.near).chain([&flow.sink]);
    senders
        .zip(receivers)
        .map(|(sender, receiver)| overhead_of_leg(sender, receiver))
        .max()
        .unwrap_or(0)
}

fn overhead_of_leg(sender: &TransportCounters, receiver: &TransportCounters) -> u64 {
    sender.bytes_sent.saturating_sub(sender.payload_bytes) + receiver.bytes_sent
}

/// Jain's index of fairness, (sum x)^2 / (n sum x^2): 1 when all have the same, 1/n when one has all.
/// `None` for fewer than two, or where nobody has anything.
pub(crate) fn jain(shares: &[f64]) -> Option<f64> {
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(sum, sq), x| (sum + x, sq + x * x));
    (shares.len() > 1 && squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jains_index_is_one_for_equal_shares_and_one_in_n_for_one_who_has_all() {
        assert_eq!(jain(&[3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain(&[5.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain(&[1.0, 3.0]), Some(0.8));
        assert_eq!((jain(&[1.0]), jain(&[0.0, 0.0])), (None, None));
    }
}
