//! Careful resume: a window jumps to what is known of the path, and falls back if the path does not carry it
//! (draft-ietf-tsvwg-careful-resume).
//!
//! What was measured on the path itself, a while ago or since somebody began, is known: the window jumps at once. What
//! traffic of a session before came to is remembered, and may be of another path: the first acknowledgement has to come without a
//! loss and after a round trip like that of then (the draft's reconnaissance), and the window jumps to half of it.
//!
//! A jump is not validated before it is known of a whole window what arrived of it. A loss until then decides
//! nothing by itself, as one of the first packets may be a bit error: how many there are does.

use bentpipe_units::{BitRate, ByteCount, Instant, OneWayDelay, Span};

/// What was measured longer ago says nothing of the path of now.
const VALID: Span = Span::from_secs(3_600);
/// The controller knows better than what was measured before for so long after congestion.
const CONGESTED: Span = Span::from_secs(10);
/// Sixteenths of the product: the path shall not run dry between two reports.
const SPARE: u64 = 17;
/// A jump is validated by what was sent in so many round trips, or by a whole window if that is known sooner.
const TRIPS: u64 = 2;
/// A jump is too far if more than one byte in so many is lost.
const TOO_MANY: u64 = 3;
/// Of so much of the window what became of it is known before so many losses decide: they come in bursts.
const PART: u64 = 2;
/// What is left of what arrived when a jump turns out to be too far, and the threshold then.
const RETREAT: f64 = 0.5;
const THRESHOLD: f64 = 0.7;
/// A remembered path is another one where the round trip is less than this part of what it was, or more than so many times as long.
const SHORTER: u64 = 2;
const LONGER: u64 = 10;
/// The window jumps to this part of what a remembered path carried.
const REMEMBERED: u64 = 2;

/// What a path was found to carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownPath {
    /// What all connections together may send.
    pub rate: BitRate,
    /// The round trip without a queue.
    pub round_trip: Span,
    /// It may carry more.
    pub at_least: bool,
    /// When that was, and how long the way back was then, as [`PathView::return_delay`](crate::PathView::return_delay) has it.
    pub return_delay: Option<(Instant, OneWayDelay)>,
}

impl KnownPath {
    /// Whether a round trip may be one of this path.
    fn is_like(self, round_trip: Span) -> bool {
        let (least, most) = (self.round_trip / SHORTER, self.round_trip * LONGER);
        (least..=most).contains(&round_trip)
    }

    /// What is under way when the path is full and its queue nearly empty.
    fn product(self) -> ByteCount {
        self.rate.bytes_in(self.round_trip.mul_div(SPARE, 16))
    }
}

/// What is known, and the jump that it led to.
#[derive(Debug, Default)]
pub(super) struct Resume {
    known: Option<(Instant, KnownPath)>,
    /// It was found out after somebody began.
    is_news: bool,
    remembered: Option<KnownPath>,
    /// Somebody began, and a jump to half of what is remembered waits for the first acknowledgement.
    is_waiting: bool,
    jump: Option<Jump>,
    congested: Option<Instant>,
}

/// A jump that is not validated yet.
#[derive(Clone, Copy, Debug)]
struct Jump {
    began: Instant,
    window: ByteCount,
    /// What had been delivered before.
    before: ByteCount,
    lost: ByteCount,
    /// All of it is known that will be.
    is_over: bool,
}

/// A window to jump or to retreat to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) window: ByteCount,
    pub(super) ssthresh: Option<ByteCount>,
}

impl Resume {
    /// The path was found to carry this.
    pub(super) const fn know(&mut self, now: Instant, path: KnownPath) {
        self.known = Some((now, path));
        self.is_news = true;
    }

    /// The path carried this in another session, or before a pause.
    pub(super) const fn remember(&mut self, path: KnownPath) {
        self.remembered = Some(path);
    }

    /// The controller answered congestion.
    pub(super) const fn congested(&mut self, now: Instant) {
        self.congested = Some(now);
    }

    /// What is known, if it is not too old.
    pub(super) fn known(&mut self, now: Instant) -> Option<KnownPath> {
        self.known = self.known.filter(|(at, _)| now.since(*at) <= VALID);
        self.known.map(|(_, path)| path)
    }

    /// Somebody begins to send, and nobody did: where the window jumps if that is more than `window`.
    pub(super) fn begin(
        &mut self,
        now: Instant,
        window: ByteCount,
        delivered: ByteCount,
    ) -> Option<Target> {
        (self.jump, self.is_news) = (None, false);
        let knows_better = self.knows_better(now);
        let known = self.known(now);
        // That a path carries so much at least says nothing against more.
        let is_open = known.is_none_or(|known| known.at_least);
        self.is_waiting = is_open && self.remembered.is_some() && !knows_better;
        let path = known.filter(|_| !knows_better)?;
        // Where the path may carry more, slow start goes on.
        let ssthresh = (!path.at_least).then_some(path.product());
        self.jump_to(now, Target { window: path.product(), ssthresh }, window, delivered)
    }

    /// Whether something was found out since somebody began, and since this was asked.
    pub(super) const fn take_news(&mut self) -> bool {
        std::mem::replace(&mut self.is_news, false)
    }

    /// What a path carries was found out while somebody sends: where the window jumps. Where it may carry more, or was not measured
    /// exactly, that is half of it.
    pub(super) fn learned(
        &mut self,
        now: Instant,
        window: ByteCount,
        delivered: ByteCount,
    ) -> Option<Target> {
        let path = self.known(now).filter(|_| !self.knows_better(now))?;
        let product = path.product();
        let target = match path.at_least {
            true => Target { window: ByteCount::new(product.get() / REMEMBERED), ssthresh: None },
            false => Target { window: product, ssthresh: Some(product) },
        };
        self.jump_to(now, target, window, delivered)
    }

    /// The controller has answered congestion of late.
    fn knows_better(&self, now: Instant) -> bool {
        self.congested.is_some_and(|at| now.since(at) < CONGESTED)
    }

    /// The window jumps if that makes it larger.
    fn jump_to(
        &mut self,
        now: Instant,
        target: Target,
        window: ByteCount,
        before: ByteCount,
    ) -> Option<Target> {
        if target.window <= window {
            return None;
        }
        let lost = ByteCount::ZERO;
        self.jump = Some(Jump { began: now, window: target.window, before, lost, is_over: false });
        Some(target)
    }

    /// Something arrived after somebody began: where the window jumps if the path is like that of which something is remembered.
    pub(super) fn confirmed(
        &mut self,
        now: Instant,
        round_trip: Span,
        window: ByteCount,
        delivered: ByteCount,
    ) -> Option<Target> {
        let is_known = self.known(now).is_some_and(|known| !known.at_least);
        if !std::mem::take(&mut self.is_waiting) || is_known {
            return None;
        }
        // What is remembered counts once: what comes of it is seen.
        let path = self.remembered.take().filter(|path| path.is_like(round_trip))?;
        let part = ByteCount::new(path.product().get() / REMEMBERED);
        self.jump_to(now, Target { window: part, ssthresh: None }, window, delivered)
    }

    /// So much has been delivered by now, and what was sent until then. Where to retreat if that shows that a jump was too
    /// far, not below a first window of `init`; what was known is forgotten then.
    pub(super) fn delivered(
        &mut self,
        init: ByteCount,
        sent: Instant,
        round_trip: Span,
        delivered: ByteCount,
    ) -> Option<Target> {
        let jump = self.jump.as_mut()?;
        let (lost, pipe) = (jump.lost.get(), delivered.get().saturating_sub(jump.before.get()));
        let is_refuted = lost.saturating_mul(TOO_MANY) > lost + pipe;
        // Who opens a connection has little to send in the first round trip.
        let is_over = lost + pipe >= jump.window.get() || sent >= jump.began + round_trip * TRIPS;
        let too_many = is_refuted && (lost + pipe).saturating_mul(PART) >= jump.window.get();
        // A report tells first what arrived and then what is missing: the next one judges.
        let was_over = std::mem::replace(&mut jump.is_over, is_over);
        if !was_over && !too_many {
            return None;
        }
        self.jump = None;
        if !is_refuted {
            return None;
        }
        self.known = None;
        let part = |share: f64| ByteCount::new((pipe as f64 * share) as u64).max(init);
        Some(Target { window: part(RETREAT), ssthresh: Some(part(THRESHOLD)) })
    }

    /// So much was lost. True if that decides nothing yet.
    pub(super) fn absorbs_loss(&mut self, bytes: ByteCount) -> bool {
        self.is_waiting = false;
        let Some(jump) = &mut self.jump else { return false };
        jump.lost += bytes;
        true
    }

    /// Nothing came back for so long that a jump makes no difference any more.
    pub(super) const fn give_up(&mut self) {
        (self.jump, self.is_waiting) = (None, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: KnownPath = KnownPath {
        rate: BitRate::from_bps(8_000_000),
        round_trip: Span::from_millis(600),
        at_least: false,
        return_delay: None,
    };

    const INIT: ByteCount = ByteCount::new(14_400);

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Span::from_secs(seconds)
    }

    fn bytes(n: u64) -> ByteCount {
        ByteCount::new(n)
    }

    fn known() -> Resume {
        let mut resume = Resume::default();
        resume.know(at(0), PATH);
        resume
    }

    #[test]
    fn a_window_jumps_to_the_product_unless_it_is_larger_or_the_knowledge_old() {
        assert_eq!(Resume::default().begin(at(0), bytes(1), bytes(0)), None);
        let target = Target { window: bytes(637_500), ssthresh: Some(bytes(637_500)) };
        assert_eq!(known().begin(at(3_600), bytes(14_400), bytes(0)), Some(target));
        let open = KnownPath { at_least: true, ..PATH };
        let mut resume = Resume::default();
        resume.know(at(0), open);
        let target = Target { ssthresh: None, ..target };
        assert_eq!(
            resume.begin(at(0), bytes(14_400), bytes(0)),
            Some(target),
            "slow start goes on"
        );
        assert_eq!(known().begin(at(3_601), bytes(14_400), bytes(0)), None);
        assert_eq!(known().begin(at(1), bytes(637_500), bytes(0)), None);
    }

    /// A jump, of which so much arrived and so much was lost.
    fn judged(arrived: u64, lost: u64) -> (Option<Target>, bool) {
        let (mut resume, trip) = (known(), PATH.round_trip);
        resume.begin(at(1), bytes(14_400), bytes(7_000));
        assert_eq!(resume.delivered(INIT, at(1), trip, bytes(8_000)), None);
        assert!(resume.absorbs_loss(bytes(lost)));
        let later = at(1) + trip * TRIPS;
        let first = resume.delivered(INIT, later, trip, bytes(7_000 + arrived));
        let retreat = first.or_else(|| resume.delivered(INIT, later, trip, bytes(7_000 + arrived)));
        assert!(!resume.absorbs_loss(bytes(1)), "it is over");
        (retreat, resume.begin(at(9), bytes(14_400), bytes(0)).is_some())
    }

    #[test]
    fn a_jump_is_judged_when_all_of_it_is_known_or_too_much_is_lost() {
        let trip = PATH.round_trip;
        let mut resume = known();
        resume.begin(at(1), bytes(14_400), bytes(0));
        assert!(resume.absorbs_loss(bytes(100_000)));
        assert_eq!(
            resume.delivered(INIT, at(1), trip, bytes(180_000)),
            None,
            "a part of the window"
        );
        assert!(resume.absorbs_loss(bytes(100_000)));
        assert!(resume.delivered(INIT, at(1), trip, bytes(180_000)).is_some());
        let mut resume = known();
        resume.begin(at(1), bytes(14_400), bytes(0));
        assert_eq!(resume.delivered(INIT, at(1), trip, bytes(637_500)), None);
        assert_eq!(resume.delivered(INIT, at(1), trip, bytes(638_000)), None);
        assert!(!resume.absorbs_loss(bytes(1)), "a whole window arrived");
    }

    #[test]
    fn a_jump_of_which_a_few_packets_are_lost_is_validated() {
        assert_eq!(judged(600_000, 0), (None, true));
        assert_eq!(judged(480_000, 120_000), (None, true));
    }

    #[test]
    fn a_jump_of_which_many_are_lost_leaves_half_of_what_arrived_and_what_was_known_is_forgotten() {
        let retreat = Target { window: bytes(50_000), ssthresh: Some(bytes(70_000)) };
        assert_eq!(judged(100_000, 500_000), (Some(retreat), false));
        let retreat = Target { window: INIT, ssthresh: Some(INIT) };
        assert_eq!(judged(2_000, 500_000), (Some(retreat), false), "a first window");
    }

    #[test]
    fn nothing_jumps_for_ten_seconds_after_congestion() {
        let mut resume = known();
        resume.congested(at(20));
        assert_eq!(resume.begin(at(29), bytes(14_400), bytes(0)), None);
        assert!(resume.begin(at(30), bytes(14_400), bytes(0)).is_some());
    }

    #[test]
    fn without_a_jump_a_loss_is_one_as_always() {
        let mut resume = known();
        assert!(!resume.absorbs_loss(bytes(1)));
        resume.begin(at(1), bytes(14_400), bytes(0));
        resume.give_up();
        assert!(!resume.absorbs_loss(bytes(1)));
    }
}
