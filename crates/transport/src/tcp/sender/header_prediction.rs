//! Header prediction: whether a segment, or what leaves next, is the plain case that nearly all are (Jacobson, "4BSD
//! TCP header prediction", CCR 20(2), 1990).
//!
//! Nothing is done here, only looked at. A plain acknowledgement is that of one or two whole segments at an end that
//! misses nothing, and what leaves plainly is the next full segment while nothing is to be repaired: then the steps of
//! the general path that would find nothing to do are left out, and the others are the same functions.

use bentpipe_cc::LowPriority;
use bentpipe_wire::Ecn;
use bentpipe_wire::tcp::{Flags, Options, Scps, Segment};

use super::Sender;
use crate::tcp::ack_in::AckIn;
use crate::tcp::recovery::Departed;

/// Flags that are something else than data and an acknowledgement.
const UNUSUAL: Flags =
    Flags::SYN.with(Flags::FIN).with(Flags::RST).with(Flags::URG).with(Flags::ECE).with(Flags::CWR);

/// Whole segments that a plain acknowledgement is about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whole {
    pub(super) segments: u64,
    pub(super) newest: Departed,
}

/// The segment has nothing but a number, an acknowledgement, a window and its timestamps.
#[inline]
pub(in crate::tcp) fn has_plain_header(segment: &Segment) -> bool {
    segment.flags.contains(Flags::ACK)
        && !segment.flags.intersects(UNUSUAL)
        && segment.ecn != Ecn::Congestion
        && segment.scps == Scps::NONE
        && matches!(segment.options, Options::None)
}

/// The acknowledgement is of one or two whole segments that were sent once each, while nothing is reported, lost or
/// being repaired.
#[inline(always)]
pub(super) fn plain_ack(tx: &Sender, ack: &AckIn) -> Option<Whole> {
    let plain = tx.open
        && !tx.probing.is_on()
        && !tx.backlog.is_fin_sent()
        && !tx.retransmissions.has_counted()
        && !tx.peer.is_closed_at(ack.offset)
        && tx.episode.is_settled(ack.echo.is_some());
    let (segments, newest) = tx.board.whole_before(ack.offset).filter(|_| plain)?;
    Some(Whole { segments, newest })
}

/// The next full segment of new data may leave now if the windows allow it: nothing is to be repaired, something is
/// under way and more waits behind it.
#[inline(always)]
pub(super) fn plain_departure(tx: &Sender) -> bool {
    let full = tx.mss();
    tx.governor.is_plain()
        && tx.open
        && !tx.probing.is_on()
        && !tx.peer.is_probed()
        && tx.timers.rto().is_some()
        && tx.board.outstanding() > 0
        && tx.backlog.unsent() >= 2 * full
        && tx.peer.room(tx.board.next()) >= 2 * full
        && !tx.board.has_lost()
        && tx.governor.low_priority() == LowPriority::Nothing
}

/// A full segment waits for nothing but the congestion window, if that has no room for it.
pub(super) fn waits_for_cwnd(tx: &mut Sender) -> bool {
    let full = tx.mss();
    tx.open
        && !tx.probing.is_on()
        && !tx.is_paced()
        && !tx.pacer.limits_bursts()
        && !tx.peer.is_probed()
        && tx.board.outstanding() > 0
        && tx.backlog.unsent() >= full
        && tx.peer.room(tx.board.next()) >= full
        && tx.board.next_retransmission().is_none()
}
