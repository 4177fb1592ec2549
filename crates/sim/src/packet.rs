//! Packets on their way, kept in one place and passed around by number.

use std::hint::black_box;

use bentpipe_link::Passing;
use bentpipe_units::ByteCount;
use bentpipe_wire::xcp::{Header, PROTOCOL, RateChange};
use bentpipe_wire::{Kind, Segment};
use bytes::Bytes;

use crate::{Encapsulation, Envelope, wire_mode};

/// A packet: two cache lines of its own. By the time it arrives hundreds of others have been written.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Packet {
    /// Node that sent it.
    pub(crate) from: u16,
    /// Node that it is for.
    pub(crate) to: u16,
    /// Bytes on a link, encapsulation included.
    pub(crate) len: u32,
    /// What it carries: it reaches from one line into the other.
    pub(crate) segment: Segment,
    /// What its segment carries; a router does not read the bytes.
    pub(crate) kind: Kind,
    /// Some link corrupted it.
    pub(crate) corrupt: bool,
    /// It has a congestion header.
    pub(crate) asks: bool,
}

const _: () = assert!(size_of::<Packet>() == 128);

impl Packet {
    /// What the headers around its segment say in a run whose XSTP is carried like this.
    pub(crate) const fn envelope(&self, encapsulation: Encapsulation) -> Envelope {
        let envelope = Envelope::of(&self.segment, encapsulation, self.from, self.to);
        let protocol = if self.asks { PROTOCOL } else { envelope.protocol };
        Envelope { protocol, ..envelope }
    }

    /// What is written on the packet, which has this number.
    #[inline]
    pub(crate) const fn label(&self, packet: PacketId) -> Label {
        Label { packet, len: self.len, to: self.to, kind: self.kind }
    }
}

/// Number of a packet in the arena.
pub(crate) type PacketId = u32;

/// What is written on a packet. Links and routers need no more: the packet itself, which was written so many
/// packets ago that it is not near any more, is left alone on its way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Label {
    /// Which packet it is.
    pub(crate) packet: PacketId,
    /// Bytes on a link, encapsulation included.
    pub(crate) len: u32,
    /// Node that it is for.
    pub(crate) to: u16,
    /// What its segment carries.
    pub(crate) kind: Kind,
}

impl Label {
    /// What link models are told of the packet.
    #[inline]
    pub(crate) const fn passing(&self) -> Passing {
        Passing { bytes: ByteCount::new(self.len as u64), kind: self.kind }
    }
}

/// All packets on their way. A segment is written into its place once and read there; places are used
/// again, so that a steady flow allocates nothing.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    places: Vec<Packet>,
    /// In wire mode the bytes of each packet.
    bytes: Vec<Bytes>,
    /// The congestion headers of packets that have one.
    congestion: Vec<Header>,
    free: Vec<PacketId>,
}

impl Arena {
    /// A place for the next packet, with what an earlier one left there. It is the same one until
    /// [`Arena::take`].
    #[inline]
    pub(crate) fn next(&mut self) -> (PacketId, &mut Packet) {
        let id = match self.free.last() {
            Some(id) => *id,
            None => self.grow(),
        };
        (id, &mut self.places[id as usize])
    }

    #[cold]
    fn grow(&mut self) -> PacketId {
        let id = self.places.len() as PacketId;
        self.places.push(Packet::default());
        self.bytes.push(Bytes::new());
        self.free.push(id);
        id
    }

    /// The packet in the place that [`Arena::next`] gave is on its way.
    #[inline]
    pub(crate) fn take(&mut self) {
        self.free.pop();
    }

    /// The packet with this number.
    #[inline]
    pub(crate) fn get_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.places[id as usize]
    }

    /// This packet is read soon: brings its two cache lines near. It was written so many packets ago
    /// that they are not there any more.
    #[inline]
    pub(crate) fn fetch(&self, id: PacketId) {
        let packet = &self.places[id as usize];
        black_box(packet.to);
        black_box(packet.corrupt);
    }

    /// The bytes of the packet with this number, in wire mode.
    pub(crate) fn bytes_mut(&mut self, id: PacketId) -> &mut Bytes {
        &mut self.bytes[id as usize]
    }

    /// The congestion header of the packet with this number.
    pub(crate) fn congestion(&self, id: PacketId) -> Option<Header> {
        let asks = self.places[id as usize].asks;
        self.congestion.get(id as usize).filter(|_| asks).copied()
    }

    /// The bytes of a packet as they are on the wire.
    pub(crate) fn encode(&self, id: PacketId, encapsulation: Encapsulation) -> Bytes {
        let congestion = self.congestion(id);
        let packet = &self.places[id as usize];
        wire_mode::encode(&packet.segment, congestion.as_ref(), &packet.envelope(encapsulation))
    }

    /// The place of that header; it counts if the packet says so.
    pub(crate) fn congestion_mut(&mut self, id: PacketId) -> &mut Header {
        const NONE: Header = Header {
            protocol: 0,
            request: None,
            reverse_feedback: RateChange::from_bytes_per_sec(0),
        };
        if self.congestion.len() < self.places.len() {
            self.congestion.resize(self.places.len(), NONE);
        }
        &mut self.congestion[id as usize]
    }

    /// The packet has arrived or is lost. Each packet is released once.
    #[inline]
    pub(crate) fn release(&mut self, id: PacketId) {
        self.free.push(id);
    }
}
