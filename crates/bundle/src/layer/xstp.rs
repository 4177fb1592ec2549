//! Bundles over a stream of XSTP: in both directions at once, and each is answered.
//!
//! What goes over the stream is a sequence of CBOR items. First comes `[1, node, largest]`: the version, the endpoint ID of the
//! node as text, and the largest bundle it takes. Then, in any order, a bundle is a byte string, and an answer is
//! `[code, number, name]`: the bundle of this number, counted from 0 in the direction from which it came, and its name as text,
//! empty for one that is wrong. 0 says that it is on the medium there, 1 not now, 2 never.

use std::collections::VecDeque;

use bentpipe_units::Instant;
use bytes::Bytes;
use ciborium_ll::Header;

use super::buffer::Buffer;
use super::{Event, Hello, ProtocolError, Session, items};
use crate::checked::LONGEST_ENDPOINT;
use crate::id::LONGEST_ID;
use crate::{Answer, BundleId};

/// The service number of bundles between hosts of the association.
pub const PORT: u16 = 3;
/// The version of what is written here.
const VERSION: u64 = 1;
/// Bundles that may be under way without an answer.
const WINDOW: usize = 64;
/// Bytes that may be under way without an answer, unless it is one bundle.
const WINDOW_BYTES: u64 = 4_000_000;
/// Pieces that wait to be written before nothing is read any more: bundles in two pieces each, and as many answers.
const MOST_OUTPUT: usize = 4 * WINDOW;

/// An end of a stream.
#[derive(Debug)]
pub struct Xstp {
    largest: u64,
    /// The largest bundle that the peer takes, once it has said so.
    peer_takes: Option<u64>,
    input: Buffer,
    /// Length of the byte string that is coming.
    expects: Option<usize>,
    events: VecDeque<Event>,
    /// Bundles that came and were not answered, and the number of the first of them.
    unanswered: usize,
    next_answer: u64,
    output: VecDeque<Bytes>,
    /// Bundles that were sent and not answered, with their lengths, and the number of the first of them.
    sent: VecDeque<(BundleId, u64)>,
    sent_bytes: u64,
    first_sent: u64,
    is_closed: bool,
}

/// A whole item other than a bundle.
enum Item {
    Hello { node: String, largest: u64 },
    Answer { code: u64, number: u64, name: String },
}

impl Xstp {
    /// An end that says this of itself.
    pub fn new(hello: &Hello) -> Self {
        let mut said = Vec::new();
        items::push(&mut said, Header::Array(Some(3)));
        items::push(&mut said, Header::Positive(VERSION));
        items::push_text(&mut said, &hello.node);
        items::push(&mut said, Header::Positive(hello.largest));
        Self {
            largest: hello.largest,
            peer_takes: None,
            input: Buffer::default(),
            expects: None,
            events: VecDeque::new(),
            unanswered: 0,
            next_answer: 0,
            output: VecDeque::from([said.into()]),
            sent: VecDeque::new(),
            sent_bytes: 0,
            first_sent: 0,
            is_closed: false,
        }
    }

    /// The next item that is no bundle, with its length; `None` if not all of it has come.
    fn item(&self) -> Result<Option<(Item, usize)>, ProtocolError> {
        let mut reader = Reader { bytes: self.input.as_slice(), at: 0 };
        let is_hello = self.peer_takes.is_none();
        let Some(header) = reader.head()? else { return Ok(None) };
        if header != Header::Array(Some(3)) {
            return Err(ProtocolError::new("what came is neither a bundle nor an answer"));
        }
        let Some(first) = reader.number()? else { return Ok(None) };
        let item = if is_hello {
            if first != VERSION {
                let what = format!("the peer speaks version {first}, this end {VERSION}");
                return Err(ProtocolError::new(what));
            }
            let Some(node) = reader.text(LONGEST_ENDPOINT)? else { return Ok(None) };
            let Some(largest) = reader.number()? else { return Ok(None) };
            Item::Hello { node, largest }
        } else {
            let Some(number) = reader.number()? else { return Ok(None) };
            let Some(name) = reader.text(LONGEST_ID)? else { return Ok(None) };
            Item::Answer { code: first, number, name }
        };
        Ok(Some((item, reader.at)))
    }

    fn handle_item(&mut self, item: Item) -> Result<(), ProtocolError> {
        match item {
            Item::Hello { node, largest } => {
                self.peer_takes = Some(largest);
                self.events.push_back(Event::Peer(node));
            }
            Item::Answer { code, number, name } => {
                let answer = match code {
                    0 => Answer::Accepted,
                    1 => Answer::Later,
                    2 => Answer::Never,
                    _ => return Err(ProtocolError::new(format!("an answer with code {code}"))),
                };
                if number != self.first_sent {
                    let what = format!("an answer for bundle {number}, not {}", self.first_sent);
                    return Err(ProtocolError::new(what));
                }
                let Some((id, len)) = self.sent.front() else {
                    return Err(ProtocolError::new("an answer for a bundle that was not sent"));
                };
                let is_wrong = name.is_empty() && answer == Answer::Never;
                if id.name() != name && !is_wrong {
                    return Err(ProtocolError::new("an answer for another bundle"));
                }
                self.sent_bytes -= len;
                self.first_sent += 1;
                let sent = self.sent.pop_front();
                self.events.extend(sent.map(|(id, _)| Event::Answer(id, answer)));
            }
        }
        Ok(())
    }
}

/// Reads items in a row, each of which may not have come yet.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn head(&mut self) -> Result<Option<Header>, ProtocolError> {
        let Some((header, len)) = items::head(&self.bytes[self.at..])? else { return Ok(None) };
        self.at += len;
        Ok(Some(header))
    }

    fn number(&mut self) -> Result<Option<u64>, ProtocolError> {
        match self.head()? {
            Some(Header::Positive(number)) => Ok(Some(number)),
            None => Ok(None),
            Some(_) => Err(ProtocolError::new("a number was to come, and something else did")),
        }
    }

    fn text(&mut self, longest: usize) -> Result<Option<String>, ProtocolError> {
        let len = match self.head()? {
            Some(Header::Text(Some(len))) if len <= longest => len,
            None => return Ok(None),
            Some(_) => {
                return Err(ProtocolError::new("a text was to come, and something else did"));
            }
        };
        let Some(text) = self.bytes.get(self.at..self.at + len) else { return Ok(None) };
        self.at += len;
        let text = std::str::from_utf8(text);
        text.map(|text| Some(text.to_owned()))
            .map_err(|_| ProtocolError::new("a text that is no UTF-8"))
    }
}

impl Session for Xstp {
    fn handle_input(&mut self, _: Instant, input: &[u8]) -> Result<(), ProtocolError> {
        self.input.extend(input);
        loop {
            if let Some(len) = self.expects {
                let Some(bundle) = self.input.take(len) else { break };
                self.expects = None;
                self.unanswered += 1;
                if self.unanswered > WINDOW {
                    return Err(ProtocolError::new("more bundles than may be under way"));
                }
                self.events.push_back(Event::Bundle(bundle));
                continue;
            }
            let Some((header, len)) = items::head(self.input.as_slice())? else { break };
            if let (Header::Bytes(len_of_bundle), true) = (header, self.peer_takes.is_some()) {
                let Some(bundle) = len_of_bundle.filter(|len| *len as u64 <= self.largest) else {
                    let what = format!("a bundle longer than {} bytes", self.largest);
                    return Err(ProtocolError::new(what));
                };
                self.input.skip(len);
                self.expects = Some(bundle);
                continue;
            }
            let Some((item, len)) = self.item()? else { break };
            self.input.skip(len);
            self.handle_item(item)?;
        }
        Ok(())
    }

    fn wants_input(&self) -> bool {
        // Whoever keeps to the window never makes this end keep so many answers.
        self.unanswered == 0 && self.output.len() < MOST_OUTPUT
    }

    fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn answer(&mut self, id: Option<&BundleId>, answer: Answer) {
        self.unanswered = self.unanswered.saturating_sub(1);
        let code = match answer {
            Answer::Accepted => 0,
            Answer::Later => 1,
            Answer::Never => 2,
        };
        let mut said = Vec::new();
        items::push(&mut said, Header::Array(Some(3)));
        items::push(&mut said, Header::Positive(code));
        items::push(&mut said, Header::Positive(self.next_answer));
        items::push_text(&mut said, id.map_or("", BundleId::name));
        self.next_answer += 1;
        self.output.push_back(said.into());
    }

    fn room(&self) -> Option<u64> {
        let takes = self.peer_takes.filter(|_| !self.is_closed)?;
        let is_free = self.sent.len() < WINDOW && self.sent_bytes < WINDOW_BYTES;
        is_free.then_some(takes)
    }

    fn send(&mut self, id: BundleId, bundle: Vec<u8>) {
        let len = bundle.len() as u64;
        self.sent_bytes += len;
        self.sent.push_back((id, len));
        self.output.extend([items::bytes_head(bundle.len()), bundle.into()]);
    }

    fn next_output(&mut self, _: Instant) -> Option<Bytes> {
        self.output.pop_front()
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
        self.is_closed && self.sent.is_empty() && self.output.is_empty() && self.unanswered == 0
    }

    fn is_waiting(&self) -> bool {
        !self.sent.is_empty() || self.peer_takes.is_none()
    }
}
