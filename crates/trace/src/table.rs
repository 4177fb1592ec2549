//! The table that a trace of the project's own is, whatever file it stands in.

use bentpipe_units::{BitRate, Instant, Span};

use crate::Trace;
use crate::trace::{Rate, hold};

/// The columns, in the order in which they are written.
pub const COLUMNS: [&str; 5] = ["time_s", "rate_bps", "delay_s", "loss", "up"];
/// The columns of numbers come before that of the state.
pub(crate) const NUMBERS: usize = 4;
/// The longest trace: a year.
pub(crate) const LATEST: f64 = 366.0 * 86_400.0;
/// A trace of one line lasts so long.
pub(crate) const LEAST: Span = Span::from_secs(1);
const FASTEST: f64 = 1e13;
const LONGEST_DELAY: f64 = 60.0;
/// The largest value of each column of numbers; the least one is 0.
const MOST: [f64; NUMBERS] = [LATEST, FASTEST, LONGEST_DELAY, 1.0];

/// One line: what holds from its time on. `None` changes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Row {
    /// Time, rate, delay and loss, in the units of the columns.
    pub numbers: [Option<f64>; NUMBERS],
    /// Whether the link is up.
    pub up: Option<bool>,
}

/// What is wrong with a row: the column and the problem.
pub(crate) type Wrong = (&'static str, String);

/// What is wrong with a value of a column of numbers, as it was written.
pub(crate) fn out_of_range(column: usize, written: impl std::fmt::Display) -> Wrong {
    (COLUMNS[column], format!("`{written}` is no number in 0..={}", MOST[column]))
}

/// Rows that become a trace.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    rate: Vec<(Instant, Option<BitRate>)>,
    delay: Vec<(Instant, Span)>,
    loss: Vec<(Instant, f64)>,
    up: Vec<(Instant, bool)>,
    last: Option<Instant>,
    gap: Option<Span>,
}

impl Rows {
    /// Adds the next row.
    ///
    /// # Errors
    /// When it has no time, one that is not later than the one before it, or a value that cannot be.
    pub(crate) fn push(&mut self, row: &Row) -> Result<(), Wrong> {
        for (column, number) in row.numbers.iter().enumerate() {
            if let Some(value) = number.filter(|value| !(0.0..=MOST[column]).contains(value)) {
                return Err(out_of_range(column, value));
            }
        }
        let [seconds, rate, delay, loss] = row.numbers;
        let seconds =
            seconds.ok_or((COLUMNS[0], "it is missing: each line has a time".to_owned()))?;
        let at = Instant::ZERO + Span::from_secs_f64(seconds);
        if let Some(last) = self.last.filter(|last| at <= *last) {
            let problem = format!("{seconds} s is not later than the {} s before it", since(last));
            return Err((COLUMNS[0], problem));
        }
        self.gap = self.last.map(|last| at.since(last));
        self.last = Some(at);
        if let Some(bps) = rate {
            hold(&mut self.rate, at, (bps >= 1.0).then(|| BitRate::from_bps(bps as u64)));
        }
        if let Some(seconds) = delay {
            hold(&mut self.delay, at, Span::from_secs_f64(seconds));
        }
        if let Some(probability) = loss {
            hold(&mut self.loss, at, probability);
        }
        if let Some(up) = row.up {
            hold(&mut self.up, at, up);
        }
        Ok(())
    }

    /// The trace of these rows.
    ///
    /// # Errors
    /// When there is none, they tell nothing, or there is no time at which something can be sent.
    pub(crate) fn trace(self) -> Result<Trace, String> {
        let Some(last) = self.last else {
            return Err("it has no line behind its header".to_owned());
        };
        if self.rate.is_empty()
            && self.delay.is_empty()
            && self.loss.is_empty()
            && self.up.is_empty()
        {
            return Err("no line has a value besides `time_s`".to_owned());
        }
        if !self.rate.is_empty() && self.rate.iter().all(|(_, rate)| rate.is_none()) {
            return Err("`rate_bps` is nowhere above zero".to_owned());
        }
        Ok(Trace {
            length: last.since(Instant::ZERO) + self.gap.unwrap_or(LEAST),
            rate: some(self.rate).map(Rate::Steps),
            delay: some(self.delay),
            loss: some(self.loss),
            up: some(self.up),
        })
    }
}

/// The values of a column that has some.
fn some<T>(steps: Vec<T>) -> Option<Vec<T>> {
    (!steps.is_empty()).then_some(steps)
}

/// Where each column is among those of a file.
///
/// # Errors
/// When one is not known or comes twice, or those that there are tell nothing.
pub(crate) fn places<'a>(
    names: impl Iterator<Item = &'a str>,
) -> Result<[Option<usize>; COLUMNS.len()], String> {
    let known = COLUMNS.join(", ");
    let mut columns = [None; COLUMNS.len()];
    for (place, name) in names.enumerate() {
        let Some(column) = COLUMNS.iter().position(|known| *known == name) else {
            let name = crate::error::Cited(name);
            return Err(format!("there is no column `{name}`; there are {known}"));
        };
        if columns[column].replace(place).is_some() {
            return Err(format!("the column `{name}` comes twice"));
        }
    }
    match columns {
        [None, ..] => Err("the column `time_s` is missing".to_owned()),
        [_, None, None, None, None] => {
            Err(format!("`time_s` alone tells nothing; there are {known}"))
        }
        columns => Ok(columns),
    }
}

/// Which columns a trace has, and its rows. Opportunities become the rate of each tenth of a second. A trace lasts as long behind its
/// last row as that lies behind the one before: where this is not its length, a row that changes nothing makes it so.
pub(crate) fn rows(trace: &Trace) -> ([bool; COLUMNS.len()], Vec<Row>) {
    let rates = trace.rate_steps();
    let mut times: Vec<Instant> = Vec::new();
    times.extend(rates.iter().flatten().map(|(at, _)| *at));
    times.extend(trace.delay.iter().flatten().map(|(at, _)| *at));
    times.extend(trace.loss.iter().flatten().map(|(at, _)| *at));
    times.extend(trace.up.iter().flatten().map(|(at, _)| *at));
    times.sort_unstable();
    times.dedup();
    let has =
        [true, rates.is_some(), trace.delay.is_some(), trace.loss.is_some(), trace.up.is_some()];
    let length = Instant::ZERO + trace.length;
    let last = times.last().copied().unwrap_or(Instant::ZERO);
    let before = times.iter().rev().nth(1);
    let behind = before.map_or(LEAST, |before| last.since(*before));
    let half = Instant::since(length, last) / 2;
    if last + behind != length && !half.is_zero() {
        times.push(last + half);
    }
    let rows = times.into_iter().map(|at| {
        let rate = at_time(rates.as_deref(), at);
        let rate = rate.map(|rate| rate.map_or(0, BitRate::as_bps) as f64);
        let delay = at_time(trace.delay.as_deref(), at).map(Span::as_secs_f64);
        let loss = at_time(trace.loss.as_deref(), at);
        Row { numbers: [Some(since(at)), rate, delay, loss], up: at_time(trace.up.as_deref(), at) }
    });
    (has, rows.collect())
}

impl Trace {
    /// A row for each time at which something changes, with all that holds from then on. What is `None` the trace does not
    /// tell, or not yet.
    pub fn rows(&self) -> Vec<Row> {
        let mut holds = Row::default();
        let rows = rows(self).1.into_iter().map(|row| {
            for (holds, number) in holds.numbers.iter_mut().zip(row.numbers) {
                *holds = number.or(*holds);
            }
            holds.up = row.up.or(holds.up);
            holds
        });
        rows.collect()
    }
}

/// Whether a trace could be read again once it is written: what is wrong with the first value that could not.
pub(crate) fn check(trace: &Trace) -> Result<(), Wrong> {
    let mut table = Rows::default();
    let (_, rows) = rows(trace);
    rows.iter().try_for_each(|row| table.push(row))
}

/// What a column says at a time; nothing where it does not change.
fn at_time<T: Copy>(steps: Option<&[(Instant, T)]>, at: Instant) -> Option<T> {
    let steps = steps.unwrap_or_default();
    let place = steps.binary_search_by_key(&at, |(time, _)| *time).ok()?;
    Some(steps[place].1)
}

fn since(at: Instant) -> f64 {
    at.since(Instant::ZERO).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    fn read_again(trace: &Trace) -> Trace {
        let mut table = Rows::default();
        rows(trace).1.iter().for_each(|row| table.push(row).expect("a row"));
        table.trace().expect("a trace")
    }

    #[test]
    fn what_holds_is_told_in_each_row() {
        let text = "time_s,rate_bps,delay_s,up\n0,1e6,,1\n1,,0.02,\n2,,,0\n";
        let rows = crate::read("own.csv", text.as_bytes()).expect("a trace").rows();
        let [time, rate, delay, loss] = rows[2].numbers;
        assert_eq!((time, rate, delay, loss), (Some(2.0), Some(1e6), Some(0.02), None));
        assert_eq!((rows[0].numbers[2], rows[1].up, rows[2].up), (None, Some(true), Some(false)));
    }

    #[test]
    fn a_trace_is_as_long_when_it_is_read_again_as_it_was() {
        let up = |steps: &[(u64, bool)]| {
            Some(steps.iter().map(|(ms, up)| (at(*ms), *up)).collect::<Vec<_>>())
        };
        for (length, steps) in [
            (1_000, &[(0, true)][..]),
            (600_000, &[(0, true)]),
            (60_000, &[(0, true), (5_000, false), (10_000, true)]),
            (15_000, &[(0, true), (5_000, false), (10_000, true)]),
            (10_000, &[(0, true), (4_001, false)]),
            (4_002, &[(0, true), (4_001, false)]),
        ] {
            let trace = Trace { up: up(steps), ..Trace::silent(Span::from_millis(length)) };
            assert_eq!(read_again(&trace), trace, "{length} ms");
        }
    }
}
