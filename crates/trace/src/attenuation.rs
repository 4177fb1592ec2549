//! Attenuation over time: CSV with the columns `time_s` and `attenuation_db`.
//!
//! ```text
//! time_s,attenuation_db
//! 0,0
//! 60,3.5
//! 61,4.25
//! ```
//!
//! A value holds until the next line. The trace lasts as long behind its last line as that came behind the one before.

use bentpipe_link::Timeline;
use bentpipe_units::{Decibels, Instant, Span};
use csv::{ByteRecord, ReaderBuilder, Trim};

use crate::error::Cited;
use crate::native::broken;
use crate::table::{LATEST, LEAST};
use crate::trace::hold;
use crate::{TraceError, TraceOptions};

/// The columns.
const COLUMNS: [&str; 2] = ["time_s", "attenuation_db"];
/// No link has more to lose.
const MOST: f64 = 200.0;
/// Lines are at least so far apart.
const CLOSEST: Span = Span::from_millis(1);

/// The attenuation of a link over time.
#[derive(Clone, Debug, PartialEq)]
pub struct AttenuationTrace {
    length: Span,
    steps: Vec<(Instant, Decibels)>,
}

impl AttenuationTrace {
    /// Reads a trace; `file` is what errors call it.
    ///
    /// # Errors
    /// When it has other columns, no line, times that are not a millisecond apart, or values that cannot be, with the number
    /// of the line.
    pub fn read(file: &str, text: &str) -> Result<Self, TraceError> {
        let mut reader = ReaderBuilder::new().trim(Trim::All).from_reader(text.as_bytes());
        let header = reader.headers().map_err(|error| broken(file, &error))?;
        if !header.iter().eq(COLUMNS) {
            let problem = format!("the header must be `{}`", COLUMNS.join(","));
            return Err(TraceError::at(file, 1, problem));
        }
        let (mut steps, mut record) = (Vec::new(), ByteRecord::new());
        let (mut last, mut gap) = (None, LEAST);
        while reader.read_byte_record(&mut record).map_err(|error| broken(file, &error))? {
            let line = record.position().map_or(1, csv::Position::line);
            let value = |column: usize, high: f64| {
                let text = record.get(column).unwrap_or_default();
                let text = std::str::from_utf8(text).unwrap_or("\u{fffd}");
                let value: Option<f64> = text.parse().ok();
                value.filter(|value| (0.0..=high).contains(value)).ok_or_else(|| {
                    let problem = format!("`{}` is no number in 0..={high}", Cited(text));
                    TraceError::of(file, line, COLUMNS[column], problem)
                })
            };
            let (seconds, db) = (value(0, LATEST)?, value(1, MOST)?);
            let at = Instant::ZERO + Span::from_secs_f64(seconds);
            if let Some(last) = last {
                if at < last + CLOSEST {
                    let problem = format!("{seconds} s is not {CLOSEST} behind the line before it");
                    return Err(TraceError::of(file, line, COLUMNS[0], problem));
                }
                gap = at.since(last);
            }
            last = Some(at);
            hold(&mut steps, at, Decibels(db));
        }
        let Some(last) = last else {
            return Err(TraceError::whole(file, "it has no line behind its header"));
        };
        Ok(Self { length: last.since(Instant::ZERO) + gap, steps })
    }

    /// The attenuation of a link that replays it; `scale` multiplies the decibels.
    ///
    /// # Errors
    /// When an option cannot be, with its name as the field; `file` is what the error calls the trace.
    pub fn timeline(
        &self,
        file: &str,
        options: &TraceOptions,
    ) -> Result<Timeline<Decibels>, TraceError> {
        options.check(file, self.length)?;
        let scaled = |(at, Decibels(db)): &(Instant, Decibels)| (*at, Decibels(db * options.scale));
        let period = options.repeats.then_some(self.length);
        let timeline = Timeline::new(self.steps.iter().map(scaled).collect(), period);
        let timeline = timeline.map_err(|error| TraceError::whole(file, error.to_string()))?;
        Ok(timeline.starting_at(options.start))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "time_s,attenuation_db\n0,0\n60,3.5\n61,4.25\n";

    fn at(s: u64) -> Instant {
        Instant::ZERO + Span::from_secs(s)
    }

    #[test]
    fn a_file_is_read_as_it_is_written() {
        let trace = AttenuationTrace::read("storm.csv", TEXT).expect("a trace");
        assert_eq!(trace.length, Span::from_secs(62));
        let steps = [(at(0), Decibels(0.0)), (at(60), Decibels(3.5)), (at(61), Decibels(4.25))];
        assert_eq!(trace.steps, steps);
        let options = TraceOptions { scale: 2.0, repeats: false, ..TraceOptions::default() };
        let timeline = trace.timeline("storm.csv", &options).expect("steps");
        assert_eq!(timeline.steps()[2], (at(61), Decibels(8.5)));
        assert_eq!(timeline.period(), None);
    }

    #[test]
    fn what_is_no_attenuation_is_named_with_line_and_column() {
        for (text, said) in [
            ("time_s,rate_bps\n0,1\n", "line 1: the header must be `time_s,attenuation_db`"),
            ("", "line 1: the header must be"),
            ("time_s,attenuation_db\n", "it has no line"),
            ("time_s,attenuation_db\n0,-1\n", "line 2, `attenuation_db`: `-1` is no number in 0"),
            ("time_s,attenuation_db\n0,201\n", "line 2, `attenuation_db`: `201` is no number"),
            ("time_s,attenuation_db\n0,\n", "line 2, `attenuation_db`: `` is no number"),
            ("time_s,attenuation_db\n0,nan\n", "line 2, `attenuation_db`: `nan` is no number"),
            ("time_s,attenuation_db\n0,1\n0.0001,2\n", "line 3, `time_s`: 0.0001 s is not 1 ms"),
            ("time_s,attenuation_db\n0,1\n3\n", "line 3: it is no CSV"),
        ] {
            let error = AttenuationTrace::read("storm.csv", text).expect_err(text).to_string();
            assert!(error.starts_with("storm.csv") && error.contains(said), "{error}");
        }
    }

    #[test]
    fn options_that_cannot_be_are_said() {
        let trace = AttenuationTrace::read("storm.csv", TEXT).expect("a trace");
        let late = TraceOptions { start: Span::from_secs(62), ..TraceOptions::default() };
        let error = trace.timeline("storm.csv", &late).expect_err("too late").to_string();
        assert_eq!(error, "storm.csv, `start`: it lasts 62 s: it cannot start at 62 s");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[ -~\n]{0,200}", table in "[-0-9.e,\n]{0,80}") {
            for text in [text, format!("time_s,attenuation_db\n{table}")] {
                if let Ok(trace) = AttenuationTrace::read("any", &text) {
                    prop_assert!(trace.timeline("any", &TraceOptions::default()).is_ok());
                }
            }
        }
    }
}
