//! Lines of a known rate, shared in turn.
//!
//! Where the rate of a link is known nobody has to find out what may be sent. The connections of an
//! association take turns on its line, and the associations of a host on the host's: no queue stands
//! anywhere but here, and what is short or repairs goes ahead of bulk.

use bentpipe_pep::scheduler::{Scheduler, Turns};
use bentpipe_transport::{Endpoint as _, Host as _, hear};
use bentpipe_units::{BitRate, ByteCount, Instant, Span};

use super::{Hub, Owner};
use crate::key::PublicKey;

/// A timer may be late by this without loss of rate.
const CATCH_UP: Span = Span::from_millis(5);
/// How much ahead of bulk repairs and short objects are.
const AHEAD: u32 = 16;

/// The part of a link that a peer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The rate at which datagrams leave for it, all headers included.
    pub rate: BitRate,
    /// Its weight among the peers of this host.
    pub weight: u32,
}

/// A line that several share.
#[derive(Debug)]
pub(super) struct Line {
    scheduler: Scheduler,
    rate: BitRate,
    /// What each member stands for.
    owners: Vec<usize>,
    /// When it is free, if somebody found it busy.
    due: Option<Instant>,
}

impl Line {
    /// A line of this rate.
    pub(super) const fn new(rate: BitRate) -> Self {
        let scheduler = Scheduler::new(rate, Turns::Weighted).with_catch_up(CATCH_UP);
        Self { scheduler, rate, owners: Vec::new(), due: None }
    }

    /// A line that is never busy.
    pub(super) const fn unlimited() -> Self {
        Self::new(BitRate::from_bps(u64::MAX))
    }

    pub(super) const fn rate(&self) -> BitRate {
        self.rate
    }

    const fn set_rate(&mut self, rate: BitRate) {
        self.rate = rate;
        self.scheduler.set_rate(rate);
    }

    /// A member more. Returns its number.
    pub(super) fn join(&mut self, owner: usize, weight: u32) -> u32 {
        let member = self.scheduler.join(weight);
        let place = member as usize;
        self.owners.resize(self.owners.len().max(place + 1), owner);
        self.owners[place] = owner;
        member
    }

    pub(super) fn leave(&mut self, member: u32) {
        self.scheduler.leave(member);
    }

    pub(super) fn wake(&mut self, member: u32) {
        self.scheduler.wake(member);
    }

    /// Whose turn it is, and what that member stands for.
    fn next(&mut self, now: Instant) -> Option<(u32, usize)> {
        let member = self.scheduler.next(now);
        self.due = if member.is_none() { self.scheduler.poll_timeout() } else { None };
        member.map(|member| (member, self.owners[member as usize]))
    }

    /// When it is free for those who found it busy.
    pub(super) const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Whether it is free for those who found it busy; true once.
    fn take_due(&mut self, now: Instant) -> bool {
        self.due.take_if(|due| *due <= now).is_some()
    }
}

impl Hub {
    /// All that this host sends to peers with a [`Share`] leaves at this rate at most.
    pub fn set_rate(&mut self, rate: BitRate) {
        self.line.set_rate(rate);
    }

    /// What is sent to a peer takes this share of the link, now and in associations to come.
    pub fn set_share(&mut self, now: Instant, peer: PublicKey, share: Share) {
        self.shares.insert(peer, share);
        if let Some(&id) = self.by_peer.get(&peer) {
            self.apply_share(now, id);
        }
    }

    /// Gives an association the line that its peer has a share in.
    pub(super) fn apply_share(&mut self, now: Instant, id: usize) {
        let association = &mut self.associations[id];
        let Some(share) = self.shares.get(&association.peer) else { return };
        match association.member {
            Some(member) => self.line.scheduler.weigh(member, share.weight),
            None => association.member = Some(self.line.join(id, share.weight)),
        }
        let line = association.line.get_or_insert_with(|| {
            // What was sent before there was a line is no debt.
            association.on_wire = ByteCount::ZERO;
            Line::new(share.rate)
        });
        line.set_rate(share.rate);
        let connections: Vec<usize> = association.numbers.values().copied().collect();
        for connection in connections {
            self.join_line(now, connection);
            self.stir(connection);
        }
    }

    /// A connection takes part in the line of its association, if there is one.
    pub(super) fn join_line(&mut self, now: Instant, id: usize) {
        let connection = &mut self.connections[id];
        let Some(line) = &mut self.associations[connection.association].line else { return };
        connection.member.get_or_insert_with(|| line.join(id, AHEAD));
        connection.stream.endpoint.handle_link_rate(now, line.rate());
    }

    /// A connection has something to send and waits for its turn.
    pub(super) fn wait_for_turn(&mut self, id: usize) {
        let connection = &self.connections[id];
        let association = &mut self.associations[connection.association];
        if let (Some(line), Some(turn)) = (&mut association.line, connection.member) {
            line.wake(turn);
        }
        if let Some(member) = association.member {
            self.line.wake(member);
        }
    }

    /// The line of an association may be free by now for those who wait.
    pub(super) fn wake_line(&mut self, now: Instant, id: usize) {
        let association = &mut self.associations[id];
        if let (Some(line), Some(member)) = (&mut association.line, association.member)
            && line.take_due(now)
        {
            self.line.wake(member);
        }
    }

    /// Lets those send whose turn it is, while their lines are free.
    pub(super) fn serve(&mut self, now: Instant) {
        while let Some((member, id)) = self.line.next(now) {
            match self.serve_association(now, id) {
                Some(bytes) => self.line.scheduler.sent(now, member, bytes),
                None => self.line.scheduler.passed(member),
            }
            self.timers.set(Owner::Association(id), self.associations[id].deadline());
        }
        self.timers.set(Owner::Host, self.line.due());
    }

    /// Lets a connection of an association send one datagram. Returns its bytes.
    fn serve_association(&mut self, now: Instant, id: usize) -> Option<ByteCount> {
        loop {
            let association = &mut self.associations[id];
            let line = association.line.as_mut()?;
            let others = std::mem::take(&mut association.on_wire);
            line.scheduler.charge(now, others);
            self.line.scheduler.charge(now, others);
            let (member, connection) = line.next(now)?;
            let sent = self.send_one(now, connection);
            let association = &mut self.associations[id];
            let line = association.line.as_mut()?;
            let bytes = std::mem::take(&mut association.on_wire);
            if sent {
                let connection = &mut self.connections[connection];
                let repairs = connection.stream.endpoint.has_repairs();
                let ahead = repairs || connection.object.is_short();
                line.scheduler.weigh(member, if ahead { AHEAD } else { 1 });
                line.scheduler.sent(now, member, bytes);
            } else {
                line.scheduler.passed(member);
            }
            self.settle_after_turn(now, connection);
            if sent {
                return Some(bytes);
            }
        }
    }

    /// Sends the next segment of a connection; false when it has none.
    fn send_one(&mut self, now: Instant, id: usize) -> bool {
        let (endpoint, mut around) = self.around(id);
        let path = endpoint.poll_transmit(now, around.place());
        if let Some(path) = path {
            around.transmit(now, path);
        }
        path.is_some()
    }

    /// What became of a connection by its turn.
    fn settle_after_turn(&mut self, now: Instant, id: usize) {
        let (endpoint, mut around) = self.around(id);
        let deadline = hear(endpoint, now, &mut around);
        self.settle(now, id, deadline);
    }
}
