//! Addresses of the peer that come and go while an association is open (RFC 5061). What it asks for is done at once, and the
//! answer is kept in case it is lost.

use std::collections::VecDeque;
use std::net::IpAddr;

use bentpipe_units::Seq32;
use bentpipe_wire::sctp::{
    AddressChange, Asconf, AsconfAck, AsconfAnswer, AsconfOutcome, AsconfRequest, Cause,
};

use super::Notice;
use super::ends::Ends;
use super::path_ends::{self, PathEnds, Standing, alive};
use super::sender::Sender;

/// Most requests of an ASCONF: more have no answer. Refusals of so many fit into 1,280 bytes.
const MOST_REQUESTS: usize = 16;
/// Most bytes of a request that its refusal quotes.
const MOST_QUOTED: usize = 32;

/// Codes of causes (RFC 9260, section 3.3.10, and RFC 5061, section 4.3).
mod causes {
    pub(super) const UNRESOLVABLE: u16 = 5;
    pub(super) const UNRECOGNIZED: u16 = 8;
    pub(super) const LAST_ADDRESS: u16 = 0x00a0;
    pub(super) const NO_RESOURCE: u16 = 0x00a1;
    pub(super) const SOURCE_ADDRESS: u16 = 0x00a2;
}

/// Changes of the peer's addresses.
#[derive(Debug)]
pub(super) struct PeerChanges {
    /// Number of the last ASCONF, and its answer.
    serial: Seq32,
    answer: Option<AsconfAck>,
    /// Data shall go to this address once there is a path.
    wanted: Option<IpAddr>,
}

impl PeerChanges {
    /// None yet, of a peer with this first TSN: its ASCONFs are numbered from there on (RFC 5061, section 5.1).
    pub(super) const fn new(first: Seq32) -> Self {
        Self { serial: first.plus(u32::MAX), answer: None, wanted: None }
    }

    /// Whether an ASCONF was not seen before.
    pub(super) fn is_next(&self, asconf: &Asconf) -> bool {
        asconf.serial == self.serial.plus(1)
    }

    /// Whether an ASCONF is the one that was answered last.
    pub(super) fn is_last(&self, asconf: &Asconf) -> bool {
        self.answer.is_some() && asconf.serial == self.serial
    }

    /// The peer's addresses change, as it says from `source`, if that is known to be one of them. Gives the answer, unless the
    /// number is none that an answer is due to.
    pub(super) fn handle(
        &mut self,
        source: Option<IpAddr>,
        asconf: &Asconf,
        tx: &mut Sender,
        ends: &mut Ends,
        notices: &mut VecDeque<Notice>,
    ) -> Option<AsconfAck> {
        if asconf.serial == self.serial {
            return self.answer.clone();
        }
        if !self.is_next(asconf) || asconf.requests.len() > MOST_REQUESTS {
            return None;
        }
        self.serial = asconf.serial;
        // Behind a translator the peer does not know its address.
        let named = |address: IpAddr| match address.is_unspecified() {
            true => source.ok_or(causes::UNRESOLVABLE),
            false => Ok(address.to_canonical()),
        };
        let mut answers = Vec::new();
        for request in &asconf.requests {
            let done = match request.change {
                AddressChange::Add(address) => {
                    named(address).and_then(|address| add(address, tx, ends, notices))
                }
                AddressChange::Delete(address) => delete(address, source, tx, ends, notices),
                AddressChange::SetPrimary(address) => {
                    named(address).and_then(|address| self.prefer(address, tx, ends))
                }
                AddressChange::Other { .. } => Err(causes::UNRECOGNIZED),
            };
            if let Err(code) = done {
                answers.push(refuse(request, code));
            }
        }
        let ack = AsconfAck { serial: asconf.serial, answers };
        self.answer = Some(ack.clone());
        Some(ack)
    }

    fn prefer(&mut self, address: IpAddr, tx: &mut Sender, ends: &Ends) -> Result<(), u16> {
        if let Some(index) = to(tx, address) {
            tx.primary = index;
        } else if ends.peer_addresses().contains(&address) {
            self.wanted = Some(address);
        } else {
            return Err(causes::UNRESOLVABLE);
        }
        Ok(())
    }

    /// A path has a name from now on: it may be the one that the peer has asked for.
    pub(super) fn path_named(&mut self, index: usize, ends: PathEnds, tx: &mut Sender) {
        if self.wanted.is_some() && self.wanted == ends.peer {
            (tx.primary, self.wanted) = (index, None);
        }
    }
}

/// Index of the path to an address of the peer.
fn to(tx: &Sender, peer: IpAddr) -> Option<usize> {
    alive(tx).find(|(_, path)| path.ends.peer == Some(peer)).map(|(index, _)| index)
}

/// The peer has another address: a path to it is up to who owns the association.
fn add(
    address: IpAddr,
    tx: &Sender,
    ends: &mut Ends,
    notices: &mut VecDeque<Notice>,
) -> Result<(), u16> {
    let known = ends.peer_addresses();
    if to(tx, address).is_some() || known.contains(&address) {
        return Ok(());
    }
    if known.len().max(alive(tx).count()) >= path_ends::MOST_PATHS {
        return Err(causes::NO_RESOURCE);
    }
    ends.learn_peer(address);
    notices.push_back(Notice::PeerAddressAdded(address));
    Ok(())
}

/// The peer has such an address no more; an unspecified one stands for all but the source.
fn delete(
    address: IpAddr,
    source: Option<IpAddr>,
    tx: &mut Sender,
    ends: &mut Ends,
    notices: &mut VecDeque<Notice>,
) -> Result<(), u16> {
    let (address, all_others) = (address.to_canonical(), address.is_unspecified());
    if source == Some(address) {
        return Err(causes::SOURCE_ADDRESS);
    }
    if all_others && source.is_none() {
        return Err(causes::UNRESOLVABLE);
    }
    let goes = |peer: &IpAddr| if all_others { Some(*peer) != source } else { *peer == address };
    let of_paths = alive(tx).filter_map(|(_, path)| path.ends.peer);
    let mut all: Vec<_> = of_paths.chain(ends.peer_addresses().iter().copied()).collect();
    all.sort_unstable();
    all.dedup();
    let nameless = alive(tx).any(|(_, path)| path.ends.peer.is_none());
    if !nameless && all.iter().all(goes) {
        return Err(causes::LAST_ADDRESS);
    }
    for gone in all.into_iter().filter(goes) {
        for index in 0..tx.paths.len() {
            let path = &tx.paths[index];
            if path.standing != Standing::Gone && path.ends.peer == Some(gone) {
                path_ends::retire(tx, index);
            }
        }
        ends.forget_peer(gone);
        // Nobody has to make a path that would be gone.
        notices.retain(|notice| *notice != Notice::PeerAddressAdded(gone));
        notices.push_back(Notice::PeerAddressDeleted(gone));
    }
    Ok(())
}

/// The answer to a request that was not done: the cause with the request itself (RFC 5061, section 4.3).
fn refuse(request: &AsconfRequest, code: u16) -> AsconfAnswer {
    let mut value = request.to_bytes();
    value.truncate(MOST_QUOTED);
    let causes = vec![match code {
        causes::UNRECOGNIZED => Cause::UnrecognizedParameters(value),
        causes::UNRESOLVABLE => Cause::UnresolvableAddress(value),
        _ => Cause::Other { code, value },
    }];
    AsconfAnswer { correlation: request.correlation, outcome: AsconfOutcome::Refused(causes) }
}
