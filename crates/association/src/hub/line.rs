//! Lines of a known rate, shared in turn.
//!
//! Where the rate of a link is known nobody has to find out what may be sent. The connections of an
//! association take turns on its line, and the associations of a host on the host's, for each link: no queue
//! stands anywhere but here, and what is short or repairs goes ahead of bulk. What the link to a peer really carries
//! its connections find out together ([`DedicatedLink`]).

use bentpipe_cc::DedicatedLink;
use bentpipe_pep::scheduler::{Scheduler, Turns};
use bentpipe_transport::{Endpoint as _, Host as _, hear};
use bentpipe_units::{BitRate, ByteCount, Instant, Span};
use bytes::Bytes;

use super::datagrams::Queue;
use super::ways::LINKS;
use super::{AssociationId, Hub, Owner};
use crate::key::PublicKey;

/// A timer may be late by this without loss of rate.
const CATCH_UP: Span = Span::from_millis(5);
/// How much ahead of bulk repairs and short objects are.
pub(super) const AHEAD: u32 = 16;
/// How much ahead of it all datagrams of applications together are.
const DATAGRAMS: u32 = 4;

/// The part of a link that a peer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The rate at which datagrams leave for it, all headers included.
    pub rate: BitRate,
    /// Its weight among the peers of this host.
    pub weight: u32,
}

/// The line of an association over one link.
#[derive(Debug)]
pub(super) struct OwnLine {
    pub(super) line: Line<Member>,
    /// What is known of the link to the peer.
    pub(super) link: DedicatedLink,
    /// Its number on the line of the host.
    pub(super) member: u32,
    /// Datagrams of applications that wait, and their number on the line.
    pub(super) datagrams: Queue,
    asks: Option<u32>,
    /// What was sent and not yet charged, headers of IP and UDP included.
    pub(super) on_wire: ByteCount,
}

/// Who takes turns on the line of an association.
#[derive(Clone, Copy, Debug)]
pub(super) enum Member {
    Connection(usize),
    Datagrams,
}

impl OwnLine {
    /// A datagram of an application asks for its turn; false if there is no room.
    pub(super) fn offer(&mut self, datagram: Bytes) -> bool {
        let fits = self.datagrams.push(datagram, self.link.carried());
        let line = &mut self.line;
        let member = *self.asks.get_or_insert_with(|| line.join(Member::Datagrams, DATAGRAMS));
        line.wake(member);
        fits
    }

    /// So many bytes have left since this was asked last.
    fn take_sent(&mut self, now: Instant) -> ByteCount {
        let bytes = std::mem::take(&mut self.on_wire);
        if bytes > ByteCount::ZERO {
            self.link.sent(now, bytes);
        }
        self.line.set_rate(self.link.pace());
        bytes
    }
}

/// A line that several share, and what each of them stands for.
#[derive(Debug)]
pub(super) struct Line<T> {
    scheduler: Scheduler,
    rate: BitRate,
    owners: Vec<T>,
    /// When it is free, if somebody found it busy.
    due: Option<Instant>,
}

impl<T: Copy> Line<T> {
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
    pub(super) fn join(&mut self, owner: T, weight: u32) -> u32 {
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
    fn next(&mut self, now: Instant) -> Option<(u32, T)> {
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
    /// All that this host sends over a link to peers with a [`Share`] of it leaves at this rate at most.
    /// `link` is 0, or 1 for a backup.
    pub fn set_rate(&mut self, link: usize, rate: BitRate) {
        if let Some(line) = self.lines.get_mut(link) {
            line.set_rate(rate);
        }
    }

    /// What is sent to a peer over a link takes this share of it, now and in associations to come.
    pub fn set_share(&mut self, now: Instant, link: usize, peer: PublicKey, share: Share) {
        let shares = self.shares.entry(peer).or_default();
        let Some(known) = shares.get_mut(link) else { return };
        *known = Some(share);
        if let Some(&id) = self.by_peer.get(&peer) {
            self.apply_shares(now, id);
        }
    }

    /// Gives an association the lines that its peer has shares of.
    pub(super) fn apply_shares(&mut self, now: Instant, id: AssociationId) {
        let association = &mut self.associations[id];
        let Some(shares) = self.shares.get(&association.peer) else { return };
        for ((share, own), line) in shares.iter().zip(&mut association.lines).zip(&mut self.lines) {
            let Some(share) = share else { continue };
            let own = own.get_or_insert_with(|| OwnLine {
                line: Line::new(share.rate),
                link: DedicatedLink::new(share.rate),
                datagrams: Queue::default(),
                asks: None,
                member: line.join(id, share.weight),
                // What was sent before there was a line is no debt.
                on_wire: ByteCount::ZERO,
            });
            line.scheduler.weigh(own.member, share.weight);
            own.link.set_rate(share.rate);
            own.line.set_rate(own.link.pace());
        }
        let connections: Vec<usize> = association.roster.all();
        for connection in connections {
            self.join_line(now, connection);
            self.stir(connection);
        }
    }

    /// A connection takes part in the line over its link, if there is one.
    pub(super) fn join_line(&mut self, now: Instant, id: usize) {
        let connection = &mut self.connections[id];
        let Some(own) = self.associations[connection.association].own_line(connection.way) else {
            return;
        };
        if connection.member.is_none() {
            connection.member = Some(own.line.join(Member::Connection(id), AHEAD));
            let session = &mut connection.stream.endpoint;
            if session.config().controller.name() == "rate" {
                session.share_link(&own.link);
            }
        }
        connection.stream.endpoint.handle_link_rate(now, own.link.rate());
    }

    /// A connection takes no part in its line any more.
    pub(super) fn leave_line(&mut self, id: usize) {
        let connection = &mut self.connections[id];
        let own = self.associations[connection.association].own_line(connection.way);
        if let (Some(own), Some(member)) = (own, connection.member.take()) {
            own.line.leave(member);
        }
    }

    /// A connection has something to send and waits for its turn.
    pub(super) fn wait_for_turn(&mut self, id: usize) {
        let connection = &self.connections[id];
        let association = &mut self.associations[connection.association];
        let link = association.ways.get(connection.way).link;
        if let (Some(own), Some(turn)) = (&mut association.lines[link], connection.member) {
            own.line.wake(turn);
            self.lines[link].wake(own.member);
        }
    }

    /// The lines of an association may be free by now for those who wait.
    pub(super) fn wake_lines(&mut self, now: Instant, id: AssociationId) {
        for (own, line) in self.associations[id].lines.iter_mut().zip(&mut self.lines) {
            if let Some(own) = own
                && own.line.take_due(now)
            {
                line.wake(own.member);
            }
        }
    }

    /// An association leaves the lines of the host.
    pub(super) fn leave_lines(&mut self, lines: &[Option<OwnLine>; LINKS]) {
        for (own, line) in lines.iter().zip(&mut self.lines) {
            if let Some(own) = own {
                line.leave(own.member);
            }
        }
    }

    /// Lets those send whose turn it is, while their lines are free.
    pub(super) fn serve(&mut self, now: Instant) {
        for link in 0..LINKS {
            let mut served = None;
            while let Some((member, id)) = self.lines[link].next(now) {
                if let Some(before) = served.replace(id).filter(|before| *before != id) {
                    self.set_timer(now, before);
                }
                match self.serve_association(now, link, id) {
                    Some(bytes) => self.lines[link].scheduler.sent(now, member, bytes),
                    None => self.lines[link].scheduler.passed(member),
                }
            }
            if let Some(last) = served {
                self.set_timer(now, last);
            }
        }
        let due = self.lines.iter().map(Line::due).fold(None, Instant::earliest);
        self.timers.set(Owner::Host, due);
    }

    /// Lets a member of an association's line send one datagram over a link. Returns its bytes.
    fn serve_association(
        &mut self,
        now: Instant,
        link: usize,
        id: AssociationId,
    ) -> Option<ByteCount> {
        loop {
            let own = self.associations[id].lines[link].as_mut()?;
            let others = own.take_sent(now);
            own.line.scheduler.charge(now, others);
            self.lines[link].scheduler.charge(now, others);
            let (member, who) = own.line.next(now)?;
            let sent = match who {
                Member::Connection(connection) => self.send_one(now, connection),
                Member::Datagrams => self.send_queued(now, link, id),
            };
            let own = self.associations[id].lines[link].as_mut()?;
            let bytes = own.take_sent(now);
            if sent {
                if let Member::Connection(connection) = who {
                    let connection = &mut self.connections[connection];
                    let repairs = connection.stream.endpoint.has_repairs();
                    let ahead = repairs || connection.object.is_short();
                    own.line.scheduler.weigh(member, if ahead { AHEAD } else { 1 });
                }
                own.line.scheduler.sent(now, member, bytes);
            } else {
                own.line.scheduler.passed(member);
            }
            match who {
                Member::Connection(connection) => self.settle_after_turn(now, connection),
                // The next one asks again.
                Member::Datagrams if !own.datagrams.is_empty() => own.line.wake(member),
                Member::Datagrams => {}
            }
            if sent {
                return Some(bytes);
            }
        }
    }

    /// Sends the next segment of a connection; false when it has none.
    fn send_one(&mut self, now: Instant, id: usize) -> bool {
        let (endpoint, mut context) = self.context(id);
        let mut path = endpoint.poll_transmit(now, context.place());
        if path.is_none() && endpoint.poll_timeout().is_some_and(|due| due <= now) {
            // A burst that ended while others had their turns: the next one is due, and a timer would only
            // ring when the turn has gone to others.
            endpoint.handle_timeout(now);
            path = endpoint.poll_transmit(now, context.place());
        }
        if let Some(path) = path {
            context.transmit(now, path);
        }
        path.is_some()
    }

    /// What became of a connection by its turn.
    fn settle_after_turn(&mut self, now: Instant, id: usize) {
        let (endpoint, mut context) = self.context(id);
        let deadline = hear(endpoint, now, &mut context);
        self.settle(now, id, deadline);
    }
}
