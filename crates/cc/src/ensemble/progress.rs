//! What all connections together have delivered, round trip by round trip.

use std::collections::VecDeque;

use bentpipe_units::{ByteCount, Instant, Span};

use crate::{PathView, RateSample};

/// Moments that are remembered for each round trip, and in all.
const MOMENTS: u64 = 64;
const REMEMBERED: usize = 256;

/// The account of a path.
#[derive(Debug, Default)]
pub(super) struct Progress {
    delivered: ByteCount,
    round: u64,
    began: Instant,
    latest: Option<Instant>,
    min_rtt: Option<Span>,
    /// What had been delivered at times not long ago.
    history: VecDeque<(Instant, ByteCount)>,
}

impl Progress {
    /// So much was delivered. True at the end of a round trip.
    pub(super) fn acknowledged(&mut self, path: &PathView, bytes: ByteCount) -> bool {
        self.delivered += bytes;
        self.latest = Some(path.now);
        self.min_rtt = Some(self.min_rtt(path.min_rtt));
        let apart = path.latest_rtt / MOMENTS;
        match self.history.back_mut() {
            Some((at, delivered)) if path.now.since(*at) < apart => *delivered = self.delivered,
            _ => self.history.push_back((path.now, self.delivered)),
        }
        if self.history.len() > REMEMBERED {
            self.history.pop_front();
        }
        let ended = path.now.since(self.began) >= path.latest_rtt;
        if ended {
            self.round += 1;
            self.began = path.now;
        }
        ended
    }

    /// A measurement of one connection becomes one of all of them.
    pub(super) fn sample(&self, now: Instant, own: RateSample) -> RateSample {
        let from = now.before(own.interval);
        let later = self.history.partition_point(|(at, _)| *at <= from);
        let Some(&(at, delivered)) = self.history.get(later.saturating_sub(1)) else { return own };
        let interval = now.since(at);
        // What is known begins with this very acknowledgement.
        if interval.is_zero() {
            return own;
        }
        RateSample { delivered: self.delivered - delivered, interval, ..own }
    }

    /// Round trips so far.
    pub(super) const fn round(&self) -> u64 {
        self.round
    }

    /// Bytes delivered so far.
    pub(super) const fn delivered(&self) -> ByteCount {
        self.delivered
    }

    /// The smallest round trip, that of the connection that asks among them.
    pub(super) fn min_rtt(&self, own: Span) -> Span {
        self.min_rtt.map_or(own, |known| known.min(own))
    }

    /// When something arrived last, and the smallest round trip.
    pub(super) fn latest(&self) -> Option<(Instant, Span)> {
        self.latest.zip(self.min_rtt)
    }

    /// Whether the last acknowledgement came longer ago than this.
    pub(super) fn is_over(&self, now: Instant, after: Span) -> bool {
        self.latest.is_some_and(|at| now.since(at) > after)
    }
}
