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

use csv::{ByteRecord, ReaderBuilder, Trim};

use crate::error::Cited;
pub use crate::table::COLUMNS;
use crate::table::{NUMBERS, Row, Rows, out_of_range, places, rows};
use crate::{Trace, TraceError};

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
    let header = reader.headers().map_err(|error| broken(file, &error))?;
    let columns = places(header.iter()).map_err(|problem| TraceError::at(file, 1, problem))?;
    let (mut rows, mut record) = (Rows::default(), ByteRecord::new());
    loop {
        let more = reader.read_byte_record(&mut record);
        let line = record.position().map_or(1, csv::Position::line);
        if !more.map_err(|error| broken(file, &error))? {
            break;
        }
        let wrong = |(column, problem)| TraceError::of(file, line, column, problem);
        let cell = |column: usize| {
            let cell = columns[column].and_then(|place| record.get(place)).unwrap_or_default();
            std::str::from_utf8(cell).unwrap_or("\u{fffd}")
        };
        let mut row = Row::default();
        for (column, number) in row.numbers.iter_mut().enumerate().take(NUMBERS) {
            let text = cell(column);
            if !text.is_empty() {
                let value: Option<f64> = text.parse().ok().filter(|value: &f64| value.is_finite());
                let problem = || wrong(out_of_range(column, Cited(text)));
                *number = Some(value.ok_or_else(problem)?);
            }
        }
        row.up = match cell(NUMBERS) {
            "" => None,
            "1" | "true" => Some(true),
            "0" | "false" => Some(false),
            other => {
                let problem = format!("`{}` is neither 1 nor 0", Cited(other));
                return Err(wrong((COLUMNS[NUMBERS], problem)));
            }
        };
        rows.push(&row).map_err(wrong)?;
    }
    rows.trace().map_err(|problem| TraceError::whole(file, problem))
}

pub(crate) fn broken(file: &str, error: &csv::Error) -> TraceError {
    let line = error.position().map(csv::Position::line);
    TraceError { line, ..TraceError::whole(file, format!("it is no CSV: {error}")) }
}

/// Writes a trace. Opportunities become the rate of each tenth of a second.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(trace: &Trace, out: impl Write) -> Result<(), csv::Error> {
    let (has, rows) = rows(trace);
    let mut writer = csv::Writer::from_writer(out);
    let cells = |cells: [String; COLUMNS.len()]| {
        cells.into_iter().zip(has).filter(|(_, has)| *has).map(|(cell, _)| cell)
    };
    writer.write_record(cells(COLUMNS.map(str::to_owned)))?;
    for Row { numbers, up } in rows {
        let [time, rate, delay, loss] =
            numbers.map(|number| number.map_or_else(String::new, |value| value.to_string()));
        let up = up.map_or_else(String::new, |up| u8::from(up).to_string());
        writer.write_record(cells([time, rate, delay, loss, up]))?;
    }
    writer.flush()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use bentpipe_link::Timeline;
    use bentpipe_units::{BitRate, Instant, Span};
    use proptest::prelude::*;

    use super::*;
    use crate::trace::Rate;

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
            ("time_s,loss,up\n0,,\n1,,\n", "no line has a value besides `time_s`"),
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
                if let Ok(trace) = crate::read("any", text.as_bytes()) {
                    prop_assert!(trace.length > Span::ZERO);
                    let ordered = |steps| Timeline::new(steps, None).is_ok();
                    prop_assert!(trace.loss.is_none_or(ordered));
                }
            }
        }
    }
}
