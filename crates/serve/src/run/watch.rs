//! Who looks on while a run goes, for the page.

use std::cell::Cell;
use std::mem;

use bentpipe_record::{RunSummary, Sample};
use bentpipe_sim::{Observer, PacketSeen};
use bentpipe_units::{ByteCount, Instant, Span};
use tokio::sync::mpsc;

use super::asked::Window;
use super::columns::MOST_QUEUES;
use super::packets::{MOST_PACKETS, Packet};
use super::thread::Began;
use crate::answer::Wrong;
use crate::memory;

/// How often it is asked whether the run goes on for each look at the memory.
const LOOKS: u32 = 64;

/// What the page is told of a run.
pub(super) enum Fact {
    Began(Box<Began>),
    Moment(Moment),
    Ended { summary: Box<RunSummary>, limits: Vec<Option<String>>, cut: bool },
    Wrong(Wrong),
}

/// The samples of all flows and queues at one time, and the packets since the moment before.
#[derive(Clone, Debug)]
pub(super) struct Moment {
    at: Instant,
    samples: Vec<Sample>,
    /// The direction of a link, and what waits for it.
    queues: Vec<(usize, ByteCount)>,
    packets: Vec<Packet>,
}

impl Moment {
    /// Simulated seconds.
    pub(super) fn at(&self) -> f64 {
        self.at.as_secs_f64()
    }

    pub(super) fn samples(&self) -> &[Sample] {
        &self.samples
    }

    pub(super) fn queues(&self) -> &[(usize, ByteCount)] {
        &self.queues
    }

    pub(super) fn packets(&self) -> &[Packet] {
        &self.packets
    }
}

/// Tells the page what happens.
pub(super) struct Watch<'a> {
    told: &'a mpsc::Sender<Fact>,
    every: Span,
    window: Option<Window>,
    memory: ByteCount,
    moment: Moment,
    packets: usize,
    looks: Cell<u32>,
    swollen: Cell<bool>,
}

impl<'a> Watch<'a> {
    /// Samples so often; packets in this part of the time.
    pub(super) fn new(
        told: &'a mpsc::Sender<Fact>,
        every: Span,
        window: Option<Window>,
        memory: ByteCount,
    ) -> Self {
        let moment = Moment {
            at: Instant::ZERO,
            samples: Vec::new(),
            queues: Vec::new(),
            packets: Vec::new(),
        };
        let (looks, swollen) = (Cell::new(0), Cell::new(false));
        Self { told, every, window, memory, moment, packets: 0, looks, swollen }
    }

    /// Tells the rest. True if the run was ended because the process had too much memory.
    pub(super) fn finish(mut self) -> bool {
        self.tell();
        self.swollen.get()
    }

    /// What comes now is of this time.
    fn reach(&mut self, at: Instant) {
        if at != self.moment.at {
            self.tell();
            self.moment.at = at;
        }
    }

    /// Tells what there is. It waits here until the page wants more.
    fn tell(&mut self) {
        let Moment { samples, queues, packets, .. } = &self.moment;
        if samples.is_empty() && queues.is_empty() && packets.is_empty() {
            return;
        }
        let moment = Moment {
            at: self.moment.at,
            samples: mem::take(&mut self.moment.samples),
            queues: mem::take(&mut self.moment.queues),
            packets: mem::take(&mut self.moment.packets),
        };
        // A page that is gone is seen by the next look.
        drop(self.told.blocking_send(Fact::Moment(moment)));
    }
}

impl Observer for Watch<'_> {
    fn sample_every(&self) -> Option<Span> {
        Some(self.every)
    }

    fn sample(&mut self, sample: &Sample) {
        self.reach(sample.at);
        self.moment.samples.push(*sample);
    }

    fn wants_queues(&self) -> bool {
        true
    }

    fn queue(&mut self, at: Instant, direction: usize, waiting: ByteCount) {
        if direction < MOST_QUEUES {
            self.reach(at);
            self.moment.queues.push((direction, waiting));
        }
    }

    fn goes_on(&self) -> bool {
        let looks = self.looks.get();
        self.looks.set((looks + 1) % LOOKS);
        if looks == 0 && memory::held() > self.memory {
            self.swollen.set(true);
        }
        !self.swollen.get() && !self.told.is_closed()
    }

    fn wants_packets(&self) -> bool {
        self.window.is_some()
    }

    fn packet(&mut self, at: Instant, channel: usize, packet: &PacketSeen<'_>) {
        let Some(Window { from_s, until_s }) = self.window else { return };
        let seconds = at.as_secs_f64();
        if self.packets < MOST_PACKETS && from_s <= seconds && seconds < until_s {
            self.packets += 1;
            self.moment.packets.push(Packet::of(seconds, channel, packet));
        }
    }
}
