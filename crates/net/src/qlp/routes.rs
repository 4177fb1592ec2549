//! The static forwarding table.

use std::collections::BTreeMap;
use std::str::FromStr;

use super::{BadNode, NodeId};

/// One entry of a forwarding table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Node that frames are for.
    pub destination: NodeId,
    /// Node whose queue they are put into.
    pub next: NodeId,
}

/// A text that is no entry of a forwarding table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRoute {
    /// There is no `=`.
    #[error("write DESTINATION=NEXT, such as 3=2: frames for node 3 go to node 2")]
    NoEquals,
    /// One of the two is no node.
    #[error(transparent)]
    Node(#[from] BadNode),
}

impl FromStr for Route {
    type Err = BadRoute;

    fn from_str(text: &str) -> Result<Self, BadRoute> {
        let (destination, next) = text.split_once('=').ok_or(BadRoute::NoEquals)?;
        Ok(Self { destination: destination.parse()?, next: next.parse()? })
    }
}

/// Which queue a frame is put into, by the node that it is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Routes(BTreeMap<NodeId, NodeId>);

impl Routes {
    /// The next node on the path. Where the table says nothing, that is the destination itself.
    pub fn next(&self, destination: NodeId) -> NodeId {
        self.0.get(&destination).copied().unwrap_or(destination)
    }
}

impl FromIterator<Route> for Routes {
    /// Of two entries for the same destination the later one counts.
    fn from_iter<I: IntoIterator<Item = Route>>(routes: I) -> Self {
        Self(routes.into_iter().map(|route| (route.destination, route.next)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_go_where_the_table_says_or_straight_to_their_node() {
        let routes: Routes =
            ["3=2", "4=2", "4=5"].map(|r| r.parse().expect("a route")).into_iter().collect();
        for (destination, next) in [(3, 2), (4, 5), (2, 2), (9, 9)] {
            assert_eq!(routes.next(NodeId(destination)), NodeId(next));
        }
    }

    #[test]
    fn what_is_no_route_says_what_would_be_right() {
        let error = |text: &str| text.parse::<Route>().expect_err("refused").to_string();
        assert!(error("3").contains("DESTINATION=NEXT"));
        assert!(error("3=two").contains("`two` is no node"));
        assert!(error("70000=2").contains("0 to 65535"));
    }
}
