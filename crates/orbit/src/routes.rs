//! Ways through the network.

use bentpipe_units::Span;

use crate::Node;
use crate::graph::{NEVER, NOBODY, Tree};

/// A way through the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The sum of the delays of its links.
    pub delay: Span,
    /// All nodes, both ends among them.
    pub nodes: Vec<Node>,
}

impl Route {
    /// Number of links.
    pub fn hops(&self) -> usize {
        self.nodes.len().saturating_sub(1)
    }
}

pub(crate) const fn node(index: u32, satellites: u32) -> Node {
    if index < satellites { Node::Satellite(index) } else { Node::Station(index - satellites) }
}

/// The shortest paths from everywhere to one node, at one time.
#[derive(Clone, Debug)]
pub struct Routes {
    pub(crate) to: Node,
    pub(crate) satellites: u32,
    pub(crate) tree: Tree,
}

impl Routes {
    fn index(&self, node: Node) -> usize {
        match node {
            Node::Satellite(number) => number as usize,
            Node::Station(number) => self.satellites as usize + number as usize,
        }
    }

    /// The node that the ways lead to.
    pub const fn to(&self) -> Node {
        self.to
    }

    /// The delay of the way from a node; `None` when there is no way.
    pub fn delay(&self, from: Node) -> Option<Span> {
        let cost = *self.tree.cost.get(self.index(from))?;
        (cost != NEVER).then(|| Span::from_nanos(cost))
    }

    /// Where a packet goes next; `None` at the end of the way and where there is none.
    pub fn next_hop(&self, from: Node) -> Option<Node> {
        let next = *self.tree.next.get(self.index(from))?;
        (next != NOBODY).then(|| node(next, self.satellites))
    }

    /// The whole way from a node.
    pub fn route(&self, from: Node) -> Option<Route> {
        let delay = self.delay(from)?;
        let nodes = std::iter::successors(Some(from), |node| self.next_hop(*node)).collect();
        Some(Route { delay, nodes })
    }
}
