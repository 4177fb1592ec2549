//! What travels on the connection: messages and data, each with its length in front.

use bentpipe_association::host::Connection;
use bentpipe_association::stream::Streams;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use serde::{Deserialize, Serialize};

use crate::TransferError;

/// Longest message; names are the only part that can be long.
const MOST_MESSAGE: usize = 16 * 1024;
/// Longest reason that is sent or shown, in characters.
const MOST_REASON: usize = 400;
/// Longest piece of data.
pub const MOST_DATA: usize = 256 * 1024;
const MESSAGE: u8 = 0;
const DATA: u8 = 1;
const HEADER: usize = 5;

/// What the sender says. Entries are offered ahead of their data; everything but `Offer` and `Bye` is about the
/// first file that was offered and not ended yet by `End`, `Skip` or `Keep`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// The next entry.
    Offer(Offer),
    /// The data that follow begin here: the receiver has everything before.
    Seek {
        /// From the beginning of the file.
        offset: u64,
    },
    /// The file ends here.
    End {
        /// The hash of all of it (BLAKE3).
        hash: [u8; 32],
    },
    /// The rest of the file cannot be read.
    Skip {
        /// Why.
        reason: String,
    },
    /// The whole file that the receiver has is the one that was offered.
    Keep,
    /// Nothing more follows.
    Bye,
}

/// An entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// Relative, with `/` between the parts.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Permission bits.
    pub mode: u32,
    /// When it was changed, in nanoseconds since 1970.
    pub changed: i128,
}

/// What an entry is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// A file.
    File {
        /// Its length in bytes.
        size: u64,
    },
    /// A directory.
    Directory,
    /// A symbolic link.
    Link {
        /// Where it leads.
        target: String,
    },
}

/// What the receiver says. Entries are counted from 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// What is here of a file. The answer to every offer of a file that can be received.
    Have {
        /// Which entry.
        entry: u64,
        /// So many first bytes are here, often none.
        len: u64,
        /// Their hash (BLAKE3).
        hash: [u8; 32],
        /// It is here under its final name.
        whole: bool,
    },
    /// This entry is complete, and will still be after a loss of power.
    Done {
        /// Which entry.
        entry: u64,
    },
    /// This entry cannot be received.
    Failed {
        /// Which entry.
        entry: u64,
        /// Why.
        reason: String,
    },
    /// This entry is not received, and that is no failure.
    Skipped {
        /// Which entry.
        entry: u64,
        /// Why.
        reason: String,
    },
}

/// A frame as it was read.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame<M> {
    /// A message.
    Message(M),
    /// Data.
    Data(Bytes),
}

/// A reason that is not longer than a line or a few.
pub fn reason(text: &str) -> String {
    text.chars().take(MOST_REASON).collect()
}

/// The frame of a message.
///
/// # Panics
/// Never: messages have no unusual types.
pub fn message(message: &impl Serialize) -> Bytes {
    let body = postcard::to_stdvec(message).expect("messages have no unusual types");
    frame(MESSAGE, &body)
}

/// The frame of a piece of data.
pub fn data(bytes: &[u8]) -> Bytes {
    frame(DATA, bytes)
}

fn frame(kind: u8, body: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(HEADER + body.len());
    frame.put_u8(kind);
    frame.put_u32(body.len() as u32);
    frame.put_slice(body);
    frame.freeze()
}

/// Reads frames from a connection.
#[derive(Debug, Default)]
pub struct Frames {
    read: BytesMut,
}

impl Frames {
    /// The next frame; `None` when the peer has closed between two of them.
    ///
    /// # Errors
    /// When the connection fails, or what comes is no frame.
    pub async fn next<M: for<'a> Deserialize<'a>>(
        &mut self,
        connection: &Connection<impl Streams>,
    ) -> Result<Option<Frame<M>>, TransferError> {
        loop {
            if let Some(frame) = self.take()? {
                return Ok(Some(frame));
            }
            match connection.read_bytes().await? {
                Some(bytes) => self.push(&bytes),
                None if self.read.is_empty() => return Ok(None),
                None => return Err(TransferError::Cut),
            }
        }
    }

    /// Adds what was read.
    pub fn push(&mut self, bytes: &[u8]) {
        self.read.extend_from_slice(bytes);
    }

    /// Takes a frame out of what was read, if all of it is there.
    ///
    /// # Errors
    /// When it is no frame.
    pub fn take<M: for<'a> Deserialize<'a>>(&mut self) -> Result<Option<Frame<M>>, TransferError> {
        let Some((header, rest)) = self.read.split_first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let [kind, len @ ..] = *header;
        let len = u32::from_be_bytes(len) as usize;
        let most = match kind {
            MESSAGE => MOST_MESSAGE,
            DATA => MOST_DATA,
            _ => return Err(TransferError::Protocol("an unknown kind of frame")),
        };
        if len > most {
            return Err(TransferError::Protocol("a frame that is too long"));
        }
        if rest.len() < len {
            return Ok(None);
        }
        self.read.advance(HEADER);
        let body = self.read.split_to(len).freeze();
        if kind == DATA {
            return Ok(Some(Frame::Data(body)));
        }
        let message = postcard::from_bytes(&body);
        message.map(Frame::Message).map(Some).map_err(|_| TransferError::Protocol("a bad message"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn frames_are_read_however_they_are_cut() {
        let seek = Message::Seek { offset: 77 };
        let all = [message(&seek), data(b"abc"), message(&Message::Bye)].concat();
        for cut in 0..all.len() {
            let mut frames = Frames::default();
            let mut read = Vec::new();
            for part in [&all[..cut], &all[cut..]] {
                frames.read.extend_from_slice(part);
                while let Some(frame) = frames.take::<Message>().expect("frames") {
                    read.push(frame);
                }
            }
            let data = Frame::Data(Bytes::from_static(b"abc"));
            let expected = [Frame::Message(seek.clone()), data, Frame::Message(Message::Bye)];
            assert_eq!(read, expected);
        }
    }

    #[test]
    fn a_frame_that_would_need_much_memory_is_refused() {
        for header in [[0, 0xff, 0xff, 0xff, 0xff], [1, 0, 4, 0, 1], [9, 0, 0, 0, 0]] {
            let mut frames = Frames { read: BytesMut::from(&header[..]) };
            assert!(frames.take::<Message>().is_err(), "{header:?}");
        }
    }

    proptest! {
        #[test]
        fn anything_may_come(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut frames = Frames { read: BytesMut::from(&bytes[..]) };
            while let Ok(Some(_)) = frames.take::<Message>() {}
        }
    }
}
