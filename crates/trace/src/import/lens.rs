//! CSV of the LENS data set (Zhao and Pan, MMSys 2024).

use bentpipe_units::{Instant, Span};
use csv::{ReaderBuilder, StringRecord, Trim};

use super::probes::{Probe, trace};
use super::{ImportOptions, Way};
use crate::error::Cited;
use crate::{Trace, TraceError};

/// A loss.
const LOST: f64 = -1.0;
const LONGEST: f64 = 120_000.0;

/// Milliseconds of a round trip with the time of the probe; `uplink` and `downlink` where they were measured.
pub(super) fn import(name: &str, text: &str, options: &ImportOptions) -> Result<Trace, TraceError> {
    let mut reader = ReaderBuilder::new().trim(Trim::All).from_reader(text.as_bytes());
    let broken = |error: &csv::Error| {
        let line = error.position().map(csv::Position::line);
        TraceError { line, ..TraceError::whole(name, format!("it is no CSV: {error}")) }
    };
    let header = reader.headers().map_err(|error| broken(&error))?.clone();
    let column = |name: &str| header.iter().position(|it| it.eq_ignore_ascii_case(name));
    let missing = |column| {
        let problem = format!("the column `{column}` is missing: there are timestamp and rtt");
        TraceError::at(name, 1, problem)
    };
    let time = column("timestamp").ok_or_else(|| missing("timestamp"))?;
    let rtt = column("rtt").ok_or_else(|| missing("rtt"))?;
    let own = column(match options.way {
        Way::Up => "uplink",
        Way::Down => "downlink",
    });
    let mut probes = Vec::new();
    let mut record = StringRecord::new();
    while reader.read_record(&mut record).map_err(|error| broken(&error))? {
        let line = record.position().map_or(1, csv::Position::line);
        let number = |place: usize, field| {
            let text = record.get(place).unwrap_or_default();
            let number: Option<f64> = text.parse().ok().filter(|number: &f64| number.is_finite());
            let problem =
                || TraceError::of(name, line, field, format!("`{}` is no number", Cited(text)));
            number.ok_or_else(problem)
        };
        let (stamp, rtt) = (number(time, "timestamp")?, number(rtt, "rtt")?);
        let at = instant(stamp).ok_or_else(|| {
            TraceError::of(name, line, "timestamp", format!("`{stamp}` is no time of Unix"))
        })?;
        let ms = match own {
            Some(own) => number(own, "uplink, downlink")?,
            None => rtt / 2.0,
        };
        let delay = if rtt == LOST {
            None
        } else if (0.0..=LONGEST).contains(&rtt) && (0.0..=LONGEST).contains(&ms) {
            Some(Span::from_secs_f64(ms / 1e3))
        } else {
            let problem = format!("`{rtt}` is no round trip in ms; -1 is a loss");
            return Err(TraceError::of(name, line, "rtt", problem));
        };
        probes.push(Probe { at, delay });
    }
    trace(name, probes, options)
}

/// A time of Unix in seconds, milliseconds, microseconds or nanoseconds, whichever lies between 1973 and 2242.
fn instant(stamp: f64) -> Option<Instant> {
    let unit = [1e9, 1e6, 1e3, 1.0].into_iter().find(|unit| {
        let seconds = stamp * unit / 1e9;
        (1e8..8.6e9).contains(&seconds)
    });
    // Small numbers count from the start of the measurement in seconds.
    let unit = unit.or((0.0..1e8).contains(&stamp).then_some(1e9))?;
    Some(Instant::from_nanos((stamp * unit) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minus_one_is_a_loss_and_one_way_delays_are_taken_where_they_are() {
        let text = "timestamp,rtt\n1700000000000000000,40\n1700000001000000000,-1\n1700000002000000000,60\n";
        let trace = import("lens.csv", text, &ImportOptions::default()).expect("a trace");
        let at = |s| Instant::ZERO + Span::from_secs(s);
        let ms = Span::from_millis;
        assert_eq!(trace.delay, Some(vec![(at(0), ms(20)), (at(2), ms(30))]));
        assert_eq!(trace.loss, Some(vec![(at(0), 1.0 / 3.0)]));
        let text =
            "timestamp, rtt, uplink, downlink\n1700000000, 40, 25, 14\n1700000001, 40, 25, 15\n";
        for (way, first) in [(Way::Up, 25), (Way::Down, 14)] {
            let options = ImportOptions { way, ..ImportOptions::default() };
            let trace = import("lens.csv", text, &options).expect("a trace");
            assert_eq!(trace.delay.and_then(|steps| Some(steps.first()?.1)), Some(ms(first)));
        }
    }

    #[test]
    fn what_is_no_lens_is_named_with_line_and_field() {
        for (text, said) in [
            ("time,rtt\n1,1\n", "line 1: the column `timestamp` is missing"),
            ("timestamp,delay\n1,1\n", "line 1: the column `rtt` is missing"),
            ("timestamp,rtt\nx,1\n", "line 2, `timestamp`: `x`"),
            ("timestamp,rtt\n1,-2\n", "line 2, `rtt`: `-2`"),
            ("timestamp,rtt\n", "there is no probe in it"),
        ] {
            let error = import("lens.csv", text, &ImportOptions::default()).expect_err(text);
            assert!(error.to_string().contains(said), "{error}");
        }
    }
}
