//! The numbers of late, what came under them, and the datagrams that these are.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

use crate::record::{Header, RECORD_HEADER, Record};

/// Most numbers that are remembered.
pub(crate) const WINDOW: usize = 8_192;
/// A datagram lies in no more packets than this.
const SPANS: usize = 64;

/// All of them, in a row.
#[derive(Debug)]
pub(crate) struct Slots {
    first: u64,
    slots: VecDeque<Slot>,
    /// Bytes of bodies, and the most of them.
    held: usize,
    most: usize,
}

/// What is known of a number.
#[derive(Debug)]
enum Slot {
    Missing,
    Came(Body),
    /// Parity, or what nobody needs any more.
    Done,
}

#[derive(Debug)]
struct Body {
    bytes: Bytes,
    marked: bool,
    /// Where a datagram begins that goes on in the next packet.
    open_from: Option<usize>,
}

impl Body {
    /// The part that belongs to a datagram of before, and the rest.
    fn split(&self) -> (&[u8], &[u8]) {
        let Some(([_, high, low], rest)) = self.bytes.split_first_chunk() else {
            return (&[], &[]);
        };
        rest.split_at(usize::from(u16::from_be_bytes([*high, *low])).min(rest.len()))
    }

    /// How far back the packet before it lies: there may be parity between them.
    fn back(&self) -> u64 {
        self.bytes.first().map_or(1, |back| u64::from(*back).max(1))
    }
}

impl Slots {
    /// None yet; this is the first one that counts, and so many bytes are kept.
    pub(crate) const fn new(first: u64, most: usize) -> Self {
        Self { first, slots: VecDeque::new(), held: 0, most }
    }

    /// Nothing before this number is known any more.
    pub(crate) fn begin_anew(&mut self, first: u64) {
        *self = Self::new(first, self.most);
    }

    /// So many bytes are kept from now on.
    pub(crate) const fn limit(&mut self, most: usize) {
        self.most = most;
    }

    /// The first one that is remembered.
    pub(crate) const fn first(&self) -> u64 {
        self.first
    }

    /// One more than the highest number.
    pub(crate) fn next(&self) -> u64 {
        self.first + self.slots.len() as u64
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// This one and all before it are known to exist.
    pub(crate) fn extend_to(&mut self, number: u64) {
        let more = number.saturating_sub(self.next()) + 1;
        self.slots.extend((0..more).map(|_| Slot::Missing));
    }

    /// Nobody needs what comes under this number, or nobody does any more.
    pub(crate) fn settle(&mut self, number: u64) {
        self.set(number, Slot::Done);
    }

    pub(crate) fn is_missing(&self, number: u64) -> bool {
        matches!(self.get(number), Some(Slot::Missing))
    }

    /// What came.
    pub(crate) fn body(&self, number: u64) -> Option<&Bytes> {
        self.get_body(number).map(|body| &body.bytes)
    }

    /// Nothing is kept that exceeds its bounds.
    pub(crate) fn trim(&mut self) {
        while self.slots.len() > WINDOW || self.held > self.most {
            let Some(slot) = self.slots.pop_front() else { return };
            self.held -= if let Slot::Came(body) = slot { body.bytes.len() } else { 0 };
            self.first += 1;
        }
    }

    fn get(&self, number: u64) -> Option<&Slot> {
        self.slots.get(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    fn get_body(&self, number: u64) -> Option<&Body> {
        match self.get(number)? {
            Slot::Came(body) => Some(body),
            Slot::Missing | Slot::Done => None,
        }
    }

    fn set(&mut self, number: u64, slot: Slot) {
        let Some(offset) = number.checked_sub(self.first) else { return };
        if let Some(place) = self.slots.get_mut(offset as usize) {
            self.held += if let Slot::Came(body) = &slot { body.bytes.len() } else { 0 };
            let before = std::mem::replace(place, slot);
            self.held -= if let Slot::Came(body) = before { body.bytes.len() } else { 0 };
        }
    }

    /// A body came or was made of parity. Returns the datagrams that are complete now.
    pub(crate) fn accept(&mut self, number: u64, bytes: Bytes, marked: bool) -> Vec<Record> {
        let mut complete = Vec::new();
        if !self.is_missing(number) {
            return complete;
        }
        let mut body = Body { bytes, marked, open_from: None };
        let (head, rest) = body.split();
        let start = body.bytes.len() - rest.len();
        let (continues, mut at) = (!head.is_empty(), start);
        let mut records = Vec::new();
        while at < body.bytes.len() {
            let whole = Header::read(&body.bytes[at..]).map(Header::whole);
            match whole.filter(|whole| at + whole <= body.bytes.len()) {
                Some(whole) => records.push((at, at + whole)),
                None => {
                    body.open_from = Some(at);
                    break;
                }
            }
            at += whole.unwrap_or(usize::MAX);
        }
        let (bytes, goes_on) = (body.bytes.clone(), body.open_from.is_some());
        self.set(number, Slot::Came(body));
        if continues {
            complete.extend(self.join(number));
        }
        for (from, to) in records {
            complete.extend(record(&bytes.slice(from..to), marked));
        }
        if goes_on {
            complete.extend(self.complete(number));
        }
        complete
    }

    /// The datagram is complete that begins in a packet before this one, perhaps.
    fn join(&mut self, mut number: u64) -> Option<Record> {
        for _ in 0..SPANS {
            let before = number.checked_sub(self.get_body(number)?.back())?;
            let body = self.get_body(before)?;
            if body.open_from.is_some() {
                return self.complete(before);
            }
            if !body.split().1.is_empty() {
                return None;
            }
            number = before;
        }
        None
    }

    /// The packet after this one, if it came.
    fn following(&self, number: u64) -> Option<(u64, &Body)> {
        let after = number + 1..=number + u64::from(u8::MAX);
        let came = |number| self.get_body(number).map(|body| (number, body));
        after
            .clone()
            .find_map(came)
            .filter(|(next, body)| next.checked_sub(body.back()) == Some(number))
    }

    /// The datagram is complete that begins at the end of this packet, perhaps.
    fn complete(&mut self, number: u64) -> Option<Record> {
        let body = self.get_body(number)?;
        let from = body.open_from?;
        let (mut parts, mut marked) = (vec![body.bytes.slice(from..)], body.marked);
        let mut len = parts[0].len();
        let mut last = number;
        for _ in 0..SPANS {
            let (next, body) = self.following(last)?;
            let (head, rest) = body.split();
            last = next;
            len += head.len();
            parts.push(body.bytes.slice_ref(head));
            marked |= body.marked;
            if !rest.is_empty() || Self::is_whole(&parts, len) {
                break;
            }
        }
        let offset = number.checked_sub(self.first)? as usize;
        if let Some(Slot::Came(body)) = self.slots.get_mut(offset) {
            body.open_from = None;
        }
        let mut whole = BytesMut::with_capacity(len);
        parts.iter().for_each(|part| whole.extend_from_slice(part));
        record(&whole.freeze(), marked)
    }

    /// Whether these are all bytes of a datagram.
    fn is_whole(parts: &[Bytes], len: usize) -> bool {
        let first: Vec<u8> = parts.iter().flatten().take(RECORD_HEADER).copied().collect();
        Header::read(&first).is_some_and(|header| header.whole() <= len)
    }
}

/// The datagram that these bytes are, its header in front.
fn record(whole: &Bytes, marked: bool) -> Option<Record> {
    // Anything else was written by nobody who knows how.
    let header = Header::read(whole).filter(|header| header.whole() == whole.len())?;
    header.record(whole.slice(RECORD_HEADER..), marked)
}

#[cfg(test)]
mod tests {
    use bentpipe_wire::Ecn;
    use proptest::prelude::*;

    use super::*;
    use crate::record::Datagram;

    proptest! {
        #[test]
        fn datagrams_come_out_whole_in_whatever_order_their_packets_come(
            lens in prop::collection::vec(0usize..400, 1..30),
            room in 20usize..200,
            order in any::<u64>(),
            parity in 0u64..4,
        ) {
            // All datagrams one behind the other, cut into bodies, with numbers of parity between some.
            let mut stream = BytesMut::new();
            let mut starts = Vec::new();
            let records: Vec<Record> = lens.iter().zip(0..).map(|(len, order)| {
                let digest = (len % 2 == 0).then_some(*len as u16);
                let label = Bytes::from(if digest.is_none() { vec![7; *len / 9] } else { Vec::new() });
                let bytes = vec![order as u8; *len].into();
                let datagram = Datagram { flow: 1, ecn: Ecn::NotCapable, label, bytes };
                let (is_sparse, is_ordered, is_repeated) = (false, true, false);
                Record { datagram, order, is_sparse, is_ordered, is_repeated, digest }
            }).collect();
            for record in &records {
                starts.push(stream.len());
                record.put(&mut stream);
            }
            let (mut bodies, mut number, mut back) = (Vec::new(), 0, 1u64);
            for (n, chunk) in stream.chunks(room).enumerate() {
                let next = starts.iter().find(|start| **start >= n * room);
                let head = next.map_or(chunk.len(), |start| (start - n * room).min(chunk.len()));
                let body = [&[back as u8][..], &(head as u16).to_be_bytes(), chunk].concat();
                bodies.push((number, Bytes::from(body)));
                back = if n % 3 == 2 { 1 + parity } else { 1 };
                number += back;
            }
            let mut slots = Slots::new(0, 1 << 20);
            slots.extend_to(number);
            bodies.sort_by_key(|(number, _)| (number + 1).wrapping_mul(order | 1));
            let mut out: Vec<Record> = Vec::new();
            for (number, body) in bodies {
                out.extend(slots.accept(number, body.clone(), false));
                prop_assert!(slots.accept(number, body, false).is_empty(), "once");
            }
            out.sort_by_key(|record| record.order);
            prop_assert_eq!(out, records);
        }
    }
}
