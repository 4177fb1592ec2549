//! Shortest ways over the links that are up.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// No way at all.
pub(crate) const NEVER: u64 = u64::MAX;
/// No node at all.
pub(crate) const NOBODY: u32 = u32::MAX;

/// The links that are up, by node, and what each of them costs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    links: Vec<(u32, u32)>,
    /// Where the links of each node begin in `ends`.
    starts: Vec<u32>,
    /// For each node: the nodes at the other ends, and which link it is.
    ends: Vec<(u32, u32)>,
    costs: Vec<u64>,
}

/// The shortest paths from everywhere to one node.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    pub(crate) cost: Vec<u64>,
    /// The next node on the path.
    pub(crate) next: Vec<u32>,
}

impl Graph {
    /// A graph of so many nodes; what its links cost is not known yet.
    pub(crate) fn new(nodes: usize, links: Vec<(u32, u32)>) -> Self {
        let mut starts = vec![0; nodes + 1];
        for (a, b) in &links {
            starts[*a as usize + 1] += 1;
            starts[*b as usize + 1] += 1;
        }
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        let mut free = starts.clone();
        let mut ends = vec![(0, 0); links.len() * 2];
        for (number, (a, b)) in links.iter().enumerate() {
            for (here, there) in [(*a, *b), (*b, *a)] {
                let place = &mut free[here as usize];
                ends[*place as usize] = (there, number as u32);
                *place += 1;
            }
        }
        Self { costs: vec![NEVER; links.len()], links, starts, ends }
    }

    /// The links, each once.
    pub(crate) fn links(&self) -> &[(u32, u32)] {
        &self.links
    }

    /// Sets what each link costs.
    pub(crate) fn price(&mut self, cost: impl Fn(u32, u32) -> u64) {
        self.costs.clear();
        self.costs.extend(self.links.iter().map(|(a, b)| cost(*a, *b)));
    }

    /// What the link between two nodes costs, if there is one.
    pub(crate) fn cost_between(&self, a: u32, b: u32) -> Option<u64> {
        let link = self.ends_of(a).iter().find(|(there, _)| *there == b)?.1;
        Some(self.costs[link as usize])
    }

    fn ends_of(&self, node: u32) -> &[(u32, u32)] {
        let node = node as usize;
        &self.ends[self.starts[node] as usize..self.starts[node + 1] as usize]
    }

    /// The shortest paths to `root` (Dijkstra 1959), all of them or until that of `until` is known. Of
    /// paths that cost the same the one that was found first stays, which is the same on every machine.
    ///
    /// Nodes for which `forwards` is false are ends of paths only.
    pub(crate) fn paths_to(
        &self,
        root: u32,
        until: Option<u32>,
        forwards: impl Fn(u32) -> bool,
    ) -> Tree {
        let nodes = self.starts.len() - 1;
        let mut tree = Tree { cost: vec![NEVER; nodes], next: vec![NOBODY; nodes] };
        let mut heap = BinaryHeap::with_capacity(nodes);
        tree.cost[root as usize] = 0;
        heap.push(Reverse((0u64, root)));
        while let Some(Reverse((cost, node))) = heap.pop() {
            if cost > tree.cost[node as usize] {
                continue;
            }
            if until == Some(node) {
                break;
            }
            if node != root && !forwards(node) {
                continue;
            }
            for (there, link) in self.ends_of(node) {
                let total = cost.saturating_add(self.costs[*link as usize]);
                if total < tree.cost[*there as usize] {
                    tree.cost[*there as usize] = total;
                    tree.next[*there as usize] = node;
                    heap.push(Reverse((total, *there)));
                }
            }
        }
        tree
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn graph(nodes: usize, links: &[(u32, u32, u64)]) -> Graph {
        let mut graph = Graph::new(nodes, links.iter().map(|(a, b, _)| (*a, *b)).collect());
        let cost = |a, b| links.iter().find(|l| (l.0, l.1) == (a, b)).map_or(NEVER, |l| l.2);
        graph.price(cost);
        graph
    }

    #[test]
    fn the_cheaper_of_two_paths_is_taken_and_the_path_ends_at_the_root() {
        let graph = graph(5, &[(0, 1, 5), (1, 2, 5), (0, 3, 1), (3, 2, 8)]);
        let tree = graph.paths_to(2, None, |_| true);
        assert_eq!(tree.cost, [9, 5, 0, 8, NEVER]);
        assert_eq!(tree.next, [3, 2, NOBODY, 2, NOBODY]);
    }

    #[test]
    fn nodes_that_do_not_forward_are_ends_only() {
        let graph = graph(4, &[(0, 1, 1), (1, 2, 1), (0, 3, 10), (3, 2, 10)]);
        let tree = graph.paths_to(2, None, |node| node != 1);
        assert_eq!(tree.cost, [20, 1, 0, 10]);
        assert_eq!(graph.paths_to(1, None, |node| node != 1).cost[2], 1);
    }

    proptest! {
        #[test]
        fn no_link_makes_a_way_shorter_than_the_one_found(
            links in proptest::collection::vec((0u32..12, 0u32..12, 1u64..100), 1..40),
            root in 0u32..12,
        ) {
            let mut distinct = links;
            distinct.sort_by_key(|(a, b, _)| (*a, *b));
            distinct.dedup_by_key(|(a, b, _)| (*a, *b));
            let graph = graph(12, &distinct);
            let tree = graph.paths_to(root, None, |_| true);
            for (a, b, cost) in &distinct {
                let (a, b) = (tree.cost[*a as usize], tree.cost[*b as usize]);
                prop_assert!(a <= b.saturating_add(*cost) && b <= a.saturating_add(*cost));
            }
            for until in 0..12 {
                let some = graph.paths_to(root, Some(until), |_| true);
                prop_assert_eq!(some.cost[until as usize], tree.cost[until as usize]);
            }
        }
    }
}
