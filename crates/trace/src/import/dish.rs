//! The status of a Starlink dish as JSON lines, one for each second.

use bentpipe_units::{BitRate, Instant, Span};
use serde::Deserialize;

use super::{ImportOptions, Way};
use crate::trace::{Rate, hold};
use crate::{Trace, TraceError};

const LONGEST: f64 = 120_000.0;

/// What is read of a line; both spellings are in use.
#[derive(Deserialize)]
struct Status {
    #[serde(alias = "time", alias = "timestamp_s")]
    timestamp: Option<f64>,
    #[serde(alias = "popPingLatencyMs")]
    pop_ping_latency_ms: Option<f64>,
    #[serde(alias = "popPingDropRate")]
    pop_ping_drop_rate: Option<f64>,
    #[serde(alias = "downlinkThroughputBps")]
    downlink_throughput_bps: Option<f64>,
    #[serde(alias = "uplinkThroughputBps")]
    uplink_throughput_bps: Option<f64>,
}

/// Half of the round trip to the point of presence, the share of its pings that are lost, and the throughput, which is
/// what was used and not what there was.
pub(super) fn import(name: &str, text: &str, options: &ImportOptions) -> Result<Trace, TraceError> {
    let (mut rates, mut delays, mut losses, mut up) = (vec![], vec![], vec![], vec![]);
    let (mut first, mut last): (Option<f64>, Option<Instant>) = (None, None);
    let mut count = 0u64;
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let status: Status = serde_json::from_str(line).map_err(|error| {
            TraceError::at(name, number, format!("it is no status of a dish: {error}"))
        })?;
        let begin = status.timestamp.map(|now| *first.get_or_insert(now));
        let at = match status.timestamp.zip(begin) {
            Some((now, begin)) if now.is_finite() && (0.0..1e8).contains(&(now - begin)) => {
                Instant::ZERO + Span::from_secs_f64(now - begin)
            }
            Some((now, _)) => {
                let problem = format!("{now} lies before the first one, or a year behind it");
                return Err(TraceError::of(name, number, "timestamp", problem));
            }
            None => Instant::ZERO + options.interval * count,
        };
        if last.is_some_and(|last| at <= last) {
            let problem = "it is not later than the one before it";
            return Err(TraceError::of(name, number, "timestamp", problem));
        }
        last = Some(at);
        count += 1;
        let checked = |field, value: Option<f64>, most: f64| match value {
            Some(value) if !(0.0..=most).contains(&value) => {
                let problem = format!("{value} does not lie in 0..={most}");
                Err(TraceError::of(name, number, field, problem))
            }
            value => Ok(value),
        };
        let lost = checked("pop_ping_drop_rate", status.pop_ping_drop_rate, 1.0)?;
        let rtt = checked("pop_ping_latency_ms", status.pop_ping_latency_ms, LONGEST)?;
        let bps = match options.way {
            Way::Down => checked("downlink_throughput_bps", status.downlink_throughput_bps, 1e13)?,
            Way::Up => checked("uplink_throughput_bps", status.uplink_throughput_bps, 1e13)?,
        };
        // Without an answer in a whole second there was no link.
        let down = lost.is_some_and(|lost| lost >= 1.0);
        hold(&mut up, at, !down);
        if let Some(lost) = lost.filter(|_| !down) {
            hold(&mut losses, at, lost);
        }
        if let Some(ms) = rtt.filter(|rtt| *rtt > 0.0 && !down) {
            hold(&mut delays, at, Span::from_secs_f64(ms / 2e3));
        }
        if let Some(bps) = bps {
            hold(&mut rates, at, (bps >= 1.0).then(|| BitRate::from_bps(bps as u64)));
        }
    }
    let Some(last) = last else {
        return Err(TraceError::whole(name, "it is empty: each line is a status"));
    };
    let some_rate = rates.iter().any(|(_, rate)| rate.is_some());
    if delays.is_empty() && !some_rate {
        return Err(TraceError::whole(name, "no line has a latency or a throughput"));
    }
    let apart = last.since(Instant::ZERO) / count.saturating_sub(1).max(1);
    Ok(Trace {
        length: last.since(Instant::ZERO) + apart.max(Span::from_millis(1)),
        rate: some_rate.then_some(Rate::Steps(rates)),
        delay: (!delays.is_empty()).then_some(delays),
        loss: losses.iter().any(|(_, loss)| *loss > 0.0).then_some(losses),
        up: up.iter().any(|(_, up)| !up).then_some(up),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_without_an_answer_is_an_outage() {
        let text = "{\"popPingLatencyMs\": 40, \"popPingDropRate\": 0.1, \"downlinkThroughputBps\": 5e6}\n\
                    {\"pop_ping_latency_ms\": 0, \"pop_ping_drop_rate\": 1, \"downlink_throughput_bps\": 0}\n\
                    {\"pop_ping_latency_ms\": 60, \"pop_ping_drop_rate\": 0, \"downlink_throughput_bps\": 7e6}\n";
        let trace = import("dish.jsonl", text, &ImportOptions::default()).expect("a trace");
        let at = |s| Instant::ZERO + Span::from_secs(s);
        let ms = Span::from_millis;
        assert_eq!(trace.delay, Some(vec![(at(0), ms(20)), (at(2), ms(30))]));
        assert_eq!(trace.up, Some(vec![(at(0), true), (at(1), false), (at(2), true)]));
        assert_eq!(trace.loss, Some(vec![(at(0), 0.1), (at(2), 0.0)]));
        let bps = |bps| Some(BitRate::from_bps(bps));
        let rates = vec![(at(0), bps(5_000_000)), (at(1), None), (at(2), bps(7_000_000))];
        assert_eq!((trace.rate, trace.length), (Some(Rate::Steps(rates)), Span::from_secs(3)));
    }

    #[test]
    fn what_is_no_status_is_named_with_line_and_field() {
        for (text, said) in [
            ("", "it is empty"),
            ("{}\n{\n", "line 2: it is no status"),
            ("{\"timestamp\": 5}\n{\"timestamp\": 5}", "line 2, `timestamp`: it is not later"),
            ("{\"timestamp\": 5}\n{\"timestamp\": 4}", "line 2, `timestamp`: 4 lies before"),
            ("{\"popPingDropRate\": 2}", "line 1, `pop_ping_drop_rate`: 2 does not lie"),
            ("{\"popPingLatencyMs\": -1}", "line 1, `pop_ping_latency_ms`: -1"),
            ("{\"up\": 1}", "no line has a latency"),
        ] {
            let error = import("dish.jsonl", text, &ImportOptions::default()).expect_err(text);
            assert!(error.to_string().contains(said), "{error}");
        }
    }
}
