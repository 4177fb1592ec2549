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
}

/// Number of a packet in the arena.
pub(crate) type PacketId = u32;

/// All packets on their way. Places are used again, so that a steady flow allocates nothing.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    places: Vec<Option<Packet>>,
    free: Vec<PacketId>,
}

impl Arena {
    /// Keeps a packet.
    pub(crate) fn insert(&mut self, packet: Packet) -> PacketId {
        if let Some(id) = self.free.pop() {
            self.places[id as usize] = Some(packet);
            return id;
        }
        self.places.push(Some(packet));
        (self.places.len() - 1) as PacketId
    }

    /// The packet with this number, which is on its way.
    pub(crate) fn get_mut(&mut self, id: PacketId) -> Option<&mut Packet> {
        self.places[id as usize].as_mut()
    }

    /// Takes a packet out.
    pub(crate) fn remove(&mut self, id: PacketId) -> Option<Packet> {
        let packet = self.places[id as usize].take();
        if packet.is_some() {
            self.free.push(id);
        }
        packet
    }
}
