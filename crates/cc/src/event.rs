//! What a controller is told: acknowledgements, losses and signals.

use bentpipe_units::{BitRate, ByteCount, Instant, Span};

use crate::KnownPath;

/// Data was acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// Bytes acknowledged for the first time.
    pub bytes: ByteCount,
    /// Bytes by which the cumulative acknowledgement advanced; none where they were only reported
    /// selectively.
    pub advanced: ByteCount,
    /// Segments that they came in.
    pub segments: u64,
    /// When the newest of them was last sent.
    pub newest_sent_at: Instant,
    /// A measurement of the delivery rate, if this acknowledgement gave one.
    pub rate_sample: Option<RateSample>,
    /// How many acknowledgements it stands for: one in TCP and SCTP, one for each segment where the
    /// peer reports only a few times in a round trip. Algorithms that count acknowledgements count these.
    pub acks: u64,
    /// The sender is repairing losses found by gaps. It is not after a timeout: the window then grows
    /// from one segment while the losses are repaired.
    pub in_recovery: bool,
    /// Losses found by gaps are being repaired, whatever else keeps the window from growing (`TCP_CA_Recovery` in
    /// Linux). What follows from it for the window is told by [`Loss`].
    pub repairing: bool,
    /// Bytes that it showed to be lost.
    pub lost: ByteCount,
    /// Of `bytes`, what routers marked. Told where the peer tells of each mark (RFC 8257); otherwise there is only
    /// [`Signal::EcnCe`].
    pub marked: ByteCount,
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
    /// A repair was lost: the segment had been sent at least twice. If the repair left after the last
    /// reduction, it begins an episode of its own.
    pub again: bool,
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
    /// It is a low-priority copy that the controller asked for.
    pub probe: bool,
}

/// Something that concerns the sending rate and is neither an acknowledgement nor a loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Signal {
    /// A router marked a packet (ECN). Told once for each window of data, as RFC 3168 asks of the
    /// sender in section 6.1.2, and not in a window that a loss has already reduced.
    EcnCe,
    /// A router changed the window by this many bytes (XCP).
    Explicit {
        /// Signed change of the window in bytes.
        delta: i64,
    },
    /// The queues on the path have so much bandwidth for the payload of this connection (BA-TCP); `None` where none of
    /// them said anything.
    Available(Option<BitRate>),
    /// A loss that was reported earlier did not happen.
    SpuriousLoss,
    /// All losses of the episode are repaired.
    RecoveryDone,
    /// The sender was idle for longer than its threshold and is about to send again.
    Idle {
        /// The window is halved so often (RFC 2861, section 3.1); it starts over if there is no number (RFC 5681, section 4.1).
        halvings: Option<u32>,
    },
    /// The payload of a full segment changed.
    MtuChanged {
        /// The new payload of a full segment.
        mss: ByteCount,
    },
    /// Low-priority copies arrived at the peer.
    ProbeAcked {
        /// How many.
        segments: u64,
    },
    /// The state of a queue on this very host that the data pass next.
    LocalQueue(QueueLevel),
    /// The host knows the rate of the link, and this is it now.
    LinkRate(BitRate),
    /// Nothing was under way or waited, and something is about to be sent. Told by senders that may share
    /// a window.
    Begins,
    /// All that there was to send has left, or there is more again: what the connection does not use of a shared window others may.
    /// Told by senders that may share one, between [`Signal::Begins`] and the acknowledgement of everything.
    AppLimited(bool),
    /// The window is this from now on, and slow start ends at `ssthresh`: what is known of the path allows it, or what
    /// was known turned out to be wrong (draft-ietf-tsvwg-careful-resume).
    Resume {
        /// The congestion window.
        window: ByteCount,
        /// The slow start threshold; none where the path may carry more.
        ssthresh: Option<ByteCount>,
    },
    /// The path was found to carry so much payload over a round trip without a queue, or nothing is known of it any more.
    Capacity(Option<KnownPath>),
    /// Until then something passes that cannot wait, such as a call: a shorter queue counts for more than the last per cent of the rate.
    /// Told anew while it goes on.
    LowLatency {
        /// When it ends, unless it is told again.
        until: Instant,
    },
    /// The connection has this weight, at least 1, among those that it shares a window with.
    Weight(u32),
    /// The link went up or down.
    LinkState {
        /// True when the link is usable.
        up: bool,
    },
}

/// How full a queue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLevel {
    /// Below the lower threshold: there is room.
    Low,
    /// Between the thresholds.
    Middle,
    /// At or above the upper threshold.
    High,
    /// A packet of this connection did not fit.
    Overflow,
}
