//! Where a bundle comes from.

/// Who has given a bundle to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A neighbour, an application of this node, or the node itself.
    Known,
    /// Somebody else.
    Stranger,
}
