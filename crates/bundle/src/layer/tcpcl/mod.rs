//! TCPCL version 4 (RFC 9174) without TLS: bundles as transfers in segments, each of which is acknowledged.
//!
//! The acknowledgement of a last segment is sent when the bundle is on the medium, and a sender deletes its bundle when that has
//! come.

mod message;
mod transfers;

use std::collections::VecDeque;

use bentpipe_units::{Instant, Span};
use bytes::Bytes;

use super::buffer::Buffer;
use super::{Event, Hello, ProtocolError, Session};
use crate::{Answer, BundleId};
use message::{CONTACT, Message, REPLY};
use transfers::{Incoming, Outgoing};

/// The port of TCPCL.
pub const PORT: u16 = 4556;
/// Seconds between two messages that this end asks for.
const KEEPALIVE: u16 = 30;
/// Longest segment that this end takes, in bytes. They are not kept, so that it is no limit of memory.
const SEGMENT: u64 = 1 << 20;
/// Pieces that wait to be written before nothing is read any more.
const MOST_OUTPUT: usize = 256;
/// Reasons of a SESS_TERM (section 6.1).
const IDLE: u8 = 1;

/// How far a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The peer's contact header is to come.
    Contact,
    /// The peer's SESS_INIT is to come.
    Init,
    /// Transfers.
    Open,
}

/// An end of a session.
#[derive(Debug)]
pub struct Tcpcl {
    hello: Hello,
    is_active: bool,
    stage: Stage,
    input: Buffer,
    events: VecDeque<Event>,
    output: VecDeque<Bytes>,
    incoming: Incoming,
    outgoing: Outgoing,
    /// Time between two messages, once both ends have said theirs.
    keepalive: Option<Span>,
    heard: Option<Instant>,
    said: Option<Instant>,
    /// A SESS_TERM was sent, and one has come.
    has_ended: bool,
    peer_has_ended: bool,
}

impl Tcpcl {
    /// The end that has opened the connection.
    pub fn active(hello: Hello) -> Self {
        Self::new(hello, true)
    }

    /// The end that was called.
    pub fn passive(hello: Hello) -> Self {
        Self::new(hello, false)
    }

    fn new(hello: Hello, is_active: bool) -> Self {
        let output = if is_active { VecDeque::from([message::contact()]) } else { VecDeque::new() };
        Self {
            incoming: Incoming::new(hello.largest),
            hello,
            is_active,
            stage: Stage::Contact,
            input: Buffer::default(),
            events: VecDeque::new(),
            output,
            outgoing: Outgoing::default(),
            keepalive: None,
            heard: None,
            said: None,
            has_ended: false,
            peer_has_ended: false,
        }
    }

    fn say(&mut self, message: &Message) {
        self.output.push_back(message.to_bytes());
    }

    fn init(&self) -> Message {
        Message::SessInit {
            keepalive: KEEPALIVE,
            segment: SEGMENT,
            transfer: self.hello.largest,
            node: self.hello.node.clone(),
            is_understood: true,
        }
    }

    fn handle(&mut self, message: Message) -> Result<(), ProtocolError> {
        match (self.stage, message) {
            (
                Stage::Init,
                Message::SessInit { keepalive, segment, transfer, node, is_understood },
            ) => {
                if !is_understood {
                    return Err(ProtocolError::new(
                        "the peer wants an extension that is not known",
                    ));
                }
                if !self.is_active {
                    let init = self.init();
                    self.say(&init);
                }
                let keepalive = keepalive.min(KEEPALIVE);
                self.keepalive = (keepalive > 0).then(|| Span::from_secs(u64::from(keepalive)));
                self.outgoing.open(segment, transfer)?;
                self.stage = Stage::Open;
                self.events.push_back(Event::Peer(node));
            }
            (Stage::Open, Message::Segment { flags, id, len, is_understood }) => {
                if let Some(said) = self.incoming.begin(flags, id, len, is_understood)? {
                    self.say(&said);
                }
            }
            (Stage::Open, Message::Ack { flags, id, len }) => {
                self.events.extend(self.outgoing.acknowledged(flags, id, len)?);
            }
            (Stage::Open, Message::Refuse { reason, id }) => {
                self.events.extend(self.outgoing.refused(reason, id));
            }
            (Stage::Open, Message::Keepalive) => {}
            (Stage::Init | Stage::Open, Message::Term { flags, .. }) => {
                self.peer_has_ended = true;
                if flags & REPLY == 0 && !self.has_ended {
                    self.end(REPLY, 0);
                }
            }
            (_, Message::Reject { reason, header }) => {
                let what = format!("the peer rejects a message of type {header} (reason {reason})");
                return Err(ProtocolError::new(what));
            }
            (stage, message) => {
                return Err(ProtocolError::new(format!("{message:?} while {stage:?}")));
            }
        }
        Ok(())
    }

    fn end(&mut self, flags: u8, reason: u8) {
        self.has_ended = true;
        self.say(&Message::Term { flags, reason });
    }

    /// Takes what has come, as far as it is whole.
    fn advance(&mut self) -> Result<(), ProtocolError> {
        loop {
            if self.stage == Stage::Contact {
                let Some(header) = self.input.take(CONTACT) else { return Ok(()) };
                message::check_contact(&header)?;
                let said = if self.is_active { self.init().to_bytes() } else { message::contact() };
                self.output.push_back(said);
                self.stage = Stage::Init;
            } else if self.incoming.wants() > 0 {
                let len = self.incoming.wants().min(self.input.len() as u64);
                let Some(data) = self.input.take(len as usize).filter(|data| !data.is_empty())
                else {
                    return Ok(());
                };
                self.incoming.extend(&data);
            } else if self.incoming.has_segment() {
                let (said, bundle) = self.incoming.end_segment();
                if let Some(said) = said {
                    self.say(&said);
                }
                self.events.extend(bundle.map(Event::Bundle));
            } else {
                let Some((message, len)) = Message::read(self.input.as_slice())? else {
                    return Ok(());
                };
                self.input.skip(len);
                self.handle(message)?;
            }
        }
    }
}

impl Session for Tcpcl {
    fn handle_input(&mut self, now: Instant, input: &[u8]) -> Result<(), ProtocolError> {
        self.heard = Some(now);
        self.input.extend(input);
        self.advance()
    }

    fn wants_input(&self) -> bool {
        self.incoming.unanswered() == 0 && self.output.len() < MOST_OUTPUT
    }

    fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn answer(&mut self, _: Option<&BundleId>, answer: Answer) {
        if let Some(said) = self.incoming.answer(answer) {
            self.say(&said);
        }
    }

    fn room(&self) -> Option<u64> {
        let is_open = self.stage == Stage::Open && !self.has_ended && !self.peer_has_ended;
        self.outgoing.room().filter(|_| is_open)
    }

    fn send(&mut self, id: BundleId, bundle: Vec<u8>) {
        self.outgoing.send(id, bundle.into());
    }

    fn next_output(&mut self, now: Instant) -> Option<Bytes> {
        let next = self.output.pop_front().or_else(|| self.outgoing.next());
        if next.is_some() {
            self.said = Some(now);
        }
        next
    }

    fn next_deadline(&self) -> Option<Instant> {
        let keepalive = self.keepalive?;
        let says = self.said.map(|said| said + keepalive);
        Instant::earliest(says, self.heard.map(|heard| heard + keepalive * 2))
    }

    fn handle_timeout(&mut self, now: Instant) -> Result<(), ProtocolError> {
        let Some(keepalive) = self.keepalive else { return Ok(()) };
        if self.heard.is_some_and(|heard| now >= heard + keepalive * 2) {
            if !self.has_ended {
                self.end(0, IDLE);
            }
            return Err(ProtocolError::new(format!("the peer was silent for {}", keepalive * 2)));
        }
        if self.said.is_some_and(|said| now >= said + keepalive) {
            self.said = Some(now);
            self.say(&Message::Keepalive);
        }
        Ok(())
    }

    fn close(&mut self) {
        if !self.has_ended && self.stage != Stage::Contact {
            self.end(0, 0);
        }
        self.has_ended = true;
    }

    fn is_closed(&self) -> bool {
        let has_both = self.has_ended && (self.peer_has_ended || self.stage != Stage::Open);
        let is_idle = !self.outgoing.is_waiting() && self.incoming.unanswered() == 0;
        has_both && is_idle && self.output.is_empty()
    }

    fn is_waiting(&self) -> bool {
        self.outgoing.is_waiting() || self.stage != Stage::Open
    }
}
