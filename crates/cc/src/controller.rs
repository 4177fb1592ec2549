//! The contract between a sender and its congestion controller.

use std::fmt::Debug;

use bentpipe_units::{BitRate, ByteCount, Instant, OneWayDelay, Span};

use crate::event::{Ack, Loss, Sent, Signal};

/// A congestion control algorithm.
///
/// Each method gets the sender's view of the path at that moment. A controller keeps only what
/// belongs to its algorithm; it never counts bytes in flight and never reads a clock.
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

    /// Whether [`Controller::on_signal`] wants to be told of the queue of its own host
    /// ([`Signal::LocalQueue`]).
    fn follows_queue(&self) -> bool {
        false
    }

    /// Something else happened that concerns the sending rate.
    fn on_signal(&mut self, _path: &PathView, _signal: &Signal) {}

    /// The time asked for by [`Controller::next_timer`] has come.
    fn on_timer(&mut self, _path: &PathView) {}

    /// When [`Controller::on_timer`] shall be called; `None` for never.
    fn next_timer(&self) -> Option<Instant> {
        None
    }

    /// What routers on the path are asked for, by algorithms that ask them (XCP, BA-TCP).
    fn path_request(&self, _path: &PathView) -> Option<PathRequest> {
        None
    }

    /// What shall leave at low priority, to be dropped first by routers that know priorities.
    fn low_priority(&self) -> LowPriority {
        LowPriority::Nothing
    }

    /// What the algorithm asks of those who repair losses.
    fn repair(&self) -> Repair {
        Repair::default()
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
    /// How long the way back of the latest sample was, from a zero of its own; `None` where the receiver does not tell.
    pub return_delay: Option<OneWayDelay>,
    /// Round trips counted by the sender since the connection began.
    pub round: u64,
    /// Bytes delivered since the connection began.
    pub delivered: ByteCount,
    /// The congestion window, not the application or the receiver, limits the sender.
    pub cwnd_limited: bool,
}

/// What a router is asked for (XCP, BA-TCP).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathRequest {
    /// Congestion window in bytes.
    pub cwnd: ByteCount,
    /// Smoothed round-trip time; that of propagation alone with [`Asks::Bandwidth`].
    pub rtt: Span,
    /// What is wanted.
    pub asks: Asks,
}

/// What an algorithm wants of routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
    /// A change of its window by so many bytes; what is granted comes as [`Signal::Explicit`].
    Change(i64),
    /// The bandwidth that there is; it comes as [`Signal::Available`].
    Bandwidth,
}

/// All that the sender obeys. What is `None` is not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes in flight.
    pub window: Option<ByteCount>,
    /// Sending rate; what the sender charges for a segment includes headers of the transport, unless
    /// [`Limits::of_payload`] says otherwise.
    pub pacing: Option<BitRate>,
    /// The sending rate is that of the payload.
    pub of_payload: bool,
    /// Most bytes sent back to back.
    pub burst: Option<ByteCount>,
    /// Segments leave in groups of `burst`: the pace holds them back until a whole one may leave.
    pub groups: bool,
}

/// What a sender shall send at low priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LowPriority {
    /// Nothing: all data have the usual priority, and nothing is sent besides them.
    #[default]
    Nothing,
    /// New data, except the first segment after the idle time (TCP Fast Start).
    Data,
    /// Copies besides the data, to see what the path would carry (TCP Peach, TCP Swift).
    ///
    /// They are not counted in flight and never repaired. The sender reports each one that leaves
    /// through [`Controller::on_sent`] and each one that the peer saw as [`Signal::ProbeAcked`].
    Probes {
        /// What they are copies of.
        copies: Copies,
        /// How many shall leave from now on; [`Controller::on_sent`] lowers it.
        count: u64,
        /// Time from one to the next; zero for as soon as there is something to send for an
        /// acknowledgement, behind the data.
        spacing: Span,
    },
}

/// What low-priority segments are copies of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copies {
    /// The segment sent last: they probe and nothing else.
    Last,
    /// What is outstanding, from the oldest on, around and around: they may also repair a loss.
    Outstanding,
}

/// What an algorithm asks of those who repair losses. How it is done is the recovery's business.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repair {
    /// Each segment has a timer of its own, looked at when the first duplicate acknowledgement comes
    /// and when the first two acknowledgements after a retransmission come (TCP Vegas, section 3.1).
    pub fine_timers: bool,
    /// Everything outstanding shall be retransmitted, once in a round trip, for the loss told last.
    pub resend_outstanding: bool,
    /// The retransmission timeout grows by at most this factor; `None` for the usual doubling.
    pub max_backoff: Option<u32>,
    /// The controller's window is right while losses are repaired: nobody else reduces it step by step.
    pub own_window: bool,
    /// When the timer runs out and nothing says that later data arrived, new data leave before a repair: their answer
    /// tells whether data or acknowledgements were lost (TCP Star's acknowledgment error notification).
    pub asks_before_repair: bool,
    /// Nothing leaves and no timer runs while the link is down, and what an outage lost is no sign of
    /// congestion (SCPS-TP). Takes a sender that is told by [`Signal::LinkState`](crate::Signal::LinkState).
    pub rests_in_outages: bool,
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
