//! Packets on their way, kept in one place and passed around by number.

use bentpipe_wire::{Kind, Segment};
use bytes::Bytes;

/// A packet.
#[derive(Debug)]
pub(crate) struct Packet {
    /// Node that sent it.
    pub(crate) from: u16,
    /// Node that it is for.
    pub(crate) to: u16,
    /// Bytes on a link, encapsulation included.
    pub(crate) len: u32,
    /// What its segment carries; a router does not read the bytes.
    pub(crate) kind: Kind,
    /// Some link corrupted it.
    pub(crate) corrupt: bool,
    /// What it carries.
    pub(crate) load: Load,
}

/// What a packet carries.
#[derive(Debug)]
pub(crate) enum Load {
    /// The typed segment.
    Typed(Segment),
    /// Its bytes, in wire mode.
    Wire(Bytes),
    /// It was taken out.
    Nothing,
}

/// Number of a packet in the arena.
pub(crate) type PacketId = u32;

/// All packets on their way. Places are used again, so that a steady flow allocates nothing.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    places: Vec<Packet>,
    free: Vec<PacketId>,
}

impl Arena {
    /// Keeps a packet.
    #[inline]
    pub(crate) fn insert(
        &mut self,
        from: u16,
        to: u16,
        len: u32,
        kind: Kind,
        load: Load,
    ) -> PacketId {
        let Some(id) = self.free.pop() else {
            self.places.push(Packet { from, to, len, kind, corrupt: false, load });
            return (self.places.len() - 1) as PacketId;
        };
        // Field by field: the segment is copied once and goes straight to its place.
        let place = &mut self.places[id as usize];
        (place.from, place.to, place.len, place.kind) = (from, to, len, kind);
        place.corrupt = false;
        place.load = load;
        id
    }

    /// The packet with this number, which is on its way.
    #[inline]
    pub(crate) fn get_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.places[id as usize]
    }

    /// Takes out what a packet carries. Each packet is taken out once.
    #[inline]
    pub(crate) fn remove(&mut self, id: PacketId) -> Load {
        self.free.push(id);
        std::mem::replace(&mut self.places[id as usize].load, Load::Nothing)
    }
}
