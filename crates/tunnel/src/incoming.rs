//! The receiver's part: what comes by all paths is handed over in the order of its flow.

use std::collections::VecDeque;

use bentpipe_units::{Instant, Span};

use crate::bounds::Bounds;
use crate::labels::Heard;
use crate::message::{PATH_BITS, Packet, Parity, Report};
use crate::order::Order;
use crate::path_receiver::{Debt, PathReceiver};
use crate::record::{Datagram, Record};

/// What a run sent that is over may be late by so much; so many of them are known.
const OVER: Span = Span::from_secs(30);
const RUNS: usize = 8;

/// What has arrived.
#[derive(Debug)]
pub(crate) struct Incoming {
    /// The run of the peer that is heard, without the path; none before anything came.
    run: Option<u16>,
    /// Those that are over, and since when.
    over: VecDeque<(u16, Instant)>,
    /// Those paths by which something came.
    paths: Vec<PathReceiver>,
    order: Order,
    labels: Heard,
    debt: Debt,
    /// Bytes that all paths may keep.
    most: usize,
    /// What runs before have recovered.
    recovered: u64,
}

impl Incoming {
    /// Nothing came.
    pub(crate) fn new(bounds: &Bounds) -> Self {
        Self {
            run: None,
            over: VecDeque::new(),
            paths: Vec::new(),
            order: Order::new(bounds.unordered),
            labels: Heard::default(),
            debt: Debt::default(),
            most: bounds.came,
            recovered: 0,
        }
    }

    /// A packet came.
    pub(crate) fn handle_packet(&mut self, now: Instant, packet: &Packet, marked: bool) {
        let Some(path) = self.path(now, packet.run) else { return };
        let complete = self.paths[path].handle_packet(now, packet, marked, &mut self.debt);
        self.arrived(now, complete);
    }

    /// Parity came.
    pub(crate) fn handle_parity(&mut self, now: Instant, parity: Parity) {
        let Some(path) = self.path(now, parity.run) else { return };
        let complete = self.paths[path].handle_parity(now, parity, &mut self.debt);
        self.arrived(now, complete);
    }

    /// The place of the path that a run names; none where the run is over.
    fn path(&mut self, now: Instant, run: u16) -> Option<usize> {
        let whole = run & !PATH_BITS;
        if self.run != Some(whole) {
            self.over.retain(|(_, since)| now.since(*since) < OVER);
            if self.over.iter().any(|(run, _)| *run == whole) {
                return None;
            }
            // The peer begins anew, and at zero.
            self.over.extend(self.run.replace(whole).map(|run| (run, now)));
            self.over.drain(..self.over.len().saturating_sub(RUNS));
            self.recovered = self.recovered();
            self.paths.clear();
            self.order.begin_anew();
            self.labels = Heard::default();
        }
        let known = self.paths.iter().position(|path| path.run() == run);
        Some(known.unwrap_or_else(|| {
            let most = self.most / (self.paths.len() + 1);
            self.paths.iter_mut().for_each(|path| path.limit(most));
            self.paths.push(PathReceiver::new(run, most));
            self.paths.len() - 1
        }))
    }

    /// These are complete. Whatever path brought them, others of their flows may come by the slowest one.
    fn arrived(&mut self, now: Instant, records: Vec<Record>) {
        let hold = self.paths.iter().filter_map(PathReceiver::hold).max().unwrap_or(Span::ZERO);
        for mut record in records {
            let Datagram { flow, label, .. } = &mut record.datagram;
            *label = match record.digest {
                None => self.labels.hear(*flow, label),
                Some(digest) => self.labels.of(*flow, digest),
            };
            self.order.arrived(now, hold, record);
        }
    }

    /// The next datagram for the application.
    pub(crate) fn pop(&mut self) -> Option<Datagram> {
        self.order.pop()
    }

    /// Packets that were made of parity.
    pub(crate) fn recovered(&self) -> u64 {
        self.recovered + self.paths.iter().map(PathReceiver::recovered).sum::<u64>()
    }

    /// What to tell the sender now.
    pub(crate) fn report(&mut self, now: Instant) -> Option<Report> {
        self.paths.iter_mut().find_map(|path| path.report(now))
    }

    /// When there is something to do without anything that comes.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let paths = self.paths.iter().map(PathReceiver::deadline);
        paths.fold(self.order.due(), Instant::earliest)
    }

    /// The time passes.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.order.handle_timeout(now);
        self.paths.iter_mut().for_each(|path| path.handle_timeout(now));
    }
}
