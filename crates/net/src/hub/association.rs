//! One association: its keys as they come and go, and the connections inside it.

use std::collections::BTreeMap;

use bentpipe_transport::path_mtu::Unanswered;
use bentpipe_transport::xstp::SharedPath;
use bentpipe_units::{ByteCount, Instant, Span};
use bentpipe_wire::xstp::PLAIN_HEADER;
use bytes::{BufMut as _, BytesMut};

use super::connection::number_len;
use super::control::{Control, PIECE_HEADER, has_content};
use super::early::Early;
use super::line::OwnLine;
use super::marks::Marks;
use super::memory::Memory;
use super::outbox::Outbox;
use super::parity::{Fec, PARITY_HEADER, Received, Sealed, Shield};
use super::path_mtu::is_full;
use super::pieces::{Piece, Pieces};
use super::route::Route;
use super::ways::{LINKS, MOST_WAYS, Ways};
use crate::association::{FRONT, Index, Initiator, MAC_LEN, OVERHEAD, Traffic};
use crate::key::PublicKey;

/// Keys are renewed after this long.
const REKEY_AFTER: Span = Span::from_secs(120);
/// Keys are renewed after so many datagrams: far below what AES-GCM allows.
const REKEY_DATAGRAMS: u64 = 1 << 23;
/// Old keys still open what is late for this long.
const KEEP_OLD: Span = Span::from_secs(30);
/// After so long without an answer the peer may have forgotten the association.
const SILENCE: Span = Span::from_secs(5);
/// What the peer sends is answered after so long, by an empty datagram if there is nothing to say.
const ANSWER: Span = Span::from_secs(1);
/// First time to wait for the answer to a request. Longer than any round trip over a satellite.
const RETRY_FIRST: Span = Span::from_millis(1500);
/// Keys that a peer asked for and has not used after so long are nobody's, if there are no others: it is gone.
const OFFER: Span = Span::from_secs(5);
/// Longest time to wait for it.
const RETRY_LAST: Span = Span::from_secs(12);

/// A set of keys and this host's name for it.
#[derive(Debug)]
pub(super) struct Keys {
    pub(super) traffic: Traffic,
    pub(super) index: Index,
    since: Instant,
}

/// A request that waits for its answer.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) initiator: Option<Box<Initiator>>,
    pub(super) index: Index,
    pub(super) cookie: Option<[u8; MAC_LEN]>,
    retry_at: Instant,
    wait: Span,
}

/// An authentic datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Opened {
    /// Its number.
    pub(super) number: u64,
    /// It is the first one that shows that the peer has new keys.
    pub(super) confirms: bool,
    /// The peer is elsewhere now.
    pub(super) moved: bool,
}

/// Which keys opened a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Current,
    Next,
    Previous,
}

/// One association.
#[derive(Debug)]
pub(super) struct Association {
    pub(super) peer: PublicKey,
    pub(super) ways: Ways,
    current: Option<Keys>,
    /// Keys that the peer asked for and has not used yet.
    next: Option<Keys>,
    previous: Option<Keys>,
    pub(super) request: Option<Request>,
    /// The time in the peer's newest request.
    pub(super) peer_time: u64,
    /// Connections by number.
    pub(super) numbers: BTreeMap<u32, usize>,
    pub(super) next_number: u32,
    /// Which incarnation of the peer it is with.
    pub(super) incarnation: Option<u64>,
    /// Something was sent at this time, and nothing was heard since.
    unanswered_since: Option<Instant>,
    /// Something was heard at this time, and nothing was sent since.
    unsaid_since: Option<Instant>,
    /// This host asked for the current keys and renews them.
    renews: bool,
    /// Segments that open connections and travel with the next handshake message.
    pub(super) early: Early,
    /// Segments that open connections go there now, because a handshake message is being written.
    pub(super) collects: bool,
    /// The way that the latest request went.
    pub(super) asked_by: Option<usize>,
    pub(super) pieces: Pieces,
    /// Congestion marks, those seen here and those that the peer saw.
    pub(super) marks: Marks,
    /// What protects against losses, both ways.
    pub(super) shield: Shield,
    /// What its connections hold.
    pub(super) memory: Memory,
    /// What the connections over each way share where the rate is not known.
    pub(super) shared: [Option<SharedPath>; MOST_WAYS],
    /// The lines to the peer over each link whose rate is known.
    pub(super) lines: [Option<OwnLine>; LINKS],
}

/// Bytes of a POLL, which a full segment may carry as well.
const POLL: usize = 4;

/// Drafts a datagram that carries what `write` writes.
fn draft(outbox: &mut Outbox, write: impl FnOnce(&mut BytesMut)) {
    outbox.draft(|out| {
        out.put_bytes(0, FRONT);
        write(out);
    });
}

impl Association {
    /// An association without keys, whose first connection of this host gets number `next_number`.
    pub(super) fn new(
        peer: PublicKey,
        ways: Ways,
        next_number: u32,
        fec: Fec,
        memory: Memory,
    ) -> Self {
        Self {
            peer,
            ways,
            current: None,
            next: None,
            previous: None,
            request: None,
            peer_time: 0,
            numbers: BTreeMap::new(),
            next_number,
            incarnation: None,
            unanswered_since: None,
            unsaid_since: None,
            renews: false,
            early: Early::default(),
            collects: false,
            asked_by: None,
            pieces: Pieces::default(),
            marks: Marks::default(),
            shield: Shield::new(fec),
            memory,
            shared: [const { None }; MOST_WAYS],
            lines: [const { None }; LINKS],
        }
    }

    /// The line over the link of a way, if its rate is known.
    pub(super) fn own_line(&mut self, way: usize) -> Option<&mut OwnLine> {
        let link = self.ways.get(way).link;
        self.lines[link].as_mut()
    }

    /// Payload of a full segment of connection `number` on this way.
    pub(super) fn payload_room(&self, number: u32, way: usize) -> u16 {
        let around = OVERHEAD + number_len(number) + PLAIN_HEADER + POLL;
        self.ways.get(way).path.get() - around as u16
    }

    /// Bytes of parity that the path carries in a datagram.
    fn parity_room(&self) -> usize {
        let main = self.ways.get(self.ways.main());
        usize::from(main.path.get()) - OVERHEAD - PARITY_HEADER
    }

    /// Sends parity if it is due.
    fn protect(&mut self, now: Instant, outbox: &mut Outbox) {
        for parity in self.shield.parity(now, self.parity_room()) {
            self.tell(now, &Control::Parity(parity), outbox);
        }
    }

    /// The peer tells what it received.
    pub(super) fn handle_received(&mut self, received: Received) {
        if received.count > 0 {
            let main = self.ways.main();
            self.ways.get_mut(main).ecn.confirmed();
        }
        self.shield.losses.report(received);
    }

    /// Sends what `write` writes by this way, if there are keys: in a datagram, or in two if it is too long
    /// for the path. What is `weighty` brings the peer's application on.
    pub(super) fn send(
        &mut self,
        now: Instant,
        way: usize,
        weighty: bool,
        outbox: &mut Outbox,
        write: impl FnOnce(&mut BytesMut),
    ) {
        if !self.is_up() {
            return;
        }
        if weighty {
            self.ways.used(now);
            if self.shield.notice(now) {
                self.tell(now, &Control::Protects, outbox);
            }
        }
        draft(outbox, write);
        let len = outbox.drafted().len() + OVERHEAD - FRONT;
        let path = &mut self.ways.get_mut(way).path;
        if len > usize::from(path.get()) {
            return self.send_pieces(now, way, outbox);
        }
        let probe = if is_full(path, len) { path.sent_full(now) } else { None };
        self.push(now, way, weighty, outbox);
        if let Some(probe) = probe {
            self.send_probe(now, way, probe, outbox);
        }
    }

    /// Sends the draft, which the path does not carry in one datagram, in two, the first one full.
    fn send_pieces(&mut self, now: Instant, way: usize, outbox: &mut Outbox) {
        let plain = outbox.withdraw().slice(FRONT..);
        let room = usize::from(self.ways.get(way).path.get()) - OVERHEAD - PIECE_HEADER;
        let middle = plain.len().min(room);
        let id = self.pieces.number();
        for (bytes, second) in [(plain.slice(..middle), false), (plain.slice(middle..), true)] {
            self.tell_by(now, way, &Control::Piece(Piece { id, second, bytes }), outbox);
        }
    }

    /// Sends a message about the association.
    pub(super) fn tell(&mut self, now: Instant, message: &Control, outbox: &mut Outbox) {
        self.tell_by(now, self.ways.main(), message, outbox);
    }

    /// Sends a message by this way.
    pub(super) fn tell_by(
        &mut self,
        now: Instant,
        way: usize,
        message: &Control,
        outbox: &mut Outbox,
    ) {
        if self.is_up() {
            draft(outbox, |out| message.put(out));
            self.push(now, way, false, outbox);
        }
    }

    /// Seals the draft and sends it by this way.
    fn push(&mut self, now: Instant, way: usize, weighty: bool, outbox: &mut Outbox) {
        let Some(keys) = &mut self.current else {
            // Nothing leaves that is not sealed.
            outbox.withdraw();
            return;
        };
        let plain = &outbox.drafted()[FRONT..];
        let (len, index) = (plain.len(), keys.index);
        let used = self.ways.get_mut(way);
        if has_content(plain) {
            used.ecn.sent(now);
        }
        self.shield.sealed(now, Sealed { keys: index, plain, weighty });
        let (route, link, ecn) = (used.route, used.link, used.ecn.mark());
        outbox.finish(route, ecn, |out, start| keys.traffic.seal(out, start));
        self.unsaid_since = None;
        if len > 0 {
            self.unanswered_since.get_or_insert(now);
        }
        if let Some(line) = &mut self.lines[link] {
            line.on_wire += ByteCount::new((route.headers() + OVERHEAD + len) as u64);
        }
    }

    /// Sends a probe that is so long.
    fn send_probe(&mut self, now: Instant, way: usize, len: u16, outbox: &mut Outbox) {
        self.tell_by(now, way, &Control::Probe(len - OVERHEAD as u16), outbox);
    }

    /// Does for the ways what time demands. True when connections have to be told of it.
    pub(super) fn maintain_ways(&mut self, now: Instant, outbox: &mut Outbox) -> bool {
        if let Some(count) = self.marks.news(now) {
            self.tell(now, &Control::Marks(count), outbox);
        }
        if let Some(received) = self.shield.losses.news(now) {
            self.tell(now, &Control::Received(received), outbox);
        }
        self.protect(now, outbox);
        self.shield.handle_timeout(now);
        let mut changed = false;
        let mut again = Vec::new();
        for (number, way) in self.ways.iter_mut().enumerate() {
            way.ecn.handle_timeout(now);
            match way.path.handle_timeout(now) {
                Some(Unanswered::Again(len)) => again.push((number, len)),
                Some(Unanswered::Shorter) => changed = true,
                None => {}
            }
        }
        for (way, len) in again {
            self.send_probe(now, way, len, outbox);
        }
        if self.is_up() {
            let (beats, other) = self.ways.handle_timeout(now);
            changed |= other;
            for beat in beats {
                self.tell_by(now, usize::from(beat.way), &Control::Beat(beat), outbox);
            }
        }
        changed
    }

    /// A number for a connection that this host opens.
    pub(super) fn number(&mut self) -> u32 {
        let number = self.next_number;
        self.next_number += 2;
        number
    }

    /// Whether this host opens connections of such numbers.
    pub(super) const fn is_ours(&self, number: u32) -> bool {
        number % 2 == self.next_number % 2
    }

    /// The peer does not know the keys any more.
    pub(super) fn forget_keys(&mut self) {
        (self.current, self.next, self.previous) = (None, None, None);
    }

    /// Whether datagrams can be sealed.
    pub(super) const fn is_up(&self) -> bool {
        self.current.is_some()
    }

    /// Whether the peer has asked for keys and only has to use them.
    pub(super) const fn is_offered(&self) -> bool {
        self.next.is_some()
    }

    /// Opens a datagram that came under `index` by the route `from`: appends what it carries to `out`.
    pub(super) fn open(
        &mut self,
        now: Instant,
        index: Index,
        number: u32,
        sealed: &[u8],
        from: Route,
        out: &mut BytesMut,
    ) -> Option<Opened> {
        let slots = [
            (Slot::Current, &mut self.current),
            (Slot::Next, &mut self.next),
            (Slot::Previous, &mut self.previous),
        ];
        let keys = slots
            .into_iter()
            .find_map(|(slot, keys)| Some((slot, keys.as_mut().filter(|k| k.index == index)?)));
        let (slot, keys) = keys?;
        let start = out.len();
        let arrival = keys.traffic.open(number, sealed, out)?;
        if slot == Slot::Next {
            // The peer has them too: from now on they count.
            self.previous = std::mem::replace(&mut self.current, self.next.take());
            self.renews = false;
        }
        let moved = arrival.newest && slot != Slot::Previous && self.ways.came_by(from);
        self.unanswered_since = None;
        if out.len() > start {
            self.unsaid_since.get_or_insert(now);
        }
        Some(Opened { number: arrival.number, confirms: slot == Slot::Next, moved })
    }

    /// Keys that this host asked for.
    pub(super) fn take_over(&mut self, now: Instant, traffic: Traffic, index: Index) {
        (self.request, self.asked_by) = (None, None);
        let keys = Keys { traffic, index, since: now };
        self.previous = self.current.replace(keys);
        self.renews = true;
        self.unanswered_since = None;
    }

    /// Keys that the peer asked for. They count once it uses them.
    pub(super) fn prepare(&mut self, now: Instant, traffic: Traffic, index: Index) {
        self.next = Some(Keys { traffic, index, since: now });
    }

    /// The names under which this host knows keys of this association.
    pub(super) fn indices(&self) -> impl Iterator<Item = Index> + '_ {
        let keys = [&self.current, &self.next, &self.previous];
        keys.into_iter()
            .flatten()
            .map(|keys| keys.index)
            .chain(self.request.iter().map(|r| r.index))
    }

    /// A request was sent: when to send another one.
    pub(super) fn asked(&mut self, now: Instant, initiator: Initiator, index: Index) {
        let before = self.request.take();
        let wait = before.as_ref().map_or(RETRY_FIRST, |r| (r.wait * 2).min(RETRY_LAST));
        let cookie = before.and_then(|r| r.cookie);
        let initiator = Some(Box::new(initiator));
        self.request = Some(Request { initiator, index, cookie, retry_at: now + wait, wait });
    }

    /// Whether the peer waits for a sign of life.
    pub(super) fn owes_answer(&self, now: Instant) -> bool {
        self.is_up() && self.unsaid_since.is_some_and(|since| since + ANSWER <= now)
    }

    /// Whether keys must be asked for now.
    pub(super) fn wants_keys(&self, now: Instant) -> bool {
        match &self.request {
            Some(request) => request.retry_at <= now,
            None => self.renewal().is_some_and(|at| at <= now),
        }
    }

    /// When keys have to be renewed; only while there are connections.
    fn renewal(&self) -> Option<Instant> {
        if self.numbers.is_empty() {
            return None;
        }
        let keys = self.current.as_ref()?;
        let old = self.renews.then(|| {
            let many = keys.traffic.sealed() >= REKEY_DATAGRAMS;
            if many { keys.since } else { keys.since + REKEY_AFTER }
        });
        Instant::earliest(old, self.unanswered_since.map(|at| at + SILENCE))
    }

    /// Keys that were replaced long ago are forgotten. Returns the names of those that were.
    pub(super) fn forget_old(&mut self, now: Instant) -> Option<Index> {
        let replaced = self.current.as_ref()?.since;
        self.previous.take_if(|_| replaced + KEEP_OLD <= now).map(|keys| keys.index)
    }

    /// When keys that the peer does not use are forgotten: only where there are no others.
    fn offer_ends(&self) -> Option<Instant> {
        let offered = self.next.as_ref().filter(|_| self.current.is_none());
        offered.map(|keys| keys.since + OFFER)
    }

    /// Forgets keys that the peer asked for and did not use. Returns their name.
    pub(super) fn forget_offer(&mut self, now: Instant) -> Option<Index> {
        self.offer_ends().filter(|at| *at <= now)?;
        self.next.take().map(|keys| keys.index)
    }

    /// When something has to be done.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let keys = match &self.request {
            Some(request) => Some(request.retry_at),
            None => self.renewal(),
        };
        let old = self.previous.as_ref().and(self.current.as_ref()).map(|k| k.since + KEEP_OLD);
        let answer = self.unsaid_since.filter(|_| self.is_up()).map(|since| since + ANSWER);
        let ways = Instant::earliest(self.ways.deadline(), self.marks.due());
        let ways = Instant::earliest(ways, self.shield.deadline());
        let lines = self.lines.iter().flatten().map(|own| own.line.due());
        let ways = lines.fold(ways, Instant::earliest);
        let keys = Instant::earliest(keys, self.offer_ends());
        let time = Instant::earliest(keys, Instant::earliest(old, answer));
        Instant::earliest(time, ways.filter(|_| self.is_up()))
    }
}
