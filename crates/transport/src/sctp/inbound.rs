//! Pieces to messages, messages to their streams' order.

use std::collections::{BTreeMap, VecDeque};

use bentpipe_wire::sctp::{Data, DataFlags};
use bytes::Bytes;
use smallvec::smallvec;

use super::Message;

/// A piece that waits for others of its message.
#[derive(Debug)]
struct Piece {
    stream: u16,
    ssn: u16,
    ppid: u32,
    flags: DataFlags,
    payload: Bytes,
}

/// A stream of the peer.
#[derive(Debug, Default)]
struct Stream {
    /// The number of the message to deliver next.
    next: u16,
    /// Messages beyond it, by how far: numbers that never wrap while they wait.
    waiting: BTreeMap<u16, Message>,
}

/// A message that is delivered in parts, because it is too long to wait for.
#[derive(Clone, Copy, Debug)]
struct Partial {
    /// Number of the piece that must come next.
    next: u64,
    stream: u16,
    unordered: bool,
}

/// What arrived and is not read.
///
/// Pieces are known by a number that is their TSN without the wrap, so that neighbours in a message
/// are neighbours here.
#[derive(Debug, Default)]
pub(super) struct Inbound {
    pieces: BTreeMap<u64, Piece>,
    /// Pieces of one message without a gap between them: the last of each run by its first.
    runs: BTreeMap<u64, u64>,
    streams: BTreeMap<u16, Stream>,
    partial: Option<Partial>,
    ready: VecDeque<Message>,
    /// User bytes of pieces and of messages that wait for their turn, and their number.
    held: usize,
    held_count: usize,
    /// User bytes of messages that can be read.
    unread: usize,
}

impl Inbound {
    pub(super) const fn held(&self) -> usize {
        self.held
    }

    pub(super) const fn held_count(&self) -> usize {
        self.held_count
    }

    pub(super) const fn unread(&self) -> usize {
        self.unread
    }

    /// The next message that can be read.
    pub(super) fn pop(&mut self) -> Option<Message> {
        let message = self.ready.pop_front()?;
        self.unread -= message.len();
        Some(message)
    }

    /// A chunk arrived for the first time. True when something can be read now that could not before.
    pub(super) fn take(&mut self, number: u64, data: Data) -> bool {
        let readable = self.ready.len();
        if data.flags.contains(DataFlags::WHOLE) {
            let Data { stream, ssn, ppid, flags, payload, .. } = data;
            let unordered = flags.contains(DataFlags::UNORDERED);
            let pieces = smallvec![payload];
            self.arrange(ssn, Message { stream, ppid, unordered, complete: true, pieces });
        } else {
            self.take_piece(number, data);
        }
        self.ready.len() > readable
    }

    fn take_piece(&mut self, number: u64, data: Data) {
        let Data { stream, ssn, ppid, flags, payload, .. } = data;
        self.held += payload.len();
        self.held_count += 1;
        self.pieces.insert(number, Piece { stream, ssn, ppid, flags, payload });
        let (first, last) = self.join_run(number);
        if self.partial.is_some_and(|partial| partial.stream == stream) {
            self.go_on_with_partial();
        }
        let at = |number| self.pieces.get(number);
        if at(&first).is_some_and(begins) && at(&last).is_some_and(ends) {
            let message = self.join(first, last);
            self.arrange(ssn, message);
        }
    }

    /// Joins a new piece with its neighbours. Gives the first and the last piece of the run.
    fn join_run(&mut self, number: u64) -> (u64, u64) {
        let (mut first, mut last) = (number, number);
        let before = self.runs.range(..number).next_back().map(|(first, last)| (*first, *last));
        if let Some((start, end)) = before
            && end + 1 == number
            && self.follows(end, number)
        {
            first = start;
        }
        if self.follows(number, number + 1)
            && let Some(end) = self.runs.remove(&(number + 1))
        {
            last = end;
        }
        self.runs.insert(first, last);
        (first, last)
    }

    /// Whether the second of two neighbours goes on with the message of the first.
    fn follows(&self, first: u64, second: u64) -> bool {
        let (Some(a), Some(b)) = (self.pieces.get(&first), self.pieces.get(&second)) else {
            return false;
        };
        let of =
            |piece: &Piece| (piece.stream, piece.ssn, piece.flags.contains(DataFlags::UNORDERED));
        of(a) == of(b) && !ends(a) && !begins(b)
    }

    /// Takes the pieces of a run out and makes one message of them.
    fn join(&mut self, first: u64, last: u64) -> Message {
        let mut message = Message {
            stream: 0,
            ppid: 0,
            unordered: false,
            complete: false,
            pieces: Default::default(),
        };
        self.runs.remove(&first);
        for number in first..=last {
            let Some(piece) = self.pieces.remove(&number) else { continue };
            self.held -= piece.payload.len();
            self.held_count -= 1;
            message.stream = piece.stream;
            message.ppid = piece.ppid;
            message.unordered = piece.flags.contains(DataFlags::UNORDERED);
            message.complete = ends(&piece);
            message.pieces.push(piece.payload);
        }
        message
    }

    /// Puts a whole message into the order of its stream.
    fn arrange(&mut self, ssn: u16, message: Message) {
        if message.unordered {
            return self.deliver(message);
        }
        let id = message.stream;
        let stream = self.streams.entry(id).or_default();
        let ahead = ssn.wrapping_sub(stream.next);
        let in_turn = |partial: Partial| partial.stream == id && !partial.unordered;
        let in_parts = self.partial.is_some_and(in_turn);
        if ahead >= 1 << 15 || stream.waiting.contains_key(&ssn) {
            return; // A number that was delivered or waits: no peer that follows the rules does this.
        }
        if ahead > 0 || in_parts {
            self.held += message.len();
            self.held_count += 1;
            stream.waiting.insert(ssn, message);
            return;
        }
        self.deliver(message);
        self.end_message(id);
    }

    /// The message in turn was delivered: those that waited for it follow.
    fn end_message(&mut self, id: u16) {
        loop {
            let Some(stream) = self.streams.get_mut(&id) else { return };
            stream.next = stream.next.wrapping_add(1);
            let Some(message) = stream.waiting.remove(&stream.next) else { return };
            self.held -= message.len();
            self.held_count -= 1;
            self.deliver(message);
        }
    }

    fn deliver(&mut self, message: Message) {
        self.unread += message.len();
        self.ready.push_back(message);
    }

    /// The buffer is nearly full of pieces: begins to deliver the message whose turn it is in parts.
    /// `arrived` is the number up to which everything arrived. True when something can be read.
    pub(super) fn deliver_in_parts(&mut self, arrived: u64) -> bool {
        if self.partial.is_some() {
            return false;
        }
        let in_turn = |piece: &Piece| {
            let next = self.streams.get(&piece.stream).map_or(0, |stream| stream.next);
            begins(piece) && (piece.flags.contains(DataFlags::UNORDERED) || piece.ssn == next)
        };
        let mut arrived = self.runs.range(..=arrived).filter_map(|(first, _)| {
            let piece = self.pieces.get(first)?;
            Some((*first, piece))
        });
        let Some((first, piece)) = arrived.find(|(_, piece)| in_turn(piece)) else { return false };
        let unordered = piece.flags.contains(DataFlags::UNORDERED);
        self.partial = Some(Partial { next: first, stream: piece.stream, unordered });
        self.go_on_with_partial();
        true
    }

    /// Delivers the pieces that follow in the message that is delivered in parts.
    fn go_on_with_partial(&mut self) {
        let Some(Partial { next, stream, unordered }) = self.partial else { return };
        let Some(&last) = self.runs.get(&next) else { return };
        let part = self.join(next, last);
        let complete = part.complete;
        self.deliver(part);
        self.partial = (!complete).then_some(Partial { next: last + 1, stream, unordered });
        if complete && !unordered {
            self.streams.entry(stream).or_default();
            self.end_message(stream);
        }
    }
}

fn begins(piece: &Piece) -> bool {
    piece.flags.contains(DataFlags::BEGIN)
}

fn ends(piece: &Piece) -> bool {
    piece.flags.contains(DataFlags::END)
}

#[cfg(test)]
mod tests;
