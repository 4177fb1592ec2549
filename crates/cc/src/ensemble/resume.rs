//! Careful resume: a window jumps to what is known of the path, and falls back if the path does not carry it
//! (draft-ietf-tsvwg-careful-resume).
//!
//! What is known was measured on the path itself a while ago, with nobody waiting for it: that is the draft's
//! reconnaissance. A jump is not validated before as much as it allowed has arrived.

use bentpipe_units::{BitRate, ByteCount, Instant, Span};

/// What was measured longer ago says nothing of the path of now.
const VALID: Span = Span::from_secs(3_600);
/// What is left of what arrived when a jump turns out to be too far, and the threshold then.
const RETREAT: f64 = 0.5;
const THRESHOLD: f64 = 0.7;

/// What a path was found to carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownPath {
    /// Payload of all connections together.
    pub rate: BitRate,
    /// The round trip without a queue.
    pub round_trip: Span,
}

impl KnownPath {
    /// What is under way when the path is full and its queue empty.
    fn product(self) -> ByteCount {
        self.rate.bytes_in(self.round_trip)
    }
}

/// What is known, and the jump that it led to.
#[derive(Debug, Default)]
pub(super) struct Resume {
    known: Option<(Instant, KnownPath)>,
    jump: Option<Jump>,
}

/// A jump that is not validated yet.
#[derive(Clone, Copy, Debug)]
struct Jump {
    window: ByteCount,
    /// What had been delivered before.
    before: ByteCount,
}

/// A window and a threshold to retreat to, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Retreat {
    pub(super) window: ByteCount,
    pub(super) ssthresh: ByteCount,
}

impl Resume {
    /// The path was found to carry this.
    pub(super) const fn know(&mut self, now: Instant, path: KnownPath) {
        self.known = Some((now, path));
    }

    /// Somebody begins to send, and nobody did: the window to jump to if that is more than `window`.
    pub(super) fn begin(
        &mut self,
        now: Instant,
        window: ByteCount,
        delivered: ByteCount,
    ) -> Option<ByteCount> {
        self.jump = None;
        let (at, path) = self.known?;
        if now.since(at) > VALID || path.product() <= window {
            return None;
        }
        self.jump = Some(Jump { window: path.product(), before: delivered });
        self.jump.map(|jump| jump.window)
    }

    /// So much has been delivered by now: the jump is validated when it is as much as it allowed.
    pub(super) fn delivered(&mut self, delivered: ByteCount) {
        let is_done = |jump: &Jump| delivered >= jump.before + jump.window;
        self.jump = self.jump.filter(|jump| !is_done(jump));
    }

    /// Something was lost to a queue. Where to retreat if that happened behind a jump; what was known is forgotten then.
    pub(super) fn lost(&mut self, delivered: ByteCount) -> Option<Retreat> {
        let jump = self.jump.take()?;
        self.known = None;
        let pipe = delivered.get().saturating_sub(jump.before.get()) as f64;
        let part = |share: f64| ByteCount::new((pipe * share) as u64);
        Some(Retreat { window: part(RETREAT), ssthresh: part(THRESHOLD) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: KnownPath =
        KnownPath { rate: BitRate::from_bps(8_000_000), round_trip: Span::from_millis(600) };

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
        assert_eq!(known().begin(at(3_600), bytes(14_400), bytes(0)), Some(bytes(600_000)));
        assert_eq!(known().begin(at(3_601), bytes(14_400), bytes(0)), None);
        assert_eq!(known().begin(at(1), bytes(600_000), bytes(0)), None);
    }

    #[test]
    fn a_loss_behind_a_jump_leaves_half_of_what_arrived_and_what_was_known_is_forgotten() {
        let mut resume = known();
        resume.begin(at(1), bytes(14_400), bytes(7_000));
        resume.delivered(bytes(107_000));
        let retreat = Retreat { window: bytes(50_000), ssthresh: bytes(70_000) };
        assert_eq!(resume.lost(bytes(107_000)), Some(retreat));
        assert_eq!(resume.lost(bytes(107_000)), None, "once");
        assert_eq!(resume.begin(at(2), bytes(14_400), bytes(107_000)), None);
    }

    #[test]
    fn once_as_much_arrived_as_the_jump_allowed_a_loss_is_one_as_always() {
        let mut resume = known();
        resume.begin(at(1), bytes(14_400), bytes(7_000));
        resume.delivered(bytes(606_999));
        resume.delivered(bytes(607_000));
        assert_eq!(resume.lost(bytes(700_000)), None);
        assert!(resume.begin(at(2), bytes(14_400), bytes(700_000)).is_some(), "it is still known");
    }
}
