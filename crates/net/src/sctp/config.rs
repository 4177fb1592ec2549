//! Settings of SCTP over real networks.

use std::sync::Arc;

use bentpipe_cc::BuildError;
use bentpipe_transport::sctp::Config;
use bentpipe_units::{ByteCount, Span};

use bentpipe_association::Tuning;

/// Every path carries this (RFC 8200, section 5).
const MTU: u16 = 1280;
/// Longer packets than an Ethernet's are not looked for.
const MOST_MTU: u16 = 1500;
/// Headers of IPv6 and UDP, the longest there are.
const HEADERS: u16 = 48;
const BUFFER: ByteCount = ByteCount::new(4_000_000);
/// Windows of two bandwidth-delay products leave room for repairs.
const PRODUCTS: u64 = 2;
const LONG_ROUND_TRIP: Span = Span::from_millis(700);
/// After an outage a path is tried this often.
const RTO_MAX: Span = Span::from_secs(8);
/// Timeouts of a second and two make a path inactive: a link that went down.
const PATH_MAX_RETRANS: u32 = 1;
/// Requests until they come every [`RTO_MAX`], and the time that they take.
const DOUBLINGS: u32 = 3;
const DOUBLING: Span = Span::from_secs(7);
/// Idle paths are tried this often.
const HEARTBEAT: Span = Span::from_secs(5);

/// The settings of an association as a user of real networks wants them.
///
/// Packets have at most 1,232 bytes at first, which with the longest headers are the 1,280 that every path
/// carries, and up to 1,452 once all paths are known to carry them. ECN is offered. Two timeouts in a row
/// make a path inactive.
///
/// # Errors
/// When there is no such controller or the rate is out of its range.
pub fn config(tuning: &Tuning) -> Result<Arc<Config>, BuildError> {
    let product = tuning.rate.map(|rate| rate.bytes_in(LONG_ROUND_TRIP) * PRODUCTS);
    let buffer = product.map_or(BUFFER, |bytes| bytes.max(BUFFER));
    let rest = tuning.idle_timeout.saturating_sub(DOUBLING);
    let requests = DOUBLINGS + (rest.as_nanos() / RTO_MAX.as_nanos()) as u32;
    Ok(Arc::new(Config {
        mtu: MTU,
        mtu_most: Some(MOST_MTU),
        ip_overhead: HEADERS,
        snd_buf: buffer,
        rcv_buf: buffer,
        nagle: false,
        rto_max: RTO_MAX,
        path_max_retrans: PATH_MAX_RETRANS,
        association_max_retrans: u32::MAX,
        no_response: tuning.idle_timeout,
        max_init_retransmits: requests,
        heartbeat: HEARTBEAT,
        ecn: true,
        asconf: true,
        controller: tuning.choice("sctp")?,
        ..Config::default()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_repeated_as_long_as_the_user_waits() {
        let tuning = Tuning { idle_timeout: Span::from_secs(300), ..Tuning::default() };
        let config = config(&tuning).expect("settings");
        assert_eq!(config.validate(), Ok(()));
        // 1, 2 and 4 s, then every 8 s.
        assert_eq!(config.max_init_retransmits, 3 + 36);
        assert_eq!(config.no_response, tuning.idle_timeout);
    }

    #[test]
    fn a_rate_brings_its_controller_and_buffers_of_two_products() {
        let rate = Some(bentpipe_units::BitRate::from_bps(100_000_000));
        let config = config(&Tuning { rate, ..Tuning::default() }).expect("settings");
        assert_eq!(config.controller.name(), "rate");
        assert_eq!(config.snd_buf, ByteCount::new(17_500_000));
        assert_eq!(config.validate(), Ok(()));
    }
}
