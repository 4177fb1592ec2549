//! What waits to be sent besides data: chunks that share packets, and packets of their own.

use std::collections::VecDeque;

use bentpipe_wire::sctp::{Chunk, Packet};

use crate::PathId;

/// Most answers that wait to be sent: what a peer asks beyond them it asks again or not.
const MOST_ANSWERS: usize = 16;

/// Answers to the peer.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    /// Chunks for packets on a path, together with others.
    chunks: VecDeque<(usize, Chunk)>,
    packets: VecDeque<(PathId, Packet)>,
}

impl Outbox {
    /// Queues a chunk for the next packet on a path.
    pub(super) fn answer(&mut self, path: usize, chunk: Chunk) {
        if self.chunks.len() < MOST_ANSWERS {
            self.chunks.push_back((path, chunk));
        }
    }

    /// Queues a question of this end, whatever the peer has asked.
    pub(super) fn ask(&mut self, path: usize, chunk: Chunk) {
        self.chunks.push_back((path, chunk));
    }

    /// Queues a whole packet.
    pub(super) fn send(&mut self, path: PathId, packet: Packet) {
        if self.packets.len() < MOST_ANSWERS {
            self.packets.push_back((path, packet));
        }
    }

    /// The path of the first chunk.
    pub(super) fn path(&self) -> Option<usize> {
        self.chunks.front().map(|(path, _)| *path)
    }

    /// The next chunk for a path, unless one for another path is before it.
    pub(super) fn next_on(&mut self, path: usize) -> Option<Chunk> {
        (self.path()? == path).then(|| self.chunks.pop_front())?.map(|(_, chunk)| chunk)
    }

    pub(super) fn next_packet(&mut self) -> Option<(PathId, Packet)> {
        self.packets.pop_front()
    }

    pub(super) fn has_packets(&self) -> bool {
        !self.packets.is_empty()
    }

    /// Answers on such paths are not sent.
    pub(super) fn forget_paths(&mut self, gone: impl Fn(usize) -> bool) {
        self.chunks.retain(|(path, _)| !gone(*path));
    }

    /// The association ends or begins anew: packets still leave.
    pub(super) fn clear_chunks(&mut self) {
        self.chunks.clear();
    }
}
