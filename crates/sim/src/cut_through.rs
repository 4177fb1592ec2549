//! Channels that a packet passes at once.
//!
//! A packet that crosses several channels needs an event at a router only if something else may come
//! between. Where all packets of a channel come from one other channel, in order, a packet passes
//! both at once: the second channel is asked at the time at which the packet will get there.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::routes::Routes;
use crate::{FlowSpec, RunSpec};

/// For each node and destination the channels that a packet passes without an event between them.
#[derive(Debug)]
pub(crate) struct CutThrough {
    nodes: usize,
    channels: Vec<u32>,
    ranges: Vec<(u32, u32)>,
    /// The same for packets that come from the MAC before the first channel.
    behind: Vec<(u32, u32)>,
}

impl CutThrough {
    /// The cut_through between `far_ends` of channels, some of which have an only feeder. Where
    /// packets of a channel wait in a MAC, or something looks at them before it, no stretch goes
    /// on to it.
    pub(crate) fn new(
        routes: &Routes,
        far_ends: &[u16],
        feeders: &[Option<u32>],
        mac: impl Fn(u32) -> bool,
        looked_at: impl Fn(u32) -> bool,
    ) -> Self {
        let nodes = routes.nodes();
        let (mut channels, mut ranges, mut behind) = (Vec::new(), Vec::new(), Vec::new());
        for from in 0..nodes as u16 {
            for to in 0..nodes as u16 {
                let start = channels.len();
                for channel in routes.path(from, to, |c| far_ends[c as usize]) {
                    let before = channels[start..].last().copied();
                    let fed = feeders[channel as usize] == before && !mac(channel);
                    let fed = fed && !looked_at(channel);
                    if before.is_some() && !fed {
                        break;
                    }
                    channels.push(channel);
                }
                let (start, end) = (start as u32, channels.len() as u32);
                let held = channels.get(start as usize).is_some_and(|first| mac(*first));
                ranges.push((start, if held { start } else { end }));
                behind.push((start, end));
            }
        }
        Self { nodes, channels, ranges, behind }
    }

    /// No cut_through at all, between any nodes towards one of `nodes`.
    pub(crate) fn none(nodes: usize) -> Self {
        let none = vec![(0, 0); nodes];
        Self { nodes: 0, channels: Vec::new(), ranges: none.clone(), behind: none }
    }

    /// The numbers of the hops from a node towards another; none when there is no way, or a MAC
    /// before the first channel.
    #[inline]
    pub(crate) fn hops(&self, from: u16, to: u16) -> Range<u32> {
        let (start, end) = self.ranges[from as usize * self.nodes + to as usize];
        start..end
    }

    /// The same for a packet that comes from the MAC before the first channel.
    pub(crate) fn hops_behind_mac(&self, from: u16, to: u16) -> Range<u32> {
        let (start, end) = self.behind[from as usize * self.nodes + to as usize];
        start..end
    }

    /// The channel of a hop.
    #[inline]
    pub(crate) fn channel(&self, hop: u32) -> u32 {
        self.channels[hop as usize]
    }
}

/// For each channel the one other channel that all its packets come from, if there is only one and it
/// keeps their order.
pub(crate) fn only_feeders(
    spec: &RunSpec,
    routes: &Routes,
    far_ends: &[u16],
    keeps_order: &[bool],
) -> Vec<Option<u32>> {
    // For each channel, what packets come from: other channels, or the node itself.
    let mut feeders: Vec<BTreeSet<Option<u32>>> = vec![BTreeSet::new(); far_ends.len()];
    for [a, b] in spec.flows.iter().flat_map(FlowSpec::paths) {
        for (from, to) in [(a as u16, b as u16), (b as u16, a as u16)] {
            let mut before = None;
            for channel in routes.path(from, to, |c| far_ends[c as usize]) {
                feeders[channel as usize].insert(before);
                before = Some(channel);
            }
        }
    }
    let only = |feeders: BTreeSet<Option<u32>>| match (feeders.len(), feeders.first()) {
        (1, Some(Some(feeder))) if keeps_order[*feeder as usize] => Some(*feeder),
        _ => None,
    };
    feeders.into_iter().map(only).collect()
}
