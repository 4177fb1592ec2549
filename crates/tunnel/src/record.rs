//! A datagram as it lies in packets.

use bentpipe_wire::Ecn;
use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

use crate::labels::LONGEST;

/// Bytes in front of a datagram.
pub(crate) const RECORD_HEADER: usize = 7;
/// Set for a datagram that does not wait for those before it.
const UNORDERED: u8 = 0b100;
/// Set for one that is sent twice.
const TWICE: u8 = 0b1_0000;
/// Set where the label stands before the datagram, with its length in two bytes. Else they are a digest of it.
const LABELLED: u8 = 0b1000;
pub(crate) const LABEL_HEADER: usize = 2;

/// A datagram of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Whose it is: those of one flow are handed over in order. Flows of one number are taken for one.
    pub flow: u16,
    /// The ECN field of the IP header around it.
    pub ecn: Ecn,
    /// Whose it is in the words of the application, in 320 bytes at most, the same for all of a flow; flows of one number are
    /// told apart by it. It travels until the peer has it.
    pub label: Bytes,
    /// Its bytes.
    pub bytes: Bytes,
}

/// A datagram with its place in its flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) datagram: Datagram,
    /// Its number in the flow.
    pub(crate) order: u16,
    /// Its flow sends little: it goes ahead. Known to the sender only.
    pub(crate) is_sparse: bool,
    /// It waits for what comes before it. Those of sparse flows do not, nor short ones: acknowledgements that wait for one that was
    /// lost hold up the other direction.
    pub(crate) is_ordered: bool,
    /// It is sent twice.
    pub(crate) is_repeated: bool,
    /// What goes in place of the label; none where that goes along.
    pub(crate) digest: Option<u16>,
}

/// What stands in front of a datagram.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    flow: u16,
    order: u16,
    len: u16,
    flags: u8,
}

impl Record {
    /// Bytes that it takes.
    pub(crate) fn len(&self) -> usize {
        RECORD_HEADER + self.content()
    }

    /// Those behind the header.
    fn content(&self) -> usize {
        let label = if self.digest.is_none() { self.datagram.label.len() } else { 0 };
        LABEL_HEADER + label + self.datagram.bytes.len()
    }

    pub(crate) fn put(&self, out: &mut BytesMut) {
        out.put_u16(self.datagram.flow);
        out.put_u16(self.order);
        out.put_u16(self.content() as u16);
        let unordered = if self.is_ordered { 0 } else { UNORDERED };
        let twice = if self.is_repeated { TWICE } else { 0 };
        let labelled = if self.digest.is_none() { LABELLED } else { 0 };
        out.put_u8(self.datagram.ecn.bits() | unordered | twice | labelled);
        out.put_u16(self.digest.unwrap_or(self.datagram.label.len() as u16));
        if self.digest.is_none() {
            out.extend_from_slice(&self.datagram.label);
        }
        out.extend_from_slice(&self.datagram.bytes);
    }
}

impl Header {
    /// Reads one; `None` where there are too few bytes, which more may follow.
    pub(crate) fn read(mut bytes: &[u8]) -> Option<Self> {
        let (flow, order) = (bytes.try_get_u16().ok()?, bytes.try_get_u16().ok()?);
        let (len, flags) = (bytes.try_get_u16().ok()?, bytes.try_get_u8().ok()?);
        Some(Self { flow, order, len, flags })
    }

    /// Bytes of the record, with the header.
    pub(crate) const fn whole(self) -> usize {
        RECORD_HEADER + self.len as usize
    }

    /// The record whose header this is and whose label and datagram these bytes are; none where they are neither. A router
    /// marked one of the packets that it came in: what it marked is the datagram (RFC 6040, section 4.2).
    pub(crate) fn record(self, mut bytes: Bytes, marked: bool) -> Option<Record> {
        let (field, mut label) = (bytes.try_get_u16().ok()?, Bytes::new());
        let digest = (self.flags & LABELLED == 0).then_some(field);
        if digest.is_none() {
            let len = usize::from(field);
            if len > bytes.len().min(LONGEST) {
                return None;
            }
            label = bytes.split_to(len);
        }
        let inner = Ecn::from_bits(self.flags);
        let ecn = if marked && inner != Ecn::NotCapable { Ecn::Congestion } else { inner };
        Some(Record {
            datagram: Datagram { flow: self.flow, ecn, label, bytes },
            order: self.order,
            is_sparse: false,
            is_ordered: self.flags & UNORDERED == 0,
            is_repeated: self.flags & TWICE != 0,
            digest,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written_and_takes_a_mark_if_its_sender_understands_marks() {
        for (ecn, marked) in [
            (Ecn::NotCapable, Ecn::NotCapable),
            (Ecn::Capable0, Ecn::Congestion),
            (Ecn::Capable1, Ecn::Congestion),
        ] {
            let digest = (ecn == Ecn::Capable0).then_some(7);
            let label = if digest.is_none() { Bytes::from_static(b"whose") } else { Bytes::new() };
            let datagram = Datagram { flow: 300, ecn, label, bytes: Bytes::from_static(b"data") };
            let (is_ordered, is_repeated) = (digest.is_some(), ecn == Ecn::Capable1);
            let (order, is_sparse) = (65_535, false);
            let record = Record { datagram, order, is_sparse, is_ordered, is_repeated, digest };
            let mut out = BytesMut::new();
            record.put(&mut out);
            let mut bytes = out.freeze();
            let header = Header::read(&bytes).expect("a header");
            assert_eq!((header.whole(), record.len()), (bytes.len(), bytes.len()));
            bytes.advance(RECORD_HEADER);
            assert_eq!(header.record(bytes.clone(), false), Some(record));
            let found = header.record(bytes, true).expect("a record");
            assert_eq!(found.datagram.ecn, marked);
            if digest.is_none() {
                let cut = Bytes::from_static(b"\0\x03ab");
                assert_eq!(header.record(cut, false), None, "a label longer than all there is");
            }
        }
        assert!(Header::read(&[0; RECORD_HEADER - 1]).is_none());
    }
}
