//! How a trace is replayed.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use bentpipe_link::{ModelSpec, QueueLimit, Timeline};
use bentpipe_units::{BitRate, ByteCount, Instant, Span};

use crate::trace::{Rate, hold};
use crate::{Trace, TraceError};

/// Time for which opportunities are counted together where a rate is asked for.
const BIN: Span = Span::from_millis(100);

/// What rates can be multiplied by.
const SCALES: RangeInclusive<f64> = 1e-6..=1e6;

/// How a trace is replayed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TraceOptions {
    /// So much of it is over at the start.
    pub start: Span,
    /// It begins anew at its end; otherwise its last values hold. Opportunities always begin anew.
    pub repeats: bool,
    /// Its rates are multiplied by this: from a millionth to a million.
    pub scale: f64,
    /// Packets may overtake each other when the delay becomes shorter.
    pub reorders: bool,
}

impl Default for TraceOptions {
    fn default() -> Self {
        Self { start: Span::ZERO, repeats: true, scale: 1.0, reorders: false }
    }
}

impl TraceOptions {
    /// Whether a trace of this length can be replayed so.
    pub(crate) fn check(&self, name: &str, length: Span) -> Result<(), TraceError> {
        let Self { start, scale, .. } = self;
        if !SCALES.contains(scale) {
            let (least, most) = SCALES.into_inner();
            let problem = format!("{scale} does not lie in {least}..={most}");
            return Err(wrong(name, "scale", problem));
        }
        if *start >= length {
            let problem = format!("it lasts {length}: it cannot start at {start}");
            return Err(wrong(name, "start", problem));
        }
        Ok(())
    }
}

fn wrong(name: &str, field: &'static str, problem: impl Into<String>) -> TraceError {
    TraceError { field: Some(field), ..TraceError::whole(name, problem) }
}

impl Trace {
    /// The models of a link that replay it, in the order in which packets meet them: the transmitter with its drop-tail
    /// queue, losses, outages, the delay.
    ///
    /// # Errors
    /// When an option cannot be, with its name as the field; `name` is what the error calls the trace.
    pub fn models(
        &self,
        name: &str,
        options: &TraceOptions,
        queue: QueueLimit,
    ) -> Result<Vec<ModelSpec>, TraceError> {
        let TraceOptions { start, repeats, scale, reorders } = *options;
        options.check(name, self.length)?;
        let period = repeats.then_some(self.length);
        let mut models = Vec::new();
        match &self.rate {
            Some(Rate::Opportunities(_)) if !repeats => {
                let problem =
                    "opportunities always begin anew: there is no last value that could hold";
                return Err(wrong(name, "loop", problem));
            }
            Some(Rate::Opportunities(opportunities)) => models.push(ModelSpec::Opportunities {
                opportunities: opportunities.clone().starting_at(start).scaled(scale),
                queue,
            }),
            Some(Rate::Steps(steps)) => {
                let scaled = |bps: BitRate| BitRate::from_bps((bps.as_bps() as f64 * scale) as u64);
                let steps: Vec<_> =
                    steps.iter().map(|(at, rate)| (*at, rate.map(scaled))).collect();
                let rates = timeline(name, steps, period)?.starting_at(start);
                models.push(ModelSpec::SteppedRate { rates, queue });
            }
            None => {}
        }
        if let Some(loss) = self.loss.clone() {
            let loss = timeline(name, loss, period)?.starting_at(start);
            models.push(ModelSpec::SteppedLoss(loss));
        }
        if let Some(up) = self.up.clone() {
            models.push(ModelSpec::SteppedState(timeline(name, up, period)?.starting_at(start)));
        }
        if let Some(delay) = self.delay.clone() {
            let delays = timeline(name, delay, period)?.starting_at(start);
            models.push(ModelSpec::SteppedDelay { delays, reorders });
        }
        Ok(models)
    }

    /// Its rates with the times from which they hold; opportunities as the rate of each tenth of a second.
    pub fn rate_steps(&self) -> Option<Vec<(Instant, Option<BitRate>)>> {
        match self.rate.as_ref()? {
            Rate::Steps(steps) => Some(steps.clone()),
            Rate::Opportunities(some) => {
                let bins = some.period().as_nanos().div_ceil(BIN.as_nanos()).max(1);
                let mut filled: BTreeMap<u64, u64> = BTreeMap::new();
                for time in some.times() {
                    let bin = (time.as_nanos() / BIN.as_nanos()).min(bins - 1);
                    *filled.entry(bin).or_default() += some.bytes().get();
                }
                let mut steps: Vec<(Instant, Option<BitRate>)> = Vec::new();
                let at = |bin: u64| Instant::ZERO + BIN * bin;
                let mut next = 0;
                for (bin, bytes) in filled {
                    if bin > next {
                        hold(&mut steps, at(next), None);
                    }
                    let bps = ByteCount::new(bytes).bits() * 1_000_000_000 / BIN.as_nanos();
                    hold(&mut steps, at(bin), Some(BitRate::from_bps(bps)));
                    next = bin + 1;
                }
                if next < bins {
                    hold(&mut steps, at(next), None);
                }
                Some(steps)
            }
        }
    }
}

fn timeline<T: Copy>(
    name: &str,
    steps: Vec<(Instant, T)>,
    period: Option<Span>,
) -> Result<Timeline<T>, TraceError> {
    Timeline::new(steps, period).map_err(|error| TraceError::whole(name, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "time_s,rate_bps,delay_s,loss,up\n0,1e6,0.018,0.01,1\n1,2e6,0.02,0,0\n";

    #[test]
    fn models_come_in_the_order_in_which_packets_meet_them() {
        let trace = crate::read("own.csv", TEXT.as_bytes()).expect("a trace");
        let options = TraceOptions { scale: 2.0, repeats: false, ..TraceOptions::default() };
        let models = trace.models("own.csv", &options, QueueLimit::Packets(9)).expect("models");
        let [ModelSpec::SteppedRate { rates, queue }, _, _, _] = &models[..] else {
            panic!("{models:?}")
        };
        assert_eq!(*queue, QueueLimit::Packets(9));
        let first = (Instant::ZERO, Some(BitRate::from_bps(2_000_000)));
        assert_eq!(rates.steps()[0], first);
        assert!(matches!(models[1], ModelSpec::SteppedLoss(_)));
        assert!(matches!(models[2], ModelSpec::SteppedState(_)));
        assert!(matches!(models[3], ModelSpec::SteppedDelay { reorders: false, .. }));
    }

    #[test]
    fn what_cannot_be_replayed_is_said() {
        let trace = crate::read("up", b"10\n").expect("a trace");
        let problem = |options: TraceOptions| {
            trace.models("up", &options, QueueLimit::Unlimited).expect_err("refused").to_string()
        };
        let scale = TraceOptions { scale: 0.0, ..TraceOptions::default() };
        assert_eq!(problem(scale), "up, `scale`: 0 does not lie in 0.000001..=1000000");
        let start = TraceOptions { start: Span::from_millis(10), ..TraceOptions::default() };
        assert_eq!(problem(start), "up, `start`: it lasts 10 ms: it cannot start at 10 ms");
        let once = TraceOptions { repeats: false, ..TraceOptions::default() };
        assert!(problem(once).starts_with("up, `loop`: opportunities always begin anew"));
        let steps = Some(vec![(Instant::ZERO, 0.1), (Instant::ZERO, 0.2)]);
        let twice = Trace { loss: steps, ..Trace::silent(Span::from_secs(1)) };
        let refused = twice.models("x", &TraceOptions::default(), QueueLimit::Unlimited);
        assert!(refused.is_err_and(|error| error.to_string().contains("not later")));
    }

    #[test]
    fn opportunities_have_the_rate_of_each_tenth_of_a_second() {
        let trace = crate::read("up", b"0\n50\n150\n300\n").expect("a trace");
        let at = |ms| Instant::ZERO + Span::from_millis(ms);
        let bps = |bps| Some(BitRate::from_bps(bps));
        let steps = vec![(at(0), bps(240_000)), (at(100), bps(120_000))];
        assert_eq!(trace.rate_steps(), Some(steps));
    }
}
