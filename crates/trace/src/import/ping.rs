//! What `ping` prints.

use bentpipe_units::{Instant, Span};

use super::ImportOptions;
use super::probes::{Probe, trace};
use crate::error::Cited;
use crate::{Trace, TraceError};

/// More probes than anybody sends: a year of a thousand in a second.
const MOST: u64 = 32_000_000_000;
/// Numbers that are not seen are probes without an answer, if there are no more in all.
const MOST_MISSING: u64 = 1_000_000;

/// Half of each round trip, at the time of the answer or in the order of the numbers.
pub(super) fn import(name: &str, text: &str, options: &ImportOptions) -> Result<Trace, TraceError> {
    let mut probes: Vec<Probe> = Vec::new();
    let (mut high, mut last, mut missing) = (0u64, None, 0u64);
    for (number, line) in (1..).zip(text.lines()) {
        let Some(seq) = after(line, "icmp_seq=").or_else(|| after(line, "seq=")) else { continue };
        let wrong = |field, problem: String| TraceError::of(name, number, field, problem);
        let seq: u64 = digits(seq)
            .parse()
            .map_err(|_| wrong("icmp_seq", format!("`{}` begins with no number", Cited(seq))))?;
        // The number has 16 bits on the wire, and most programs show no more.
        let wide = last.map_or(seq, |last: u64| unwrapped(last, seq));
        last = Some(wide);
        missing += wide.saturating_sub(high + 1);
        if wide > MOST || missing > MOST_MISSING {
            let problem =
                format!("{seq}: more than {MOST_MISSING} numbers up to it are not in the file");
            return Err(wrong("icmp_seq", problem));
        }
        let stamp = line.strip_prefix('[').and_then(|rest| rest.split(']').next());
        let at = match stamp {
            Some(stamp) => {
                let seconds: Option<f64> =
                    stamp.parse().ok().filter(|s: &f64| (0.0..1e11).contains(s));
                let seconds = seconds.ok_or_else(|| {
                    wrong("time", format!("`{}` is no time in seconds", Cited(stamp)))
                })?;
                Instant::ZERO + Span::from_secs_f64(seconds)
            }
            None => Instant::ZERO + options.interval * wide,
        };
        let delay = match after(line, "time=") {
            Some(rtt) => Some(half(rtt).ok_or_else(|| {
                wrong("time", format!("`{}` is no round trip in milliseconds", Cited(rtt)))
            })?),
            None => None,
        };
        // Probes whose numbers never came.
        if stamp.is_none() {
            for missing in high + 1..wide {
                let at = Instant::ZERO + options.interval * missing;
                probes.push(Probe { at, delay: None });
            }
        } else if let Some(before) = probes.last().filter(|_| high > 0 && wide > high + 1) {
            let (from, step) = (before.at, at.since(before.at) / (wide - high));
            for missing in 1..wide - high {
                probes.push(Probe { at: from + step * missing, delay: None });
            }
        }
        high = high.max(wide);
        probes.push(Probe { at, delay });
    }
    trace(name, probes, options)
}

/// A number of 16 bits as the one that is nearest to another.
fn unwrapped(last: u64, seq: u64) -> u64 {
    if seq > u64::from(u16::MAX) {
        return seq;
    }
    let lap = last & !0xffff;
    [lap.saturating_sub(0x1_0000) + seq, lap + seq, lap + 0x1_0000 + seq]
        .into_iter()
        .min_by_key(|candidate| candidate.abs_diff(last))
        .unwrap_or(seq)
}

fn after<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.split_once(key).map(|(_, rest)| rest)
}

fn digits(text: &str) -> &str {
    text.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default()
}

/// Half of a round trip such as `23.4 ms`.
fn half(text: &str) -> Option<Span> {
    let number = text.split(|c: char| !(c.is_ascii_digit() || c == '.')).next()?;
    let ms: f64 = number.parse().ok().filter(|ms| (0.0..=120_000.0).contains(ms))?;
    Some(Span::from_secs_f64(ms / 2e3))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "PING 1.1.1.1 (1.1.1.1) 56(84) bytes of data.\n\
        64 bytes from 1.1.1.1: icmp_seq=1 ttl=57 time=40.0 ms\n\
        64 bytes from 1.1.1.1: icmp_seq=3 ttl=57 time=60.0 ms\n\
        \n--- 1.1.1.1 ping statistics ---\n3 packets transmitted, 2 received, 33% packet loss\n";

    #[test]
    fn half_of_the_round_trip_is_the_delay_and_a_missing_number_a_loss() {
        let trace = import("ping.txt", TEXT, &ImportOptions::default()).expect("a trace");
        let at = |s| Instant::ZERO + Span::from_secs(s);
        let ms = Span::from_millis;
        assert_eq!(trace.delay, Some(vec![(at(0), ms(20)), (at(2), ms(30))]));
        assert_eq!(trace.loss, Some(vec![(at(0), 1.0 / 3.0)]));
        assert_eq!((trace.up, trace.length), (None, Span::from_secs(3)));
    }

    #[test]
    fn stamps_say_when_answers_came() {
        let text = "[1700000000.5] 64 bytes from x: icmp_seq=65535 ttl=5 time=10 ms\n\
                    [1700000002.5] 64 bytes from x: icmp_seq=1 ttl=5 time=12 ms\n\
                    [1700000003.5] no answer yet for icmp_seq=2\n";
        let trace = import("ping.txt", text, &ImportOptions::default()).expect("a trace");
        assert_eq!(trace.length, Span::from_secs(4));
        assert_eq!(trace.loss, Some(vec![(Instant::ZERO, 0.5)]), "the number goes around");
    }

    #[test]
    fn what_is_no_output_of_ping_is_named() {
        for (text, said) in [
            ("hello", "there is no probe in it"),
            ("icmp_seq=x time=1 ms", "line 1, `icmp_seq`"),
            ("icmp_seq=1 time=fast", "line 1, `time`: `fast`"),
            ("icmp_seq=1 time=-3 ms", "line 1, `time`"),
            (
                "icmp_seq=1 time=1 ms\nicmp_seq=99999999 time=1 ms",
                "line 2, `icmp_seq`: 99999999: more than 1000000 numbers",
            ),
            ("[now] icmp_seq=1 time=1 ms", "line 1, `time`: `now`"),
        ] {
            let error = import("ping.txt", text, &ImportOptions::default()).expect_err(text);
            assert!(error.to_string().contains(said), "{error}");
        }
    }
}
