//! Whether a peer is where its datagrams come from: what is authentic may have been copied and sent from elsewhere, to
//! lead all that is sent to the peer there (RFC 9000, section 9.3).
//!
//! A new address is challenged; until the peer answers from there, no more than a few short datagrams go to it.

use bentpipe_units::{Instant, Span};

use super::route::Route;

/// Times between the challenges of one address, and until it is given up. Two, and an answer to what came, are no more than three
/// times as long as the shortest datagram; whatever comes later from there makes two more.
const WAITS: [Span; 2] = [Span::from_secs(1), Span::from_secs(3)];
/// Most addresses that are challenged at the same time.
const MOST: usize = 8;

/// An address that a peer may have.
#[derive(Debug)]
struct Candidate {
    path: usize,
    route: Route,
    token: u64,
    sent: usize,
    due: Instant,
}

/// Addresses that a peer may have.
#[derive(Debug, Default)]
pub(super) struct Candidates(Vec<Candidate>);

impl Candidates {
    /// The peer may be at the end of this route, the new one of `path`. `token` is what proves it. An address is
    /// challenged once, whatever path it is said to be of.
    pub(super) fn add(
        &mut self,
        now: Instant,
        path: usize,
        route: Route,
        token: impl FnOnce() -> u64,
    ) {
        if let Some(known) = self.0.iter_mut().find(|other| other.route.ends_like(&route)) {
            known.path = path;
        } else if self.0.len() < MOST {
            self.0.push(Candidate { path, route, token: token(), sent: 0, due: now });
        }
    }

    /// The challenges that are due: where to, and the token.
    pub(super) fn challenges(&mut self, now: Instant) -> Vec<(Route, u64)> {
        self.0.retain(|candidate| candidate.due > now || candidate.sent < WAITS.len());
        let mut due = Vec::new();
        for candidate in self.0.iter_mut().filter(|candidate| candidate.due <= now) {
            candidate.due = now + WAITS[candidate.sent];
            candidate.sent += 1;
            due.push((candidate.route, candidate.token));
        }
        due
    }

    /// The peer has answered a challenge by this route. Returns the path that it proved, and its route.
    pub(super) fn proved(&mut self, token: u64, from: Route) -> Option<(usize, Route)> {
        let is_it = |other: &Candidate| other.token == token && other.route.ends_like(&from);
        let found = self.0.iter().find(|other| is_it(other))?;
        let (path, route) = (found.path, found.route);
        self.0.retain(|other| other.path != path);
        Some((path, route))
    }

    /// When [`Candidates::challenges`] has something to do.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.0.iter().map(|candidate| Some(candidate.due)).fold(None, Instant::earliest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(n: u8) -> Route {
        std::net::SocketAddr::from(([10, 0, 0, n], 25_300)).into()
    }

    #[test]
    fn an_address_gets_two_challenges_and_only_its_own_answer_proves_it() {
        let mut candidates = Candidates::default();
        let mut now = Instant::ZERO;
        candidates.add(now, 0, route(2), || 7);
        candidates.add(now, 0, route(2), || 8);
        candidates.add(now, 0, route(3), || 9);
        assert_eq!(candidates.challenges(now), [(route(2), 7), (route(3), 9)]);
        assert_eq!(candidates.challenges(now), []);
        assert_eq!(candidates.proved(9, route(2)), None, "from elsewhere");
        assert_eq!(candidates.proved(5, route(2)), None, "a guess");
        let mut all = 2;
        while let Some(due) = candidates.deadline() {
            now = due;
            all += candidates.challenges(now).len();
        }
        assert_eq!(all, 4);
        candidates.add(now, 0, route(2), || 10);
        candidates.add(now, 1, route(2), || 11);
        assert_eq!(candidates.proved(11, route(2)), None);
        assert_eq!(candidates.proved(10, route(2)), Some((1, route(2))));
        assert_eq!(candidates.deadline(), None);
    }

    #[test]
    fn the_addresses_of_a_hostile_network_do_not_pile_up() {
        let mut candidates = Candidates::default();
        for n in 0..200 {
            candidates.add(Instant::ZERO, 0, route(n), || u64::from(n));
        }
        assert_eq!(candidates.0.len(), MOST);
    }
}
