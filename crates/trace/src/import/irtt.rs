//! The JSON of irtt.

use bentpipe_units::{Instant, Span};
use serde::Deserialize;

use super::probes::{Probe, trace};
use super::{ImportOptions, Way};
use crate::{Trace, TraceError};

#[derive(Deserialize)]
struct Document {
    round_trips: Vec<RoundTrip>,
}

#[derive(Deserialize)]
struct RoundTrip {
    #[serde(default)]
    lost: String,
    timestamps: Timestamps,
    delay: Option<Delay>,
}

#[derive(Deserialize)]
struct Timestamps {
    client: Ends,
}

#[derive(Deserialize)]
struct Ends {
    send: Clocks,
}

#[derive(Deserialize)]
struct Clocks {
    monotonic: Option<u64>,
    wall: Option<u64>,
}

/// Nanoseconds; one-way delays are of use only where both clocks agree.
#[derive(Deserialize)]
struct Delay {
    rtt: Option<i64>,
    send: Option<i64>,
    receive: Option<i64>,
}

impl Delay {
    /// The one-way delay where both ways are known and no longer than the round trip, or else half of that.
    fn one_way(&self, way: Way) -> Option<Span> {
        let rtt = u64::try_from(self.rtt?).ok()?;
        let known = |nanos: Option<i64>| nanos.and_then(|nanos| u64::try_from(nanos).ok());
        let both = known(self.send).zip(known(self.receive));
        let fits =
            both.filter(|(send, receive)| *send > 0 && *receive > 0 && send + receive <= rtt);
        let nanos = fits.map_or(rtt / 2, |(send, receive)| match way {
            Way::Up => send,
            Way::Down => receive,
        });
        Some(Span::from_nanos(nanos))
    }
}

pub(super) fn import(name: &str, text: &str, options: &ImportOptions) -> Result<Trace, TraceError> {
    let document: Document = serde_json::from_str(text).map_err(|error| {
        let line = Some(error.line() as u64);
        TraceError { line, ..TraceError::whole(name, format!("it is no JSON of irtt: {error}")) }
    })?;
    let probes = (0..).zip(&document.round_trips).map(|(number, trip)| {
        let clocks = &trip.timestamps.client.send;
        let at = match clocks.monotonic.or(clocks.wall) {
            Some(nanos) => Instant::from_nanos(nanos),
            None => Instant::ZERO + options.interval * number,
        };
        let answered = trip.lost != "true";
        let delay = trip.delay.as_ref().filter(|_| answered);
        Probe { at, delay: delay.and_then(|delay| delay.one_way(options.way)) }
    });
    trace(name, probes.collect(), options)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(trips: &str) -> String {
        format!("{{\"version\": {{}}, \"round_trips\": [{trips}]}}")
    }

    fn trip(ms: u64, lost: &str, delay: &str) -> String {
        let nanos = ms * 1_000_000;
        format!(
            "{{\"seqno\": 0, \"lost\": \"{lost}\", \"delay\": {{{delay}}},\
             \"timestamps\": {{\"client\": {{\"send\": {{\"wall\": 1, \"monotonic\": {nanos}}}}}}}}}"
        )
    }

    #[test]
    fn one_way_delays_count_where_both_clocks_agree() {
        let trips = [
            trip(0, "false", "\"rtt\": 40000000, \"send\": 25000000, \"receive\": 14000000"),
            trip(20, "false", "\"rtt\": 40000000, \"send\": 90000000, \"receive\": -50000000"),
            trip(40, "true", ""),
        ];
        let text = document(&trips.join(","));
        let ms = |n| Instant::ZERO + Span::from_millis(n);
        for (way, first) in [(Way::Up, 25), (Way::Down, 14)] {
            let options = ImportOptions { way, ..ImportOptions::default() };
            let trace = import("irtt.json", &text, &options).expect("a trace");
            let delays = vec![(ms(0), Span::from_millis(first)), (ms(20), Span::from_millis(20))];
            assert_eq!(trace.delay, Some(delays));
            assert_eq!(trace.length, Span::from_millis(60));
        }
    }

    #[test]
    fn what_is_no_json_of_irtt_is_named_with_its_line() {
        let error = import("irtt.json", "{\n\"x\": }", &ImportOptions::default()).expect_err("bad");
        assert!(
            error.to_string().starts_with("irtt.json, line 2: it is no JSON of irtt"),
            "{error}"
        );
        let error = import("irtt.json", "{}", &ImportOptions::default()).expect_err("bad");
        assert!(error.to_string().contains("round_trips"), "{error}");
    }
}
