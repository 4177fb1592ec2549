//! A stream over several connections.

use bentpipe_units::{ByteCount, Instant, Span};
use bytes::Bytes;

use crate::frame::{Frame, data_header, end, status};
use crate::incoming::Incoming;
use crate::member::{Member, Observed, SLACK, Use};
use crate::outgoing::{Outgoing, Work};

/// Shortest and longest wait until there may be room on a link.
const WAIT_MIN: Span = Span::from_millis(1);
const WAIT_MAX: Span = Span::from_millis(10);
/// With so much that waits the stream goes on for a while.
const BULK: usize = 128 * 1024;
/// Connections have been full for so long before others are used that cost.
const FULL: Span = Span::from_secs(1);

/// What a peer did that it must not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BondError {
    /// What came is no frame.
    #[error("the peer sent something that is no frame of a bond")]
    Frame,
    /// More came than may.
    #[error("the peer sent more than the window of the bond")]
    Window,
    /// The stream has ended elsewhere.
    #[error("the peer named two ends of a bond")]
    End,
    /// It has what was never sent.
    #[error("the peer acknowledged what was never sent")]
    Status,
}

/// What is to be written to a connection, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The connection.
    pub member: usize,
    /// The bytes; the second one may be empty.
    pub bytes: [Bytes; 2],
    /// It goes ahead of what waits for the connection: others wait for it.
    pub is_urgent: bool,
}

/// One end of a byte stream, both directions, over several connections.
#[derive(Debug)]
pub struct Bond {
    members: Vec<Member>,
    outgoing: Outgoing,
    incoming: Incoming,
    /// When there may be room on a link.
    room_at: Option<Instant>,
    /// Since when much waits that only those connections carry which are always used.
    full_since: Option<Instant>,
    /// The latest status went by a connection that is gone.
    has_lost_status: bool,
}

impl Bond {
    /// A bond without connections. This end takes so much of the stream beyond what its application has read.
    pub fn new(window: ByteCount) -> Self {
        Self {
            members: Vec::new(),
            outgoing: Outgoing::new(),
            incoming: Incoming::new(window.get()),
            room_at: None,
            full_since: None,
            has_lost_status: false,
        }
    }

    /// One connection more, of this number: the first one, or one that the peer has opened, which is told that it joins.
    pub fn join(&mut self, member: usize, carries: Use) {
        self.members.push(Member::new(member, carries, true));
    }

    /// One connection more, which this end has opened. Until something has come by it the peer may not want it, and what is
    /// acknowledged may be nobody's.
    pub fn open(&mut self, member: usize, carries: Use) {
        self.members.push(Member::new(member, carries, false));
    }

    /// Nothing more is written to a connection, and what it has goes by the others. What the peer has written to it still
    /// counts, until it [leaves](Bond::leave): the peer may take it for delivered.
    pub fn retire(&mut self, member: usize) {
        let Some(known) = self.members.iter_mut().find(|known| known.id == member) else { return };
        known.is_retired = true;
        self.has_lost_status |= std::mem::take(&mut known.has_status);
        self.outgoing.handle_left(member);
    }

    /// Whether the peer has a connection as one of the bond, and it goes on.
    pub fn goes_by(&self, member: usize) -> bool {
        let goes_on = |known: &&Member| known.is_accepted && known.goes_on();
        self.members.iter().filter(goes_on).any(|known| known.id == member)
    }

    /// A connection is gone. What it had goes by the others.
    pub fn leave(&mut self, member: usize) {
        let has_status = |known: &Member| known.id == member && known.has_status;
        self.has_lost_status |= self.members.iter().any(has_status);
        self.members.retain(|known| known.id != member);
        self.outgoing.handle_left(member);
    }

    /// A connection says this of itself.
    pub fn observe(&mut self, now: Instant, member: usize, observed: Observed) {
        let Some(known) = self.members.iter_mut().find(|known| known.id == member) else { return };
        known.observe(now, observed);
        if known.has_arrived() && self.outgoing.is_on(member) {
            self.outgoing.handle_arrived(member);
        }
    }

    /// A connection carried this.
    ///
    /// # Errors
    /// When the peer breaks the rules. The bond is of no use then.
    pub fn handle_bytes(&mut self, member: usize, mut bytes: Bytes) -> Result<(), BondError> {
        let known = self.members.iter_mut().find(|known| known.id == member);
        let Some(known) = known else { return Ok(()) };
        let came = bytes.len();
        while let Some(frame) = known.frames.take(&mut bytes)? {
            known.is_accepted = true;
            match frame {
                Frame::Data { offset, bytes } => {
                    // A small part would keep all that it came with.
                    let is_small = bytes.len() < came / 2;
                    let bytes = if is_small { Bytes::copy_from_slice(&bytes) } else { bytes };
                    self.incoming.handle_data(offset, bytes)?;
                }
                Frame::Status { delivered, limit } => {
                    self.outgoing.handle_status(delivered, limit)?;
                }
                Frame::End { total } => self.incoming.handle_end(total)?,
            }
        }
        Ok(())
    }

    /// These bytes are to be carried. Who writes more than [`Bond::pending`] allows is to wait.
    pub fn write(&mut self, bytes: Bytes) {
        self.outgoing.write(bytes);
    }

    /// Nothing more is written.
    pub const fn close(&mut self) {
        self.outgoing.close();
    }

    /// Nothing more is to be written here.
    pub fn has_closed(&self) -> bool {
        self.outgoing.total().is_some()
    }

    /// The next bytes that came, in order.
    pub fn read(&mut self) -> Option<Bytes> {
        self.incoming.read()
    }

    /// Nobody reads what comes any more: it is dropped, and the peer is given no more room for it. What is written still
    /// arrives.
    pub fn refuse(&mut self) {
        self.incoming.refuse();
    }

    /// The peer has closed, and all was read.
    pub fn has_ended(&self) -> bool {
        self.incoming.has_ended()
    }

    /// The peer has closed, and all has come.
    pub fn is_complete(&self) -> bool {
        self.incoming.is_complete()
    }

    /// Bytes that were written and wait for a connection.
    pub const fn pending(&self) -> usize {
        self.outgoing.pending()
    }

    /// All that was written has arrived.
    pub fn is_delivered(&self) -> bool {
        self.outgoing.is_delivered()
    }

    /// Bytes that were written and that came so far.
    pub const fn carried(&self) -> u64 {
        self.outgoing.written() + self.incoming.delivered()
    }

    /// Whether something waits for the reader.
    pub fn is_readable(&self) -> bool {
        self.incoming.is_readable()
    }

    /// Bytes that connections have brought, and of which the peer has not said so.
    pub fn untold(&self) -> usize {
        let by_connections: usize = self.members.iter().map(Member::holds).sum();
        self.outgoing.under_way().saturating_sub(by_connections)
    }

    /// Whether all that the peer may still send counts as [held](Bond::held), from now on at least: taking it from connections
    /// costs nothing then. The host has memory for so many bytes more.
    pub const fn makes_place(&mut self, room: ByteCount) -> bool {
        self.incoming.makes_place(room.get())
    }

    /// The host has memory for so many bytes more, beyond what is held: the peer is given no more room.
    pub const fn set_room(&mut self, room: ByteCount) {
        self.incoming.set_room(room.get());
    }

    /// Bytes that are kept here: what may have to be sent by another link, what waits for its turn or its reader,
    /// and what the peer was given room for. What connections hold is not counted again.
    pub fn held(&self) -> usize {
        let by_connections = self.members.iter().map(Member::holds).sum();
        self.outgoing.held(by_connections) + self.incoming.held()
    }

    /// What is written next, if anything may be.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        self.poll_word()
            .or_else(|| self.poll_status(now))
            .or_else(|| self.poll_end())
            .or_else(|| self.poll_data(now))
    }

    /// Who has opened a connection is told that it joins.
    fn poll_word(&mut self) -> Option<Transmit> {
        let (delivered, limit) = self.incoming.told();
        let mut owing = self.members.iter_mut().filter(|member| !member.is_retired);
        let member = owing.find(|member| member.owes_word)?;
        member.owes_word = false;
        let id = member.id;
        Some(self.transmit(id, [status(delivered, limit), Bytes::new()], true))
    }

    /// The receiver's word goes by the nearest link that the peer has for one of the bond, rather by one that does not
    /// cost, and by another one when that stalls or is gone.
    fn poll_status(&mut self, now: Instant) -> Option<Transmit> {
        let news = self.incoming.status(now);
        let is_lost = |member: &Member| member.has_status && member.is_stalled();
        let is_lost = self.has_lost_status || self.members.iter().any(is_lost);
        let status_of = news.or_else(|| is_lost.then_some(self.incoming.told()))?;
        let going = self.members.iter().filter(|member| member.goes_on());
        let rank = |member: &&Member| {
            (!member.is_accepted, member.carries != Use::Always, member.round_trip())
        };
        let nearest = going.min_by_key(rank)?.id;
        self.has_lost_status = false;
        self.incoming.tell(now, status_of);
        for member in &mut self.members {
            member.has_status = member.id == nearest;
        }
        Some(self.transmit(nearest, [status(status_of.0, status_of.1), Bytes::new()], true))
    }

    /// Every connection tells where the stream ends.
    fn poll_end(&mut self) -> Option<Transmit> {
        let total = self.outgoing.total()?;
        let mut open = self.members.iter_mut().filter(|member| !member.is_retired);
        let member = open.find(|member| !member.knows_end)?;
        member.knows_end = true;
        let id = member.id;
        Some(self.transmit(id, [end(total), Bytes::new()], true))
    }

    fn poll_data(&mut self, now: Instant) -> Option<Transmit> {
        self.room_at = None;
        self.look_whether_full(now);
        let work = self.outgoing.work(now, &self.members)?;
        let not_by = match work {
            Work::New => None,
            Work::Again { not_by, .. } => not_by,
        };
        let member = self.member_for(now, Use::Always, not_by).or_else(|| {
            let is_full = self.full_since.is_some_and(|since| now >= since + FULL);
            if is_full || self.needs_spill() {
                self.member_for(now, Use::Spill, not_by)
            } else {
                None
            }
        })?;
        let member = &self.members[member];
        let chunk = member.chunk();
        let due = now + member.arrives_after(chunk, false) + member.round_trip() + SLACK;
        let id = member.id;
        let (offset, bytes) = self.outgoing.take(work, chunk, id, due);
        Some(self.transmit(id, [data_header(offset, bytes.len()), bytes], work != Work::New))
    }

    /// None of those goes on that are always used.
    fn needs_spill(&self) -> bool {
        !self.members.iter().any(|member| member.carries == Use::Always && member.goes_on())
    }

    /// More may wait than passes in a moment.
    fn look_whether_full(&mut self, now: Instant) {
        let always = self.members.iter().filter(|member| member.carries == Use::Always);
        let unsent: usize = always.map(Member::unsent).sum();
        let is_bulk = self.outgoing.sendable() + unsent >= BULK;
        self.full_since = is_bulk.then_some(self.full_since.unwrap_or(now));
    }

    /// The place of the connection of this kind by which data arrives first. None where none goes on, or it has no room.
    fn member_for(&mut self, now: Instant, carries: Use, not_by: Option<usize>) -> Option<usize> {
        let is_bulk = self.outgoing.pending() >= BULK;
        let may = |member: &Member| member.goes_on() && Some(member.id) != not_by;
        let all = self.members.iter().enumerate().filter(|(_, member)| may(member));
        let fit = all.filter(|(_, member)| member.carries == carries);
        let farthest = fit.clone().map(|(_, member)| member.one_way()).max()?;
        let arrives = |member: &Member| member.arrives_after(member.chunk(), is_bulk);
        let (at, member) = fit.min_by_key(|(_, member)| arrives(member))?;
        let (unsent, limit) = (member.unsent() as u64, member.limit(farthest));
        if unsent < limit {
            return Some(at);
        }
        // Waiting for it is still better than any other one of the kind.
        let excess = ByteCount::new(unsent - limit / 2);
        let wait = member.rate().time_for(excess).clamp(WAIT_MIN, WAIT_MAX);
        self.room_at = Instant::earliest(self.room_at, Some(now + wait));
        None
    }

    fn transmit(&mut self, member: usize, bytes: [Bytes; 2], is_urgent: bool) -> Transmit {
        let len = bytes.iter().map(Bytes::len).sum();
        if let Some(known) = self.members.iter_mut().find(|known| known.id == member) {
            known.write(len);
        }
        Transmit { member, bytes, is_urgent }
    }

    /// When [`Bond::observe`] and then [`Bond::poll_transmit`] are to be called if nothing happens.
    pub fn deadline(&self) -> Option<Instant> {
        let stalls = self.members.iter().map(Member::looks_at);
        let needs_spill = self.needs_spill();
        let may_help = |on: &Option<usize>| {
            let may = |member: &&Member| member.carries == Use::Always || needs_spill;
            let mut others = self.members.iter().filter(may);
            others.any(|member| member.goes_on() && Some(member.id) != *on)
        };
        let late = self.outgoing.late_at().filter(|(_, on)| may_help(on)).map(|(due, _)| due);
        let late =
            Instant::earliest(Instant::earliest(self.room_at, late), self.incoming.status_due());
        stalls.fold(late, Instant::earliest)
    }
}
