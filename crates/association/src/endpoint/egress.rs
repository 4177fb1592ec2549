//! All that leaves a host: the datagrams that wait for the socket, and the shapers of its links, on which associations
//! are scheduled in rounds.

use std::collections::BTreeMap;

use bentpipe_units::{BitRate, ByteCount, Instant};

use super::links::LINKS;
use super::names::AssociationId;
use super::outbox::Outbox;
use super::shaper::{PeerShaper, Shaper, Shapers, Share};
use crate::key::PublicKey;

/// What leaves, and when.
#[derive(Debug)]
pub(super) struct Egress {
    outbox: Outbox,
    shapers: [Shaper<AssociationId>; LINKS],
    /// What peers have of each link.
    shares: BTreeMap<PublicKey, [Option<Share>; LINKS]>,
}

impl Default for Egress {
    fn default() -> Self {
        let shapers = std::array::from_fn(|_| Shaper::unlimited());
        Self { outbox: Outbox::default(), shapers, shares: BTreeMap::new() }
    }
}

impl Egress {
    pub(super) const fn outbox(&mut self) -> &mut Outbox {
        &mut self.outbox
    }

    /// The rate of a link, if there is such a link.
    pub(super) fn set_rate(&mut self, now: Instant, link: usize, rate: BitRate) {
        if let Some(shaper) = self.shapers.get_mut(link) {
            shaper.set_rate(now, rate);
        }
    }

    /// The rate of the first link, if it is bounded.
    pub(super) fn link_rate(&self) -> Option<BitRate> {
        Some(self.shapers[0].rate()).filter(|rate| rate.as_bps() != u64::MAX)
    }

    /// A peer has this share of a link. False if there is no such link.
    pub(super) fn set_share(&mut self, link: usize, peer: PublicKey, share: Share) -> bool {
        let shares = self.shares.entry(peer).or_default();
        let Some(known) = shares.get_mut(link) else { return false };
        *known = Some(share);
        true
    }

    /// The shares of a peer, if it has any.
    pub(super) fn shares(&self, peer: PublicKey) -> Option<[Option<Share>; LINKS]> {
        self.shares.get(&peer).copied()
    }

    /// Gives an association the shaper over a link that its peer has this share of.
    pub(super) fn apply_share(
        &mut self,
        now: Instant,
        link: usize,
        id: AssociationId,
        share: Share,
        own: &mut Option<PeerShaper>,
    ) {
        let shaper = &mut self.shapers[link];
        let own = own.get_or_insert_with(|| PeerShaper::new(share, shaper.join(id, share.weight)));
        shaper.set_weight(own.member(), share.weight);
        own.set_rate(now, share.rate);
    }

    /// An association has something to send over a link: it waits for a round.
    pub(super) fn wake(&mut self, link: usize, own: &PeerShaper) {
        self.shapers[link].wake(own.member());
    }

    /// An association is gone.
    pub(super) fn leave(&mut self, own: &Shapers) {
        for (own, shaper) in own.iter().zip(&mut self.shapers) {
            if let Some(own) = own {
                shaper.leave(own.member());
            }
        }
    }

    /// Who is scheduled next on a link that is free: its number there, and the association.
    pub(super) fn next(&mut self, now: Instant, link: usize) -> Option<(u32, AssociationId)> {
        self.shapers[link].next(now)
    }

    /// Bytes that left over a link outside of a round count too.
    pub(super) fn charge(&mut self, now: Instant, link: usize, bytes: ByteCount) {
        self.shapers[link].charge(now, bytes);
    }

    /// The same of an association, whose next round is later for it.
    pub(super) fn charge_to(
        &mut self,
        now: Instant,
        link: usize,
        own: &PeerShaper,
        bytes: ByteCount,
    ) {
        self.shapers[link].charge_to(now, own.member(), bytes);
    }

    /// What became of a round: so many bytes were sent, or nothing.
    pub(super) fn end_round(
        &mut self,
        now: Instant,
        link: usize,
        member: u32,
        sent: Option<ByteCount>,
    ) {
        self.shapers[link].end_round(now, member, sent);
    }

    /// When a link is free for those who found it busy.
    pub(super) fn due(&self) -> Option<Instant> {
        self.shapers.iter().map(Shaper::due).fold(None, Instant::earliest)
    }
}
