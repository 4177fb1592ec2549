//! Which routers say something by ICMP, and what they have to say.

use crate::held::Quench;
use crate::{LinkSpec, MtuSpec, RunSpec};

/// Routers that have to say something.
#[derive(Debug)]
pub(super) struct Routers {
    /// What each channel carries at most; empty when all of them carry everything.
    pub(super) narrow: Vec<Option<MtuSpec>>,
    /// For each channel the node before it, where that tells senders of congestion; empty when none does.
    pub(super) tellers: Vec<Option<u16>>,
    /// What they have to tell.
    pub(super) quenches: Vec<Quench>,
}

impl Routers {
    pub(super) fn new(spec: &RunSpec) -> Self {
        // Links to the ground and between satellites carry everything, and tell nothing.
        let links = if spec.constellation.is_some() { &[][..] } else { &spec.links };
        let narrow = if links.iter().any(|link| link.mtu.is_some()) {
            links.iter().flat_map(|link| [link.mtu; 2]).collect()
        } else {
            Vec::new()
        };
        let before = |link: &LinkSpec| link.ends.map(|node| link.becn.then_some(node as u16));
        let tellers = if links.iter().any(|link| link.becn) {
            links.iter().flat_map(before).collect()
        } else {
            Vec::new()
        };
        Self { narrow, tellers, quenches: Vec::new() }
    }

    /// Whether a channel does not carry everything.
    pub(super) fn is_narrow(&self, channel: u32) -> bool {
        self.narrow.get(channel as usize).is_some_and(Option::is_some)
    }

    /// Whether any does.
    #[inline]
    pub(super) const fn drops_any(&self) -> bool {
        !self.narrow.is_empty()
    }
}
