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
use super::path_ends::{self, PathEnds, alive};
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

    /// The peer's addresses change. Gives the answer, unless the number is none that an answer is due to.
    pub(super) fn handle(
        &mut self,
        from: usize,
        asconf: &Asconf,
        tx: &mut Sender,
        ends: &mut Ends,
        notices: &mut VecDeque<Notice>,
    ) -> Option<AsconfAck> {
        if asconf.serial == self.serial {
            return self.answer.clone();
        }
        if asconf.serial != self.serial.plus(1) || asconf.requests.len() > MOST_REQUESTS {
            return None;
        }
        self.serial = asconf.serial;
        let source = tx.paths[from].ends.peer;
        let mut answers = Vec::new();
        let (mut added, mut gone) = (Vec::new(), Vec::new());
        for request in &asconf.requests {
            let done = match request.change {
                AddressChange::Add(address) => add(address, source, tx, &mut added),
                AddressChange::Delete(address) => delete(address, source, tx, &added, &mut gone),
                AddressChange::SetPrimary(address) => self.prefer(address, tx, &added),
                AddressChange::Other { .. } => Err(causes::UNRECOGNIZED),
            };
            if let Err(code) = done {
                answers.push(refuse(request, code));
            }
        }
        for address in gone {
            ends.forget_peer(address);
            notices.push_back(Notice::PeerAddressDeleted(address));
        }
        for address in added {
            ends.learn_peer(address);
            notices.push_back(Notice::PeerAddressAdded(address));
        }
        let ack = AsconfAck { serial: asconf.serial, answers };
        self.answer = Some(ack.clone());
        Some(ack)
    }

    fn prefer(&mut self, address: IpAddr, tx: &mut Sender, added: &[IpAddr]) -> Result<(), u16> {
        if let Some(index) = to(tx, address) {
            tx.primary = index;
        } else if added.contains(&address) {
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
    source: Option<IpAddr>,
    tx: &Sender,
    added: &mut Vec<IpAddr>,
) -> Result<(), u16> {
    // Behind a translator the peer does not know its address.
    let address =
        if address.is_unspecified() { source.ok_or(causes::UNRESOLVABLE)? } else { address };
    if to(tx, address).is_some() || added.contains(&address) {
        return Ok(());
    }
    if added.len() + alive(tx).count() >= path_ends::MOST_PATHS {
        return Err(causes::NO_RESOURCE);
    }
    added.push(address);
    Ok(())
}

/// The peer has such an address no more.
fn delete(
    address: IpAddr,
    source: Option<IpAddr>,
    tx: &mut Sender,
    added: &[IpAddr],
    gone: &mut Vec<IpAddr>,
) -> Result<(), u16> {
    if source == Some(address) {
        return Err(causes::SOURCE_ADDRESS);
    }
    let all_others = address.is_unspecified();
    if all_others && source.is_none() {
        return Err(causes::UNRESOLVABLE);
    }
    let goes = |peer: IpAddr| if all_others { Some(peer) != source } else { peer == address };
    let peers = alive(tx).filter_map(|(_, path)| path.ends.peer);
    let mut going: Vec<_> = peers.filter(|peer| goes(*peer)).collect();
    going.dedup();
    let stays = alive(tx).any(|(_, path)| path.ends.peer.is_none_or(|peer| !goes(peer)));
    if !stays && !added.iter().any(|peer| !goes(*peer)) {
        return Err(causes::LAST_ADDRESS);
    }
    path_ends::retire_where(tx, |ends| ends.peer.is_some_and(goes));
    gone.extend(going);
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
