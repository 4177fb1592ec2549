//! The contract between a sender and its congestion controller.

use std::fmt::Debug;

use bentpipe_units::{BitRate, ByteCount, Instant, Span};

/// A congestion control algorithm.
///
/// Each method gets the sender's view of the path at that moment. A controller keeps only what
/// belongs to its law; it never counts bytes in flight and never reads a clock.
pub trait Controller: Debug + Send {
    /// Data was acknowledged for the first time.
    fn on_ack(&mut self, path: &PathView, ack: &Ack);

    /// Data was found lost.
    fn on_loss(&mut self, path: &PathView, loss: &Loss);

    /// All that the sender obeys.
    fn limits(&self) -> Limits;

    /// What is recorded of the controller's state.
    fn snapshot(&self) -> Snapshot;

    /// Whether [`Controller::on_sent`] wants to be told of each segment.
    fn follows_sending(&self) -> bool {
        false
    }

    /// Data was sent. Called only if [`Controller::follows_sending`] says so.
    fn on_sent(&mut self, _path: &PathView, _sent: &Sent) {}

    /// Something else happened that concerns the sending rate.
    fn on_signal(&mut self, _path: &PathView, _signal: &Signal) {}

    /// The time asked for by [`Controller::next_timer`] has come.
    fn on_timer(&mut self, _path: &PathView) {}

    /// When [`Controller::on_timer`] shall be called; `None` for never.
    fn next_timer(&self) -> Option<Instant> {
        None
    }

    /// What routers on the path are asked for, by algorithms that ask them (XCP).
    fn path_request(&self, _path: &PathView) -> Option<PathRequest> {
        None
    }
}

/// What the sender knows of the path.
#[derive(Clone, Copy, Debug)]
pub struct PathView {
    /// The time of the event.
    pub now: Instant,
    /// Payload of a full segment.
    pub mss: ByteCount,
    /// Bytes sent and neither acknowledged nor given up.
    pub in_flight: ByteCount,
    /// What the receiver allows.
    pub peer_window: ByteCount,
    /// Smoothed round-trip time.
    pub srtt: Span,
    /// The latest sample of the round-trip time.
    pub latest_rtt: Span,
    /// The smallest sample so far.
    pub min_rtt: Span,
    /// Round trips counted by the sender since the connection began.
    pub round: u64,
    /// Bytes delivered since the connection began.
    pub delivered: ByteCount,
    /// The congestion window, not the application or the receiver, limits the sender.
    pub cwnd_limited: bool,
}

/// Data was acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// Bytes acknowledged for the first time.
    pub bytes: ByteCount,
    /// Segments that they came in.
    pub segments: u64,
    /// When the newest of them was last sent.
    pub newest_sent_at: Instant,
    /// A measurement of the delivery rate, if this acknowledgement gave one.
    pub rate_sample: Option<RateSample>,
    /// The sender is repairing losses.
    pub in_recovery: bool,
}

/// A measurement of the delivery rate.
#[derive(Clone, Copy, Debug)]
pub struct RateSample {
    /// Bytes delivered during the interval.
    pub delivered: ByteCount,
    /// Length of the interval.
    pub interval: Span,
    /// The application, not the network, limited the sender.
    pub app_limited: bool,
}

/// Data was lost.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// Bytes found lost.
    pub bytes: ByteCount,
    /// How it was found.
    pub cause: LossCause,
    /// The first loss of its window: the one that a controller answers.
    pub new_episode: bool,
    /// The sender has reason to believe that noise, not a queue, lost it.
    pub looks_corrupt: bool,
}

/// How a loss was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossCause {
    /// Later data arrived.
    Gap,
    /// A timer ran out.
    Timeout,
    /// The receiver reported it.
    Nack,
    /// It lasted so long that nothing known of the path is worth keeping.
    Persistent,
}

/// A segment was sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Payload bytes.
    pub bytes: ByteCount,
    /// It was sent before.
    pub retransmission: bool,
}

/// Something that concerns the sending rate and is neither an acknowledgement nor a loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Signal {
    /// A router marked a packet (ECN).
    EcnCe,
    /// A router changed the window by this many bytes (XCP).
    Explicit {
        /// Signed change of the window in bytes.
        delta: i64,
    },
    /// A loss that was reported earlier did not happen.
    SpuriousLoss,
    /// All losses of the episode are repaired.
    RecoveryDone,
    /// The sender was idle for longer than its threshold and is about to send again.
    Idle,
    /// The payload of a full segment changed.
    MtuChanged {
        /// The new payload of a full segment.
        mss: ByteCount,
    },
    /// The link went up or down.
    LinkState {
        /// True when the link is usable.
        up: bool,
    },
}

/// What a router is asked for (XCP).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathRequest {
    /// Congestion window in bytes.
    pub cwnd: ByteCount,
    /// Smoothed round-trip time.
    pub rtt: Span,
    /// Wanted change of the window in bytes.
    pub delta: i64,
}

/// All that the sender obeys. What is `None` is not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes in flight.
    pub window: Option<ByteCount>,
    /// Sending rate.
    pub pacing: Option<BitRate>,
    /// Most bytes sent back to back.
    pub burst: Option<ByteCount>,
}

/// The state of a controller as it is recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// What the controller is doing.
    pub phase: Phase,
    /// Congestion window in bytes, if it keeps one.
    pub cwnd: Option<ByteCount>,
    /// Slow start threshold in bytes, if it keeps one.
    pub ssthresh: Option<ByteCount>,
    /// What only this algorithm has.
    pub gauges: Vec<Gauge>,
}

/// A named figure of one algorithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gauge {
    /// Its name with its unit, such as `alpha_ms`.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
}

/// What a controller is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The window doubles every round trip.
    SlowStart,
    /// The window grows slowly.
    CongestionAvoidance,
    /// Losses are being repaired.
    Recovery,
    /// A state that only this algorithm has.
    Other(&'static str),
}

impl Phase {
    /// The name in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SlowStart => "slow_start",
            Self::CongestionAvoidance => "congestion_avoidance",
            Self::Recovery => "recovery",
            Self::Other(name) => name,
        }
    }
}
