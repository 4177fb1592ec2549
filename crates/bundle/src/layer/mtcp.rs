//! The Minimal TCP Convergence-Layer Protocol (draft-ietf-dtn-mtcpcl): each bundle is a byte string of CBOR, one way, and
//! nobody answers.
//!
//! Without an answer there is no custody: a bundle that was written is taken for accepted, whatever becomes of it.

use std::collections::VecDeque;

use bentpipe_units::Instant;
use bytes::Bytes;
use ciborium_ll::Header;

use super::buffer::Buffer;
use super::{Event, ProtocolError, Session, items};
use crate::{Answer, BundleId};

/// An end of a connection. One of both ends sends, the other one receives.
#[derive(Debug)]
pub struct Mtcp {
    sends: bool,
    largest: u64,
    input: Buffer,
    /// Length of the byte string that is coming.
    expects: Option<usize>,
    events: VecDeque<Event>,
    unanswered: usize,
    output: VecDeque<Bytes>,
    /// The bundle that is being written.
    writing: Option<BundleId>,
    is_closed: bool,
}

impl Mtcp {
    /// The end that sends.
    pub fn sender() -> Self {
        Self::new(true, 0)
    }

    /// The end that receives bundles of at most so many bytes.
    pub fn receiver(largest: u64) -> Self {
        Self::new(false, largest)
    }

    fn new(sends: bool, largest: u64) -> Self {
        Self {
            sends,
            largest,
            input: Buffer::default(),
            expects: None,
            events: VecDeque::new(),
            unanswered: 0,
            output: VecDeque::new(),
            writing: None,
            is_closed: false,
        }
    }
}

impl Session for Mtcp {
    fn handle_input(&mut self, _: Instant, input: &[u8]) -> Result<(), ProtocolError> {
        if self.sends {
            return Err(ProtocolError::new("the peer sends, and MTCP goes one way"));
        }
        self.input.extend(input);
        loop {
            let Some(len) = self.expects else {
                let Some((header, len)) = items::head(self.input.as_slice())? else { break };
                let Header::Bytes(Some(bundle)) = header else {
                    return Err(ProtocolError::new(
                        "what came is no byte string of a known length",
                    ));
                };
                if bundle as u64 > self.largest {
                    let most = self.largest;
                    return Err(ProtocolError::new(format!(
                        "a bundle of {bundle} bytes, where {most} are taken"
                    )));
                }
                self.input.skip(len);
                self.expects = Some(bundle);
                continue;
            };
            let Some(bundle) = self.input.take(len) else { break };
            self.expects = None;
            self.unanswered += 1;
            self.events.push_back(Event::Bundle(bundle));
        }
        Ok(())
    }

    fn wants_input(&self) -> bool {
        self.unanswered == 0
    }

    fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn answer(&mut self, _: Option<&BundleId>, _: Answer) {
        self.unanswered = self.unanswered.saturating_sub(1);
    }

    fn room(&self) -> Option<u64> {
        (self.sends && self.writing.is_none() && !self.is_closed).then_some(u64::MAX)
    }

    fn send(&mut self, id: BundleId, bundle: Vec<u8>) {
        self.output.extend([items::bytes_head(bundle.len()), bundle.into()]);
        self.writing = Some(id);
    }

    fn next_output(&mut self, _: Instant) -> Option<Bytes> {
        let next = self.output.pop_front();
        if next.is_none()
            && let Some(id) = self.writing.take()
        {
            self.events.push_back(Event::Answer(id, Answer::Accepted));
        }
        next
    }

    fn next_deadline(&self) -> Option<Instant> {
        None
    }

    fn handle_timeout(&mut self, _: Instant) -> Result<(), ProtocolError> {
        Ok(())
    }

    fn close(&mut self) {
        self.is_closed = true;
    }

    fn is_closed(&self) -> bool {
        self.is_closed && self.output.is_empty() && self.writing.is_none()
    }

    fn is_waiting(&self) -> bool {
        self.writing.is_some()
    }
}
