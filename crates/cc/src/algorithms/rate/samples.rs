//! Answers of the recent past, and what follows from a stretch of them.

use std::collections::VecDeque;

use bentpipe_units::{Instant, Span};

/// Answers that are remembered at most, and however old they are.
const MOST: usize = 256;
const LEAST: usize = 8;

/// An answer of the peer to something that was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) sent_at: Instant,
    pub(super) at: Instant,
    pub(super) rtt: Span,
    /// Bytes that had left when it was sent, and those among them of which answers tell.
    pub(super) left: u64,
    pub(super) left_answered: u64,
    /// Bytes known to have arrived and to be lost, of all connections.
    pub(super) arrived: u64,
    pub(super) lost: u64,
}

/// What happened between two answers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    /// Time between the answers, and between what they answer.
    pub(super) answers: f64,
    pub(super) questions: f64,
    /// Bytes a second that left, and that arrived.
    pub(super) sent: f64,
    pub(super) carried: f64,
    /// Share of what left that was lost.
    pub(super) loss: f64,
}

impl Stretch {
    /// Nothing if they are not apart.
    pub(super) fn between(first: &Sample, last: &Sample) -> Option<Self> {
        let answers = last.at.since(first.at).as_secs_f64();
        let questions = last.sent_at.since(first.sent_at).as_secs_f64();
        if answers <= 0.0 || questions <= 0.0 {
            return None;
        }
        let (arrived, lost) = (last.arrived - first.arrived, last.lost - first.lost);
        let loss = lost as f64 / ((arrived + lost).max(1)) as f64;
        let left = last.left.saturating_sub(first.left) as f64;
        let carried = left * (1.0 - loss) / answers;
        Some(Self { answers, questions, sent: left / questions, carried, loss })
    }

    /// By how much round trips grew in each second.
    pub(super) fn growth(&self) -> f64 {
        1.0 - self.questions / self.answers
    }
}

/// The answers of the last round trip or so.
#[derive(Debug, Default)]
pub(super) struct Samples {
    list: VecDeque<Sample>,
}

impl Samples {
    /// Another answer. Those that came before `since` are forgotten but for a few.
    pub(super) fn add(&mut self, sample: Sample, since: Instant) {
        let is_old = |list: &VecDeque<Sample>| {
            list.len() > LEAST && list.get(1).is_some_and(|next| next.at <= since)
        };
        while is_old(&self.list) || self.list.len() >= MOST {
            self.list.pop_front();
        }
        self.list.push_back(sample);
    }

    /// So much is known to be lost: what is told with the newest answer belongs to it.
    pub(super) fn lost(&mut self, now: Instant, lost: u64) {
        if let Some(newest) = self.list.back_mut().filter(|newest| newest.at == now) {
            newest.lost = lost;
        }
    }

    pub(super) fn clear(&mut self) {
        self.list.clear();
    }

    pub(super) fn newest(&self) -> Option<&Sample> {
        self.list.back()
    }

    /// The last answers that take at least so long and are at least so many; nothing if there are not.
    pub(super) fn last(&self, span: Span, least: usize) -> Option<Window<'_>> {
        let newest = self.list.back()?;
        let early = self.list.iter().rposition(|s| newest.at.since(s.at) >= span)?;
        let first = early.min(self.list.len().checked_sub(least)?);
        Some(Window { list: &self.list, first })
    }
}

/// Some of the last answers.
#[derive(Debug)]
pub(super) struct Window<'a> {
    list: &'a VecDeque<Sample>,
    first: usize,
}

impl Window<'_> {
    fn samples(&self) -> impl Iterator<Item = &Sample> {
        self.list.range(self.first..)
    }

    /// What happened from the first to the last of them.
    pub(super) fn stretch(&self) -> Option<Stretch> {
        Stretch::between(self.list.get(self.first)?, self.list.back()?)
    }

    /// Whether some of what they answer was sent before a time and some later.
    pub(super) fn contains(&self, at: Instant) -> bool {
        let first = self.list.get(self.first).is_some_and(|first| first.sent_at < at);
        first && self.list.back().is_some_and(|last| last.sent_at > at)
    }

    /// The smallest round trip.
    pub(super) fn smallest(&self) -> Span {
        self.samples().map(|sample| sample.rtt).min().unwrap_or(Span::ZERO)
    }

    /// By how much round trips grew, and how much of that is left without the largest step: a path that
    /// becomes longer makes one step, a queue grows all the time.
    pub(super) fn growth(&self) -> (Span, Span) {
        let mut before: Option<Span> = None;
        let mut step = Span::ZERO;
        for sample in self.samples() {
            step = step.max(before.map_or(Span::ZERO, |rtt| sample.rtt.saturating_sub(rtt)));
            before = Some(sample.rtt);
        }
        let first = self.list.get(self.first).map_or(Span::ZERO, |sample| sample.rtt);
        let growth = before.unwrap_or(first).saturating_sub(first);
        (growth, growth.saturating_sub(step))
    }
}
