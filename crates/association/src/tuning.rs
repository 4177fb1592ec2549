//! Settings of connections over real networks.

use std::collections::BTreeMap;
use std::sync::Arc;

use bentpipe_cc::{BuildError, Choice};
use bentpipe_transport::xstp::{Config, StatRule};
use bentpipe_units::{BitRate, ByteCount, Span};
use bentpipe_wire::xstp::PLAIN_HEADER;

/// Payload of a full segment on a path that carries 1,500 bytes: with all headers and a POLL it fills
/// them. What a path carries is found out, and less is sent until then.
const MSS: u16 = 1440;
/// What every path carries (RFC 9293, section 3.7.1): no peer needs less.
const LEAST_MSS: u16 = 536;
/// Headers of IPv4, UDP, the association and a plain data segment.
const OVERHEAD: ByteCount =
    ByteCount::new(28 + crate::secure::OVERHEAD as u64 + 1 + PLAIN_HEADER as u64);
/// A round trip over a geostationary satellite, with some to spare.
const LONG_ROUND_TRIP: Span = Span::from_millis(700);
/// Fewest signs of life within the idle timeout.
const SIGNS: u64 = 5;
/// Windows of four bandwidth-delay products leave room for repairs of repairs.
const PRODUCTS: u64 = 4;
/// Buffers when nothing is known of the link.
const BUFFER: ByteCount = ByteCount::new(32_000_000);
/// Bytes that wait to be sent, if two round trips do not take more: what waits for longer has left the
/// processor's cache when it is sealed.
const UNSENT_LIMIT: ByteCount = ByteCount::new(1_000_000);
/// Window in segments where nothing is known (RFC 6928).
const CWND_INIT: u64 = 10;
const BUFFER_MIN: ByteCount = ByteCount::new(4_000_000);
/// The controllers whose window counts everything from the oldest unacknowledged segment on.
const COUNT_ALL: [&str; 1] = ["stp"];

/// What a user may say of a connection.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// The rate to send at: what the link carries, if it is known and nobody shares it.
    pub rate: Option<BitRate>,
    /// The congestion controller; without one, `rate` where a rate is given, `stp` over message queues
    /// and where losses are probed, and `cubic` otherwise.
    pub controller: Option<String>,
    /// Whether a loss is probed for its cause, as the paper on XSTP has it; without a word, only over
    /// message queues and only if no rate is given.
    pub probing: Option<bool>,
    /// What was found out about the link before: where the window begins, if no rate is given.
    pub known: Option<KnownLink>,
    /// Most bytes that wait at either end of a connection; as much as the link asks for without a word.
    pub buffer: Option<ByteCount>,
    /// A connection ends when nothing was heard for so long; blackouts may last nearly as long.
    pub idle_timeout: Span,
    /// Time between signs of life on an idle connection, or a fifth of `idle_timeout` if that is less.
    pub keepalive: Span,
    /// Segments at the beginning that are not spread over a round trip, if no rate is given: short messages that
    /// follow each other do not wait then. Within [the first window](Config::cwnd_init).
    pub initial_burst: u32,
}

/// A link as an earlier transfer found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownLink {
    /// Rate of the payload.
    pub rate: BitRate,
    /// Round-trip time.
    pub round_trip: Span,
}

impl KnownLink {
    /// What was under way at a time, in segments.
    fn segments(self) -> u64 {
        (self.rate.bytes_in(self.round_trip).get() / u64::from(MSS)).max(1)
    }
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            rate: None,
            controller: None,
            probing: None,
            known: None,
            buffer: None,
            idle_timeout: Span::from_secs(300),
            keepalive: Self::KEEPALIVE,
            initial_burst: 0,
        }
    }
}

impl Tuning {
    /// Time between signs of life on an idle connection, unless it is said otherwise.
    pub const KEEPALIVE: Span = Span::from_secs(10);

    /// The controller, with the rate if it takes one; `otherwise` if nothing is said.
    pub fn choice(&self, otherwise: &str) -> Result<Choice, BuildError> {
        let fitting = if self.rate.is_some() { "rate" } else { otherwise };
        let name = self.controller.as_deref().unwrap_or(fitting);
        let mut parameters = BTreeMap::new();
        if let Some(rate) = self.rate
            && name == "rate"
        {
            parameters.insert("rate".to_owned(), rate.as_bps() as f64);
        }
        if name == "cubic" {
            // The queue of a long link would overflow if slow start ended slowly.
            parameters.insert("delay_probe_start".to_owned(), 1.0);
            // Noise that is taken for congestion shall not empty the link.
            parameters.insert("floor_to_delivered".to_owned(), 1.0);
        }
        if let Some(known) = self.known
            && matches!(name, "cubic" | "steady")
        {
            // Slow start ends where it filled the link.
            parameters.insert("initial_ssthresh".to_owned(), known.segments() as f64);
        }
        Choice::new(name, parameters)
    }

    /// Time between signs of life: several within the idle timeout, or one that is lost would end the connection.
    pub fn signs(&self) -> Span {
        self.keepalive.min(self.idle_timeout / SIGNS)
    }

    /// Signs of life without answer that end an idle connection.
    pub fn keepalives(&self) -> u32 {
        (self.idle_timeout.as_nanos() / self.signs().as_nanos().max(1)).max(1) as u32
    }

    /// As [`Tuning::config`], for a connection that asks for an answer until whoever opens it stops waiting.
    ///
    /// # Errors
    /// As there.
    pub fn persistent_config(&self) -> Result<Arc<Config>, BuildError> {
        Ok(Arc::new(Config { ctl_max_retries: None, ..(*self.config()?).clone() }))
    }

    /// The settings of a connection.
    ///
    /// # Errors
    /// When there is no such controller or the rate is out of its range.
    pub fn config(&self) -> Result<Arc<Config>, BuildError> {
        let product = self.rate.map(|rate| rate.bytes_in(LONG_ROUND_TRIP) * PRODUCTS);
        let probing = self.probing.unwrap_or(false);
        let controller = self.choice(if probing { "stp" } else { "steady" })?;
        // Three quarters leave room for somebody who came in the meantime.
        let known = self.known.map_or(0, |known| known.segments() * 3 / 4);
        let cwnd_init = known.clamp(CWND_INIT, u64::from(u16::MAX)) as u32;
        let wanted = product.map_or(BUFFER, |bytes| bytes.max(BUFFER_MIN));
        let snd_buf = self.buffer.unwrap_or(wanted);
        let rcv_buf = self.buffer.unwrap_or(BUFFER.max(snd_buf));
        Ok(Arc::new(Config {
            mss: MSS,
            least_mss: LEAST_MSS,
            overhead: OVERHEAD,
            adapt_payload: true,
            tail_copies: true,
            answer_copies: true,
            receive_timestamps: true,
            snd_buf,
            unsent_limit: Some(UNSENT_LIMIT),
            rcv_buf,
            cwnd_init,
            initial_burst: self.initial_burst,
            // What a gigabit carries in one tick.
            max_burst: 256,
            timer_tick: Span::from_millis(2),
            catch_up: Span::from_millis(20),
            poll_rate: 16,
            // Under a known rate nothing waits for news.
            poll_rate_max: if self.rate.is_some() { 0 } else { 192 },
            // Without one nothing is gained, and two that share a link have less equal parts.
            poll_rides: self.rate.is_some(),
            // What news lets go leaves in shorter bursts. Probing is told by POLLs that keep time.
            poll_in_data: self.rate.is_none() && !probing,
            // As dense as the POLLs of a round trip: a path that answers never notices.
            silence_ratio: 1.0 / 16.0,
            poll_share: 0.125,
            ctl_max_retries: Some(5),
            keepalive: self.signs(),
            keepalive_max: self.keepalives(),
            no_response: self.idle_timeout,
            // As many as fit into a datagram.
            stat_max_gaps: 600,
            rtx_in_turn: !probing,
            nagle: false,
            stat_rule: StatRule::Poll,
            probing,
            selective: !COUNT_ALL.contains(&controller.name()),
            forgive_noise: true,
            controller,
            ..Config::default()
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_brings_its_controller_and_buffers_of_four_products() {
        let rate = Some(BitRate::from_bps(50_000_000));
        let config = Tuning { rate, ..Tuning::default() }.config().expect("settings");
        assert_eq!((config.controller.name(), config.probing), ("rate", false));
        assert_eq!(config.snd_buf, ByteCount::new(17_500_000));
        assert_eq!(config.validate(), Ok(()));
    }

    #[test]
    fn several_signs_of_life_fit_into_any_idle_timeout() {
        for (idle_timeout, keepalive, most) in [(300, 10_000, 30), (20, 4_000, 5), (5, 1_000, 5)] {
            let idle_timeout = Span::from_secs(idle_timeout);
            let config = Tuning { idle_timeout, ..Tuning::default() }.config().expect("settings");
            assert_eq!(config.keepalive, Span::from_millis(keepalive));
            assert_eq!((config.keepalive_max, config.no_response), (most, idle_timeout));
        }
    }

    #[test]
    fn a_known_link_is_filled_from_the_first_round_trip_on() {
        let known =
            KnownLink { rate: BitRate::from_bps(9_600_000), round_trip: Span::from_millis(600) };
        let config = Tuning { known: Some(known), ..Tuning::default() }.config().expect("settings");
        assert_eq!((config.cwnd_init, config.validate()), (375, Ok(())));
        let known = KnownLink { rate: BitRate::from_bps(1), round_trip: Span::ZERO };
        let config = Tuning { known: Some(known), ..Tuning::default() }.config().expect("settings");
        assert_eq!(config.cwnd_init, 10);
    }

    #[test]
    fn without_a_word_the_flow_shares_and_an_unknown_controller_is_refused() {
        let config = Tuning::default().config().expect("settings");
        assert_eq!((config.controller.name(), config.selective), ("steady", true));
        let probing =
            Tuning { probing: Some(true), ..Tuning::default() }.config().expect("settings");
        assert_eq!((probing.controller.name(), probing.selective), ("stp", false));
        assert_eq!([config.poll_in_data, probing.poll_in_data], [true, false], "they keep time");
        assert_eq!(config.validate(), Ok(()));
        let tuning = Tuning { controller: Some("rneo".into()), ..Tuning::default() };
        assert!(tuning.config().is_err());
    }
}
