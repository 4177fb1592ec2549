//! KISS: frames and settings between a host and its terminal node controller (TNC), over a serial line or TCP.
//!
//! A frame stands between two FEND. Within it FEND is sent as FESC TFEND and FESC as FESC TFESC. Its first byte has the
//! port of the TNC in the high nibble and the command in the low one; 0xFF alone leaves KISS. Chepponis and Karn, *The KISS
//! TNC*, 6th ARRL Computer Networking Conference, 1987.

use bentpipe_units::Span;
use bytes::{BufMut, Bytes, BytesMut};

/// Ends a frame.
const FEND: u8 = 0xc0;
/// Says that the next byte stands for another one.
const FESC: u8 = 0xdb;
/// FEND behind FESC.
const TFEND: u8 = 0xdc;
/// FESC behind FESC.
const TFESC: u8 = 0xdd;
/// The unit of times.
const TEN_MS: u64 = 10_000_000;
/// The number of the command that leaves KISS.
const RETURN: u8 = 0xff;

/// A time as a TNC is told it: 0 to 2.55 s in steps of 10 ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TncTime(u8);

/// A time that a TNC cannot be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{time}: a TNC takes times of 0 to 2550 ms, in steps of 10 ms")]
pub struct BadTime {
    /// The time.
    pub time: Span,
}

impl TncTime {
    /// So many steps of 10 ms.
    pub const fn from_steps(steps: u8) -> Self {
        Self(steps)
    }

    /// The time.
    pub const fn span(self) -> Span {
        Span::from_nanos(self.0 as u64 * TEN_MS)
    }
}

impl TryFrom<Span> for TncTime {
    type Error = BadTime;

    fn try_from(time: Span) -> Result<Self, BadTime> {
        let steps = u8::try_from(time.as_nanos() / TEN_MS).map_err(|_| BadTime { time })?;
        let exact = time.as_nanos().is_multiple_of(TEN_MS);
        if exact { Ok(Self(steps)) } else { Err(BadTime { time }) }
    }
}

/// A port of a TNC with several radios, 0 to 15.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Port(u8);

impl Port {
    /// The port with this number; `None` above 15.
    pub const fn new(number: u8) -> Option<Self> {
        if number < 16 { Some(Self(number)) } else { None }
    }

    /// Its number.
    pub const fn number(self) -> u8 {
        self.0
    }
}

/// What host and TNC say to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// A frame of AX.25 without flags and frame check sequence: to be sent, or received.
    Data(Bytes),
    /// From key-up to the first frame; 500 ms at first.
    TxDelay(TncTime),
    /// A free channel is taken with probability (P + 1) / 256; 63 at first.
    Persistence(u8),
    /// Time between two attempts to take the channel; 100 ms at first.
    SlotTime(TncTime),
    /// How long the carrier stays after the last frame.
    TxTail(TncTime),
    /// The TNC sends without listening.
    FullDuplex(bool),
    /// Something that this TNC alone understands.
    SetHardware(Bytes),
    /// The TNC leaves KISS; meant for all ports.
    Return,
}

/// Appends a command for a port of the TNC to `out`, with FEND before and behind it.
pub fn encode(port: Port, command: &Command, out: &mut BytesMut) {
    let (number, value): (u8, &[u8]) = match command {
        Command::Data(bytes) => (0, bytes),
        Command::TxDelay(time) => (1, &[time.0]),
        Command::Persistence(p) => (2, &[*p]),
        Command::SlotTime(time) => (3, &[time.0]),
        Command::TxTail(time) => (4, &[time.0]),
        Command::FullDuplex(full) => (5, &[u8::from(*full)]),
        Command::SetHardware(bytes) => (6, bytes),
        Command::Return => (RETURN, &[]),
    };
    out.put_u8(FEND);
    let first = if number == RETURN { RETURN } else { port.0 << 4 | number };
    put_escaped(first, out);
    for byte in value {
        put_escaped(*byte, out);
    }
    out.put_u8(FEND);
}

fn put_escaped(byte: u8, out: &mut BytesMut) {
    match byte {
        FEND => out.put_slice(&[FESC, TFEND]),
        FESC => out.put_slice(&[FESC, TFESC]),
        plain => out.put_u8(plain),
    }
}

/// Puts commands together from the bytes that come, in whatever pieces.
///
/// What is no command is skipped: unknown numbers, settings without their value, frames that are too long or have an escape
/// without a meaning. After each of these the next FEND begins anew. It keeps no more than one frame.
#[derive(Clone, Debug)]
pub struct Decoder {
    /// Bytes of a frame so far, the first one among them.
    frame: BytesMut,
    longest: usize,
    state: State,
    skipped: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Bytes of a frame come.
    Within,
    /// FESC has come.
    Escaped,
    /// The rest of the frame is of no use.
    Skipping,
}

impl Decoder {
    /// A decoder of frames of so many bytes at most, the byte with the command included.
    pub fn new(longest: usize) -> Self {
        Self { frame: BytesMut::new(), longest, state: State::Skipping, skipped: 0 }
    }

    /// Frames that made no sense so far. What comes before the first FEND is none.
    pub const fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Takes one byte more. Returns a command when this byte ends one.
    pub fn push(&mut self, byte: u8) -> Option<(Port, Command)> {
        if byte == FEND {
            return self.end();
        }
        let plain = match (self.state, byte) {
            (State::Skipping, _) => return None,
            (State::Within, FESC) => {
                self.state = State::Escaped;
                return None;
            }
            (State::Escaped, TFEND) => FEND,
            (State::Escaped, TFESC) => FESC,
            (State::Escaped, _) => {
                self.skip();
                return None;
            }
            (State::Within, byte) => byte,
        };
        self.state = State::Within;
        if self.frame.len() == self.longest {
            self.skip();
            return None;
        }
        self.frame.put_u8(plain);
        None
    }

    fn skip(&mut self) {
        self.state = State::Skipping;
        self.frame.clear();
        self.skipped += 1;
    }

    /// FEND ends a frame and begins another one. Several in a row are as good as one.
    fn end(&mut self) -> Option<(Port, Command)> {
        let escaped = self.state == State::Escaped;
        self.state = State::Within;
        if self.frame.is_empty() && !escaped {
            return None;
        }
        let mut bytes = self.frame.split().freeze();
        let command = if escaped { None } else { command(&mut bytes) };
        self.skipped += u64::from(command.is_none());
        command
    }
}

/// The command of a whole frame.
fn command(bytes: &mut Bytes) -> Option<(Port, Command)> {
    let first = *bytes.first()?;
    let mut value = bytes.split_off(1);
    if first == RETURN {
        return Some((Port::default(), Command::Return));
    }
    let setting = value.first().copied();
    let time = setting.map(TncTime);
    let command = match first & 0x0f {
        0 => Command::Data(value.split_off(0)),
        1 => Command::TxDelay(time?),
        2 => Command::Persistence(setting?),
        3 => Command::SlotTime(time?),
        4 => Command::TxTail(time?),
        5 => Command::FullDuplex(setting? != 0),
        6 => Command::SetHardware(value.split_off(0)),
        _ => return None,
    };
    Some((Port(first >> 4), command))
}

#[cfg(test)]
mod tests;
