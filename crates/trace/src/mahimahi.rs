//! Traces of mahimahi (Netravali et al., USENIX ATC 2015): each line is the millisecond of an opportunity to send 1,500
//! bytes; the last one is the length, after which everything begins anew.

use bentpipe_link::Opportunities;
use bentpipe_units::{ByteCount, Instant, Span};

use crate::error::Cited;
use crate::trace::{Rate, hold};
use crate::{Trace, TraceError};

/// Bytes of an opportunity.
const BYTES: ByteCount = ByteCount::new(1500);
/// Time from one delay of LeoReplayer to the next.
const DELAY_STEP: Span = Span::from_millis(10);
/// Nobody is further away.
const LONGEST_DELAY: f64 = 60_000.0;
/// The latest millisecond that there can be: a year.
const LATEST: u64 = 366 * 86_400_000;

/// Reads a trace.
pub(crate) fn read(file: &str, text: &str) -> Result<Trace, TraceError> {
    let mut times = Vec::new();
    let mut last = 0;
    for (number, line) in lines(text) {
        let wrong = |problem: String| TraceError::at(file, number, problem);
        let ms: u64 = line.parse().map_err(|_| {
            wrong(format!("`{}` is no millisecond: each line has one, such as 12", Cited(line)))
        })?;
        if ms < last {
            return Err(wrong(format!("{ms} ms lies before the {last} ms of the line before")));
        }
        if ms > LATEST {
            return Err(wrong(format!("{ms} ms is more than a year")));
        }
        last = ms;
        times.push(Instant::ZERO + Span::from_millis(ms));
    }
    let period = Span::from_millis(last);
    match Opportunities::new(times, period, BYTES) {
        Some(opportunities) => {
            let rate = Some(Rate::Opportunities(opportunities));
            Ok(Trace { rate, ..Trace::silent(period) })
        }
        None if text.trim().is_empty() => {
            Err(TraceError::whole(file, "it is empty: a trace has at least one line"))
        }
        None => Err(TraceError::whole(file, "its last line is 0: it must be the length in ms")),
    }
}

/// Adds delays, one on each line.
pub(crate) fn with_delays(trace: Trace, file: &str, text: &str) -> Result<Trace, TraceError> {
    let mut delays: Vec<(Instant, Span)> = Vec::new();
    let mut count = 0u64;
    for (number, line) in lines(text) {
        let ms: Option<f64> = line.parse().ok();
        let ms = ms.filter(|ms| (0.0..=LONGEST_DELAY).contains(ms)).ok_or_else(|| {
            let problem =
                format!("`{}` is no delay: each line has one in 0..=60000 ms", Cited(line));
            TraceError::at(file, number, problem)
        })?;
        let delay = Span::from_secs_f64(ms / 1e3);
        hold(&mut delays, Instant::ZERO + DELAY_STEP * count, delay);
        count += 1;
    }
    if delays.is_empty() {
        return Err(TraceError::whole(file, "it is empty: it has a delay for each 10 ms"));
    }
    // Where the delays last longer they begin anew later: opportunities have a round of their own.
    let length = trace.length.max(DELAY_STEP * count);
    Ok(Trace { delay: Some(delays), length, ..trace })
}

/// The lines with something on them, with their numbers.
fn lines(text: &str) -> impl Iterator<Item = (u64, &str)> {
    let numbered = (1..).zip(text.lines().map(str::trim));
    numbered.filter(|(_, line)| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_an_opportunity_and_the_last_one_the_length() {
        let trace = read("up", "0\n3\n3\n\n10\n").expect("a trace");
        assert_eq!(trace.length, Span::from_millis(10));
        let Some(Rate::Opportunities(some)) = &trace.rate else { panic!("opportunities") };
        assert_eq!((some.times().len(), some.bytes()), (4, BYTES));
        assert_eq!(some.mean_bps(), 4.8e6);
    }

    #[test]
    fn what_is_no_trace_is_named_with_its_line() {
        for (text, line, part) in [
            ("", None, "empty"),
            ("\n\n", None, "empty"),
            ("0\n0\n", None, "last line is 0"),
            ("5\n4\n", Some(2), "before the 5 ms"),
            ("5\nfive\n", Some(2), "`five` is no millisecond"),
            ("-1\n", Some(1), "`-1` is no millisecond"),
            ("1.5\n", Some(1), "`1.5` is no millisecond"),
            ("1\n99999999999999\n", Some(2), "more than a year"),
        ] {
            let error = read("up", text).expect_err(text);
            assert_eq!(error.line, line, "{error}");
            assert!(error.problem.contains(part), "{error}");
        }
        assert_eq!(
            read("up", "5\n4\n").expect_err("decreasing").to_string(),
            "up, line 2: 4 ms lies before the 5 ms of the line before"
        );
    }

    #[test]
    fn delays_are_ten_milliseconds_apart() {
        let trace = read("rate", "5\n").expect("a trace");
        let both = with_delays(trace.clone(), "delay", "20\n20\n25.5\n").expect("delays");
        let ms = |ms: f64| Span::from_secs_f64(ms / 1e3);
        let at = Instant::ZERO + Span::from_millis(20);
        assert_eq!(both.delay, Some(vec![(Instant::ZERO, ms(20.0)), (at, ms(25.5))]));
        assert_eq!(both.length, Span::from_millis(30));
        for (text, line) in [("20\nnan\n", Some(2)), ("-3\n", Some(1)), ("", None)] {
            let error = with_delays(trace.clone(), "delay", text).expect_err(text);
            assert_eq!(error.line, line, "{error}");
        }
    }
}
