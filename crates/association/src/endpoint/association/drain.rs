//! What a connection sends and tells once it was changed, and what follows from it.

use bentpipe_transport::xstp::Session;
use bentpipe_transport::{Endpoint as _, Event, Host, Inspect as _, PathId, drain, poll_events};
use bentpipe_units::{ByteCount, Instant};
use bentpipe_wire::{Segment, xstp};
use bytes::BytesMut;

use super::super::names::Owner;
use super::super::number::put_number;
use super::super::object::Object;
use super::super::outbox::Outbox;
use super::super::shaper::{Member, PeerShaper};
use super::Association;
use super::context::PeerContext;

/// Room for the gap list of a report in one datagram, in bytes.
const REPORT_ROOM: usize = 1156;

/// Memory that is used again and again.
#[derive(Debug, Default)]
pub(in crate::endpoint) struct Scratch {
    segment: Segment,
    events: Vec<Event>,
}

/// What surrounds a connection while it is drained.
struct DrainContext<'a> {
    association: &'a mut Association,
    outbox: &'a mut Outbox,
    scratch: &'a mut Scratch,
    object: &'a mut Object,
    /// The connection had something to send before.
    busy: bool,
    number: u32,
    path: usize,
    dropped: bool,
}

impl Host<Session> for DrainContext<'_> {
    fn place(&mut self) -> &mut Segment {
        &mut self.scratch.segment
    }

    fn transmit(&mut self, now: Instant, _path: PathId) {
        let Segment::Xstp(segment) = &self.scratch.segment else { return };
        let (number, association) = (self.number, &mut *self.association);
        let write = |out: &mut BytesMut| {
            put_number(number, out);
            xstp::encode_compact(segment, REPORT_ROOM, out);
        };
        let opens = matches!(segment.body, xstp::Body::Begin(_) | xstp::Body::BeginAck(_));
        // What opens a connection need not wait for keys: it saves a round trip in the handshake message.
        if opens && (association.early.collects() || !association.is_up()) {
            return association.early.put(number, write);
        }
        let weighty = is_weighty(&segment.body);
        let (object, waited) = (&mut *self.object, self.busy);
        association.send(now, self.path, weighty, self.outbox, |out| {
            let before = out.len();
            write(out);
            if weighty {
                object.sent(now, ByteCount::new((out.len() - before) as u64), waited);
            }
        });
    }

    fn event(&mut self, now: Instant, session: &mut Session, event: Event) {
        if self.dropped {
            while session.read(now).is_some() {}
        }
        self.scratch.events.push(event);
    }
}

/// Whether a segment brings the peer's application on: its loss costs time.
fn is_weighty(body: &xstp::Body) -> bool {
    match body {
        xstp::Body::Flow(flow) => !flow.payload.is_empty() || flow.end,
        xstp::Body::Begin(_) | xstp::Body::BeginAck(_) => true,
        xstp::Body::Reset(_) => false,
    }
}

impl PeerContext<'_> {
    /// The session of a connection and what surrounds it.
    fn drain_context(&mut self, id: usize) -> (&mut Session, DrainContext<'_>) {
        let connection = self.connections.get_mut(id);
        let (busy, number, path) = (connection.is_busy(), connection.number(), connection.path());
        let dropped = connection.stream().dropped;
        let (session, object) = connection.drain_parts();
        let context = DrainContext {
            association: self.association,
            outbox: self.egress.outbox(),
            scratch: self.scratch,
            object,
            busy,
            number,
            path,
            dropped,
        };
        (session, context)
    }

    /// Takes out of a connection what it has to send and to tell. On a shaper it sends nothing yet, but waits for a
    /// round.
    pub(in crate::endpoint) fn drain(&mut self, now: Instant, id: usize) {
        let has_rounds = self.connections.get(id).is_shaped();
        // Handshake messages are no part of any share.
        let is_shaped =
            has_rounds && self.association.is_up() && !self.association.early.collects();
        let (session, mut context) = self.drain_context(id);
        let deadline = if is_shaped {
            // What is due and cannot be sent yet is no reason to ring again.
            poll_events(session, now, &mut context).filter(|deadline| *deadline > now)
        } else {
            drain(session, now, &mut context)
        };
        if is_shaped && !session.readiness().is_quiet {
            self.answer_at_once(now, id);
            self.wait_for_round(id);
        }
        self.after_drain(now, id, deadline);
    }

    /// A report does not wait behind data on a shaper that is busy for long: the peer would take that for the path, and
    /// two ends that do so slow each other down.
    fn answer_at_once(&mut self, now: Instant, id: usize) {
        let link = self.association.paths.get(self.connections.get(id).path()).link();
        let at_once = |own: &PeerShaper| own.answers_at_once(now);
        if !self.association.shapers[link].as_ref().is_some_and(at_once) {
            return;
        }
        let (session, mut context) = self.drain_context(id);
        if session.poll_report(context.place().xstp_mut()) {
            context.transmit(now, PathId(0));
            if let Some(own) = &mut self.association.shapers[link] {
                let bytes = own.charge_answer(now);
                self.egress.charge_to(now, link, own, bytes);
            }
        }
    }

    /// What follows from what a connection has told and sent; it rings next at `deadline`.
    fn after_drain(&mut self, now: Instant, id: usize, deadline: Option<Instant>) {
        // First of all, for what it holds now decides what all others may hold.
        self.connections.count(id, &mut self.association.memory);
        let connection = self.connections.get_mut(id);
        // What it sent may have made bulk of a short object.
        connection.update_window_weight(now);
        let drained = connection.drained(self.scratch.events.drain(..));
        self.association.fec.drained(drained.was_busy, drained.is_busy, drained.round_trip);
        let is_main = connection.path() == self.association.paths.main();
        if let Some(began) = drained.object_began.filter(|_| is_main) {
            // Its end gets parity although others go on: nothing follows that would show a loss.
            self.association.fec.object_ended(now, began);
        }
        self.timers.set(Owner::Connection(id), deadline);
        // An application gets nothing of a peer that has not proved its key.
        if connection.take_unaccepted(self.association.is_up()) {
            let epoch = self.association.keys.epoch();
            self.association.roster.accept(epoch, connection.number());
            self.accepted.push(id);
        }
        let asks = !connection.session().is_closed() && self.needs_keys(id);
        if self.connections.get(id).is_over() {
            self.forget(id);
        }
        if asks {
            self.ask(now);
        } else {
            self.set_timer(now);
        }
    }

    /// Whether keys have to be asked for so that this connection goes on.
    fn needs_keys(&self, id: usize) -> bool {
        let association = &*self.association;
        // What a peer opened that has not proved to be there is for the peer to go on with.
        let ours = association.roster.is_ours(self.connections.get(id).number());
        let proven = association.unproven.is_none() || ours;
        // While a handshake message is being written, keys are about to come.
        let coming = association.keys.is_coming() || association.early.collects();
        !association.is_up() && !coming && proven
    }

    /// Forgets a connection that has ended and that nobody asks for.
    fn forget(&mut self, id: usize) {
        self.timers.set(Owner::Connection(id), None);
        let connection = self.connections.get(id);
        self.association.fec.drained(connection.is_busy(), false, None);
        connection.release(id, &mut self.association.memory);
        self.association.recovery.add_connection(&connection.session().counters());
        self.association.roster.remove(connection.number(), id);
        self.leave_shaper(id);
        self.connections.remove(id);
    }

    /// Lets a member of the association's shaper send one datagram over a link. Returns its bytes.
    pub(in crate::endpoint) fn serve(&mut self, now: Instant, link: usize) -> Option<ByteCount> {
        loop {
            let own = self.association.shapers[link].as_mut()?;
            let others = own.charge_others(now);
            self.egress.charge(now, link, others);
            let (member, who) = own.next(now)?;
            let (sent, weight) = match who {
                Member::Connection(id) => {
                    let sent = self.send_one(now, id);
                    (sent, self.connections.get(id).round_weight())
                }
                Member::Datagrams => {
                    let sent = self.send_datagrams(now, link);
                    (sent, self.datagrams_weight(link))
                }
            };
            let own = self.association.shapers[link].as_mut()?;
            let bytes = own.end_round(now, member, sent, weight);
            match who {
                Member::Connection(id) => {
                    let (session, mut context) = self.drain_context(id);
                    let deadline = poll_events(session, now, &mut context);
                    self.after_drain(now, id, deadline);
                }
                Member::Datagrams => {
                    own.datagrams_left();
                    if sent {
                        self.wake_tunnel(now);
                    }
                }
            }
            if sent {
                return Some(bytes);
            }
        }
    }

    /// The weight of datagrams among those that share a link.
    fn datagrams_weight(&self, link: usize) -> u32 {
        let carried = &self.association.carried;
        let nearest = self.association.paths.get(carried.nearest());
        carried.weight(nearest.link() == link)
    }

    /// Sends what the tunnel has for a link; false when it has nothing.
    fn send_datagrams(&mut self, now: Instant, link: usize) -> bool {
        let association = &mut *self.association;
        let paths = association.carried.paths();
        let by_link = |path: &usize| association.paths.get(*path).link() == link;
        // A peer may say of several that they begin with one link.
        let paths: Vec<usize> = paths.into_iter().filter(by_link).collect();
        paths.into_iter().any(|path| association.send_tunnelled(now, path, self.egress.outbox()))
    }

    /// Sends the next segment of a connection; false when it has none.
    fn send_one(&mut self, now: Instant, id: usize) -> bool {
        let (session, mut context) = self.drain_context(id);
        let mut path = session.poll_transmit(now, context.place());
        if path.is_none() && session.poll_timeout().is_some_and(|due| due <= now) {
            // A burst that ended while others had their rounds: the next one is due, and a timer would only
            // ring when the round has gone to others.
            session.handle_timeout(now);
            path = session.poll_transmit(now, context.place());
        }
        if let Some(path) = path {
            context.transmit(now, path);
        }
        path.is_some()
    }
}
