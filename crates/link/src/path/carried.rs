//! What a path may know of the packets that it carries.

use bentpipe_units::{ByteCount, Seq32};
use bentpipe_wire::{Ecn, Kind, Segment, qlp, xstp};

use crate::Passing;
use crate::queue::{Cumulative, FlowKey, Held};

/// What a packet shows to whoever queues it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// Length on the links, all headers included.
    pub bytes: ByteCount,
    /// What it carries.
    pub kind: Kind,
    /// The ECN field of its IP header.
    pub ecn: Ecn,
    /// Connection and direction.
    pub flow: FlowKey,
    /// What it acknowledges, if it carries nothing but an acknowledgment.
    pub ack: Option<Cumulative>,
}

impl Description {
    /// What a model sees.
    pub(super) const fn passing(&self) -> Passing {
        Passing { bytes: self.bytes, kind: self.kind }
    }

    /// What a queue sees of packet `id` before line `line`.
    pub(super) const fn held(&self, id: u32, line: u16, first: bool) -> Held {
        let Self { bytes, kind, ecn, flow, ack } = *self;
        Held { id, line, kind, ecn, bytes, flow, ack, first }
    }
}

/// A packet of a path.
pub trait Carried: Sized {
    /// What it shows. A path asks once, when the packet enters or has been changed.
    fn describe(&self) -> Description;

    /// Sets the congestion mark. Asked only for packets whose field is [`Ecn::Capable0`] or [`Ecn::Capable1`].
    fn mark(&mut self) {}

    /// A copy of an acknowledgment that acknowledges only what is before `next`; `None` when it cannot be copied.
    fn copy_of_ack(&self, _next: Seq32) -> Option<Self> {
        None
    }
}

/// A frame counts with its payload, as in the simulator.
impl Carried for qlp::Frame {
    fn describe(&self) -> Description {
        let bytes = ByteCount::new(self.payload.len() as u64);
        let (from, to) = (self.header.source.0, self.header.destination.0);
        let hosts = u64::from(from) << 48 | u64::from(to) << 32;
        let unknown = Description { bytes, flow: FlowKey(hosts), ..Description::default() };
        if self.header.protocol != qlp::Protocol::Xstp {
            return unknown;
        }
        let Ok(segment) = xstp::decode(self.payload.clone(), None) else { return unknown };
        let segment = Segment::Xstp(segment);
        let (source, destination) = segment.ports();
        let ports = u64::from(source) << 16 | u64::from(destination);
        let ack = Cumulative::of(&segment);
        Description { kind: segment.kind(), flow: FlowKey(hosts | ports), ack, ..unknown }
    }
}
