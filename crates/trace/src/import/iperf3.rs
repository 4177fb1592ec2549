//! The JSON of iperf3: the rate of each interval.

use bentpipe_units::{BitRate, Instant, Span};
use serde::Deserialize;

use crate::trace::{Rate, hold};
use crate::{Trace, TraceError};

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    error: Option<String>,
    intervals: Vec<Interval>,
}

#[derive(Deserialize)]
struct Interval {
    sum: Sum,
}

#[derive(Deserialize)]
struct Sum {
    start: f64,
    end: f64,
    bits_per_second: f64,
    lost_percent: Option<f64>,
    #[serde(default)]
    omitted: bool,
}

pub(super) fn import(name: &str, text: &str) -> Result<Trace, TraceError> {
    let document: Document = serde_json::from_str(text).map_err(|error| {
        let line = Some(error.line() as u64);
        TraceError { line, ..TraceError::whole(name, format!("it is no JSON of iperf3: {error}")) }
    })?;
    if let Some(error) = document.error {
        return Err(TraceError::whole(name, format!("the measurement failed: {error}")));
    }
    let counted =
        document.intervals.iter().map(|interval| &interval.sum).filter(|sum| !sum.omitted);
    let (mut rates, mut losses): (Vec<(Instant, Option<BitRate>)>, Vec<_>) = Default::default();
    let (mut begin, mut end) = (None, 0.0);
    for sum in counted {
        let fits =
            sum.start.is_finite() && sum.start >= end && sum.end > sum.start && sum.end < 1e8;
        if !fits || !(0.0..1e13).contains(&sum.bits_per_second) {
            let problem = format!(
                "the interval from {} to {} s with {} bit/s cannot be",
                sum.start, sum.end, sum.bits_per_second
            );
            return Err(TraceError {
                field: Some("intervals"),
                ..TraceError::whole(name, problem)
            });
        }
        let first = *begin.get_or_insert(sum.start);
        let at = Instant::ZERO + Span::from_secs_f64(sum.start - first);
        let rate =
            (sum.bits_per_second >= 1.0).then(|| BitRate::from_bps(sum.bits_per_second as u64));
        hold(&mut rates, at, rate);
        if let Some(percent) = sum.lost_percent {
            if !(0.0..=100.0).contains(&percent) {
                let problem = format!("`{percent}` is no number in 0..=100");
                let field = Some("lost_percent");
                return Err(TraceError { field, ..TraceError::whole(name, problem) });
            }
            hold(&mut losses, at, percent / 100.0);
        }
        end = sum.end;
    }
    let Some(first) = begin.filter(|_| rates.iter().any(|(_, rate)| rate.is_some())) else {
        return Err(TraceError::whole(name, "nothing arrived in any interval"));
    };
    Ok(Trace {
        rate: Some(Rate::Steps(rates)),
        loss: (!losses.is_empty()).then_some(losses),
        ..Trace::silent(Span::from_secs_f64(end - first).max(Span::from_millis(1)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(sums: &[&str]) -> String {
        let intervals: Vec<_> = sums.iter().map(|sum| format!("{{\"sum\": {{{sum}}}}}")).collect();
        format!("{{\"start\": {{}}, \"intervals\": [{}]}}", intervals.join(","))
    }

    #[test]
    fn each_interval_has_its_rate_and_omitted_ones_do_not_count() {
        let text = document(&[
            "\"start\": 0, \"end\": 1, \"bits_per_second\": 9e9, \"omitted\": true",
            "\"start\": 1, \"end\": 2, \"bits_per_second\": 1e6",
            "\"start\": 2, \"end\": 3, \"bits_per_second\": 0, \"lost_percent\": 5",
        ]);
        let trace = import("iperf3.json", &text).expect("a trace");
        let at = |s| Instant::ZERO + Span::from_secs(s);
        let rates = vec![(at(0), Some(BitRate::from_bps(1_000_000))), (at(1), None)];
        assert_eq!(trace.rate, Some(Rate::Steps(rates)));
        assert_eq!(trace.loss, Some(vec![(at(1), 0.05)]));
        assert_eq!(trace.length, Span::from_secs(2));
    }

    #[test]
    fn what_is_no_json_of_iperf3_is_named() {
        for (text, said) in [
            ("{\"intervals\": [\n{", "line 2: it is no JSON of iperf3"),
            ("{\"error\": \"unable to connect\", \"intervals\": []}", "failed: unable to connect"),
            (&document(&[]), "nothing arrived"),
            (
                &document(&["\"start\": 1, \"end\": 1, \"bits_per_second\": 1"]),
                "`intervals`: the interval",
            ),
            (
                &document(&["\"start\": 0, \"end\": 1, \"bits_per_second\": -1"]),
                "-1 bit/s cannot be",
            ),
        ] {
            let error = import("iperf3.json", text).expect_err(text).to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
