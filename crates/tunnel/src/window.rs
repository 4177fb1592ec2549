//! What may leave now where nobody knows the rate of the path.

use bentpipe_transport::xstp::SharedMember;
use bentpipe_units::{ByteCount, Instant, Span};

/// A timer may be late by this without loss of rate.
const CATCH_UP: Span = Span::from_millis(2);

/// The part of a shared window, or no bound.
#[derive(Debug, Default)]
pub(crate) struct Window {
    member: Option<SharedMember>,
    /// When the pace allows the next packet.
    next_at: Instant,
}

impl Window {
    /// A window that others share, or none where somebody else says when something leaves.
    pub(crate) fn set(&mut self, member: Option<SharedMember>) {
        self.member = member;
    }

    /// Something waits, or nothing does any more.
    pub(crate) fn set_hungry(&mut self, now: Instant, hungry: bool) {
        if let Some(member) = &mut self.member {
            member.set_hungry(now, hungry);
        }
    }

    /// Until then a call passes.
    pub(crate) fn set_low_latency(&mut self, now: Instant, until: Instant) {
        if let Some(member) = &mut self.member {
            member.set_low_latency(now, until);
        }
    }

    /// When the pace allows the next packet, if the window does. What is `sparse` may exceed it a little.
    pub(crate) fn due(&self, bytes: u64, is_sparse: bool) -> Option<Instant> {
        let Some(member) = &self.member else { return Some(Instant::ZERO) };
        member.may_send(bytes, is_sparse).then_some(self.next_at)
    }

    /// So many bytes leave, of which so many count until they arrive or are lost.
    pub(crate) fn sent(&mut self, now: Instant, bytes: u64, counted: bool) {
        let Some(member) = &mut self.member else { return };
        if counted {
            member.sent(now, bytes);
        }
        if let Some(rate) = member.limits().pacing {
            let from = self.next_at.max(now.before(CATCH_UP));
            self.next_at = from + rate.time_for(ByteCount::new(bytes));
        }
    }

    /// The member to be told what became of packets.
    pub(crate) const fn member(&mut self) -> Option<&mut SharedMember> {
        self.member.as_mut()
    }
}
