//! Points of civil time, for orbits that are those of real satellites.

use std::fmt;
use std::str::FromStr;

use bentpipe_units::Span;
use chrono::{NaiveDate, NaiveDateTime, NaiveTime, TimeDelta};

/// A point of time in UTC, without leap seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Epoch(NaiveDateTime);

impl Epoch {
    pub(crate) const fn new(at: NaiveDateTime) -> Self {
        Self(at)
    }

    /// The date and the time.
    #[cfg(test)]
    pub(crate) const fn get(self) -> NaiveDateTime {
        self.0
    }

    /// The point of time so much later; the end of the calendar when there is none.
    #[must_use]
    pub fn after(self, span: Span) -> Self {
        let nanos = i64::try_from(span.as_nanos()).unwrap_or(i64::MAX);
        let later = self.0.checked_add_signed(TimeDelta::nanoseconds(nanos));
        Self(later.unwrap_or(NaiveDateTime::MAX))
    }

    /// How far the day has come.
    pub(crate) fn time_of_day(self) -> Span {
        let since = self.0.time() - NaiveTime::MIN;
        Span::from_nanos(since.num_nanoseconds().map_or(0, i64::unsigned_abs))
    }

    /// Minutes from `earlier` to this point of time; negative when it is not earlier.
    pub(crate) fn minutes_since(self, earlier: Self) -> f64 {
        let between = self.0 - earlier.0;
        between.num_seconds() as f64 / 60.0 + f64::from(between.subsec_nanos()) / 60e9
    }

    /// The angle of the Earth in radians: Greenwich mean sidereal time of 1982, as SGP4 has it.
    pub(crate) fn sidereal_angle(self) -> f64 {
        sgp4::iau_epoch_to_sidereal_time(sgp4::julian_years_since_j2000(&self.0))
    }
}

impl FromStr for Epoch {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bare = text.trim().trim_end_matches('Z');
        let day = || NaiveDate::from_str(bare).ok().and_then(|day| day.and_hms_opt(0, 0, 0));
        NaiveDateTime::from_str(bare).ok().or_else(day).map(Self).ok_or_else(|| {
            format!("`{text}` is not a time: write it in UTC, such as 2026-11-21T12:00:00")
        })
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The debug form is that of ISO 8601.
        write!(f, "{:?}Z", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_can_be_read_back() {
        for text in ["2026-11-21T12:00:00Z", "2020-07-12T01:19:07.402656Z"] {
            assert_eq!(text.parse::<Epoch>().expect(text).to_string(), text);
        }
        let day: Epoch = "2026-11-21".parse().expect("a day");
        assert_eq!(day.after(Span::from_secs(90)).to_string(), "2026-11-21T00:01:30Z");
        for wrong in ["", "yesterday", "2026-13-01", "2026-11-21T25:00:00"] {
            assert!(wrong.parse::<Epoch>().expect_err(wrong).contains("2026-11-21T12:00:00"));
        }
    }

    #[test]
    fn minutes_count_in_both_directions() {
        let early: Epoch = "2026-11-21T11:59:59.5".parse().expect("a time");
        let late = early.after(Span::from_millis(90_500));
        assert!((late.minutes_since(early) - 90.5 / 60.0).abs() < 1e-12);
        assert!((early.minutes_since(late) + 90.5 / 60.0).abs() < 1e-12);
    }

    #[test]
    fn greenwich_stood_at_280_degrees_at_the_epoch_of_2000() {
        let noon: Epoch = "2000-01-01T12:00:00".parse().expect("a time");
        assert!((noon.sidereal_angle().to_degrees() - 280.460_618).abs() < 1e-5);
    }
}
