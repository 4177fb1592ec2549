//! Transfers of a session, in each direction.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

use super::super::{Event, ProtocolError};
use super::message::{END, Message, START};
use crate::{Answer, BundleId};

/// Transfers that may be under way without an acknowledgement, and their bytes unless it is one.
const WINDOW: usize = 64;
const WINDOW_BYTES: u64 = 4_000_000;
/// Longest segment that is sent, in bytes.
const SEGMENT: u64 = 64 * 1024;

/// Reasons of an XFER_REFUSE (section 5.2.4).
mod reason {
    pub(super) const COMPLETED: u8 = 1;
    pub(super) const NO_RESOURCES: u8 = 2;
    pub(super) const NOT_ACCEPTABLE: u8 = 4;
    pub(super) const EXTENSION_FAILURE: u8 = 5;
}

/// A transfer that comes.
#[derive(Debug)]
struct Coming {
    id: u64,
    bytes: BytesMut,
    /// It was refused; what comes of it is thrown away.
    is_refused: bool,
}

/// Transfers that come, one after the other.
#[derive(Debug)]
pub(super) struct Incoming {
    largest: u64,
    coming: Option<Coming>,
    /// The flags of the segment that is coming, and what is missing of it.
    segment: Option<(u8, u64)>,
    last: Option<u64>,
    /// Those that have come and were not answered: number, length, flags of the last segment.
    unanswered: VecDeque<(u64, u64, u8)>,
}

impl Incoming {
    pub(super) const fn new(largest: u64) -> Self {
        Self { largest, coming: None, segment: None, last: None, unanswered: VecDeque::new() }
    }

    pub(super) fn unanswered(&self) -> usize {
        self.unanswered.len()
    }

    /// Bytes that are missing of the segment.
    pub(super) fn wants(&self) -> u64 {
        self.segment.map_or(0, |(_, missing)| missing)
    }

    pub(super) const fn has_segment(&self) -> bool {
        self.segment.is_some()
    }

    /// A segment begins. What is to be said about it at once is a refusal.
    pub(super) fn begin(
        &mut self,
        flags: u8,
        id: u64,
        len: u64,
        is_understood: bool,
    ) -> Result<Option<Message>, ProtocolError> {
        if flags & START != 0 {
            // Of one that was refused nothing more need come (section 5.2.4).
            let is_coming = self.coming.as_ref().is_some_and(|coming| !coming.is_refused);
            if is_coming || self.last.is_some_and(|last| id <= last) {
                return Err(ProtocolError::new(format!("transfer {id} begins out of turn")));
            }
            self.last = Some(id);
            self.coming = Some(Coming { id, bytes: BytesMut::new(), is_refused: false });
        }
        let Some(coming) = self.coming.as_mut().filter(|coming| coming.id == id) else {
            return Err(ProtocolError::new(format!("a segment of transfer {id} out of turn")));
        };
        self.segment = Some((flags, len));
        let is_long = (coming.bytes.len() as u64).saturating_add(len) > self.largest;
        let reason = match (is_understood, is_long) {
            (false, _) => reason::EXTENSION_FAILURE,
            (true, true) => reason::NOT_ACCEPTABLE,
            (true, false) => return Ok(None),
        };
        if std::mem::replace(&mut coming.is_refused, true) {
            return Ok(None);
        }
        coming.bytes = BytesMut::new();
        Ok(Some(Message::Refuse { reason, id }))
    }

    /// Bytes of the segment have come.
    pub(super) fn extend(&mut self, data: &[u8]) {
        if let Some((_, missing)) = &mut self.segment {
            *missing = missing.saturating_sub(data.len() as u64);
        }
        if let Some(coming) = self.coming.as_mut().filter(|coming| !coming.is_refused) {
            coming.bytes.extend_from_slice(data);
        }
    }

    /// The segment is whole. The last one of a transfer is acknowledged when somebody has said what became of the bundle.
    pub(super) fn end_segment(&mut self) -> (Option<Message>, Option<Bytes>) {
        let (Some((flags, _)), Some(coming)) = (self.segment.take(), &mut self.coming) else {
            return (None, None);
        };
        let (id, len, is_refused) = (coming.id, coming.bytes.len() as u64, coming.is_refused);
        if flags & END == 0 {
            return ((!is_refused).then_some(Message::Ack { flags, id, len }), None);
        }
        let bytes = self.coming.take().map(|coming| coming.bytes.freeze());
        if is_refused {
            return (None, None);
        }
        self.unanswered.push_back((id, len, flags));
        (None, bytes)
    }

    /// What became of the first bundle that was not answered.
    pub(super) fn answer(&mut self, answer: Answer) -> Option<Message> {
        let (id, len, flags) = self.unanswered.pop_front()?;
        Some(match answer {
            Answer::Accepted => Message::Ack { flags, id, len },
            Answer::Later => Message::Refuse { reason: reason::NO_RESOURCES, id },
            Answer::Never => Message::Refuse { reason: reason::NOT_ACCEPTABLE, id },
        })
    }
}

/// A transfer that was begun.
#[derive(Debug)]
struct Sent {
    id: u64,
    bundle: BundleId,
    bytes: Bytes,
    /// So much was given out.
    offset: u64,
    has_ended: bool,
}

/// Transfers that are sent, one after the other.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    segment: u64,
    transfer: u64,
    next: u64,
    sent: VecDeque<Sent>,
    /// The rest of a segment whose head was given out.
    data: Option<Bytes>,
}

impl Outgoing {
    /// The peer takes segments and transfers of so many bytes.
    pub(super) fn open(&mut self, segment: u64, transfer: u64) -> Result<(), ProtocolError> {
        if segment == 0 {
            return Err(ProtocolError::new("the peer takes no segments"));
        }
        (self.segment, self.transfer) = (segment.min(SEGMENT), transfer);
        Ok(())
    }

    pub(super) fn room(&self) -> Option<u64> {
        let bytes: u64 = self.sent.iter().map(|sent| sent.bytes.len() as u64).sum();
        (self.sent.len() < WINDOW && bytes < WINDOW_BYTES).then_some(self.transfer)
    }

    pub(super) fn is_waiting(&self) -> bool {
        !self.sent.is_empty()
    }

    pub(super) fn send(&mut self, bundle: BundleId, bytes: Bytes) {
        let id = self.next;
        self.next += 1;
        self.sent.push_back(Sent { id, bundle, bytes, offset: 0, has_ended: false });
    }

    /// The next piece to be written: the head of a segment, or what is in it.
    pub(super) fn next(&mut self) -> Option<Bytes> {
        if let Some(data) = self.data.take() {
            return Some(data);
        }
        let sent = self.sent.iter_mut().find(|sent| !sent.has_ended)?;
        let left = sent.bytes.len() as u64 - sent.offset;
        let len = left.min(self.segment);
        let mut flags = if sent.offset == 0 { START } else { 0 };
        if len == left {
            flags |= END;
            sent.has_ended = true;
        }
        let end = sent.offset + len;
        self.data = Some(sent.bytes.slice(sent.offset as usize..end as usize));
        sent.offset = end;
        Some(Message::Segment { flags, id: sent.id, len, is_understood: true }.to_bytes())
    }

    /// The peer has so much of a transfer, and all of it if this is for its end.
    pub(super) fn acknowledged(
        &mut self,
        flags: u8,
        id: u64,
        len: u64,
    ) -> Result<Option<Event>, ProtocolError> {
        let Some(place) = self.sent.iter().position(|sent| sent.id == id) else {
            return Err(ProtocolError::new(format!("an acknowledgement of transfer {id}")));
        };
        let sent = &self.sent[place];
        if len > sent.offset {
            return Err(ProtocolError::new("more is acknowledged than was sent"));
        }
        if flags & END == 0 {
            return Ok(None);
        }
        if !sent.has_ended || len != sent.bytes.len() as u64 {
            return Err(ProtocolError::new(
                "the end is acknowledged, and not all that is before it",
            ));
        }
        let sent = self.sent.remove(place);
        Ok(sent.map(|sent| Event::Answer(sent.bundle, Answer::Accepted)))
    }

    /// The peer does not want a transfer. What was not sent of it stays here.
    pub(super) fn refused(&mut self, reason: u8, id: u64) -> Option<Event> {
        let place = self.sent.iter().position(|sent| sent.id == id)?;
        let sent = self.sent.remove(place)?;
        let answer = match reason {
            reason::COMPLETED => Answer::Accepted,
            reason::NOT_ACCEPTABLE | reason::EXTENSION_FAILURE => Answer::Never,
            _ => Answer::Later,
        };
        Some(Event::Answer(sent.bundle, answer))
    }
}
