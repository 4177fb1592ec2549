//! What the fuzz target of messages between hosts does with its input.

use bytes::{Buf as _, Bytes, BytesMut};

use super::control::Control;
use super::early::segments;
use super::number::{CONTROL, take_number};

/// Reads the input as a message about an association, and as the segments of a handshake message.
///
/// # Panics
///
/// If a message that was read is written to something that is read otherwise.
pub fn control_message(input: &[u8]) {
    let inside: usize = segments(input).map(|segment| segment.len() + 2).sum();
    assert!(inside <= input.len());
    let Some(message) = Control::take(Bytes::copy_from_slice(input)) else { return };
    let mut again = BytesMut::new();
    message.put(&mut again);
    let (number, len) = take_number(&again).expect("it was written here");
    again.advance(len);
    assert_eq!((number, Control::take(again.freeze())), (CONTROL, Some(message)));
}

/// One of each message.
pub fn control_seeds() -> Vec<Vec<u8>> {
    let with = |code: u8, rest: &[u8]| [&[code], rest].concat();
    (0..18)
        .map(|code| with(code, &[0, 0, 1, 44, 0, 3, 0, 2, 4, 0, 0, 0, 0, 0, 0, 0, 9]))
        .chain([with(0, &[3, 1, 2, 3, 0, 2, 7, 8])])
        .collect()
}
