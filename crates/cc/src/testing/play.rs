//! A controller and what it is told.

use std::collections::BTreeMap;

use bentpipe_units::{ByteCount, Instant, Span};

use crate::choice::Choice;
use crate::{Ack, Controller, Loss, LossCause, PathView, Phase, RateSample, Sent, Signal};

pub(super) const MSS: u64 = 1000;

/// A controller and the path that it is shown.
#[derive(Debug)]
pub(crate) struct Play {
    pub(crate) controller: Box<dyn Controller>,
    pub(crate) path: PathView,
    in_recovery: bool,
    rate_sample: Option<RateSample>,
}

pub(super) fn secs(seconds: f64) -> Span {
    Span::from_secs_f64(seconds)
}

impl Play {
    /// The controller `name` with these parameters: 2 segments at first, 1 to 100,000 segments, a
    /// round trip of 600 ms without a queue.
    pub(crate) fn new(name: &str, parameters: &[(&str, f64)]) -> Self {
        let parameters: BTreeMap<_, _> =
            parameters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let choice = Choice::new(name, parameters).expect("a registered name and its parameters");
        let kb = |segments| ByteCount::new(MSS * segments);
        Self::of(choice.build(kb(1), kb(2), kb(1), kb(100_000)))
    }

    /// Any controller.
    pub(crate) fn of(controller: Box<dyn Controller>) -> Self {
        let rtt = secs(0.6);
        let path = PathView {
            now: Instant::ZERO,
            mss: ByteCount::new(MSS),
            in_flight: ByteCount::ZERO,
            peer_window: ByteCount::new(MSS * 100_000),
            srtt: rtt,
            latest_rtt: rtt,
            min_rtt: rtt,
            return_delay: None,
            round: 0,
            delivered: ByteCount::ZERO,
            cwnd_limited: true,
        };
        Self { controller, path, in_recovery: false, rate_sample: None }
    }

    /// So many segments in bytes.
    pub(crate) fn bytes(&self, segments: u64) -> ByteCount {
        ByteCount::new(MSS * segments)
    }

    /// The window in segments.
    pub(crate) fn segments(&self) -> f64 {
        self.controller.limits().window.expect("a window").get() as f64 / MSS as f64
    }

    /// The threshold in segments.
    pub(crate) fn ssthresh(&self) -> f64 {
        let ssthresh = self.controller.snapshot().ssthresh;
        ssthresh.map_or(f64::INFINITY, |s| s.get() as f64 / MSS as f64)
    }

    /// What the controller is doing.
    pub(crate) fn phase(&self) -> Phase {
        self.controller.snapshot().phase
    }

    /// The gauge of this name.
    pub(crate) fn gauge(&self, name: &str) -> f64 {
        let gauges = self.controller.snapshot().gauges;
        gauges.iter().find(|g| g.name == name).expect("a gauge of this name").value
    }

    /// The round trip becomes this many seconds.
    pub(crate) fn set_rtt(&mut self, rtt: f64) {
        let rtt = secs(rtt);
        (self.path.srtt, self.path.latest_rtt) = (rtt, rtt);
        self.path.min_rtt = self.path.min_rtt.min(rtt);
    }

    /// Time passes.
    pub(crate) fn wait(&mut self, seconds: f64) {
        self.path.now += secs(seconds);
    }

    /// One acknowledgement of so many segments.
    pub(crate) fn ack_at_once(&mut self, segments: u64) {
        self.ack_bytes(self.bytes(segments), segments);
    }

    /// One acknowledgement of so many bytes in so many segments.
    pub(crate) fn ack_bytes(&mut self, bytes: ByteCount, segments: u64) {
        self.acknowledge(bytes, bytes, segments);
    }

    /// One segment is reported selectively, and nothing is acknowledged.
    pub(crate) fn report(&mut self) {
        self.acknowledge(self.bytes(1), ByteCount::ZERO, 1);
    }

    /// Nothing new is acknowledged, but it is known that segments come at so many a second.
    pub(crate) fn deliver(&mut self, rate: f64) {
        let delivered = ByteCount::new((rate * MSS as f64) as u64);
        let interval = Span::from_secs(1);
        self.rate_sample = Some(RateSample { delivered, interval, app_limited: false });
        self.ack_at_once(0);
        self.rate_sample = None;
    }

    /// One acknowledgement of so many new bytes, which advances by `advanced`.
    pub(crate) fn acknowledge(&mut self, bytes: ByteCount, advanced: ByteCount, segments: u64) {
        self.path.delivered += bytes;
        let ack = Ack {
            bytes,
            advanced,
            segments,
            newest_sent_at: self.path.now.before(self.path.latest_rtt),
            rate_sample: self.rate_sample,
            acks: 1,
            in_recovery: self.in_recovery,
            repairing: self.in_recovery,
            lost: ByteCount::ZERO,
            marked: ByteCount::ZERO,
        };
        self.controller.on_ack(&self.path, &ack);
    }

    /// A round trip: the window is acknowledged segment by segment, evenly over the time.
    pub(crate) fn round(&mut self) {
        let window = (self.segments() as u64).max(1);
        let rtt = self.path.latest_rtt.as_secs_f64();
        self.path.round += 1;
        self.path.in_flight = self.bytes(window);
        for _ in 0..window {
            self.wait(rtt / window as f64);
            self.ack_at_once(1);
        }
    }

    /// So many round trips.
    pub(crate) fn rounds(&mut self, n: u64) {
        for _ in 0..n {
            self.round();
        }
    }

    /// Round trips over a link that carries `rate` segments a second behind a queue; `base` is the
    /// round trip without it. Acknowledgements come evenly; nothing is lost.
    pub(crate) fn link(&mut self, rate: f64, base: f64, rounds: u64) {
        for _ in 0..rounds {
            let queue = (self.segments() - rate * base).max(0.0);
            self.set_rtt(base + queue / rate);
            self.round();
        }
    }

    fn loss(&mut self, cause: LossCause, new_episode: bool, again: bool, looks_corrupt: bool) {
        self.in_recovery = cause != LossCause::Timeout;
        let bytes = self.bytes(1);
        let loss = Loss { bytes, cause, new_episode, again, looks_corrupt };
        self.controller.on_loss(&self.path, &loss);
    }

    /// The first loss of a window.
    pub(crate) fn lose(&mut self, cause: LossCause) {
        self.loss(cause, true, false, false);
    }

    /// A further loss of the window.
    pub(crate) fn lose_more(&mut self, cause: LossCause) {
        self.loss(cause, false, false, false);
    }

    /// A repair is lost.
    pub(crate) fn lose_again(&mut self, cause: LossCause) {
        self.loss(cause, cause != LossCause::Timeout, true, false);
    }

    /// A loss that the sender takes for noise.
    pub(crate) fn corrupt(&mut self, cause: LossCause) {
        self.loss(cause, true, false, true);
    }

    /// All losses are repaired.
    pub(crate) fn recovered(&mut self) {
        self.in_recovery = false;
        self.signal(Signal::RecoveryDone);
    }

    /// Something else happens.
    pub(crate) fn signal(&mut self, signal: Signal) {
        self.controller.on_signal(&self.path, &signal);
    }

    /// A segment leaves.
    pub(crate) fn send(&mut self, probe: bool) {
        let sent = Sent { bytes: self.bytes(1), retransmission: false, probe };
        self.controller.on_sent(&self.path, &sent);
    }
}
