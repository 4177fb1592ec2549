//! What has been delivered: rounds, and samples of the rate.

use bentpipe_cc::RateSample;
use bentpipe_units::{ByteCount, Instant, Span};

use super::recovery::{Departed, Stamp};

/// Counts what is delivered (draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Debug)]
pub(super) struct Delivery {
    bytes: u64,
    at: Instant,
    first_sent_at: Instant,
    /// Until so much is delivered, the application was what limited the sender.
    app_limited_until: u64,
    round: u64,
    round_ends: u64,
}

impl Delivery {
    /// Nothing is delivered yet.
    pub(super) const fn new(now: Instant) -> Self {
        let (bytes, app_limited_until, round, round_ends) = (0, 0, 0, 0);
        Self { bytes, at: now, first_sent_at: now, app_limited_until, round, round_ends }
    }

    /// Bytes delivered.
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Round trips counted: one ends when something that left after its begin is delivered.
    pub(super) const fn round(&self) -> u64 {
        self.round
    }

    /// The stamp of a segment that leaves now; `first` when nothing else is under way.
    pub(super) fn stamp(&mut self, now: Instant, first: bool) -> Stamp {
        if first {
            (self.at, self.first_sent_at) = (now, now);
        }
        Stamp {
            delivered: self.bytes,
            delivered_at: self.at,
            first_sent_at: self.first_sent_at,
            app_limited: self.app_limited_until > self.bytes,
        }
    }

    /// The application has nothing to send while `in_flight` bytes are under way.
    pub(super) fn limited_by_application(&mut self, in_flight: u64) {
        self.app_limited_until = self.bytes + in_flight.max(1);
    }

    /// So many bytes were delivered, the `newest` departure of them last. Gives a sample of the rate, unless it would
    /// be over less than a round trip.
    #[inline]
    pub(super) fn take(
        &mut self,
        now: Instant,
        bytes: u64,
        newest: Option<&Departed>,
        min_rtt: Span,
    ) -> Option<RateSample> {
        self.bytes += bytes;
        self.at = now;
        let newest = newest?;
        if newest.stamp.delivered >= self.round_ends {
            self.round += 1;
            self.round_ends = self.bytes;
        }
        self.first_sent_at = newest.sent_at;
        let sending = newest.sent_at.since(newest.stamp.first_sent_at);
        let interval = sending.max(now.since(newest.stamp.delivered_at));
        let sample = RateSample {
            delivered: ByteCount::new(self.bytes - newest.stamp.delivered),
            interval,
            app_limited: newest.stamp.app_limited,
        };
        (interval >= min_rtt && !interval.is_zero()).then_some(sample)
    }
}
