//! What links with a cap have carried in this calendar month, and that they carry no more.

use std::fmt;
use std::io;
use std::str::FromStr;
use std::sync::{Arc, Mutex};

use bentpipe_association::endpoint::LINKS;
use bentpipe_association::host::{Host, lock};
use bentpipe_units::{ByteCount, Span};
use chrono::{DateTime, Datelike as _};
use serde::{Deserialize, Serialize};

use crate::{Gateway, LinkStatus, Network};

/// Time between two looks: what a link carries in it may exceed the cap.
const LOOK: Span = Span::from_secs(1);

/// A month of the calendar (UTC), written as 2026-11.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Month {
    year: i32,
    month: u32,
}

impl Month {
    /// The month of a time, in nanoseconds since 1970.
    pub fn of(calendar: u64) -> Self {
        let date = DateTime::from_timestamp_nanos(i64::try_from(calendar).unwrap_or(i64::MAX));
        Self { year: date.year(), month: date.month() }
    }
}

impl fmt::Display for Month {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}", self.year, self.month)
    }
}

impl FromStr for Month {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('-');
        let month = parts.and_then(|(year, month)| Some((year.parse().ok()?, month.parse().ok()?)));
        match month {
            Some((year, month @ 1..=12)) => Ok(Self { year, month }),
            _ => Err(format!("`{text}` is not a month, such as 2026-11")),
        }
    }
}

impl TryFrom<String> for Month {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Month> for String {
    fn from(month: Month) -> Self {
        month.to_string()
    }
}

/// What each link has carried in a month.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// The month.
    pub month: Month,
    /// Bytes by link, the first one first, both directions, all headers included.
    pub carried_bytes: [u64; LINKS],
}

impl Usage {
    fn add(&mut self, other: &Self) {
        for (carried, more) in self.carried_bytes.iter_mut().zip(other.carried_bytes) {
            *carried = carried.saturating_add(more);
        }
    }
}

/// Counts what links carry in a month.
#[derive(Debug)]
pub(crate) struct Meter {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    usage: Usage,
    /// What the host had counted at the latest look.
    seen: [u64; LINKS],
    /// Links that may not be used.
    closed: [bool; LINKS],
    /// What was counted in the month before, if it was the clock of this process that began another one.
    over: Option<Usage>,
}

/// A link has come to its cap, or a month has begun in which it may be used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Change {
    link: usize,
    is_open: bool,
    cap: ByteCount,
}

impl Meter {
    /// One that begins in this month.
    pub(crate) fn new(month: Month) -> Self {
        let usage = Usage { month, carried_bytes: [0; LINKS] };
        let state = State { usage, seen: [0; LINKS], closed: [false; LINKS], over: None };
        Self { state: Mutex::new(state) }
    }

    /// What was counted before a restart.
    pub(crate) fn resume(&self, kept: Usage) {
        let mut state = lock(&self.state);
        // A clock that is behind after a start, as on machines without a battery, begins no month anew.
        if kept.month >= state.usage.month {
            state.usage.add(&kept);
            state.usage.month = kept.month;
        } else {
            state.over = Some(kept);
        }
    }

    /// What was counted in this month.
    pub(crate) fn usage(&self) -> Usage {
        lock(&self.state).usage.clone()
    }

    /// It is this month, and the host has counted so much.
    fn look(
        &self,
        month: Month,
        counted: impl FnOnce() -> [ByteCount; LINKS],
        caps: impl Iterator<Item = (usize, ByteCount)>,
    ) -> Vec<Change> {
        let mut state = lock(&self.state);
        let State { usage, seen, closed, over } = &mut *state;
        if month > usage.month {
            let next = Usage { month, carried_bytes: [0; LINKS] };
            *over = Some(std::mem::replace(usage, next));
        } else if month < usage.month
            && let Some(before) = over.take_if(|before| before.month == month)
        {
            // The clock was ahead, and was set.
            usage.add(&before);
            usage.month = month;
        }
        for (link, counted) in counted().iter().enumerate() {
            usage.carried_bytes[link] += counted.get().saturating_sub(seen[link]);
            seen[link] = counted.get();
        }
        let mut changes = Vec::new();
        for (link, cap) in caps {
            let is_used_up = usage.carried_bytes[link] >= cap.get();
            if std::mem::replace(&mut closed[link], is_used_up) != is_used_up {
                changes.push(Change { link, is_open: !is_used_up, cap });
            }
        }
        changes
    }

    /// Closes what has come to its cap, and opens it when a month begins. `calendar` are nanoseconds since 1970.
    pub(crate) fn look_after(
        &self,
        host: &Host,
        calendar: u64,
        caps: impl Iterator<Item = (usize, ByteCount)>,
    ) {
        let counted = || host.carried_by_links();
        for Change { link, is_open, cap } in self.look(Month::of(calendar), counted, caps) {
            host.set_link_open(link, is_open);
            let link = link + 1;
            if is_open {
                tracing::info!("link {link}: a new month begins, it may carry {cap} again");
            } else {
                tracing::warn!("link {link}: its cap of {cap} is used up until the next month");
            }
        }
    }

    /// The links that have a cap.
    pub(crate) fn status(&self, caps: impl Iterator<Item = (usize, ByteCount)>) -> Vec<LinkStatus> {
        let state = lock(&self.state);
        let status = |(link, cap): (usize, ByteCount)| LinkStatus {
            link: link + 1,
            carried: ByteCount::new(state.usage.carried_bytes[link]),
            cap,
            closed: state.closed[link],
        };
        caps.map(status).collect()
    }
}

/// Looks after the links with a cap for ever.
pub(crate) async fn watch<N: Network>(inner: Arc<Gateway<N>>) -> io::Result<()> {
    loop {
        inner.look_after_caps();
        inner.network.sleep(LOOK).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAP: [(usize, ByteCount); 1] = [(1, ByteCount::new(1_000))];

    fn month(text: &str) -> Month {
        text.parse().expect("a month")
    }

    fn look(meter: &Meter, at: &str, second_link: u64) -> Vec<bool> {
        let mut counted = [ByteCount::new(1 << 40); LINKS];
        counted[1] = ByteCount::new(second_link);
        let changes = meter.look(month(at), || counted, CAP.into_iter());
        changes.iter().map(|change| change.is_open).collect()
    }

    #[test]
    fn a_link_that_has_carried_its_cap_is_closed_until_the_next_month() {
        let meter = Meter::new(month("2026-11"));
        assert_eq!(look(&meter, "2026-11", 999), [false; 0]);
        assert_eq!(look(&meter, "2026-11", 1_000), [false]);
        assert!(meter.status(CAP.into_iter()).iter().all(|link| link.link == 2 && link.closed));
        assert_eq!(look(&meter, "2026-11", 5_000), [false; 0]);
        assert_eq!(look(&meter, "2026-12", 5_400), [true]);
        assert_eq!(meter.usage().carried_bytes[1], 400);
        assert_eq!(look(&meter, "2026-12", 6_000), [false]);
    }

    #[test]
    fn what_was_counted_before_a_restart_counts() {
        let meter = Meter::new(month("2026-11"));
        look(&meter, "2026-11", 900);
        let again = Meter::new(month("2026-11"));
        again.resume(meter.usage());
        assert_eq!(look(&again, "2026-11", 99), [false; 0]);
        assert_eq!(look(&again, "2026-11", 100), [false]);
    }

    #[test]
    fn a_clock_that_is_behind_gives_nothing_away() {
        let meter = Meter::new(month("1970-01"));
        meter.resume(Usage { month: month("2026-11"), carried_bytes: [0, 1_000, 0, 0] });
        assert_eq!(look(&meter, "1970-01", 0), [false]);
        assert_eq!(look(&meter, "2026-11", 0), [false; 0]);
        assert_eq!(look(&meter, "2026-12", 0), [true]);
    }

    #[test]
    fn a_clock_that_was_ahead_and_is_set_gives_nothing_away_and_takes_nothing() {
        let meter = Meter::new(month("2031-01"));
        meter.resume(Usage { month: month("2026-11"), carried_bytes: [0, 900, 0, 0] });
        assert_eq!(look(&meter, "2031-01", 50), [false; 0]);
        assert_eq!(look(&meter, "2026-11", 100), [false]);
        assert_eq!(look(&meter, "2026-12", 100), [true]);
    }

    #[test]
    fn the_usage_of_a_month_that_is_over_is_forgotten() {
        let meter = Meter::new(month("2026-12"));
        meter.resume(Usage { month: month("2026-11"), carried_bytes: [0, 1_000, 0, 0] });
        assert_eq!(look(&meter, "2026-12", 0), [false; 0]);
    }

    #[test]
    fn months_are_those_of_the_calendar() {
        let second = 1_000_000_000;
        assert_eq!(Month::of(0).to_string(), "1970-01");
        assert_eq!(Month::of(1_796_083_199 * second).to_string(), "2026-11");
        assert_eq!(Month::of(1_796_083_200 * second).to_string(), "2026-12");
        assert!("2026-13".parse::<Month>().is_err() && "november".parse::<Month>().is_err());
    }
}
