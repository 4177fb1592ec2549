//! Settings of connections over message queues.

use std::sync::Arc;

use bentpipe_cc::BuildError;
use bentpipe_transport::xstp::Config;
use bentpipe_units::{ByteCount, Span};
use bentpipe_wire::qlp::HEADER;
use bentpipe_wire::xstp::PLAIN_HEADER;

use bentpipe_association::Tuning;

use super::queue::MESSAGE;

/// The settings of the XSTP paper's experiments (section 5), with what the user says: segments of
/// 1,000 bytes, buffers of 64,000, three POLLs per round trip. Unlike there, probing is on unless it is
/// said otherwise or a rate is given, and a peer that falls silent ends the connection.
///
/// # Errors
/// When there is no such controller or the rate is out of its range.
pub fn config(tuning: &Tuning) -> Result<Arc<Config>, BuildError> {
    let paper = Config::paper();
    Ok(Arc::new(Config {
        overhead: ByteCount::new((HEADER + PLAIN_HEADER) as u64),
        catch_up: Span::from_millis(20),
        ctl_max_retries: Some(5),
        keepalive: tuning.signs(),
        keepalive_max: tuning.keepalives(),
        no_response: tuning.idle_timeout,
        probing: tuning.probing.unwrap_or(tuning.rate.is_none()),
        controller: tuning.choice("stp")?,
        ..paper
    }))
}

/// Whether the longest segment of a connection fits into a message: data, a POLL, a report and an ENDAK in one.
pub fn fits(config: &Config) -> bool {
    let blocks = PLAIN_HEADER + 4 + 12 + 4 * config.stat_max_gaps as usize + 4;
    HEADER + blocks + usize::from(config.mss) <= MESSAGE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_settings_are_taken_over_and_the_users_word_counts() {
        let settings = config(&Tuning::default()).expect("settings");
        assert_eq!(settings.validate(), Ok(()));
        assert_eq!((settings.mss, settings.snd_buf.get(), settings.poll_rate), (1000, 64_000, 3));
        assert!(settings.probing);
        let off =
            Tuning { probing: Some(false), idle_timeout: Span::from_secs(60), ..Tuning::default() };
        let off = config(&off).expect("settings");
        assert_eq!(
            (off.probing, off.no_response, off.keepalive_max),
            (false, Span::from_secs(60), 6)
        );
        let unknown = Tuning { controller: Some("rneo".to_owned()), ..Tuning::default() };
        assert!(config(&unknown).is_err());
    }

    #[test]
    fn the_largest_segment_fits_into_a_message() {
        let settings = config(&Tuning::default()).expect("settings");
        assert!(fits(&settings));
        assert!(!fits(&Config { mss: 1400, ..(*settings).clone() }));
    }
}
