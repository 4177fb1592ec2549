//! The contract of a protocol endpoint.

use std::fmt::Debug;

use bentpipe_cc::Phase;
use bentpipe_record::{ProbingSummary, SendLimit, TransportCounters};
use bentpipe_units::{ByteCount, Instant, Span};
use bentpipe_wire::Segment;
use bentpipe_wire::xcp::Header;
use bentpipe_wire::xstp::ResetReason;
use bytes::Bytes;

use crate::LocalQueue;

/// A way to the peer. The driver knows what address or link stands behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathId(pub u32);

/// What the application is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The connection is open.
    Connected,
    /// There is something to read.
    Readable,
    /// A write that was cut short can go on.
    Writable,
    /// The peer will send no more; everything that it sent can be read.
    PeerClosed,
    /// Both directions are closed and everything was delivered.
    Closed,
    /// The connection is gone before its end.
    Failed(Failure),
}

/// Why a connection failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The network or the peer: no answer to the request to open.
    #[error("the peer did not answer the request to open")]
    NoAnswer,
    /// The network or the peer: nothing heard for too long.
    #[error("the peer fell silent")]
    NoResponse,
    /// The peer reset the connection.
    #[error("the peer reset the connection (reason {})", .0.code())]
    Reset(ResetReason),
    /// The peer refused or reset the connection and gave no reason (TCP).
    #[error("the peer reset the connection")]
    ResetByPeer,
    /// The peer aborted the association, with the code of its first reason or 0 (SCTP).
    #[error("the peer aborted the association (cause {0})")]
    PeerAborted(u16),
    /// The peer broke a rule without which the association cannot go on (SCTP).
    #[error("the peer broke a rule of the protocol")]
    PeerBrokeRules,
    /// The peer started anew and knows nothing of this connection.
    #[error("the peer restarted")]
    PeerRestarted,
    /// This side's application gave up.
    #[error("aborted by this side")]
    Aborted,
}

/// A write that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// This side has closed the connection, or it is gone.
    #[error("the connection is closed for writing")]
    Closed,
}

/// The sender's state as it is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderState {
    /// Congestion window.
    pub cwnd: Option<ByteCount>,
    /// Slow start threshold.
    pub ssthresh: Option<ByteCount>,
    /// Smoothed round-trip time; `None` before the first sample.
    pub srtt: Option<Span>,
    /// Bytes sent and not acknowledged.
    pub in_flight: ByteCount,
    /// What the controller is doing.
    pub phase: Phase,
    /// `transmitting`, `persisting`, `idle` or `probing`.
    pub activity: &'static str,
    /// What holds back the next data; `None` before the connection is open and when no more is to be sent.
    pub limit: Option<SendLimit>,
}

/// What an endpoint may be asked for: cheap questions before dear ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Readiness {
    /// False when [`Endpoint::poll_transmit`] would write nothing.
    pub may_transmit: bool,
    /// True when nothing but reading can follow from what happened since the last drain: there is
    /// nothing to send, nothing to tell but [`Event::Readable`], and no deadline came nearer. If the
    /// application only reads, no drain is needed then.
    pub is_quiet: bool,
}

/// One end of a connection, without sockets and without a clock.
///
/// Change one thing (hand over a segment, a timeout, a write), then [`drain`](crate::drain); only
/// then change another. A panic is a bug of this project and never the peer's doing; whatever the
/// peer sends, memory stays within the configured buffers.
///
/// What only some hosts need is in [`ProxyLeg`], [`NetworkFeedback`] and [`Inspect`].
pub trait Endpoint: Debug + Send {
    /// A segment arrived on `path`. The endpoint takes out of it what it keeps, the payload for one;
    /// what it leaves is of no use to anybody.
    fn handle_segment(&mut self, now: Instant, path: PathId, segment: &mut Segment);

    /// The deadline of [`Endpoint::poll_timeout`] has come. Too early does no harm.
    fn handle_timeout(&mut self, now: Instant);

    /// Takes from the front of `data` what fits into the send buffer, without copying it, and
    /// returns how many bytes that was. After a short write [`Event::Writable`] tells when to go on.
    ///
    /// # Errors
    /// When this side closed the connection or it is gone.
    fn write(&mut self, now: Instant, data: &mut Bytes) -> Result<usize, WriteError>;

    /// The next piece of what the peer sent, in order; `None` when there is nothing yet.
    fn read(&mut self, now: Instant) -> Option<Bytes>;

    /// No more writes: once everything is delivered, tell the peer.
    fn close(&mut self, now: Instant);

    /// Give up at once and tell the peer.
    fn abort(&mut self, now: Instant);

    /// Writes the next segment to send over what is in `place`, and returns the path that it shall
    /// take; `None` when there is nothing to send, whatever is in `place` then. State advances with
    /// it: the segment counts as sent.
    fn poll_transmit(&mut self, now: Instant, place: &mut Segment) -> Option<PathId>;

    /// The next thing to tell the application.
    fn poll_event(&mut self) -> Option<Event>;

    /// When [`Endpoint::handle_timeout`] must be called, as an absolute time; `None` when nothing is
    /// running.
    fn poll_timeout(&self) -> Option<Instant>;

    /// Whether a deadline may have come nearer since this was last asked, or the connection has ended: whoever
    /// has set a timer to [`Endpoint::poll_timeout`] since then need not look at it anew if not.
    fn take_timer_dirty(&mut self) -> bool {
        true
    }

    /// What this end may be asked for.
    fn readiness(&self) -> Readiness {
        Readiness { may_transmit: true, is_quiet: false }
    }

    /// True when nothing is left to do and no timer runs.
    fn is_closed(&self) -> bool;
}

/// An end whose stream somebody carries on to another one: a proxy.
pub trait ProxyLeg: Endpoint {
    /// So many bytes that were read still take room in the receive buffer, because whoever read them
    /// keeps them until others take them: the window that is stated is smaller by them, and
    /// fewer than before open it. To be told before the next drain after a read, or the window would
    /// open in between.
    fn reserve_receive_buffer(&mut self, now: Instant, bytes: ByteCount);

    /// The last so many bytes that were read are not to be acknowledged yet, because somebody further on
    /// has not acknowledged them. A protocol that cannot do that acknowledges all the same.
    fn defer_acks(&mut self, _now: Instant, _bytes: ByteCount) {}

    /// Whoever opened the connection knows the path: from now on this is the window, whatever the
    /// controller makes of it. A protocol that cannot do that keeps to its controller.
    fn override_cwnd(&mut self, _now: Instant, _window: ByteCount) {}

    /// Bytes that were written and that this end may have to send, once more or for the first time.
    fn unacknowledged(&self) -> ByteCount;
}

/// An end that the network tells of more than segments. A protocol that makes no use of something goes on as without.
pub trait NetworkFeedback: Endpoint {
    /// The congestion header of XCP that goes before the segment which was written last, between it and
    /// the IP header; none if there is none, or if it was taken.
    #[inline]
    fn take_congestion(&mut self) -> Option<Header> {
        None
    }

    /// The congestion header that came before the segment which is handed over next.
    fn handle_congestion(&mut self, _now: Instant, _header: &Header) {}

    /// Whether this end wants to be told of the queue of its own host.
    #[inline]
    fn follows_queue(&self) -> bool {
        false
    }

    /// How the queue of this host is that its segments pass first. To be told before a drain, if
    /// [`NetworkFeedback::follows_queue`] says so, and after one in which a segment did not fit.
    fn handle_queue(&mut self, _now: Instant, _queue: &LocalQueue) {}

    /// A router says that a packet which this end sent on `path` was dropped because the next link carries none of more than
    /// `mtu` bytes, IP header included. `number` has the four bytes behind the ports of the packet: in TCP the sequence
    /// number, in SCTP the verification tag.
    fn handle_packet_too_big(&mut self, _now: Instant, _path: PathId, _mtu: u16, _number: u32) {}

    /// A router says that a packet which this end sent met congestion and went on: the message stands for a mark on it.
    /// `number` is as above.
    fn handle_source_quench(&mut self, _now: Instant, _number: u32) {}

    /// The link-layer says that the link beside this host went down, or is up again.
    fn handle_link_state(&mut self, _now: Instant, _up: bool) {}
}

/// What can be seen of an end, for records and whoever waits for it.
pub trait Inspect: Endpoint {
    /// Bytes that were written and not sent yet.
    fn unsent(&self) -> usize;

    /// The sender's state at this moment.
    fn sender_state(&self) -> SenderState;

    /// What was sent and received so far.
    fn counters(&self) -> TransportCounters;

    /// What probing did so far; `None` when the protocol has no probing or it is off.
    fn probing_summary(&self) -> Option<ProbingSummary> {
        None
    }

    /// Name of the congestion controller.
    fn controller_name(&self) -> &'static str;
}

/// An end of any protocol with all that can be done to it and seen of it.
pub trait FullEndpoint: ProxyLeg + NetworkFeedback + Inspect {}

impl<E: ProxyLeg + NetworkFeedback + Inspect> FullEndpoint for E {}
