//! The two directions of a link.

/// A direction of a link, or of a path of links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the first end to the second: the forward link.
    Forward,
    /// From the second end to the first: the return link.
    Return,
}

impl Direction {
    /// Both, in this order.
    pub const BOTH: [Self; 2] = [Self::Forward, Self::Return];

    /// Its name in scenarios and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Return => "return",
        }
    }

    /// What its random streams are called. These names decide what a seed does, and stay as they are.
    pub const fn stream(self) -> &'static str {
        match self {
            Self::Forward => "forth",
            Self::Return => "back",
        }
    }

    /// The other one.
    pub const fn other(self) -> Self {
        match self {
            Self::Forward => Self::Return,
            Self::Return => Self::Forward,
        }
    }
}
