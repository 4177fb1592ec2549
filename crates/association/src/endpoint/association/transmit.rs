//! What leaves for a peer: datagrams are written, sealed and sent, or cut where the path does not carry them.

use bentpipe_transport::path_mtu::Unanswered;
use bentpipe_units::Instant;
use bytes::{BufMut as _, BytesMut};

use super::super::capacity::{CapacityProbe, Train};
use super::super::control::{Control, FRAGMENT_HEADER};
use super::super::fragments::Fragment;
use super::super::number::has_content;
use super::super::outbox::Outbox;
use super::super::parity::{PARITY_HEADER, Sealed};
use super::super::route::Route;
use super::Association;
use crate::secure::{FRONT, OVERHEAD};

/// Drafts a datagram that carries what `write` writes.
fn draft(outbox: &mut Outbox, write: impl FnOnce(&mut BytesMut)) {
    outbox.draft(|out| {
        out.put_bytes(0, FRONT);
        write(out);
    });
}

impl Association {
    /// Sends what `write` writes by this path, if there are keys: in a datagram, or in two if it is too long
    /// for the path. What is `weighty` brings the peer's application on.
    pub(in crate::endpoint) fn send(
        &mut self,
        now: Instant,
        path: usize,
        weighty: bool,
        outbox: &mut Outbox,
        write: impl FnOnce(&mut BytesMut),
    ) {
        if !self.is_up() {
            return;
        }
        if weighty {
            self.paths.used(now);
            self.prober.sends(now);
            if self.fec.notice(now) {
                self.send_control(now, &Control::Protects, outbox);
            }
        }
        draft(outbox, write);
        let len = outbox.drafted().len() + OVERHEAD - FRONT;
        if has_content(&outbox.drafted()[FRONT..]) && self.paths.is_shut(now, path) {
            // To a connection that is bound to a closed link it looks as if that were down.
            outbox.withdraw();
            let path = self.paths.get(path);
            if let Some(shaper) = &mut self.shapers[path.link()] {
                shaper.count_sent(path.route().headers() + len, weighty);
            }
            return;
        }
        let taken = self.paths.get_mut(path);
        if len > usize::from(taken.most()) {
            return self.send_fragments(now, path, outbox);
        }
        let probe = taken.sent(now, len);
        self.push(now, path, weighty, outbox);
        if let Some(probe) = probe {
            self.send_mtu_probe(now, path, probe, outbox);
        }
    }

    /// Sends the next message of the tunnel by a path. False where there is none that may leave.
    pub(super) fn send_tunnelled(
        &mut self,
        now: Instant,
        path: usize,
        outbox: &mut Outbox,
    ) -> bool {
        let (room, protection) = (self.tunnel_room(path), self.fec.protection());
        if !self.is_up() {
            return false;
        }
        let Some(message) = self.carried.poll(now, path, room, protection) else { return false };
        self.paths.used(now);
        self.prober.used(now);
        let message = Control::Tunnel(message);
        self.send(now, path, false, outbox, |out| message.put(out));
        true
    }

    /// Sends the draft, which the path does not carry in one datagram, in two, the first one full.
    fn send_fragments(&mut self, now: Instant, path: usize, outbox: &mut Outbox) {
        let plain = outbox.withdraw().slice(FRONT..);
        let room = usize::from(self.paths.get(path).most()) - OVERHEAD - FRAGMENT_HEADER;
        let middle = plain.len().min(room);
        let id = self.fragments.number();
        for (bytes, second) in [(plain.slice(..middle), false), (plain.slice(middle..), true)] {
            self.send_control_by(
                now,
                path,
                &Control::Fragment(Fragment { id, second, bytes }),
                outbox,
            );
        }
    }

    /// Sends a message about the association.
    pub(in crate::endpoint) fn send_control(
        &mut self,
        now: Instant,
        message: &Control,
        outbox: &mut Outbox,
    ) {
        self.send_control_by(now, self.paths.main(), message, outbox);
    }

    /// Sends a message by this path.
    pub(super) fn send_control_by(
        &mut self,
        now: Instant,
        path: usize,
        message: &Control,
        outbox: &mut Outbox,
    ) {
        // Who floods this host for answers gets none: a message that is worth an answer is retransmitted.
        if self.is_up() && !outbox.is_crowded() {
            draft(outbox, |out| message.put(out));
            self.push(now, path, false, outbox);
        }
    }

    /// Sends a short message by this route, wherever the peer is said to be.
    pub(super) fn send_control_to(
        &mut self,
        now: Instant,
        route: Route,
        message: &Control,
        outbox: &mut Outbox,
    ) {
        if self.is_up() && !outbox.is_crowded() {
            draft(outbox, |out| message.put(out));
            self.push_by(now, self.paths.of(&route), route, false, outbox);
        }
    }

    /// Seals the draft and sends it by this path.
    fn push(&mut self, now: Instant, path: usize, weighty: bool, outbox: &mut Outbox) {
        let route = self.paths.get(path).route();
        self.push_by(now, path, route, weighty, outbox);
    }

    /// Seals the draft and sends it by this route, in the name of a path.
    fn push_by(
        &mut self,
        now: Instant,
        path: usize,
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
        let used = self.paths.get_mut(path);
        let (link, ecn) = (used.link(), used.mark(now, has_content(plain)));
        let bytes = route.headers() + OVERHEAD + len;
        if let Some(shaper) = &mut self.shapers[link] {
            shaper.count_sent(bytes, weighty);
        }
        used.count(bytes);
        // What goes by another path than parity does would be made of that before it can be there.
        let is_main = path == self.paths.main();
        let (covered, weighty) = if is_main { (plain, weighty) } else { (&[][..], false) };
        self.fec.sealed(now, Sealed { keys: index, plain: covered, weighty });
        outbox.finish(route, ecn, |out, start| keys.traffic.seal(out, start));
        self.liveness.sent(now, len == 0);
    }

    /// Sends a probe that is so long.
    fn send_mtu_probe(&mut self, now: Instant, path: usize, len: u16, outbox: &mut Outbox) {
        self.send_control_by(now, path, &Control::MtuProbe(len - OVERHEAD as u16), outbox);
    }

    /// Sends packet trains if nobody uses the paths and what they carry is to be found out.
    fn send_trains(&mut self, now: Instant, outbox: &mut Outbox) {
        if !self.is_up() {
            return;
        }
        let due = |path: &usize| self.prober.due(*path).is_some_and(|due| due <= now);
        let paths: Vec<usize> = self.to_learn().filter(due).collect();
        for path in paths {
            self.send_train(now, path, outbox);
        }
    }

    fn send_train(&mut self, now: Instant, path: usize, outbox: &mut Outbox) {
        let (most, headers) = (self.paths.get(path).most(), self.paths.get(path).route().headers());
        let each = usize::from(most) + headers;
        if outbox.is_crowded() {
            // A train would wait with what is there, and what it told would be of the socket.
            return self.prober.postpone(now, path);
        }
        let Some(train) = self.prober.train(now, path, each) else { return };
        let Train { serial, count, each } = train;
        let len = (each as usize).saturating_sub(headers + OVERHEAD) as u16;
        for index in 0..count {
            let probe = Control::CapacityProbe(CapacityProbe { serial, index, count, len });
            self.send_control_by(now, path, &probe, outbox);
        }
    }

    /// Sends parity if it is due.
    fn protect(&mut self, now: Instant, outbox: &mut Outbox) {
        for parity in self.fec.parity(now, self.parity_room()) {
            self.recovery.add_parity(OVERHEAD + PARITY_HEADER + parity.shards.len());
            self.send_control(now, &Control::Parity(parity), outbox);
        }
    }

    /// Sends what is due besides segments. True when connections have to be told that paths are others.
    pub(super) fn send_due(&mut self, now: Instant, outbox: &mut Outbox) -> bool {
        if let Some(count) = self.ecn_feedback.news(now) {
            self.send_control(now, &Control::EcnFeedback(count), outbox);
        }
        if let Some(received) = self.fec.news(now) {
            self.send_control(now, &Control::Received(received), outbox);
        }
        if let Some(report) = self.arrivals.report(now) {
            self.send_control(now, &Control::CapacityReport(report), outbox);
        }
        while let Some(report) = self.carried.poll_report(now) {
            // By the path that it is of, as what is wrong with another one is nothing to that.
            let path = Some(report.path()).filter(|path| self.paths.is_up(*path));
            let path = path.unwrap_or(self.paths.main());
            self.send_control_by(now, path, &Control::Tunnel(report), outbox);
        }
        self.send_trains(now, outbox);
        self.protect(now, outbox);
        self.fec.handle_timeout(now);
        self.carried.handle_timeout(now);
        let mut changed = self.switch_pause.take_due(now);
        for (path, unanswered) in self.paths.handle_mtu_timeouts(now) {
            match unanswered {
                Unanswered::Again(len) => self.send_mtu_probe(now, path, len, outbox),
                Unanswered::Shorter => changed = true,
            }
        }
        for (route, token) in self.paths.challenges(now) {
            self.send_control_to(now, route, &Control::Challenge(token), outbox);
        }
        if self.is_up() {
            let (probes, other) = self.paths.handle_timeout(now);
            changed |= other;
            for probe in probes {
                self.send_control_by(
                    now,
                    usize::from(probe.path),
                    &Control::PathProbe(probe),
                    outbox,
                );
            }
        }
        changed
    }
}
