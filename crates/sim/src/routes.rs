//! Static routes: fewest links, ties to the link that was declared first.

use std::collections::VecDeque;

use bentpipe_link::Direction;

/// For each node and destination the channel to take.
#[derive(Debug)]
pub(crate) struct Routes {
    nodes: usize,
    next: Vec<Option<u32>>,
}

impl Routes {
    /// Computes routes over directed channels, given as (from, to) in order.
    pub(crate) fn new(nodes: usize, channels: &[(usize, usize)]) -> Self {
        let mut next = vec![None; nodes * nodes];
        for to in 0..nodes {
            // Backwards from the destination, nearest first.
            let mut links = vec![usize::MAX; nodes];
            links[to] = 0;
            let mut frontier = VecDeque::from([to]);
            while let Some(via) = frontier.pop_front() {
                for &(from, end) in channels {
                    if end == via && links[from] == usize::MAX {
                        links[from] = links[via] + 1;
                        frontier.push_back(from);
                    }
                }
            }
            for (index, &(from, end)) in channels.iter().enumerate().rev() {
                if links[end] < links[from] {
                    next[from * nodes + to] = Some(index as u32);
                }
            }
        }
        Self { nodes, next }
    }

    /// Number of nodes.
    pub(crate) const fn nodes(&self) -> usize {
        self.nodes
    }

    /// The channels from one node to another, in order.
    pub(crate) fn path(&self, from: u16, to: u16, far_end: impl Fn(u32) -> u16) -> Vec<u32> {
        let mut path = Vec::new();
        let mut at = from;
        while let Some(channel) = self.next(at, to) {
            path.push(channel);
            at = far_end(channel);
        }
        path
    }

    /// The channel that leads from `at` towards `to`.
    #[inline]
    pub(crate) fn next(&self, at: u16, to: u16) -> Option<u32> {
        self.next[at as usize * self.nodes + to as usize]
    }
}

/// The links that packets take from one node to another, with their directions; `ends` are the nodes of each link.
pub fn passed(
    ends: &[[usize; 2]],
    nodes: usize,
    [from, to]: [usize; 2],
) -> Vec<(usize, Direction)> {
    let channels: Vec<_> = ends.iter().flat_map(|[a, b]| [(*a, *b), (*b, *a)]).collect();
    let path = Routes::new(nodes, &channels);
    let path = path.path(from as u16, to as u16, |channel| channels[channel as usize].1 as u16);
    let direction = |channel: u32| {
        if channel.is_multiple_of(2) { Direction::Forward } else { Direction::Return }
    };
    path.into_iter().map(|channel| (channel as usize / 2, direction(channel))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_take_the_fewest_links() {
        // 0 - 1 - 2 - 3 and a short cut 0 - 3; node 4 is alone.
        let channels = [(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2), (0, 3), (3, 0)];
        let routes = Routes::new(5, &channels);
        assert_eq!(routes.next(0, 3), Some(6));
        assert_eq!(routes.next(1, 3), Some(1), "by link 0 - 1, which was declared first");
        assert_eq!(routes.next(2, 0), Some(3));
        assert_eq!((routes.next(0, 4), routes.next(4, 0)), (None, None));
    }
}
