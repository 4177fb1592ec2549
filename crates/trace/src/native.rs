//! The project's own format: CSV with the columns `time_s`, `rate_bps`, `delay_s`, `loss`, `up`, any of the last four.
//!
//! ```text
//! time_s,rate_bps,delay_s,loss,up
//! 0,120000000,0.018,0.0001,1
//! 12,80000000,0.025,0.02,1
//! 12.1,,,,0
//! 12.4,,,0.0001,1
//! ```
//!
//! A value holds until the next one in its column; an empty cell changes nothing. The trace lasts as long behind its last
//! line as that came behind the one before.

use std::io::Write;

use bentpipe_units::{BitRate, Instant, Span};
use csv::{ByteRecord, ReaderBuilder, Trim};

use crate::error::Cited;
use crate::trace::{Rate, hold};
use crate::{Trace, TraceError};

/// The columns, in the order in which they are written.
pub const COLUMNS: [&str; 5] = ["time_s", "rate_bps", "delay_s", "loss", "up"];
/// The longest trace: a year.
pub(crate) const LATEST: f64 = 366.0 * 86_400.0;
/// A trace of one line lasts so long.
pub(crate) const LEAST: Span = Span::from_secs(1);
const FASTEST: f64 = 1e13;
const LONGEST_DELAY: f64 = 60.0;

/// Whether a text begins like a table of this format.
pub(crate) fn is_one(text: &str) -> bool {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty());
    first.is_some_and(|line| line.chars().any(|c| c.is_ascii_alphabetic() || c == ','))
}

/// Reads a trace.
///
/// # Errors
/// When a column is not known, there is no line, a time is not later than the one before it, or a value cannot be.
pub fn read(file: &str, text: &str) -> Result<Trace, TraceError> {
    let mut reader = ReaderBuilder::new().trim(Trim::All).from_reader(text.as_bytes());
    let columns = columns(file, &mut reader)?;
    let (mut rate, mut delay, mut loss, mut up) = (vec![], vec![], vec![], vec![]);
    let (mut record, mut last, mut gap) = (ByteRecord::new(), None, LEAST);
    loop {
        let more = reader.read_byte_record(&mut record);
        let line = record.position().map_or(1, csv::Position::line);
        if !more.map_err(|error| broken(file, &error))? {
            break;
        }
        let cell = |column: usize| {
            let cell = columns[column].and_then(|place| record.get(place)).unwrap_or_default();
            std::str::from_utf8(cell).unwrap_or("\u{fffd}")
        };
        let value = |column: usize, low: f64, high: f64| {
            let text = cell(column);
            if text.is_empty() {
                return Ok(None);
            }
            let value: Option<f64> = text.parse().ok();
            value.filter(|value| (low..=high).contains(value)).map(Some).ok_or_else(|| {
                let problem = format!("`{}` is no number in {low}..={high}", Cited(text));
                TraceError::of(file, line, COLUMNS[column], problem)
            })
        };
        let seconds = value(0, 0.0, LATEST)?.ok_or_else(|| {
            TraceError::of(file, line, COLUMNS[0], "it is missing: each line has a time")
        })?;
        let at = Instant::ZERO + Span::from_secs_f64(seconds);
        if let Some(last) = last.filter(|last| at <= *last) {
            let problem = format!("{seconds} s is not later than the {} s before it", since(last));
            return Err(TraceError::of(file, line, COLUMNS[0], problem));
        }
        gap = last.map_or(gap, |last| at.since(last));
        last = Some(at);
        if let Some(bps) = value(1, 0.0, FASTEST)? {
            hold(&mut rate, at, (bps >= 1.0).then(|| BitRate::from_bps(bps as u64)));
        }
        if let Some(seconds) = value(2, 0.0, LONGEST_DELAY)? {
            hold(&mut delay, at, Span::from_secs_f64(seconds));
        }
        if let Some(probability) = value(3, 0.0, 1.0)? {
            hold(&mut loss, at, probability);
        }
        match cell(4) {
            "" => {}
            "1" | "true" => hold(&mut up, at, true),
            "0" | "false" => hold(&mut up, at, false),
            other => {
                let problem = format!("`{}` is neither 1 nor 0", Cited(other));
                return Err(TraceError::of(file, line, COLUMNS[4], problem));
            }
        }
    }
    let Some(last) = last else {
        return Err(TraceError::whole(file, "it has no line behind its header"));
    };
    if !rate.is_empty() && rate.iter().all(|(_, rate): &(Instant, Option<BitRate>)| rate.is_none())
    {
        return Err(TraceError::whole(file, "`rate_bps` is nowhere above zero"));
    }
    Ok(Trace {
        length: last.since(Instant::ZERO) + gap,
        rate: some(rate).map(Rate::Steps),
        delay: some(delay),
        loss: some(loss),
        up: some(up),
    })
}

/// The values of a column that has some.
fn some<T>(steps: Vec<T>) -> Option<Vec<T>> {
    (!steps.is_empty()).then_some(steps)
}

/// Where each column is.
fn columns(file: &str, reader: &mut csv::Reader<&[u8]>) -> Result<[Option<usize>; 5], TraceError> {
    let header = reader.headers().map_err(|error| broken(file, &error))?;
    let known = COLUMNS.join(", ");
    let mut columns = [None; 5];
    for (place, name) in header.iter().enumerate() {
        let Some(column) = COLUMNS.iter().position(|known| *known == name) else {
            let problem = format!("there is no column `{}`; there are {known}", Cited(name));
            return Err(TraceError::at(file, 1, problem));
        };
        if columns[column].replace(place).is_some() {
            return Err(TraceError::at(file, 1, format!("the column `{name}` comes twice")));
        }
    }
    match columns {
        [None, ..] => Err(TraceError::at(file, 1, "the column `time_s` is missing")),
        [_, None, None, None, None] => {
            Err(TraceError::at(file, 1, format!("`time_s` alone tells nothing; there are {known}")))
        }
        columns => Ok(columns),
    }
}

pub(crate) fn broken(file: &str, error: &csv::Error) -> TraceError {
    let line = error.position().map(csv::Position::line);
    TraceError { line, ..TraceError::whole(file, format!("it is no CSV: {error}")) }
}

fn since(at: Instant) -> f64 {
    at.since(Instant::ZERO).as_secs_f64()
}

/// Writes a trace. Opportunities become the rate of each tenth of a second.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(trace: &Trace, out: impl Write) -> Result<(), csv::Error> {
    let rates = trace.rate_steps();
    let mut times: Vec<Instant> = Vec::new();
    times.extend(rates.iter().flatten().map(|(at, _)| *at));
    times.extend(trace.delay.iter().flatten().map(|(at, _)| *at));
    times.extend(trace.loss.iter().flatten().map(|(at, _)| *at));
    times.extend(trace.up.iter().flatten().map(|(at, _)| *at));
    times.sort_unstable();
    times.dedup();
    let mut writer = csv::Writer::from_writer(out);
    let some =
        [true, rates.is_some(), trace.delay.is_some(), trace.loss.is_some(), trace.up.is_some()];
    let row = |cells: [String; 5]| {
        cells.into_iter().zip(some).filter(|(_, some)| *some).map(|(cell, _)| cell)
    };
    writer.write_record(row(COLUMNS.map(str::to_owned)))?;
    let bps = |rate: Option<BitRate>| rate.map_or(0, BitRate::as_bps).to_string();
    for at in times {
        writer.write_record(row([
            since(at).to_string(),
            cell(rates.as_deref(), at, bps),
            cell(trace.delay.as_deref(), at, |delay| delay.as_secs_f64().to_string()),
            cell(trace.loss.as_deref(), at, |loss| loss.to_string()),
            cell(trace.up.as_deref(), at, |up| u8::from(up).to_string()),
        ]))?;
    }
    writer.flush()?;
    Ok(())
}

/// What a column says at a time; nothing where it does not change.
fn cell<T: Copy>(
    steps: Option<&[(Instant, T)]>,
    at: Instant,
    text: impl Fn(T) -> String,
) -> String {
    let steps = steps.unwrap_or_default();
    let place = steps.binary_search_by_key(&at, |(time, _)| *time);
    place.map_or_else(|_| String::new(), |place| text(steps[place].1))
}

#[cfg(test)]
mod tests {
    use bentpipe_link::Timeline;
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str =
        "time_s,rate_bps,delay_s,loss,up\n0,1e6,0.018,0.01,1\n12,,,0.02,\n12.5,0,0.025,,0\n";

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn a_value_holds_until_the_next_one_in_its_column() {
        let trace = read("own.csv", TEXT).expect("a trace");
        let mbit = BitRate::from_bps(1_000_000);
        assert_eq!(trace.rate, Some(Rate::Steps(vec![(at(0), Some(mbit)), (at(12_500), None)])));
        let delays = vec![(at(0), Span::from_millis(18)), (at(12_500), Span::from_millis(25))];
        assert_eq!(trace.delay, Some(delays));
        assert_eq!(trace.loss, Some(vec![(at(0), 0.01), (at(12_000), 0.02)]));
        assert_eq!(trace.up, Some(vec![(at(0), true), (at(12_500), false)]));
        assert_eq!(trace.length, Span::from_secs(13));
        let delay = read("own.csv", "delay_s, time_s\n0.1, 3\n").expect("any order and spaces");
        assert_eq!((delay.rate, delay.length), (None, Span::from_secs(4)));
    }

    #[test]
    fn what_is_no_trace_is_named_with_line_and_column() {
        for (text, said) in [
            ("time_s,rate\n0,1\n", "line 1: there is no column `rate`; there are time_s"),
            ("rate_bps\n1\n", "line 1: the column `time_s` is missing"),
            ("time_s\n1\n", "line 1: `time_s` alone"),
            ("time_s,loss,loss\n1,1,1\n", "line 1: the column `loss` comes twice"),
            ("time_s,loss\n", "it has no line"),
            ("time_s,loss\n0,0\n0,1\n", "line 3, `time_s`: 0 s is not later than the 0 s"),
            ("time_s,loss\n2,0\n1,1\n", "line 3, `time_s`: 1 s is not later than the 2 s"),
            ("time_s,loss\n-1,0\n", "line 2, `time_s`: `-1` is no number in 0"),
            ("time_s,loss\n0,1.5\n", "line 2, `loss`: `1.5` is no number in 0..=1"),
            ("time_s,loss\n,1\n", "line 2, `time_s`: it is missing"),
            ("time_s,rate_bps\n0,fast\n", "line 2, `rate_bps`: `fast` is no number"),
            ("time_s,rate_bps\n0,nan\n", "line 2, `rate_bps`: `nan` is no number"),
            ("time_s,rate_bps\n0,0\n", "`rate_bps` is nowhere above zero"),
            ("time_s,delay_s\n0,61\n", "line 2, `delay_s`: `61` is no number in 0..=60"),
            ("time_s,up\n0,2\n", "line 2, `up`: `2` is neither"),
            ("time_s,up\n0,1\n1\n", "line 3: it is no CSV"),
        ] {
            let error = read("own.csv", text).expect_err(text).to_string();
            assert!(error.starts_with("own.csv") && error.contains(said), "{error}");
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let trace = read("own.csv", TEXT).expect("a trace");
        let mut out = Vec::new();
        write(&trace, &mut out).expect("written");
        let again = read("again.csv", &String::from_utf8(out).expect("text")).expect("a trace");
        assert_eq!(again, trace);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[ -~\n]{0,200}", table in "time_s,loss\n[-0-9.e,\n]{0,80}") {
            for text in [text, table] {
                if let Ok(trace) = crate::read("any", &text) {
                    prop_assert!(trace.length > Span::ZERO);
                    let ordered = |steps| Timeline::new(steps, None).is_ok();
                    prop_assert!(trace.loss.is_none_or(ordered));
                }
            }
        }
    }
}
