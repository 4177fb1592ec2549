//! A given rate: for a link whose capacity is known and that nobody shares.
//!
//! Segments are paced from the first one on, losses change nothing, and the window only bounds what the
//! sender remembers. A rate above what the link carries shows as a queue that does not go away: the
//! controller then falls below what arrives until the queue is gone, and creeps back up.

use bentpipe_units::{BitRate, ByteCount, Instant, Span};

use crate::registry::{Build, Parameter, Row};
use crate::{Ack, Controller, Gauge, Limits, Loss, PathView, Phase, Signal, Snapshot};

/// The registry row.
pub(crate) const ROW: Row = Row {
    name: "rate",
    summary: "a given rate, paced from the first segment on; gives way to a standing queue",
    citation: "rate-based sending over a dedicated satellite link, as in RFC 2488, section 5, and \
               hysteria's \"brutal\"; the retreat from a standing queue is this project's",
    parameters: &[Parameter {
        name: "rate",
        unit: "bit/s",
        default: 10e6,
        range: (1e3, 1e12),
        summary: "rate of whole segments, headers of the transport included",
    }],
    build: |build| Box::new(Rate::new(build)),
};

/// The window in bandwidth-delay products: room for repairs of repairs.
const WINDOW: u64 = 4;
/// Share of the base round trip above which a queue counts, and the least that counts.
const QUEUE_SHARE: u64 = 8;
const QUEUE_MIN: Span = Span::from_millis(20);
/// Rounds in a row with a queue, or with a mark of a router, until it is a standing one.
const STANDING: u32 = 2;
/// Below the rate of arrival while the queue drains, and back up, in hundredths.
const RETREAT: u64 = 90;
const RETURN: u64 = 104;
/// The smallest share of the given rate.
const FLOOR: u64 = 50;
/// The base round trip is the smallest one of at least this long and at most twice as long: paths
/// change.
const BASE_LIFE: Span = Span::from_secs(60);

#[derive(Debug)]
struct Rate {
    target: BitRate,
    rate: BitRate,
    floor_window: ByteCount,
    most: ByteCount,
    srtt: Span,
    base: Base,
    round: Round,
    queued_rounds: u32,
}

/// The smallest round trip of the recent past.
#[derive(Debug)]
struct Base {
    now: Span,
    before: Span,
    since: Instant,
}

impl Base {
    fn take(&mut self, at: Instant, rtt: Span) {
        if at.since(self.since) >= BASE_LIFE {
            (self.before, self.now, self.since) = (self.now, rtt, at);
        }
        self.now = self.now.min(rtt);
    }

    fn get(&self) -> Span {
        self.now.min(self.before)
    }
}

/// The round trip that is going on.
#[derive(Debug)]
struct Round {
    number: u64,
    began: Instant,
    delivered: ByteCount,
    smallest: Span,
    /// A router marked something.
    marked: bool,
}

impl Rate {
    fn new(build: &Build<'_>) -> Self {
        let target = BitRate::from_bps(build.parameter(&ROW, "rate") as u64);
        Self {
            target,
            rate: target,
            floor_window: build.mss * 64,
            most: build.cwnd_max,
            srtt: Span::ZERO,
            base: Base { now: Span::MAX, before: Span::MAX, since: Instant::ZERO },
            round: Round {
                number: 0,
                began: Instant::ZERO,
                delivered: ByteCount::ZERO,
                smallest: Span::MAX,
                marked: false,
            },
            queued_rounds: 0,
        }
    }

    /// A round trip has ended.
    fn judge(&mut self, path: &PathView) {
        let elapsed = path.now.since(self.round.began);
        let delivered = path.delivered - self.round.delivered;
        let base = self.base.get();
        let threshold = (base / QUEUE_SHARE).max(QUEUE_MIN);
        let queue = self.round.smallest.saturating_sub(base);
        let percent = |rate: BitRate, hundredths: u64| {
            BitRate::from_bps((u128::from(rate.as_bps()) * u128::from(hundredths) / 100) as u64)
        };
        if queue > threshold || self.round.marked {
            self.queued_rounds += 1;
        } else {
            self.queued_rounds = 0;
        }
        if self.queued_rounds >= STANDING && !elapsed.is_zero() {
            let bits =
                u128::from(delivered.bits()) * 1_000_000_000 / u128::from(elapsed.as_nanos());
            let arrives = BitRate::from_bps(bits as u64).min(self.rate);
            let floor = BitRate::from_bps(self.target.as_bps() / FLOOR);
            self.rate = percent(arrives, RETREAT).max(floor);
            self.queued_rounds = 0;
        } else if queue <= threshold / 2 {
            self.rate = percent(self.rate, RETURN).min(self.target);
        }
    }
}

impl Controller for Rate {
    fn on_ack(&mut self, path: &PathView, _ack: &Ack) {
        self.srtt = path.srtt;
        self.base.take(path.now, path.latest_rtt);
        if path.round != self.round.number {
            if self.round.number > 0 {
                self.judge(path);
            }
            self.round = Round {
                number: path.round,
                began: path.now,
                delivered: path.delivered,
                smallest: path.latest_rtt,
                marked: false,
            };
        }
        self.round.smallest = self.round.smallest.min(path.latest_rtt);
    }

    fn on_loss(&mut self, _path: &PathView, _loss: &Loss) {}

    fn on_signal(&mut self, _path: &PathView, signal: &Signal) {
        match *signal {
            Signal::EcnCe => self.round.marked = true,
            Signal::LinkRate(rate) if rate != self.target => {
                self.target = rate;
                self.rate = rate;
                self.queued_rounds = 0;
            }
            _ => {}
        }
    }

    fn limits(&self) -> Limits {
        let bdp = self.rate.bytes_in(self.srtt);
        // Before the first measurement nothing but the buffers bounds it.
        let window = if self.srtt.is_zero() { self.most } else { bdp * WINDOW };
        let window = window.max(self.floor_window).min(self.most);
        Limits { window: Some(window), pacing: Some(self.rate), ..Limits::default() }
    }

    fn snapshot(&self) -> Snapshot {
        let gauge = Gauge { name: "rate_bps", value: self.rate.as_bps() as f64 };
        Snapshot {
            phase: Phase::CongestionAvoidance,
            cwnd: self.limits().window,
            ssthresh: None,
            gauges: vec![gauge],
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::LossCause;
    use crate::registry::Choice;

    fn rate() -> Box<dyn Controller> {
        let parameters = BTreeMap::from([("rate".to_owned(), 10e6)]);
        let kb = |n: u64| ByteCount::new(1000 * n);
        let choice = Choice::new("rate", parameters).expect("a controller");
        choice.build(kb(1), kb(1), kb(1), kb(10_000))
    }

    /// A path of which nothing is known.
    fn view() -> PathView {
        PathView {
            now: Instant::ZERO,
            mss: ByteCount::new(1000),
            in_flight: ByteCount::ZERO,
            peer_window: ByteCount::ZERO,
            srtt: Span::ZERO,
            latest_rtt: Span::ZERO,
            min_rtt: Span::ZERO,
            round: 0,
            delivered: ByteCount::ZERO,
            cwnd_limited: false,
        }
    }

    /// Lets a controller see a link of so many Mbit/s behind a queue, for so many rounds.
    fn drive(controller: &mut dyn Controller, link: f64, rounds: u64) -> Vec<f64> {
        let (base, mut queue, mut now, mut delivered) = (0.6, 0.0f64, 0.0f64, 0u64);
        let mut rates = Vec::new();
        for round in 1..=rounds {
            let rate = controller.limits().pacing.expect("a rate").as_bps() as f64;
            let rtt = base + queue;
            now += rtt;
            queue = (queue + (rate / (link * 1e6) - 1.0) * rtt).max(0.0);
            delivered += (rate.min(link * 1e6) * rtt / 8.0) as u64;
            acknowledge(controller, now, round, rtt, delivered);
            rates.push(rate / 1e6);
        }
        rates
    }

    /// An acknowledgement in a round trip of so many seconds.
    fn acknowledge(
        controller: &mut dyn Controller,
        now: f64,
        round: u64,
        rtt: f64,
        delivered: u64,
    ) {
        let span = Span::from_secs_f64(rtt);
        let path = PathView {
            now: Instant::ZERO + Span::from_secs_f64(now),
            mss: ByteCount::new(1000),
            in_flight: ByteCount::ZERO,
            peer_window: ByteCount::new(10_000_000),
            srtt: span,
            latest_rtt: span,
            min_rtt: span,
            round,
            delivered: ByteCount::new(delivered),
            cwnd_limited: false,
        };
        let ack = Ack {
            bytes: ByteCount::new(1000),
            advanced: ByteCount::new(1000),
            segments: 1,
            newest_sent_at: Instant::ZERO,
            rate_sample: None,
            acks: 1,
            in_recovery: false,
        };
        controller.on_ack(&path, &ack);
    }

    #[test]
    fn on_a_link_that_carries_it_the_rate_stays() {
        let rates = drive(&mut *rate(), 10.5, 100);
        assert!(rates.iter().all(|rate| (rate - 10.0).abs() < 0.01), "{rates:?}");
    }

    #[test]
    fn above_the_links_rate_it_gives_way_to_the_standing_queue() {
        let rates = drive(&mut *rate(), 5.0, 400);
        let late = &rates[100..];
        let mean = late.iter().sum::<f64>() / late.len() as f64;
        assert!((4.0..5.2).contains(&mean), "{mean}");
        assert!(late.iter().all(|rate| *rate < 7.0), "{late:?}");
    }

    #[test]
    fn a_link_whose_rate_changes_is_followed_at_once() {
        let mut rate = rate();
        drive(&mut *rate, 10.5, 10);
        let path = view();
        rate.on_signal(&path, &Signal::LinkRate(BitRate::from_bps(4_000_000)));
        assert_eq!(rate.limits().pacing, Some(BitRate::from_bps(4_000_000)));
        let rates = drive(&mut *rate, 4.1, 100);
        assert!(rates.iter().all(|rate| (rate - 4.0).abs() < 0.01), "{rates:?}");
    }

    #[test]
    fn it_returns_where_less_than_half_the_threshold_waits_and_rests_where_more_does() {
        let threshold = 0.6 / QUEUE_SHARE as f64;
        for (share, returns) in [(0.9, false), (0.4, true)] {
            let mut rate = rate();
            drive(&mut *rate, 5.0, 400);
            let pace = |rate: &dyn Controller| rate.limits().pacing.expect("a rate");
            let (mut before, mut now) = (pace(&*rate), 1000.0);
            for round in 401..405 {
                now += 0.6;
                acknowledge(&mut *rate, now, round, 0.6 + share * threshold, 1 << 30);
                if round == 402 {
                    before = pace(&*rate);
                }
            }
            assert_eq!(pace(&*rate) > before, returns, "{share}");
        }
    }

    #[test]
    fn losses_alone_change_nothing() {
        let mut rate = rate();
        let before = rate.limits();
        let path = view();
        for _ in 0..100 {
            let bytes = ByteCount::new(1000);
            let cause = LossCause::Nack;
            rate.on_loss(
                &path,
                &Loss { bytes, cause, new_episode: true, again: false, looks_corrupt: false },
            );
        }
        assert_eq!(rate.limits(), before);
    }
}
