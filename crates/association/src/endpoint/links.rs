//! The links of this host, as those see them who spread a flow over several.

/// Links that a host can have: the first one, and three more.
pub const LINKS: usize = 4;

/// How a link may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkPlan {
    /// Only while no other one works, although several links are used at once.
    pub is_reserve: bool,
    /// Each byte costs: while it is idle it is probed twice a minute, and nothing is sent to find out what it carries.
    pub is_metered: bool,
    /// Datagrams of applications use it beside others only for what those do not carry.
    pub spills: bool,
}

/// The links to a peer, each by its number, from 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// They work, as far as is known, and may be used.
    pub open: Vec<usize>,
    /// They are not to be used now, whether they work or not: a reserve while another one works, and what was
    /// [closed](super::Endpoint::set_link_open).
    pub barred: Vec<usize>,
}
