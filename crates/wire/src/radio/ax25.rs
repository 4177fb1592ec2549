//! UI frames of AX.25, version 2.2: datagrams between stations, without connections.
//!
//! | bytes | field |
//! |---|---|
//! | 7 | address of the station that the frame is for |
//! | 7 | address of the station that sends it |
//! | 7 each, none to eight | repeaters on the way |
//! | 1 | control: 0x03, an unnumbered information frame; 0x13 with the poll bit is read as well |
//! | 1 | what the payload is (PID) |
//! | rest | payload |
//!
//! Flags, bit stuffing and the frame check sequence are those of the terminal node controller (TNC): a host that speaks
//! [KISS](super::kiss) neither sends nor sees them.

use bytes::{BufMut, Bytes, BytesMut};
use smallvec::SmallVec;

use super::address::{self, Address};

/// Bytes of the header of a frame that no repeater passes on.
pub const HEADER: usize = 2 * address::LENGTH + 2;
/// Bytes more for each repeater.
pub const REPEATER: usize = address::LENGTH;
/// Most repeaters of a frame.
const MOST_REPEATERS: usize = 8;
/// An unnumbered information frame.
const UI: u8 = 0x03;
/// The bit of the control field that asks for an answer, which nobody gives to UI frames.
const POLL: u8 = 0x10;

/// What a frame carries (AX.25, section 3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pid {
    /// An IP packet: 0xCC.
    Ip,
    /// Nothing that has a layer 3: 0xF0.
    NoLayer3,
    /// Any other number.
    Other(u8),
}

impl Pid {
    const fn number(self) -> u8 {
        match self {
            Self::Ip => 0xcc,
            Self::NoLayer3 => 0xf0,
            Self::Other(number) => number,
        }
    }

    const fn of(number: u8) -> Self {
        match number {
            0xcc => Self::Ip,
            0xf0 => Self::NoLayer3,
            other => Self::Other(other),
        }
    }
}

/// A station that passes a frame on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeater {
    /// Its address.
    pub address: Address,
    /// It has passed the frame on.
    pub has_repeated: bool,
}

/// A frame. The length of its payload is bounded by the TNC alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The station that it is for.
    pub destination: Address,
    /// The station that sends it.
    pub source: Address,
    /// What passes it on, in order; at most eight.
    pub repeaters: SmallVec<[Repeater; 2]>,
    /// What it carries.
    pub pid: Pid,
    /// The bytes of that.
    pub payload: Bytes,
}

/// Why bytes are no UI frame. Tests are made in the order of the variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes end before the payload begins.
    #[error("{length} bytes end within the header")]
    TooShort {
        /// Bytes there are.
        length: usize,
    },
    /// Seven bytes that are no address.
    #[error("address {place} is no call sign")]
    Address {
        /// Which one, from 0.
        place: usize,
    },
    /// More repeaters than a frame may have.
    #[error("more than 8 repeaters")]
    Repeaters,
    /// Another kind of frame.
    #[error("control field {0:#04x}: no UI frame")]
    Control(u8),
}

/// More repeaters than a frame may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{count} repeaters: a frame has at most 8")]
pub struct TooManyRepeaters {
    /// Repeaters there are.
    pub count: usize,
}

/// Appends the bytes of a frame to `out`.
///
/// # Errors
///
/// When there are too many repeaters; `out` is unchanged then.
pub fn encode(frame: &Frame, out: &mut BytesMut) -> Result<(), TooManyRepeaters> {
    let count = frame.repeaters.len();
    if count > MOST_REPEATERS {
        return Err(TooManyRepeaters { count });
    }
    // The pair of high bits says "command" since version 2.0.
    out.put_slice(&frame.destination.to_bytes(true, false));
    out.put_slice(&frame.source.to_bytes(false, count == 0));
    for (place, repeater) in frame.repeaters.iter().enumerate() {
        let last = place + 1 == count;
        out.put_slice(&repeater.address.to_bytes(repeater.has_repeated, last));
    }
    out.put_u8(UI);
    out.put_u8(frame.pid.number());
    out.put_slice(&frame.payload);
    Ok(())
}

/// Reads a frame as a TNC hands it over. The payload shares the memory of `bytes`.
///
/// # Errors
///
/// When the bytes are no UI frame: see [`DecodeError`].
pub fn decode(bytes: &Bytes) -> Result<Frame, DecodeError> {
    let mut addresses = Addresses { bytes, read: 0 };
    let (destination, _, ends) = addresses.next()?;
    if ends {
        return Err(DecodeError::Address { place: 1 });
    }
    let (source, _, mut ends) = addresses.next()?;
    let mut repeaters = SmallVec::new();
    while !ends {
        if repeaters.len() == MOST_REPEATERS {
            return Err(DecodeError::Repeaters);
        }
        let (address, has_repeated, last) = addresses.next()?;
        repeaters.push(Repeater { address, has_repeated });
        ends = last;
    }
    let header = addresses.read * address::LENGTH;
    let Some([control, pid]) = bytes.get(header..header + 2).and_then(|two| two.first_chunk())
    else {
        return Err(DecodeError::TooShort { length: bytes.len() });
    };
    if control & !POLL != UI {
        return Err(DecodeError::Control(*control));
    }
    let (pid, payload) = (Pid::of(*pid), bytes.slice(header + 2..));
    Ok(Frame { destination, source, repeaters, pid, payload })
}

/// The addresses at the beginning of a frame.
struct Addresses<'a> {
    bytes: &'a [u8],
    read: usize,
}

impl Addresses<'_> {
    /// The next address, its high bit, and whether it is the last one.
    fn next(&mut self) -> Result<(Address, bool, bool), DecodeError> {
        let place = self.read;
        let rest = self.bytes.get(place * address::LENGTH..).unwrap_or_default();
        let seven = rest.first_chunk().ok_or(DecodeError::TooShort { length: self.bytes.len() })?;
        self.read += 1;
        Address::from_bytes(*seven).ok_or(DecodeError::Address { place })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(repeaters: &[(&str, bool)]) -> Frame {
        let address = |text: &str| text.parse::<Address>().expect("an address");
        let repeater = |(text, has_repeated): &(&str, bool)| Repeater {
            address: address(text),
            has_repeated: *has_repeated,
        };
        Frame {
            destination: address("GROUND"),
            source: address("SAT-1"),
            repeaters: repeaters.iter().map(repeater).collect(),
            pid: Pid::Ip,
            payload: Bytes::from_static(b"hi"),
        }
    }

    fn bytes_of(frame: &Frame) -> Bytes {
        let mut out = BytesMut::new();
        assert_eq!(encode(frame, &mut out), Ok(()));
        out.freeze()
    }

    #[test]
    fn the_header_is_two_addresses_control_and_pid() {
        let bytes = bytes_of(&frame(&[]));
        assert_eq!(bytes.len(), HEADER + 2);
        assert_eq!(&bytes[..7], &[0x8e, 0xa4, 0x9e, 0xaa, 0x9c, 0x88, 0xe0]);
        assert_eq!(&bytes[7..14], &[0xa6, 0x82, 0xa8, 0x40, 0x40, 0x40, 0x63]);
        assert_eq!(&bytes[14..], b"\x03\xcchi");
        assert_eq!(decode(&bytes), Ok(frame(&[])));
    }

    #[test]
    fn repeaters_stand_behind_the_source_and_say_whether_they_had_it() {
        let whole = frame(&[("RELAY", true), ("RELAY-2", false)]);
        let bytes = bytes_of(&whole);
        assert_eq!(bytes.len(), HEADER + 14 + 2);
        assert_eq!(decode(&bytes), Ok(whole));
        let nine = frame(&[("RELAY", false); 9]);
        assert_eq!(encode(&nine, &mut BytesMut::new()), Err(TooManyRepeaters { count: 9 }));
    }

    #[test]
    fn what_is_no_ui_frame_is_refused_for_what_is_wrong_with_it() {
        let bytes = bytes_of(&frame(&[]));
        let changed = |place: usize, value: u8| {
            let mut bytes = bytes.to_vec();
            bytes[place] = value;
            decode(&bytes.into())
        };
        assert_eq!(decode(&bytes.slice(..15)), Err(DecodeError::TooShort { length: 15 }));
        assert_eq!(changed(0, 0x8f), Err(DecodeError::Address { place: 0 }));
        assert_eq!(changed(7, b'a' << 1), Err(DecodeError::Address { place: 1 }));
        assert_eq!(changed(14, 0x2f), Err(DecodeError::Control(0x2f)));
        assert_eq!(changed(14, 0x13), Ok(frame(&[])), "the poll bit changes nothing");
        let mut endless = bytes[..13].to_vec();
        endless.push(bytes[13] & !1);
        for _ in 0..9 {
            endless.extend_from_slice(&bytes[..7]);
        }
        assert_eq!(decode(&endless.into()), Err(DecodeError::Repeaters));
    }

    proptest! {
        #[test]
        fn every_frame_survives_its_encoding(
            addresses in prop::collection::vec(("[A-Z0-9]{1,6}", 0u8..16, any::<bool>()), 2..11),
            pid: u8,
            payload in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let address = |(name, ssid, _): &(String, u8, bool)| {
                format!("{name}-{ssid}").parse::<Address>().expect("an address")
            };
            let repeater = |one: &(String, u8, bool)| Repeater { address: address(one), has_repeated: one.2 };
            let whole = Frame {
                destination: address(&addresses[0]),
                source: address(&addresses[1]),
                repeaters: addresses[2..].iter().map(repeater).collect(),
                pid: Pid::of(pid),
                payload: payload.into(),
            };
            let bytes = bytes_of(&whole);
            prop_assert_eq!(bytes.len(), HEADER + 7 * whole.repeaters.len() + whole.payload.len());
            prop_assert_eq!(decode(&bytes), Ok(whole));
        }

        #[test]
        fn bytes_that_are_a_frame_are_the_same_one_when_encoded_again(
            bytes in prop::collection::vec(any::<u8>(), 0..80),
        ) {
            if let Ok(frame) = decode(&bytes.into()) {
                prop_assert_eq!(decode(&bytes_of(&frame)), Ok(frame));
            }
        }
    }
}
