//! What messages of the peer change in an association, before any connection hears of it.

use bentpipe_transport::xstp::SharedPath;
use bentpipe_tunnel::Message;
use bentpipe_units::Instant;
use bentpipe_wire::Ecn;
use bytes::Bytes;

use super::super::capacity::{CapacityProbe, CapacityReport};
use super::super::control::{Control, carries_data};
use super::super::fragments::Fragment;
use super::super::links::LINKS;
use super::super::number::has_content;
use super::super::outbox::Outbox;
use super::super::parity::{Parity, Received};
use super::super::path::{PathProbe, PathProbeAnswer};
use super::super::paths::PathChange;
use super::super::route::Route;
use super::Association;
use crate::secure::{Index, OVERHEAD};

impl Association {
    /// An authentic datagram carries this, which came by this route. Returns what was lost and can be recovered now.
    pub(in crate::endpoint) fn arrived(
        &mut self,
        now: Instant,
        keys: Index,
        number: u64,
        (ecn, from): (Ecn, &Route),
        plain: &Bytes,
    ) -> Vec<Bytes> {
        if ecn == Ecn::Congestion {
            self.ecn_feedback.saw();
        }
        if has_content(plain) {
            self.prober.used(now);
        }
        let nothing = Bytes::new();
        let is_main = self.paths.of(from) == self.paths.main();
        let covered = if is_main { plain } else { &nothing };
        self.fec.arrived(now, keys, number, covered, carries_data(plain))
    }

    /// The newest datagram of the peer came by this route. If the peer is elsewhere now, it has to prove it.
    pub(in crate::endpoint) fn came_by(
        &mut self,
        now: Instant,
        from: Route,
        token: impl FnOnce() -> u64,
    ) {
        self.paths.came_by(now, from, token);
    }

    /// The peer has seen so many congestion marks. True when connections have to slow down for it.
    pub(in crate::endpoint) fn handle_ecn_feedback(&mut self, now: Instant, count: u32) -> bool {
        self.ecn_feedback.report(now, count)
    }

    /// A probe of the MTU came, which is so long as what is sealed.
    pub(in crate::endpoint) fn handle_mtu_probe(
        &mut self,
        now: Instant,
        from: Route,
        sealed: u16,
        outbox: &mut Outbox,
    ) {
        let answer = Control::MtuProbeAnswer(sealed.saturating_add(OVERHEAD as u16));
        self.send_control_by(now, self.paths.of(&from), &answer, outbox);
    }

    /// A probe of the MTU of this length has arrived. True when datagrams may be longer now.
    pub(in crate::endpoint) fn handle_mtu_probe_answer(
        &mut self,
        now: Instant,
        from: Route,
        len: u16,
    ) -> bool {
        let path = self.paths.of(&from);
        self.paths.get_mut(path).mtu_probe_answered(now, len)
    }

    /// A fragment of something came. Returns the whole once both are here.
    pub(in crate::endpoint) fn handle_fragment(&mut self, fragment: Fragment) -> Option<Bytes> {
        // A whole that is itself a fragment is nobody's: nothing is cut twice.
        self.fragments.join(fragment).filter(|whole| carries_data(whole))
    }

    /// Something of the tunnel came, in a datagram with this ECN field.
    pub(in crate::endpoint) fn handle_tunnel(&mut self, now: Instant, ecn: Ecn, message: Message) {
        if matches!(message, Message::Report(_)) {
            self.paths.get_mut(message.path()).confirm_ecn();
        }
        self.carried.handle(now, ecn, message);
    }

    /// The peer tells what it received.
    pub(in crate::endpoint) fn handle_received(&mut self, received: Received) {
        if received.count > 0 {
            // It was said that it may be marked.
            let main = self.paths.main();
            self.paths.get_mut(main).confirm_ecn();
        }
        self.fec.report(received);
    }

    /// The peer says that parity will come.
    pub(in crate::endpoint) fn expect_parity(&mut self, now: Instant) {
        self.fec.expect(now);
    }

    /// Parity came in the datagram of this number. Returns what was lost and can be recovered now.
    pub(in crate::endpoint) fn handle_parity(
        &mut self,
        now: Instant,
        number: u64,
        parity: Parity,
    ) -> Vec<Bytes> {
        self.fec.handle_parity(now, number, parity)
    }

    /// A probe came. True when connections have to take other paths for it.
    pub(in crate::endpoint) fn handle_path_probe(
        &mut self,
        now: Instant,
        probe: PathProbe,
        from: Route,
        token: impl FnOnce() -> u64,
        outbox: &mut Outbox,
    ) -> bool {
        let changed = self.paths.handle_probe(now, probe, from, token);
        let main = self.paths.main() as u8;
        let answer = PathProbeAnswer { path: probe.path, serial: probe.serial, main };
        // By the path by which it came, for it is that path that the peer asks about.
        self.send_control_to(now, from, &Control::PathProbeAnswer(answer), outbox);
        changed && self.switch_pause.may_switch(now)
    }

    /// The peer has answered a probe.
    pub(in crate::endpoint) fn handle_path_probe_answer(
        &mut self,
        now: Instant,
        answer: PathProbeAnswer,
    ) -> PathChange {
        self.paths.handle_answer(now, answer)
    }

    /// A datagram of a packet train came.
    pub(in crate::endpoint) fn handle_capacity_probe(
        &mut self,
        now: Instant,
        probe: &CapacityProbe,
    ) {
        self.arrivals.arrived(now, probe);
    }

    /// The peer tells what arrived of a packet train: the next connection begins with what the path carries.
    pub(in crate::endpoint) fn handle_capacity_report(
        &mut self,
        now: Instant,
        report: &CapacityReport,
    ) {
        if let Some(learned) = self.prober.reported(now, report)
            && let Some(window) = self.shared.get(learned.path).and_then(Option::as_ref)
        {
            window.know(learned.at, learned.known, learned.received);
        }
    }

    /// A path leads elsewhere: what it carries is not known.
    pub(super) fn forget_capacity(&mut self, now: Instant) {
        self.prober.forget(now);
        self.remember([None; LINKS]);
        self.shared.iter().flatten().for_each(SharedPath::forget);
    }

    /// Somebody asks by this route whether this host is there: it has seen it come from elsewhere.
    pub(in crate::endpoint) fn handle_challenge(
        &mut self,
        now: Instant,
        from: Route,
        token: u64,
        outbox: &mut Outbox,
    ) {
        self.forget_capacity(now);
        self.send_control_to(now, from, &Control::ChallengeAnswer(token), outbox);
    }

    /// The peer has answered a challenge by this route. True when connections have to take other paths for it.
    pub(in crate::endpoint) fn handle_challenge_answer(
        &mut self,
        now: Instant,
        from: Route,
        token: u64,
    ) -> bool {
        let moved = self.paths.proved(token, from);
        if moved {
            self.forget_capacity(now);
        }
        moved && self.switch_pause.may_switch(now)
    }
}
