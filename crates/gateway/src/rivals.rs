//! Two terminals with one key: each takes the association from the other one.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Mutex;

use bentpipe_association::host::lock;

/// Arrivals that are remembered. A terminal that moves goes back and forth now and then, and not that often.
const ARRIVALS: usize = 6;
/// Seconds in which they came.
const WITHIN: u64 = 300;

/// From where a peer came of late.
#[derive(Debug, Default)]
pub(crate) struct Rivals {
    seen: Mutex<VecDeque<(u64, SocketAddr)>>,
}

impl Rivals {
    /// It has come from here. Gives two addresses if it comes from them by turns; begins anew then, so that this is said
    /// once in a while.
    /// `now` are seconds of any clock.
    pub(crate) fn note(&self, now: u64, from: SocketAddr) -> Option<(SocketAddr, SocketAddr)> {
        let mut seen = lock(&self.seen);
        seen.push_back((now, from));
        while seen.len() > ARRIVALS || seen.front().is_some_and(|(at, _)| at + WITHIN < now) {
            seen.pop_front();
        }
        if seen.len() < ARRIVALS {
            return None;
        }
        let (one, other) = (seen[0].1, seen[1].1);
        let by_turns = one != other
            && seen
                .iter()
                .enumerate()
                .all(|(n, (_, from))| *from == if n % 2 == 0 { one } else { other });
        by_turns.then(|| seen.clear());
        by_turns.then_some((one, other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(n: u8) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, n], 25_300))
    }

    /// How often it is said when a peer comes from these addresses, so many seconds apart.
    fn said(from: &[u8], apart: u64) -> usize {
        let rivals = Rivals::default();
        let times = from.iter().zip(0..);
        times.filter(|(n, at)| rivals.note(at * apart, address(**n)).is_some()).count()
    }

    #[test]
    fn who_comes_from_two_addresses_by_turns_is_two() {
        assert_eq!(said(&[1, 2].repeat(9), 10), 3, "once in a while");
        assert_eq!(said(&[1; 18], 10), 0, "restarted again and again");
        assert_eq!(said(&[1, 2, 3].repeat(6), 10), 0, "it moves");
        assert_eq!(said(&[1, 2].repeat(9), 100), 0, "between home and work");
    }
}
