//! Models one after another.

use std::mem;

use bentpipe_units::{ByteCount, Instant};

use crate::queue::Backlog;
use crate::{Delay, Fate, Model, Passing, QueueLimit, RateQueue};

/// Models that a packet passes one after another. An empty series passes everything at once.
#[derive(Debug)]
pub struct Series(Shape);

/// What nearly every link consists of is called without a detour.
#[derive(Debug)]
enum Shape {
    /// A transmitter and the way behind it: a plain line.
    Line(RateQueue, Delay),
    /// A transmitter alone.
    Rate(RateQueue),
    Several(Vec<Stage>),
}

/// One model of several.
#[derive(Debug)]
enum Stage {
    Rate(RateQueue),
    Delay(Delay),
    Other(Box<dyn Model>),
}

impl Stage {
    #[inline]
    fn pass(&mut self, at: Instant, packet: &Passing) -> Fate {
        match self {
            Self::Rate(model) => model.pass(at, packet),
            Self::Delay(model) => model.pass(at, packet),
            Self::Other(model) => model.pass(at, packet),
        }
    }
}

impl Default for Series {
    fn default() -> Self {
        Self(Shape::Several(Vec::new()))
    }
}

impl Series {
    /// A series of `models`, the first one nearest to the sender.
    pub fn new(models: Vec<Box<dyn Model>>) -> Self {
        Self(Shape::Several(models.into_iter().map(Stage::Other).collect()))
    }

    /// What waits at `now` in the transmitter that comes first, and how much may; `None` when another
    /// model comes first.
    pub fn waiting(&self, now: Instant) -> Option<(Backlog, QueueLimit)> {
        match &self.0 {
            Shape::Line(rate, _) | Shape::Rate(rate) => Some(rate.waiting(now)),
            Shape::Several(stages) => match stages.first()? {
                Stage::Rate(rate) => Some(rate.waiting(now)),
                Stage::Delay(_) | Stage::Other(_) => None,
            },
        }
    }

    /// The bytes that stand before the first transmitter at `now`, as [`RateQueue::standing`] tells them; `None` where there is
    /// none.
    pub fn standing(&mut self, now: Instant) -> Option<ByteCount> {
        match &mut self.0 {
            Shape::Line(rate, _) | Shape::Rate(rate) => Some(rate.standing(now)),
            Shape::Several(stages) => stages.iter_mut().find_map(|stage| match stage {
                Stage::Rate(rate) => Some(rate.standing(now)),
                Stage::Delay(_) | Stage::Other(_) => None,
            }),
        }
    }

    /// Puts a model behind the others, further from the sender.
    pub fn push(&mut self, model: impl Model + 'static) {
        self.push_boxed(Box::new(model));
    }

    /// The same for a model whose kind is not known here.
    pub(crate) fn push_boxed(&mut self, model: Box<dyn Model>) {
        self.push_stage(Stage::Other(model));
    }

    /// Puts a transmitter behind the others.
    pub fn push_rate(&mut self, model: RateQueue) {
        match &self.0 {
            Shape::Several(stages) if stages.is_empty() => self.0 = Shape::Rate(model),
            _ => self.push_stage(Stage::Rate(model)),
        }
    }

    /// Puts a delay behind the others.
    pub fn push_delay(&mut self, model: Delay) {
        match mem::take(self).0 {
            Shape::Rate(rate) => self.0 = Shape::Line(rate, model),
            shape => {
                self.0 = shape;
                self.push_stage(Stage::Delay(model));
            }
        }
    }

    /// When a packet of so many bytes leaves that enters at `at`, where there is nothing but a transmitter and the way
    /// behind it. `None` when there is more, or no room in the queue: then [`Model::pass`] says what becomes of it.
    #[inline(always)]
    pub fn pass_line(&mut self, at: Instant, bytes: ByteCount) -> Option<Instant> {
        let Shape::Line(rate, delay) = &mut self.0 else { return None };
        rate.take(at, bytes).map(|at| delay.leaves(at))
    }

    fn push_stage(&mut self, stage: Stage) {
        let mut stages = match mem::take(self).0 {
            Shape::Line(rate, delay) => vec![Stage::Rate(rate), Stage::Delay(delay)],
            Shape::Rate(rate) => vec![Stage::Rate(rate)],
            Shape::Several(stages) => stages,
        };
        stages.push(stage);
        self.0 = Shape::Several(stages);
    }
}

/// Asks one model after another.
#[inline(never)]
fn pass_all(stages: &mut [Stage], at: Instant, packet: &Passing) -> Fate {
    let mut fate = Fate::Leaves(at);
    for stage in stages {
        fate = match fate {
            Fate::Leaves(at) => stage.pass(at, packet),
            Fate::LeavesCorrupt(at) => match stage.pass(at, packet) {
                Fate::Leaves(leaves) => Fate::LeavesCorrupt(leaves),
                other => other,
            },
            lost @ Fate::Lost(_) => return lost,
        };
    }
    fate
}

impl Model for Series {
    #[inline(always)]
    fn pass(&mut self, at: Instant, packet: &Passing) -> Fate {
        match &mut self.0 {
            Shape::Line(rate, delay) => match rate.pass(at, packet) {
                Fate::Leaves(at) => delay.pass(at, packet),
                lost => lost,
            },
            Shape::Rate(rate) => rate.pass(at, packet),
            Shape::Several(stages) => pass_all(stages, at, packet),
        }
    }

    fn forget_before(&mut self, now: Instant) {
        // What a line does next depends on nothing that could be forgotten.
        let Shape::Several(stages) = &mut self.0 else { return };
        for stage in stages {
            if let Stage::Other(model) = stage {
                model.forget_before(now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::{BitRate, Span};
    use bentpipe_wire::Kind;

    use super::*;
    use crate::{BitErrors, Blackout, LossCause, QueueLimit, RandomLoss, Stream, Streams};

    const PACKET: Passing = Passing { bytes: ByteCount::new(1000), kind: Kind::DATA };

    fn millis(n: u64) -> Instant {
        Instant::ZERO + Span::from_millis(n)
    }

    fn stream() -> Stream {
        Streams::new(1).stream("series")
    }

    #[test]
    fn what_passes_a_line_does_so_as_it_passes_any_series() {
        let limit = QueueLimit::Packets(2);
        let series = |delays: &[u64]| {
            let mut series = Series::default();
            series.push_rate(RateQueue::new(BitRate::from_bps(8_000_000), limit));
            delays.iter().for_each(|ms| series.push_delay(Delay::new(Span::from_millis(*ms))));
            series
        };
        for delays in [&[][..], &[5], &[5, 6]] {
            let (mut line, mut any) = (series(delays), series(delays));
            let (mut passed, mut lost) = (0, 0);
            for n in 0..3_000u64 {
                // 1.0 to 1.4 ms on the line, one each 1.2 ms.
                let bytes = ByteCount::new(1_000 + n * 7 % 401);
                let at = Instant::ZERO + Span::from_micros(1_200 * n);
                let packet = Passing { bytes, kind: Kind::DATA };
                let fate = match line.pass_line(at, bytes) {
                    Some(leaves) => {
                        passed += 1;
                        Fate::Leaves(leaves)
                    }
                    None => line.pass(at, &packet),
                };
                assert_eq!(fate, any.pass(at, &packet));
                lost += u32::from(fate == Fate::Lost(LossCause::QueueFull));
            }
            assert_eq!(passed > 2_500, delays.len() == 1);
            assert!(lost > 0, "the queue was full now and then");
        }
    }

    #[test]
    fn an_empty_series_passes_at_once() {
        assert_eq!(Series::default().pass(millis(7), &PACKET), Fate::Leaves(millis(7)));
    }

    #[test]
    fn each_model_is_asked_when_the_one_before_it_is_done() {
        let rate = RateQueue::new(BitRate::from_bps(1_000_000), QueueLimit::Unlimited);
        let delay = Delay::new(Span::from_millis(250));
        // The link is down from 262 to 270 ms at its far end, which hits the second packet.
        let blackout = Blackout::scripted(vec![(millis(262), Span::from_millis(8))]);
        let mut series = Series::new(vec![Box::new(rate), Box::new(delay), Box::new(blackout)]);
        assert_eq!(series.pass(millis(0), &PACKET), Fate::Leaves(millis(258)));
        assert_eq!(series.pass(millis(0), &PACKET), Fate::Lost(LossCause::Blackout));
        assert_eq!(series.pass(millis(0), &PACKET), Fate::Leaves(millis(274)));
    }

    #[test]
    fn what_is_corrupt_stays_corrupt_and_still_takes_its_time() {
        let errors = BitErrors::new(1.0, stream());
        let delay = Delay::new(Span::from_millis(5));
        let mut series = Series::new(vec![Box::new(errors), Box::new(delay.clone())]);
        assert_eq!(series.pass(millis(1), &PACKET), Fate::LeavesCorrupt(millis(6)));
        let inner: Box<dyn Model> = Box::new(series);
        let mut nested = Series::new(vec![inner, Box::new(delay)]);
        assert_eq!(nested.pass(millis(1), &PACKET), Fate::LeavesCorrupt(millis(11)));
    }

    #[test]
    fn what_is_lost_never_reaches_the_next_model() {
        let loss = RandomLoss::new(1.0, stream());
        let rate = RateQueue::new(BitRate::from_bps(1), QueueLimit::Packets(0));
        let mut series = Series::new(vec![Box::new(loss), Box::new(rate)]);
        for _ in 0..3 {
            assert_eq!(series.pass(millis(0), &PACKET), Fate::Lost(LossCause::Random));
        }
    }

    #[test]
    fn forgetting_reaches_every_model() {
        #[derive(Debug)]
        struct Asserts(Instant);
        impl Model for Asserts {
            fn pass(&mut self, _at: Instant, _packet: &Passing) -> Fate {
                Fate::Leaves(self.0)
            }
            fn forget_before(&mut self, now: Instant) {
                self.0 = now;
            }
        }
        let inner = Series::new(vec![Box::new(Asserts(millis(0)))]);
        let mut series = Series::new(vec![Box::new(Delay::new(Span::ZERO)), Box::new(inner)]);
        series.forget_before(millis(9));
        assert_eq!(series.pass(millis(0), &PACKET), Fate::Leaves(millis(9)));
    }
}
