//! One direction of a link that comes and goes.

use std::collections::VecDeque;

use bentpipe_link::{Fate, LossCause, Passing, Series};
use bentpipe_orbit::{Network, Node};
use bentpipe_units::{Instant, Span};

use super::motion::Motion;
use crate::channel::{Channel, InTransit};

/// One direction of a link: a transmitter that is there while the link is up, and the way through space,
/// whose length changes.
#[derive(Debug)]
pub(crate) struct MovingLink {
    pub(crate) channel: Channel,
    /// What it counts as.
    pub(crate) class: usize,
    ends: [Node; 2],
    motion: Motion,
    up: bool,
    /// How often it came up.
    pub(crate) visits: u32,
    /// The packets on their way that were damaged here, by their serial numbers.
    damaged: VecDeque<u64>,
}

impl MovingLink {
    /// A link between two nodes that is down.
    pub(crate) fn new(channel: Channel, class: usize, ends: [Node; 2]) -> Self {
        Self {
            channel,
            class,
            ends,
            motion: Motion::default(),
            up: false,
            visits: 0,
            damaged: VecDeque::new(),
        }
    }

    /// The link comes up with an idle transmitter. What is still on its way through space arrives.
    pub(crate) fn come_up(&mut self, line: Series) {
        self.channel.renew(line);
        self.up = true;
        self.visits += 1;
    }

    /// The link goes down at `at`: what has not left whole is lost. Calls `lose` for each such packet, the
    /// last one first.
    pub(crate) fn go_down(
        &mut self,
        at: Instant,
        network: &Network,
        mut lose: impl FnMut(&mut Channel, InTransit),
    ) {
        self.up = false;
        // What leaves later arrives later, so that arrivals tell departures.
        let last = at + self.motion.clone().delay(at, exact(network, self.ends));
        while let Some(lost) = self.channel.take_last_after(last) {
            if self.damaged.back() == Some(&lost.serial) {
                self.damaged.pop_back();
            }
            lose(&mut self.channel, lost);
        }
    }

    /// A packet enters. Returns when it arrives, if it does, and whether it is damaged then.
    #[inline]
    pub(crate) fn pass(
        &mut self,
        now: Instant,
        serial: u64,
        passing: &Passing,
        network: &Network,
    ) -> Option<(Instant, bool)> {
        if !self.up {
            self.channel.count_loss(now, LossCause::Blackout, passing.kind);
            return None;
        }
        let (leaves, damaged) = match self.channel.offer(now, passing) {
            Fate::Leaves(leaves) => (leaves, false),
            Fate::LeavesCorrupt(leaves) => (leaves, true),
            Fate::Lost(_) => return None,
        };
        if damaged {
            self.damaged.push_back(serial);
        }
        Some((leaves + self.motion.delay(leaves, exact(network, self.ends)), damaged))
    }

    /// Takes the packet that arrives.
    #[inline]
    pub(crate) fn arrive(&mut self) -> Option<InTransit> {
        let arrived = self.channel.arrive()?;
        self.channel.summary.delivered += 1;
        if self.damaged.front() == Some(&arrived.serial) {
            self.damaged.pop_front();
            self.channel.summary.corrupted += 1;
        }
        Some(arrived)
    }
}

/// The delay of the way between two nodes.
fn exact(network: &Network, [a, b]: [Node; 2]) -> impl Fn(Instant) -> Option<Span> {
    move |at| network.light_time(a, b, at).ok().flatten()
}
