//! Hosts that end and begin anew, and have forgotten all connections of before. One run of a host's process is
//! an epoch.

use bentpipe_units::Instant;

use super::super::control::Control;
use super::super::ecn_feedback::EcnFeedback;
use super::super::fragments::Fragments;
use super::super::route::Route;
use super::context::PeerContext;
use crate::secure::Keyring;

/// Copies of the last message: nobody repairs it.
const CLOSES: usize = 3;

/// Which connections of an association end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// All of them.
    All,
    /// Those that both ends know. What this host has opened and the peer has not answered waits for whoever
    /// answers, if nothing was sent by it that the one of before may have taken.
    Known,
    /// Those that the peer has opened.
    Theirs,
}

impl PeerContext<'_> {
    /// The peer has proved that it was started anew, and is reached by this route. The connections of before end:
    /// their numbers will mean others.
    pub(super) fn begin_epoch(&mut self, now: Instant, route: Route) {
        let association = &mut *self.association;
        let main = association.paths.main();
        if !association.paths.get(main).ends_like(&route) {
            association.forget_capacity(now);
        }
        association.paths.forget(route);
        association.fragments = Fragments::default();
        association.ecn_feedback = EcnFeedback::default();
        association.carried.begin_anew(self.identity.draw());
        tracing::info!(peer = %association.peer, address = %route.address, "peer restarted");
        self.end_connections(now, Ending::Known);
    }

    /// The connections of a request of this epoch may be opened at once, because no other epoch of the peer is known.
    /// Otherwise their numbers may be those of connections that still live, and they wait until the peer has proved
    /// the epoch.
    pub(in crate::endpoint) fn may_open_early(&mut self, now: Instant, epoch: u64) -> bool {
        let known = self.association.keys.epoch();
        if known.is_none() {
            self.begin_unproven(now, Some(epoch));
        }
        known.is_none_or(|known| known == epoch)
    }

    /// A request of this epoch opens connections, before its sender has proved to be the peer of now. Those of another
    /// epoch end; those of this one may be known to the peer, whose answer came and whose word was lost.
    pub(super) fn begin_unproven(&mut self, now: Instant, epoch: Option<u64>) {
        let before = std::mem::replace(&mut self.association.unproven, epoch);
        if before.is_some() && before != epoch {
            self.end_connections(now, Ending::Theirs);
        }
    }

    /// The peer has proved which epoch is its own. Connections of a request of another one, which somebody may have
    /// kept, end: their numbers will mean others.
    pub(super) fn begin_proven(&mut self, now: Instant) {
        let proven = self.association.keys.epoch();
        self.begin_unproven(now, proven);
        self.association.unproven = None;
    }

    /// Ends all connections and tells the peer, before this host ends. If it does not hear it, it finds out by itself,
    /// when nobody answers.
    pub(in crate::endpoint) fn shut_down(&mut self, now: Instant) {
        for _ in 0..CLOSES {
            self.send_control(now, &Control::Shutdown);
        }
        self.end_connections(now, Ending::All);
        // Nobody will be there for the answer.
        self.association.keys.withdraw();
        self.forget_keys(now);
    }

    /// The peer ends. What this host has opened and the peer has not answered waits for its next epoch.
    pub(in crate::endpoint) fn handle_shutdown(&mut self, now: Instant) {
        let paths = &mut self.association.paths;
        // What it said of its paths was said by this epoch.
        paths.forget(paths.get(paths.main()).route());
        // The next one would take what this one has for new.
        self.association.carried.begin_anew(self.identity.draw());
        self.end_connections(now, Ending::Known);
        self.forget_keys(now);
    }

    /// All that was agreed with the peer is forgotten.
    fn forget_keys(&mut self, now: Instant) {
        self.association.fragments = Fragments::default();
        self.association.unproven = None;
        self.change_keys(Keyring::forget);
        self.set_timer(now);
    }

    /// Ends connections of an association.
    fn end_connections(&mut self, now: Instant, which: Ending) {
        let numbers: Vec<(u32, usize)> = self.association.roster.iter().collect();
        for (number, id) in numbers {
            let ours = self.association.roster.is_ours(number);
            let Some(session) = self.connections.change(id) else { continue };
            let stays = match which {
                Ending::All => false,
                Ending::Known => ours && session.is_opening() && !session.has_sent(),
                Ending::Theirs => ours,
            };
            if !stays {
                session.handle_restart(now);
                self.association.roster.free(number);
            }
        }
    }
}
