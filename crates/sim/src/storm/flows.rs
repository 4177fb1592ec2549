//! The hosts on both sides of two gateways: clients that open flows, and servers that answer.

use bentpipe_link::Stream;
use bentpipe_units::{Instant, Span};

use crate::lan::{Pipe, Read};

/// What a client says first: the number of its flow, how much it sends, and how much it wants.
const HEADER: usize = 24;
/// Bytes that a host reads at a time.
const MOST: usize = 16 * 1024;

/// The byte of a flow at a place, in one of its directions. Those of every other flow can be compressed.
pub(super) fn byte(flow: u64, direction: u64, at: u64) -> u8 {
    let mixed = (flow * 2 + direction).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let byte = (mixed.wrapping_add(at.wrapping_mul(0x0101_0101_0107)) >> 13) as u8;
    if flow.is_multiple_of(2) { byte & 0x1f } else { byte }
}

/// Bytes of a direction that a host writes.
#[derive(Clone, Copy, Debug)]
struct Writing {
    flow: u64,
    direction: u64,
    all: u64,
    written: u64,
    has_ended: bool,
}

impl Writing {
    fn go_on(&mut self, pipe: &Pipe, head: &[u8]) {
        while self.written < self.all {
            let room = pipe.room().min(MOST) as u64;
            if room == 0 {
                return;
            }
            let end = self.all.min(self.written + room);
            let at = |at: u64| match head.get(at as usize) {
                Some(byte) => *byte,
                None => byte(self.flow, self.direction, at),
            };
            let bytes: Vec<u8> = (self.written..end).map(at).collect();
            match pipe.write(&bytes) {
                Some(len) if len > 0 => self.written += len as u64,
                _ => return,
            }
        }
        if !std::mem::replace(&mut self.has_ended, true) {
            pipe.end();
        }
    }
}

/// What became of the bytes that a host reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    Open,
    Ended,
    Reset,
}

/// A flow as its client has it.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) number: u64,
    pub(super) began: Instant,
    pipe: Option<Pipe>,
    up: Writing,
    down: u64,
    arrived: u64,
    reading: Reading,
    /// It gives up after so many bytes, by a reset.
    quits_at: Option<u64>,
    /// It reads nothing before this time.
    stalls_until: Instant,
    head: [u8; HEADER],
}

impl Client {
    pub(super) fn new(number: u64, now: Instant, pipe: Pipe, random: &mut Stream) -> Self {
        let mut size = || match random.below(4) {
            0 => random.below(300),
            1 => random.below(20_000),
            _ => random.below(300_000),
        };
        let (up, down) = (HEADER as u64 + size(), size());
        let mut head = [0; HEADER];
        for (part, value) in head.chunks_exact_mut(8).zip([number, up, down]) {
            part.copy_from_slice(&value.to_be_bytes());
        }
        let quits_at = random.chance(0.1).then(|| random.below(down + 1));
        let stalls = if random.chance(0.2) { random.below(120) } else { 0 };
        Self {
            number,
            began: now,
            pipe: Some(pipe),
            up: Writing { flow: number, direction: 0, all: up, written: 0, has_ended: false },
            down,
            arrived: 0,
            reading: Reading::Open,
            quits_at,
            stalls_until: now + Span::from_secs(stalls),
            head,
        }
    }

    /// When it does something by itself.
    pub(super) fn next(&self, now: Instant) -> Option<Instant> {
        (self.pipe.is_some() && self.stalls_until > now).then_some(self.stalls_until)
    }

    /// Its connection is over.
    pub(super) const fn is_over(&self) -> bool {
        self.pipe.is_none()
    }

    /// All that it wanted has come.
    pub(super) fn is_complete(&self) -> bool {
        self.reading == Reading::Ended && self.arrived == self.down
    }

    /// It neither gives up nor stalls.
    pub(super) const fn be_patient(&mut self) {
        (self.quits_at, self.stalls_until) = (None, self.began);
    }

    /// Gives up, as who closes a page.
    pub(super) fn quit(&mut self) {
        if let Some(pipe) = self.pipe.take() {
            pipe.reset();
        }
    }

    /// Writes and reads what it can.
    ///
    /// # Errors
    /// What came that must not come.
    pub(super) fn go_on(&mut self, now: Instant) -> Result<(), String> {
        let Some(pipe) = &self.pipe else { return Ok(()) };
        self.up.go_on(pipe, &self.head);
        while now >= self.stalls_until {
            match pipe.read(MOST) {
                Read::Bytes(bytes) => {
                    check(self.number, 1, self.arrived, &bytes)?;
                    self.arrived += bytes.len() as u64;
                    if self.arrived > self.down {
                        return Err(format!("flow {}: more bytes than were sent", self.number));
                    }
                }
                Read::Nothing => break,
                Read::End => {
                    self.reading = Reading::Ended;
                    if self.arrived != self.down {
                        let (number, arrived, down) = (self.number, self.arrived, self.down);
                        return Err(format!(
                            "flow {number}: an end after {arrived} of {down} bytes to the client"
                        ));
                    }
                    break;
                }
                Read::Reset => {
                    self.reading = Reading::Reset;
                    break;
                }
            }
        }
        let quits = self.quits_at.is_some_and(|at| self.arrived > at);
        if quits {
            self.quit();
        } else if self.reading == Reading::Reset
            || (self.reading == Reading::Ended && self.up.has_ended)
        {
            self.pipe = None;
        }
        Ok(())
    }
}

/// A flow as its server has it.
#[derive(Debug)]
pub(super) struct Server {
    pipe: Option<Pipe>,
    head: Vec<u8>,
    down: Option<Writing>,
    up: u64,
    arrived: u64,
}

impl Server {
    pub(super) const fn new(pipe: Pipe) -> Self {
        Self { pipe: Some(pipe), head: Vec::new(), down: None, up: 0, arrived: 0 }
    }

    pub(super) const fn is_over(&self) -> bool {
        self.pipe.is_none()
    }

    /// The number of its flow, once that is known.
    pub(super) fn number(&self) -> Option<u64> {
        self.down.map(|down| down.flow)
    }

    /// Writes and reads what it can.
    ///
    /// # Errors
    /// What came that must not come.
    pub(super) fn go_on(&mut self) -> Result<(), String> {
        let mut has_ended = false;
        loop {
            let Some(pipe) = &self.pipe else { return Ok(()) };
            match pipe.read(MOST) {
                Read::Bytes(bytes) => self.take(&bytes)?,
                Read::Nothing => break,
                Read::End => {
                    if self.down.is_none() || self.arrived != self.up {
                        let (arrived, up) = (self.arrived, self.up);
                        let number = self.number();
                        return Err(format!(
                            "flow {number:?}: an end after {arrived} of {up} bytes to the server"
                        ));
                    }
                    has_ended = true;
                    break;
                }
                Read::Reset => {
                    self.pipe = None;
                    return Ok(());
                }
            }
        }
        let Some(pipe) = &self.pipe else { return Ok(()) };
        if let Some(down) = &mut self.down {
            down.go_on(pipe, &[]);
            if has_ended && down.has_ended {
                self.pipe = None;
            }
        }
        Ok(())
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), String> {
        let missing = HEADER - self.head.len();
        let (head, rest) = bytes.split_at(missing.min(bytes.len()));
        self.head.extend_from_slice(head);
        self.arrived += head.len() as u64;
        if self.down.is_none() && self.head.len() == HEADER {
            let field = |n: usize| {
                let part = self.head[8 * n..8 * n + 8].try_into().unwrap_or_default();
                u64::from_be_bytes(part)
            };
            let (flow, up, all) = (field(0), field(1), field(2));
            self.up = up;
            self.down = Some(Writing { flow, direction: 1, all, written: 0, has_ended: false });
        }
        let Some(down) = self.down else { return Ok(()) };
        check(down.flow, 0, self.arrived, rest)?;
        self.arrived += rest.len() as u64;
        if self.arrived > self.up {
            return Err(format!("flow {}: more bytes than were sent", down.flow));
        }
        Ok(())
    }
}

fn check(flow: u64, direction: u64, at: u64, bytes: &[u8]) -> Result<(), String> {
    let wrong = (at..).zip(bytes).find(|(at, got)| byte(flow, direction, *at) != **got);
    match wrong {
        Some((at, _)) => Err(format!("flow {flow}, direction {direction}: wrong byte {at}")),
        None => Ok(()),
    }
}
