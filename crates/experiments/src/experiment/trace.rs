//! What a run did over time, for metrics that a summary does not have.

use bentpipe_record::Sample;
use bentpipe_sim::{Observer, RunSpec};
use bentpipe_units::{ByteCount, Instant, Span};

use super::airtime::Airtime;

/// Rates are means over windows of so many seconds.
const WINDOW: f64 = 1.0;
/// The final rate is that of the last fifth of the time.
const LAST: f64 = 0.2;

/// Samples of the flows that send a file or without end, all together.
#[derive(Clone, Debug)]
pub struct Trace {
    every: Option<Span>,
    bulk: Vec<bool>,
    /// Bytes that had been delivered at each sample.
    delivered: Vec<u64>,
    cwnd_sum: f64,
    cwnd_count: u64,
    /// Where the run has a radio channel.
    airtime: Option<Airtime>,
}

impl Trace {
    /// Of a run that is sampled so often, or not at all.
    pub fn new(spec: &RunSpec, every: Option<Span>) -> Self {
        let bulk = spec.flows.iter().map(|flow| flow.traffic.is_none()).collect();
        let airtime = Airtime::new(spec);
        Self { every, bulk, delivered: Vec::new(), cwnd_sum: 0.0, cwnd_count: 0, airtime }
    }

    /// Mean of the congestion windows over time and flows, in bytes; not a number without samples.
    pub fn mean_cwnd(&self) -> f64 {
        self.cwnd_sum / self.cwnd_count as f64
    }

    /// Seconds until the rate over a second first reached 90 % of the final one.
    pub fn time_to_90(&self) -> f64 {
        let Some(every) = self.every.map(Span::as_secs_f64) else { return f64::NAN };
        let rate = |from: usize, to: usize| {
            (self.delivered[to] - self.delivered[from]) as f64 / ((to - from) as f64 * every)
        };
        let count = self.delivered.len();
        let window = ((WINDOW / every) as usize).max(1);
        let last = (count as f64 * (1.0 - LAST)) as usize;
        if count <= window || last + 1 >= count {
            return f64::NAN;
        }
        let wanted = 0.9 * rate(last, count - 1);
        let reached = (window..count).find(|end| rate(end - window, *end) >= wanted);
        reached.map_or(f64::NAN, |end| end as f64 * every)
    }

    /// Bits per second of all that was sent over a radio channel within so many seconds, and as a share of its bit rate; not
    /// a number without a channel.
    pub fn channel_throughput(&self, seconds: f64) -> [f64; 2] {
        self.airtime.as_ref().map_or([f64::NAN; 2], |airtime| {
            let throughput = airtime.throughput(seconds);
            [throughput, throughput / airtime.rate()]
        })
    }

    /// The longest time in which nothing was delivered after the first byte was, in seconds; right to the
    /// time between samples.
    pub fn longest_pause(&self) -> f64 {
        let Some(every) = self.every.map(Span::as_secs_f64) else { return f64::NAN };
        let (mut longest, mut pause) = (0_u32, 0_u32);
        for pair in self.delivered.windows(2).skip_while(|pair| pair[1] == 0) {
            pause = if pair[0] == pair[1] { pause + 1 } else { 0 };
            longest = longest.max(pause);
        }
        f64::from(longest) * every
    }
}

impl Observer for Trace {
    fn departs(&mut self, at: Instant, _channel: usize, bytes: ByteCount) {
        if let Some(airtime) = &mut self.airtime {
            airtime.sent(at, bytes);
        }
    }

    fn sample_every(&self) -> Option<Span> {
        self.every
    }

    fn sample(&mut self, sample: &Sample) {
        let Some(every) = self.every.filter(|_| self.bulk[sample.flow]) else { return };
        let place = (sample.at.as_nanos() / every.as_nanos().max(1)) as usize;
        if self.delivered.len() <= place {
            self.delivered.resize(place + 1, 0);
        }
        self.delivered[place] += sample.delivered.get();
        if let Some(cwnd) = sample.cwnd {
            self.cwnd_sum += cwnd.get() as f64;
            self.cwnd_count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(delivered: Vec<u64>) -> Trace {
        let every = Some(Span::from_millis(500));
        let (cwnd_sum, cwnd_count, airtime) = (0.0, 0, None);
        Trace { every, bulk: vec![true], delivered, cwnd_sum, cwnd_count, airtime }
    }

    #[test]
    fn the_time_to_the_final_rate_is_that_of_the_first_second_at_90_percent() {
        // 100 bytes a second for 5 s, then 1000.
        let ramp = (0..=40).map(|n| if n <= 10 { n * 50 } else { 500 + (n - 10) * 500 });
        assert_eq!(trace(ramp.collect()).time_to_90(), 6.0);
        assert_eq!(trace((0..=40).map(|n| n * 10).collect()).time_to_90(), 1.0);
        assert!(trace(vec![0, 5]).time_to_90().is_nan());
    }

    #[test]
    fn a_pause_counts_from_the_first_byte_on() {
        assert_eq!(trace(vec![0, 0, 0, 5, 6, 6, 6, 9, 9]).longest_pause(), 1.0);
        assert_eq!(trace(vec![0, 1, 2, 3]).longest_pause(), 0.0);
    }
}
