//! One path to a peer: where it leads, how long datagrams may be there, and whether routers mark them.

use std::net::IpAddr;

use bentpipe_transport::path_mtu::{Search, Unanswered};
use bentpipe_units::{Instant, Span};
use bentpipe_wire::Ecn;

use super::ecn::EcnUse;
use super::links::LinkPlan;
use super::path_monitor::Multipath;
use super::path_mtu::{is_full, search};
use super::route::Route;

/// What the host that monitors the paths tells the other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PathProbe {
    /// The path by which this is sent, and its link.
    pub(super) path: u8,
    pub(super) link: u8,
    /// Each byte costs there.
    pub(super) is_metered: bool,
    /// Datagrams of applications use it only for what others do not carry.
    pub(super) spills: bool,
    /// Its round-trip time as it was measured; zero where it was not.
    pub(super) round_trip: Span,
    /// More with every probe.
    pub(super) serial: u32,
    /// The path to send by.
    pub(super) main: u8,
    /// A bit for each direction that works.
    pub(super) up: u8,
    /// What is done with several links.
    pub(super) multipath: Multipath,
}

/// What the other one answers, by the same path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PathProbeAnswer {
    /// The path, and the number of the probe.
    pub(super) path: u8,
    pub(super) serial: u32,
    /// The path that it sends by.
    pub(super) main: u8,
}

/// A path to the peer.
#[derive(Debug)]
pub(super) struct Path {
    route: Route,
    /// The link of the host that monitors the paths, and how it may be used.
    link: usize,
    plan: LinkPlan,
    /// The round-trip time that the peer tells; zero where it does not.
    told: Span,
    /// Bytes that it has carried, both directions, all headers included.
    carried: u64,
    /// How long datagrams may be.
    mtu: Search,
    ecn: EcnUse,
    /// The peer was heard there, and not only its datagrams.
    is_proved: bool,
}

impl Path {
    pub(super) fn new(route: Route, link: usize, plan: LinkPlan) -> Self {
        Self {
            route,
            link,
            plan,
            told: Span::ZERO,
            carried: 0,
            mtu: search(route.address),
            ecn: EcnUse::NEW,
            is_proved: true,
        }
    }

    /// One that may lead there: the peer has to prove it, unless it is known to be there.
    pub(super) fn received(from: Route, is_proved: bool) -> Self {
        Self { is_proved, ..Self::new(from, 0, LinkPlan::default()) }
    }

    /// The peer was heard there, and not only its datagrams.
    pub(super) const fn is_proved(&self) -> bool {
        self.is_proved
    }

    /// Whether it ends where this route does, over the same outer transport.
    pub(super) fn ends_like(&self, route: &Route) -> bool {
        self.route.ends_like(route)
    }

    /// It begins with this link, as the peer tells, which may be used so, and has this round-trip time. True if the link is
    /// another one than before.
    pub(super) fn set_link(&mut self, link: usize, plan: LinkPlan, round_trip: Span) -> bool {
        (self.plan, self.told) = (plan, round_trip);
        std::mem::replace(&mut self.link, link) != link
    }

    /// How its link may be used.
    pub(super) const fn plan(&self) -> LinkPlan {
        self.plan
    }

    /// The round-trip time that the peer tells, if it does.
    pub(super) fn told(&self) -> Option<Span> {
        Some(self.told).filter(|told| !told.is_zero())
    }

    /// It has carried so many bytes more, all headers included.
    pub(super) const fn count(&mut self, bytes: usize) {
        self.carried += bytes as u64;
    }

    /// Bytes that it has carried, both directions, all headers included.
    pub(super) const fn carried(&self) -> u64 {
        self.carried
    }

    /// It begins at this address of this host. True if that is another one than before.
    pub(super) fn set_local(&mut self, local: Option<IpAddr>) -> bool {
        std::mem::replace(&mut self.route.local, local) != local
    }

    /// Does what time demands. Returns what follows if a probe of the MTU had no answer.
    pub(super) fn handle_timeout(&mut self, now: Instant) -> Option<Unanswered> {
        self.ecn.handle_timeout(now);
        self.mtu.handle_timeout(now)
    }

    /// When [`Path::handle_timeout`] must be called.
    pub(super) fn deadline(&self) -> Option<Instant> {
        Instant::earliest(self.mtu.deadline(), self.ecn.deadline())
    }

    /// How it goes.
    pub(super) const fn route(&self) -> Route {
        self.route
    }

    /// The link of this host that it begins with.
    pub(super) const fn link(&self) -> usize {
        self.link
    }

    /// How long datagrams may be.
    pub(super) const fn most(&self) -> u16 {
        self.mtu.get()
    }

    /// A datagram of this length is sent. Returns the length of a probe that should follow it.
    pub(super) fn sent(&mut self, now: Instant, len: usize) -> Option<u16> {
        if is_full(&self.mtu, len) { self.mtu.sent_full(now) } else { None }
    }

    /// A probe of this length has arrived. True when datagrams may be longer now.
    pub(super) fn mtu_probe_answered(&mut self, now: Instant, len: u16) -> bool {
        self.mtu.answered(now, len)
    }

    /// What the IP header of a datagram says that is sent now.
    pub(super) fn mark(&mut self, now: Instant, has_content: bool) -> Ecn {
        if has_content {
            self.ecn.sent(now);
        }
        self.ecn.mark()
    }

    /// The peer has received something that was sent there.
    pub(super) fn confirm_ecn(&mut self) {
        self.ecn.confirmed();
    }

    /// It leads elsewhere from now on.
    pub(super) fn lead(&mut self, route: Route) {
        *self = Self { carried: self.carried, ..Self::new(route, self.link, self.plan) };
    }
}
