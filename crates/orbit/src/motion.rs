//! How the delay of a way changes with time.

use bentpipe_units::{Instant, Span};

const SECOND: u64 = 1_000_000_000;

/// The propagation delay of a link, or a row of links, whose ends move: exact at every whole second and straight between.
///
/// Over a second the way between two satellites bends by less than 18 m, so that it is within 60 ns
/// everywhere. No jump, no step: what leaves later arrives later, since nothing moves as fast as light.
#[derive(Clone, Debug)]
pub struct Motion {
    /// The seconds between which it is known, in nanoseconds.
    from: u64,
    until: u64,
    /// The delays there.
    delays: [u64; 2],
}

impl Default for Motion {
    fn default() -> Self {
        Self::new()
    }
}

impl Motion {
    /// Nothing is known yet.
    pub const fn new() -> Self {
        Self { from: u64::MAX, until: u64::MAX, delays: [0; 2] }
    }

    /// The delay of what leaves at `at`; `exact` says what it is at whole seconds. Where it cannot say
    /// any more, because a satellite comes down, the last delay stays.
    #[inline]
    pub fn delay(&mut self, at: Instant, exact: impl Fn(Instant) -> Option<Span>) -> Span {
        let at = at.as_nanos();
        if at < self.from || at >= self.until {
            self.look(at, exact);
        }
        let [before, after] = self.delays.map(|delay| delay as i64);
        let moved = (after - before) * (at - self.from) as i64;
        Span::from_nanos((before + moved.div_euclid(SECOND as i64)) as u64)
    }

    #[inline(never)]
    fn look(&mut self, at: u64, exact: impl Fn(Instant) -> Option<Span>) {
        let second = at / SECOND * SECOND;
        let known = |at: u64, otherwise: u64| {
            exact(Instant::from_nanos(at)).map_or(otherwise, Span::as_nanos)
        };
        let before =
            if second == self.until { self.delays[1] } else { known(second, self.delays[1]) };
        self.delays = [before, known(second + SECOND, before)];
        (self.from, self.until) = (second, second + SECOND);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Constellation, Network, Node, Station, known};

    fn network() -> Network {
        let spec = known("starlink").expect("known").expect("a constellation");
        let constellation = Constellation::new(&spec).expect("a constellation");
        let station = Station::terminal("London", "London".parse().expect("a city"));
        Network::new(constellation, vec![station], &[], Span::from_secs(10)).expect("a network")
    }

    #[test]
    fn the_delay_is_that_of_the_geometry_within_60_ns() {
        let network = network();
        let satellite = Node::Satellite(network.satellites_of(0).next().expect("coverage"));
        let exact = |at| network.light_time(Node::Station(0), satellite, at).expect("in orbit");
        let mut motion = Motion::new();
        for n in 0..20_000 {
            let at = Instant::from_nanos(n * 6_543_217);
            let off = motion.delay(at, exact).abs_diff(exact(at).expect("both ends"));
            assert!(off <= Span::from_nanos(60), "{off} at {at}");
        }
    }

    #[test]
    fn what_leaves_later_never_arrives_earlier() {
        // As fast as anything in orbit: 8 km/s towards each other, and back.
        let exact = |at: Instant| {
            let phase = at.as_nanos() / SECOND % 200;
            Some(Span::from_nanos(20_000_000 - 26_700 * phase.min(200 - phase)))
        };
        let mut motion = Motion::new();
        let mut last = Instant::ZERO;
        for n in 0..2_000_000 {
            let leaves = Instant::from_nanos(99 * SECOND + n * 997);
            let arrives = leaves + motion.delay(leaves, exact);
            assert!(arrives >= last, "{leaves}");
            last = arrives;
        }
        let back = Instant::from_nanos(3 * SECOND);
        assert_eq!(motion.delay(back, exact), exact(back).expect("a delay"));
    }
}
