//! What differs between the links of nodes: how a segment is framed, and how a frame names its sender.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::hash::Hash;

use bentpipe_wire::xstp::Segment;

/// How a node frames its segments.
pub trait Framing: Debug + Send + 'static {
    /// What a node is called.
    type Peer: Copy + Eq + Hash + Debug + Send;
    /// What carries segments over the link.
    type Frame: Send;

    /// Appends the frames that carry a segment to a peer, in the order in which they are to be sent.
    fn wrap(&mut self, to: Self::Peer, segment: &Segment, frames: &mut VecDeque<Self::Frame>);

    /// Who sent a frame that arrived, and the segment in it.
    ///
    /// # Errors
    /// When there is no segment for this node in it.
    fn unwrap(&self, frame: Self::Frame) -> Result<(Self::Peer, Segment), Unfit>;
}

/// Why a frame is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// It is damaged, or nothing that is known.
    Malformed,
    /// It is not for this node to deal with.
    Unwanted,
}

/// How many frames were dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Frames that are damaged, or nothing that is known.
    pub malformed: u64,
    /// Frames that are not for this node to deal with.
    pub unwanted: u64,
}

impl Dropped {
    /// One more.
    pub(crate) const fn count(&mut self, why: Unfit) {
        match why {
            Unfit::Malformed => self.malformed += 1,
            Unfit::Unwanted => self.unwanted += 1,
        }
    }
}
