//! Messages of TCPCL version 4 (RFC 9174), as bytes.

use bytes::{Buf, BufMut as _, Bytes, BytesMut};

use super::super::ProtocolError;
use crate::checked::LONGEST_ENDPOINT;

/// How a contact header begins (section 4.2), and the version in it.
const MAGIC: &[u8; 4] = b"dtn!";
const VERSION: u8 = 4;
/// Length of a contact header.
pub(super) const CONTACT: usize = 6;
/// The flag of a contact header that says that this end can do TLS.
const CAN_TLS: u8 = 1;
/// Longest extensions of a message, in bytes.
const LONGEST_EXTENSIONS: usize = 4096;
/// The flag of an extension that must be understood.
const CRITICAL: u8 = 1;
/// The extension that says how long a transfer will be (section 5.2.5).
const TRANSFER_LENGTH: u16 = 1;

/// Types of messages.
mod kind {
    pub(super) const XFER_SEGMENT: u8 = 1;
    pub(super) const XFER_ACK: u8 = 2;
    pub(super) const XFER_REFUSE: u8 = 3;
    pub(super) const KEEPALIVE: u8 = 4;
    pub(super) const SESS_TERM: u8 = 5;
    pub(super) const MSG_REJECT: u8 = 6;
    pub(super) const SESS_INIT: u8 = 7;
}

/// Flags of a segment and of its acknowledgement.
pub(super) const END: u8 = 1;
pub(super) const START: u8 = 2;
/// The flag of a SESS_TERM that answers another one.
pub(super) const REPLY: u8 = 1;

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// What an end says of itself.
    SessInit { keepalive: u16, segment: u64, transfer: u64, node: String, is_understood: bool },
    /// The head of a segment: so many bytes follow.
    Segment { flags: u8, id: u64, len: u64, is_understood: bool },
    /// So much of a transfer has come.
    Ack { flags: u8, id: u64, len: u64 },
    /// A transfer is not wanted.
    Refuse { reason: u8, id: u64 },
    /// Nothing to say.
    Keepalive,
    /// The session ends.
    Term { flags: u8, reason: u8 },
    /// A message was not understood.
    Reject { reason: u8, header: u8 },
}

/// A contact header of an end that has no TLS.
pub(super) fn contact() -> Bytes {
    let mut header = BytesMut::with_capacity(CONTACT);
    header.put_slice(MAGIC);
    header.put_slice(&[VERSION, 0]);
    header.freeze()
}

/// Checks the contact header of the peer. That it could do TLS changes nothing: it is used only if both can.
pub(super) fn check_contact(header: &[u8]) -> Result<(), ProtocolError> {
    if !header.starts_with(MAGIC) {
        return Err(ProtocolError::new("the peer does not speak TCPCL"));
    }
    match header[MAGIC.len()..] {
        [VERSION, flags] if flags & !CAN_TLS == 0 => Ok(()),
        [VERSION, flags] => Err(ProtocolError::new(format!("contact flags {flags:#04x}"))),
        [version, ..] => {
            Err(ProtocolError::new(format!("the peer speaks TCPCL {version}, this end 4")))
        }
        [] => Err(ProtocolError::new("the contact header has an end")),
    }
}

impl Message {
    /// As bytes. Those of a segment are not in it.
    pub(super) fn to_bytes(&self) -> Bytes {
        let mut out = BytesMut::new();
        match self {
            Self::SessInit { keepalive, segment, transfer, node, .. } => {
                out.put_u8(kind::SESS_INIT);
                out.put_u16(*keepalive);
                out.put_u64(*segment);
                out.put_u64(*transfer);
                out.put_u16(node.len() as u16);
                out.put_slice(node.as_bytes());
                out.put_u32(0);
            }
            Self::Segment { flags, id, len, .. } => {
                out.put_slice(&[kind::XFER_SEGMENT, *flags]);
                out.put_u64(*id);
                if flags & START != 0 {
                    out.put_u32(0);
                }
                out.put_u64(*len);
            }
            Self::Ack { flags, id, len } => {
                out.put_slice(&[kind::XFER_ACK, *flags]);
                out.put_u64(*id);
                out.put_u64(*len);
            }
            Self::Refuse { reason, id } => {
                out.put_slice(&[kind::XFER_REFUSE, *reason]);
                out.put_u64(*id);
            }
            Self::Keepalive => out.put_u8(kind::KEEPALIVE),
            Self::Term { flags, reason } => out.put_slice(&[kind::SESS_TERM, *flags, *reason]),
            Self::Reject { reason, header } => {
                out.put_slice(&[kind::MSG_REJECT, *reason, *header]);
            }
        }
        out.freeze()
    }

    /// The message at the beginning of these bytes and its length; `None` if not all of it has come.
    pub(super) fn read(bytes: &[u8]) -> Result<Option<(Self, usize)>, ProtocolError> {
        let mut rest = bytes;
        let read = Self::read_from(&mut rest)?;
        Ok(read.map(|message| (message, bytes.len() - rest.len())))
    }

    fn read_from(rest: &mut &[u8]) -> Result<Option<Self>, ProtocolError> {
        let Ok(kind) = rest.try_get_u8() else { return Ok(None) };
        match kind {
            kind::SESS_INIT => read_init(rest),
            kind::XFER_SEGMENT => read_segment(rest),
            kind::KEEPALIVE => Ok(Some(Self::Keepalive)),
            kind::XFER_ACK if rest.len() >= 1 + 8 + 8 => {
                let (flags, id, len) = (rest.get_u8(), rest.get_u64(), rest.get_u64());
                Ok(Some(Self::Ack { flags, id, len }))
            }
            kind::XFER_REFUSE if rest.len() > 8 => {
                let (reason, id) = (rest.get_u8(), rest.get_u64());
                Ok(Some(Self::Refuse { reason, id }))
            }
            kind::SESS_TERM if rest.len() >= 2 => {
                let (flags, reason) = (rest.get_u8(), rest.get_u8());
                Ok(Some(Self::Term { flags, reason }))
            }
            kind::MSG_REJECT if rest.len() >= 2 => {
                let (reason, header) = (rest.get_u8(), rest.get_u8());
                Ok(Some(Self::Reject { reason, header }))
            }
            kind::XFER_ACK | kind::XFER_REFUSE | kind::SESS_TERM | kind::MSG_REJECT => Ok(None),
            _ => Err(ProtocolError::new(format!("a message of type {kind:#04x}"))),
        }
    }
}

/// Reads a SESS_INIT without its type (section 4.6).
fn read_init(rest: &mut &[u8]) -> Result<Option<Message>, ProtocolError> {
    if rest.len() < 2 + 8 + 8 + 2 {
        return Ok(None);
    }
    let (keepalive, segment, transfer) = (rest.get_u16(), rest.get_u64(), rest.get_u64());
    let len = usize::from(rest.get_u16());
    if len > LONGEST_ENDPOINT {
        return Err(ProtocolError::new("the node ID of the peer is too long"));
    }
    let Some((node, after)) = rest.split_at_checked(len) else { return Ok(None) };
    let node = std::str::from_utf8(node);
    let node = node.map_err(|_| ProtocolError::new("the node ID of the peer is no UTF-8"))?;
    *rest = after;
    let Some(is_understood) = read_extensions(rest, &[])? else { return Ok(None) };
    let node = node.to_owned();
    Ok(Some(Message::SessInit { keepalive, segment, transfer, node, is_understood }))
}

/// Reads the head of an XFER_SEGMENT without its type (section 5.2.2).
fn read_segment(rest: &mut &[u8]) -> Result<Option<Message>, ProtocolError> {
    if rest.len() < 1 + 8 {
        return Ok(None);
    }
    let (flags, id) = (rest.get_u8(), rest.get_u64());
    let mut is_understood = true;
    if flags & START != 0 {
        let Some(all) = read_extensions(rest, &[TRANSFER_LENGTH])? else { return Ok(None) };
        is_understood = all;
    }
    let Ok(len) = rest.try_get_u64() else { return Ok(None) };
    Ok(Some(Message::Segment { flags, id, len, is_understood }))
}

/// Reads a list of extensions and says whether all that must be understood are known.
fn read_extensions(rest: &mut &[u8], known: &[u16]) -> Result<Option<bool>, ProtocolError> {
    let Ok(len) = rest.try_get_u32() else { return Ok(None) };
    let len = len as usize;
    if len > LONGEST_EXTENSIONS {
        return Err(ProtocolError::new("the extensions of a message are too long"));
    }
    let Some((mut list, after)) = rest.split_at_checked(len) else { return Ok(None) };
    *rest = after;
    let torn = |_| ProtocolError::new("an extension is torn");
    let mut all = true;
    while !list.is_empty() {
        let flags = list.try_get_u8().map_err(torn)?;
        let kind = list.try_get_u16().map_err(torn)?;
        let len = usize::from(list.try_get_u16().map_err(torn)?);
        list = list.get(len..).ok_or_else(|| ProtocolError::new("an extension is torn"))?;
        all &= flags & CRITICAL == 0 || known.contains(&kind);
    }
    Ok(Some(all))
}
