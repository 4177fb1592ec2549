//! The MACs of a network: where packets wait before the models of a channel.

use std::mem;

use bentpipe_link::mac::Mac;
use bentpipe_link::queue::{Backlog, Held};
use bentpipe_link::{QueueLimit, Streams};
use bentpipe_units::Instant;

use crate::RunSpec;
use crate::events::{EventQueue, Slot};

/// All MACs. Each one is a component of the event queue.
#[derive(Debug, Default)]
pub(crate) struct Macs {
    all: Vec<Placed>,
    /// The MAC of each channel and the channel's line there.
    of_channel: Vec<Option<(u32, u16)>>,
    first_slot: Slot,
    /// What departed and was not sent on yet.
    departures: Vec<(Held, Instant)>,
}

/// A MAC and the channels behind its lines.
#[derive(Debug)]
struct Placed {
    mac: Box<dyn Mac>,
    channels: Vec<u32>,
    /// How much may wait for each line.
    limits: Vec<QueueLimit>,
}

impl Macs {
    /// The MACs of a run, which are components `first_slot` and on.
    pub(crate) fn new(spec: &RunSpec, streams: &Streams, first_slot: Slot) -> Self {
        let mut of_channel = vec![None; 2 * spec.links.len()];
        let mut all = Vec::new();
        for (index, place) in spec.macs.iter().enumerate() {
            let names: Vec<String> = place
                .lines
                .iter()
                .map(|(link, direction)| {
                    format!("link/{}/{}", spec.links[*link].name, direction.name())
                })
                .collect();
            let channels: Vec<u32> = place
                .lines
                .iter()
                .map(|(link, direction)| 2 * *link as u32 + *direction as u32)
                .collect();
            for (line, channel) in channels.iter().enumerate() {
                of_channel[*channel as usize] = Some((index as u32, line as u16));
            }
            let limit = |line| place.mac.queue(line).map_or(QueueLimit::Unlimited, |q| q.limit);
            let limits = (0..channels.len()).map(limit).collect();
            all.push(Placed { mac: place.mac.build(streams, &names), channels, limits });
        }
        Self { all, of_channel, first_slot, departures: Vec::new() }
    }

    /// The MAC before a channel and the channel's line there.
    pub(crate) fn before(&self, channel: u32) -> Option<(u32, u16)> {
        self.of_channel[channel as usize]
    }

    /// What waits for a line, and how much may.
    pub(crate) fn waiting(&self, mac: u32, line: u16) -> (Backlog, QueueLimit) {
        let placed = &self.all[mac as usize];
        (placed.mac.waiting(line), placed.limits[usize::from(line)])
    }

    /// The MAC that is this component.
    pub(crate) const fn index(&self, slot: Slot) -> u32 {
        slot - self.first_slot
    }

    /// The channel behind a line.
    pub(crate) fn channel(&self, mac: u32, line: u16) -> u32 {
        self.all[mac as usize].channels[usize::from(line)]
    }

    /// Changes a MAC, with the channels behind its lines and a place for what departs.
    pub(crate) fn with<R>(
        &mut self,
        mac: u32,
        change: impl FnOnce(&mut dyn Mac, &[u32], &mut Vec<(Held, Instant)>) -> R,
    ) -> R {
        let placed = &mut self.all[mac as usize];
        change(&mut *placed.mac, &placed.channels, &mut self.departures)
    }

    /// What departed, for the moment of sending it on.
    pub(crate) fn take_departures(&mut self) -> Vec<(Held, Instant)> {
        mem::take(&mut self.departures)
    }

    /// Gives the list back for the next ones.
    pub(crate) fn put_back(&mut self, mut departures: Vec<(Held, Instant)>) {
        departures.clear();
        self.departures = departures;
    }

    /// Sets the timer of a MAC after a change.
    pub(crate) fn set_timer(&self, now: Instant, mac: u32, queue: &mut EventQueue) {
        if let Some(at) = self.all[mac as usize].mac.poll_timeout() {
            queue.set_timer(self.first_slot + mac, at.max(now));
        }
    }
}
