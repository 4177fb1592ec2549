//! Segments that travel inside handshake messages.

use bytes::{Bytes, BytesMut};

/// Segments that wait for a handshake message, by the number of their connection.
#[derive(Debug, Default)]
pub(super) struct Early {
    /// Each with whether the latest message has it.
    segments: Vec<(u32, Bytes, bool)>,
    /// A handshake message is being written: what opens connections goes with it.
    collects: bool,
}

/// Most bytes of segments in one handshake message.
const EARLY_ROOM: usize = 900;

impl Early {
    /// Whether a handshake message is being written, which takes along what opens connections now.
    pub(super) const fn collects(&self) -> bool {
        self.collects
    }

    pub(super) const fn set_collects(&mut self, collects: bool) {
        self.collects = collects;
    }

    /// Adds what connection `number` sends, which `write` writes, in place of what it sent before.
    pub(super) fn put(&mut self, number: u32, write: impl FnOnce(&mut BytesMut)) {
        let mut plain = BytesMut::new();
        write(&mut plain);
        self.segments.retain(|(other, ..)| *other != number);
        self.segments.push((number, plain.freeze(), false));
    }

    /// The payload of a handshake message: what there is room for.
    pub(super) fn payload(&mut self) -> Vec<u8> {
        let mut payload = Vec::new();
        for (_, plain, sent) in &mut self.segments {
            *sent = payload.len() + plain.len() + 2 <= EARLY_ROOM;
            if *sent {
                payload.extend((plain.len() as u16).to_be_bytes());
                payload.extend_from_slice(plain);
            }
        }
        payload
    }

    /// Forgets everything and returns what found no room in the last message.
    pub(super) fn take_rest(&mut self) -> Vec<Bytes> {
        let unsent = |(_, plain, sent)| if sent { None } else { Some(plain) };
        self.segments.drain(..).filter_map(unsent).collect()
    }
}

/// The segments in the payload of a handshake message; what is no whole segment ends it.
pub(super) fn segments(mut payload: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (len, rest) = payload.split_first_chunk::<2>()?;
        let (segment, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*len)))?;
        payload = rest;
        Some(segment)
    })
}

#[cfg(test)]
mod tests {
    use bytes::BufMut as _;

    use super::*;

    #[test]
    fn what_finds_no_room_in_a_message_goes_after_it() {
        let mut early = Early::default();
        early.put(2, |out| out.put_bytes(2, 500));
        early.put(4, |out| out.put_bytes(4, 500));
        early.put(2, |out| out.put_bytes(3, 300));
        let payload = early.payload();
        let inside: Vec<&[u8]> = segments(&payload).collect();
        assert_eq!(inside, [&[4; 500][..], &[3; 300][..]]);
        early.put(6, |out| out.put_bytes(6, 200));
        early.payload();
        assert_eq!(early.take_rest(), [vec![6; 200]]);
        assert_eq!(early.take_rest(), Vec::<Bytes>::new());
    }

    #[test]
    fn a_payload_that_is_cut_ends_with_its_last_whole_segment() {
        let payload = [&[0, 2, 7, 8][..], &[0, 9, 1]].concat();
        assert_eq!(segments(&payload).collect::<Vec<_>>(), [&[7, 8][..]]);
        assert_eq!(segments(&[0]).count(), 0);
    }
}
