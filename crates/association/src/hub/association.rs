//! One association: its keys as they come and go, and the connections inside it.

use bentpipe_transport::path_mtu::Unanswered;
use bentpipe_transport::xstp::SharedPath;
use bentpipe_units::{ByteCount, Instant};
use bentpipe_wire::xstp::PLAIN_HEADER;
use bytes::{BufMut as _, Bytes, BytesMut};

use super::control::{Control, PIECE_HEADER};
use super::early::Early;
use super::line::OwnLine;
use super::liveness::Liveness;
use super::marks::Marks;
use super::memory::Memory;
use super::number::{has_content, number_len};
use super::numbering::Numbering;
use super::outbox::Outbox;
use super::parity::{Fec, PARITY_HEADER, Received, Sealed, Shield};
use super::path_mtu::is_full;
use super::pieces::{Piece, Pieces};
use super::roster::Roster;
use super::route::Route;
use super::switch_pause::SwitchPause;
use super::ways::{LINKS, MOST_WAYS, Ways};
use crate::key::PublicKey;
use crate::secure::{Agreed, FRONT, Index, Initiator, Keyring, OVERHEAD, Slot, Traffic};

/// What a request of the peer brought, to be looked at once the peer has used the keys that it asked for.
#[derive(Debug)]
pub(super) struct Held {
    /// Where the answer went: the peer is there if it uses the keys.
    pub(super) route: Route,
    /// Segments that open connections.
    pub(super) segments: Vec<Bytes>,
}

/// An authentic datagram.
#[derive(Debug)]
pub(super) struct Opened {
    /// Its number.
    pub(super) number: u64,
    /// It is the first one that shows that the peer has new keys.
    pub(super) agreed: Option<Agreed<Held>>,
    /// It is the newest one under keys that count.
    pub(super) is_newest: bool,
}

/// One association.
#[derive(Debug)]
pub(super) struct Association {
    pub(super) peer: PublicKey,
    pub(super) ways: Ways,
    /// Its keys as they come and go.
    pub(super) keys: Keyring<Traffic, Box<Initiator>, Held>,
    /// The epoch of the peer whose connections exist although it has not used its keys yet.
    pub(super) unproven: Option<u64>,
    pub(super) roster: Roster,
    liveness: Liveness,
    /// Segments that open connections and travel with the next handshake message.
    pub(super) early: Early,
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
    pub(super) switch_pause: SwitchPause,
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
    /// An association without keys. This host's key is the larger one, or the peer's is.
    pub(super) fn new(
        peer: PublicKey,
        is_larger: bool,
        ways: Ways,
        numbering: Numbering,
        fec: Fec,
        memory: Memory,
    ) -> Self {
        Self {
            peer,
            ways,
            keys: Keyring::new(is_larger),
            unproven: None,
            roster: Roster::new(numbering),
            liveness: Liveness::default(),
            early: Early::default(),
            asked_by: None,
            pieces: Pieces::default(),
            marks: Marks::default(),
            shield: Shield::new(fec, memory.for_parity()),
            memory,
            shared: [const { None }; MOST_WAYS],
            switch_pause: SwitchPause::default(),
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
        if self.is_up() && !outbox.is_crowded() {
            draft(outbox, |out| message.put(out));
            self.push(now, way, false, outbox);
        }
    }

    /// Sends a short message by this route, wherever the peer is said to be.
    pub(super) fn tell_to(
        &mut self,
        now: Instant,
        route: Route,
        message: &Control,
        outbox: &mut Outbox,
    ) {
        if self.is_up() && !outbox.is_crowded() {
            draft(outbox, |out| message.put(out));
            self.push_by(now, self.ways.of(&route), route, false, outbox);
        }
    }

    /// Seals the draft and sends it by this way.
    fn push(&mut self, now: Instant, way: usize, weighty: bool, outbox: &mut Outbox) {
        let route = self.ways.get(way).route;
        self.push_by(now, way, route, weighty, outbox);
    }

    /// Seals the draft and sends it by this route, in the name of a way.
    fn push_by(
        &mut self,
        now: Instant,
        way: usize,
        route: Route,
        weighty: bool,
        outbox: &mut Outbox,
    ) {
        let Some(keys) = self.keys.current() else {
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
        let (link, ecn) = (used.link, used.ecn.mark());
        outbox.finish(route, ecn, |out, start| keys.traffic.seal(out, start));
        self.liveness.sent(now, len == 0);
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
        let mut changed = self.switch_pause.take_due(now);
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
        for (route, token) in self.ways.challenges(now) {
            self.tell_to(now, route, &Control::Challenge(token), outbox);
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

    /// Whether the application has had this connection of the peer's.
    pub(super) fn was_accepted(&self, number: u32) -> bool {
        let epoch = self.unproven.or(self.keys.epoch());
        self.roster.was_accepted(epoch, number)
    }

    /// Whether datagrams can be sealed.
    pub(super) const fn is_up(&self) -> bool {
        self.keys.is_up()
    }

    /// Whether nobody needs this association: it has no keys and nothing names it.
    pub(super) const fn is_over(&self) -> bool {
        self.roster.is_unnamed() && self.keys.is_empty()
    }

    /// Opens a datagram that came under `index`: appends what it carries to `out`.
    pub(super) fn open(
        &mut self,
        now: Instant,
        index: Index,
        number: u32,
        sealed: &[u8],
        out: &mut BytesMut,
    ) -> Option<Opened> {
        let (slot, traffic) = self.keys.find(index)?;
        let start = out.len();
        let arrival = traffic.open(number, sealed, out)?;
        // The peer has them too: from now on they count.
        let agreed = if slot == Slot::Next { self.keys.confirm() } else { None };
        self.liveness.heard(now, out.len() == start);
        let is_newest = arrival.newest && slot != Slot::Previous;
        Some(Opened { number: arrival.number, agreed, is_newest })
    }

    /// The peer has answered this host's request.
    pub(super) fn take_over(
        &mut self,
        now: Instant,
        traffic: Traffic,
        epoch: u64,
    ) -> Option<Agreed<()>> {
        self.asked_by = None;
        self.liveness.answered();
        self.keys.agree(now, traffic, epoch)
    }

    /// Whether the peer waits for a sign of life.
    pub(super) fn owes_answer(&self, now: Instant) -> bool {
        self.is_up() && self.liveness.answer_due().is_some_and(|due| due <= now)
    }

    /// Whether keys must be asked for now.
    pub(super) fn wants_keys(&mut self, now: Instant) -> bool {
        self.renewal().is_some_and(|at| at <= now)
    }

    /// When keys have to be asked for; only while there are connections.
    fn renewal(&self) -> Option<Instant> {
        if self.roster.is_empty() {
            return self.keys.retry();
        }
        self.keys.renewal(self.liveness.silent_at())
    }

    /// When something has to be done.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let keys = Instant::earliest(self.renewal(), self.keys.expiry());
        let answer = self.liveness.answer_due().filter(|_| self.is_up());
        let ways = Instant::earliest(self.ways.deadline(), self.marks.due());
        let ways = Instant::earliest(ways, self.shield.deadline());
        let ways = Instant::earliest(ways, self.switch_pause.due());
        let lines = self.lines.iter().flatten().map(|own| own.line.due());
        let ways = lines.fold(ways, Instant::earliest);
        Instant::earliest(Instant::earliest(keys, answer), ways.filter(|_| self.is_up()))
    }
}
