//! Settings of connections over packet radio.

use std::sync::Arc;

use bentpipe_association::Tuning;
use bentpipe_cc::BuildError;
use bentpipe_transport::xstp::Config;
use bentpipe_units::{ByteCount, Span};
use bentpipe_wire::radio::OVERHEAD;
use bentpipe_wire::xstp::{Body, Flow, GapList, PLAIN_HEADER, Report, ReportKind, Segment};

use super::Digis;
use super::framing::room;

/// Segments under way at most: what a TNC has to hold, and what it may send behind one key-up. At 1,200 bit/s that takes 41 s; Dire
/// Wolf drops frames that have waited for a free channel for a minute.
const WINDOW: u64 = 24;
/// Segments under way at first: as many as AX.25 lets be unacknowledged.
const FIRST_WINDOW: u32 = 7;
/// Time between signs of life of an idle connection, which others on the channel have to listen to.
const KEEPALIVE: Span = Span::from_secs(60);

/// Settings for a channel of 1,200 to 9,600 bit/s on which stations take turns.
///
/// No frame is longer than [`LONGEST_FRAME`](bentpipe_wire::radio::LONGEST_FRAME), whatever a segment says besides its data.
/// Round trips take seconds before one was measured, and one POLL is sent in each. At most 24 segments are under way.
///
/// # Errors
/// When there is no such controller or the rate is out of its range.
pub fn config(tuning: &Tuning, digis: &Digis) -> Result<Arc<Config>, BuildError> {
    let tuning = Tuning { keepalive: KEEPALIVE, ..tuning.clone() };
    let mss = room(digis) - header(Flow { poll: Some(0), ..Flow::default() });
    let overhead =
        OVERHEAD + PLAIN_HEADER + digis.as_slice().len() * bentpipe_wire::radio::ax25::REPEATER;
    let buffer = ByteCount::new(WINDOW * mss as u64);
    Ok(Arc::new(Config {
        mss: mss as u16,
        overhead: ByteCount::new(overhead as u64),
        snd_buf: buffer,
        rcv_buf: buffer * 2,
        cwnd_init: FIRST_WINDOW,
        // What may go goes at once: all of it behind one key-up, each of which costs as much as some frames.
        initial_burst: u32::MAX,
        max_burst: WINDOW as u32,
        nagle: false,
        stat_max_gaps: most_gaps(digis) as u32,
        poll_rate: 1,
        rtt_init: Span::from_secs(5),
        rto_min: Span::from_secs(2),
        ctl_rto_init: Span::from_secs(5),
        ctl_max_retries: Some(5),
        idle_threshold: Span::from_secs(60),
        catch_up: Span::from_millis(20),
        keepalive: tuning.signs(),
        keepalive_max: tuning.keepalives(),
        no_response: tuning.idle_timeout,
        probing: tuning.probing.unwrap_or(false),
        controller: tuning.choice("stp")?,
        ..Config::paper()
    }))
}

/// Bytes of the header of a segment that says this.
fn header(flow: Flow) -> usize {
    Segment { body: Body::Flow(flow), ..Segment::default() }.header_len()
}

/// Gaps for which a report has room beside everything but data.
fn most_gaps(digis: &Digis) -> usize {
    let gaps = GapList::new();
    let (kind, next) = (ReportKind::Stat, Default::default());
    let report = Report { kind, ts_echo: 0, received_at: None, next, more: false, gaps };
    let end_ack = Some(next);
    let rest = header(Flow { poll: Some(0), report: Some(report), end_ack, ..Flow::default() });
    (room(digis) - rest) / 4
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digis(count: usize) -> Digis {
        vec!["DIGI".parse().expect("a call sign"); count].try_into().expect("not too many")
    }

    #[test]
    fn data_with_a_poll_fill_the_longest_frame() {
        for (count, mss) in [(0, 158), (1, 151), (8, 102)] {
            let settings = config(&Tuning::default(), &digis(count)).expect("settings");
            assert_eq!(settings.validate(), Ok(()));
            assert_eq!(settings.mss, mss, "with {count} digis");
        }
    }

    #[test]
    fn what_the_user_says_counts() {
        let tuning =
            Tuning { probing: Some(true), idle_timeout: Span::from_secs(100), ..Tuning::default() };
        let settings = config(&tuning, &digis(0)).expect("settings");
        assert!(settings.probing);
        assert_eq!(
            (settings.no_response, settings.keepalive),
            (Span::from_secs(100), Span::from_secs(20))
        );
        let unknown = Tuning { controller: Some("rneo".to_owned()), ..Tuning::default() };
        assert!(config(&unknown, &digis(0)).is_err());
    }
}
