//! All that leaves a host: the datagrams that wait for the socket, and the lines of its links, on which associations
//! take turns.

use std::collections::BTreeMap;

use bentpipe_units::{BitRate, ByteCount, Instant};

use super::line::{Line, OwnLine, Share};
use super::names::AssociationId;
use super::outbox::Outbox;
use super::paths::LINKS;
use crate::key::PublicKey;

/// What leaves, and when.
#[derive(Debug)]
pub(super) struct Egress {
    outbox: Outbox,
    lines: [Line<AssociationId>; LINKS],
    /// What peers have of each link.
    shares: BTreeMap<PublicKey, [Option<Share>; LINKS]>,
}

impl Default for Egress {
    fn default() -> Self {
        let lines = std::array::from_fn(|_| Line::unlimited());
        Self { outbox: Outbox::default(), lines, shares: BTreeMap::new() }
    }
}

impl Egress {
    pub(super) const fn outbox(&mut self) -> &mut Outbox {
        &mut self.outbox
    }

    /// The rate of a link, if there is such a link.
    pub(super) fn set_rate(&mut self, link: usize, rate: BitRate) {
        if let Some(line) = self.lines.get_mut(link) {
            line.set_rate(rate);
        }
    }

    /// The rate of the first link, if it is bounded.
    pub(super) fn link_rate(&self) -> Option<BitRate> {
        Some(self.lines[0].rate()).filter(|rate| rate.as_bps() != u64::MAX)
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

    /// Gives an association the line over a link that its peer has this share of.
    pub(super) fn apply_share(
        &mut self,
        link: usize,
        id: AssociationId,
        share: Share,
        own: &mut Option<OwnLine>,
    ) {
        let line = &mut self.lines[link];
        let own = own.get_or_insert_with(|| OwnLine::new(share, line.join(id, share.weight)));
        line.set_weight(own.member(), share.weight);
        own.set_rate(share.rate);
    }

    /// An association has something to send over a link: it asks for a turn.
    pub(super) fn wake(&mut self, link: usize, own: &OwnLine) {
        self.lines[link].wake(own.member());
    }

    /// An association is gone.
    pub(super) fn leave(&mut self, own: &[Option<OwnLine>; LINKS]) {
        for (own, line) in own.iter().zip(&mut self.lines) {
            if let Some(own) = own {
                line.leave(own.member());
            }
        }
    }

    /// Whose turn it is on a link that is free: its number there, and the association.
    pub(super) fn next(&mut self, now: Instant, link: usize) -> Option<(u32, AssociationId)> {
        self.lines[link].next(now)
    }

    /// Bytes that left over a link without a turn count too.
    pub(super) fn charge(&mut self, now: Instant, link: usize, bytes: ByteCount) {
        self.lines[link].charge(now, bytes);
    }

    /// What became of a turn: so many bytes were sent, or nothing.
    pub(super) fn end_turn(
        &mut self,
        now: Instant,
        link: usize,
        member: u32,
        sent: Option<ByteCount>,
    ) {
        self.lines[link].end_turn(now, member, sent);
    }

    /// When a link is free for those who found it busy.
    pub(super) fn due(&self) -> Option<Instant> {
        self.lines.iter().map(Line::due).fold(None, Instant::earliest)
    }
}
