//! What is lost and retransmitted: the mode of recovery, and the retransmissions that leave whatever the window says.

use bentpipe_units::Instant;

use super::Config;
use super::recovery::{
    AckSeen, AnyRecovery, Delivered, Departed, Found, Mode, Options, Path, Recovery, Scoreboard,
    Sent,
};
use super::reduction::{Heard, Reduction};

/// The retransmissions of one sender.
#[derive(Debug)]
pub(super) struct Retransmissions {
    mode: Mode,
    recovery: AnyRecovery,
    /// The window is being reduced step by step.
    reduction: Option<Reduction>,
    /// Retransmissions that leave whatever the window says.
    forced: u32,
    /// Copies of the oldest segment that are still to leave after a timeout.
    copies: u32,
    /// Bytes that duplicates reported before the cumulative acknowledgement could (without SACK).
    counted: u64,
}

impl Retransmissions {
    /// The mode that is configured, before anything is agreed.
    pub(super) fn new(config: &Config) -> Self {
        let recovery = config.recovery.build(options(config));
        Self { mode: config.recovery, recovery, reduction: None, forced: 0, copies: 0, counted: 0 }
    }

    /// The mode that is possible with a peer that reports selectively or does not, by SNACKs or not.
    pub(super) fn agree(&mut self, config: &Config, reports: bool, snacks: bool) {
        self.mode = config.recovery.with_peer(reports, snacks);
        self.recovery = self.mode.build(options(config));
    }

    /// The mode looks at selective reports.
    pub(super) const fn reads_reports(&self) -> bool {
        self.mode.reads_reports()
    }

    /// By how much the timeout may grow; `None` for as much as the configuration allows.
    pub(super) const fn max_backoff(&self) -> Option<u32> {
        self.mode.max_backoff()
    }

    /// Bytes that count against the window.
    #[inline(always)]
    pub(super) fn in_flight(&self, board: &Scoreboard, mss: u64) -> u64 {
        self.recovery.in_flight(board, mss)
    }

    /// How much may be under way where the controller's window is `cwnd` bytes.
    #[inline(always)]
    pub(super) fn window(&self, cwnd: u64) -> u64 {
        match &self.reduction {
            Some(reduction) => reduction.window(),
            None => self.recovery.window(cwnd),
        }
    }

    /// The window comes down from one size to another while what is under way arrives. Other modes than RACK have rules
    /// of their own for what leaves meanwhile.
    pub(super) fn reduce(&mut self, before: u64, target: u64, board: &Scoreboard, mss: u64) {
        if self.mode != Mode::Rack {
            return;
        }
        let in_flight = self.recovery.in_flight(board, mss);
        self.reduction = Some(Reduction::new(before, target, board.next(), in_flight));
    }

    /// What an acknowledgement brings counts for the window that is being reduced.
    #[inline]
    pub(super) fn follow_reduction(&mut self, board: &Scoreboard, heard: &Heard) {
        let Some(reduction) = &mut self.reduction else { return };
        if reduction.is_over(board.una()) {
            self.reduction = None;
        } else {
            reduction.hear(self.recovery.in_flight(board, heard.mss), heard);
        }
    }

    /// Nothing is being repaired, nor is it the time after a timeout.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.recovery.is_open()
    }

    /// A timeout begins an episode of its own.
    pub(super) fn timeout_begins_episode(&self) -> bool {
        self.mode != Mode::Rack || !self.recovery.is_active()
    }

    /// New data leave before retransmissions, if there are any.
    #[inline]
    pub(super) fn prefers_new(&self) -> bool {
        self.recovery.prefers_new()
    }

    /// The last episode was a mistake.
    pub(super) fn undone(&mut self, board: &Scoreboard) {
        self.reduction = None;
        self.recovery.undone(board);
    }

    /// When losses are looked for again.
    #[inline]
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.recovery.deadline()
    }

    /// The time of [`Retransmissions::deadline`] has come.
    pub(super) fn on_timer(&mut self, board: &mut Scoreboard, path: &Path) -> Found {
        self.recovery.on_timer(board, path)
    }

    /// Losses found by gaps are being repaired.
    #[inline]
    pub(super) fn is_active(&self) -> bool {
        self.recovery.is_active()
    }

    /// The newest segment leaves.
    #[inline]
    pub(super) fn departs_last(&mut self, board: &Scoreboard) {
        if self.recovery.follows_departures()
            && let Some((_, segment)) = board.last()
        {
            self.departs(board, segment);
        }
    }

    /// A segment leaves again.
    #[inline]
    pub(super) fn departs(&mut self, board: &Scoreboard, segment: &Sent) {
        if let Some(reduction) = &mut self.reduction {
            reduction.sent(segment.len.into());
        }
        self.recovery.departs(board, segment);
    }

    /// At least so many retransmissions leave whatever the window says.
    pub(super) fn force(&mut self, retransmissions: u32) {
        self.forced = self.forced.max(retransmissions);
    }

    /// One retransmission more leaves whatever the window says, if `wanted`.
    pub(super) fn force_more(&mut self, wanted: bool) {
        self.forced += u32::from(wanted);
    }

    /// Only one retransmission leaves whatever the window says.
    pub(super) const fn force_only_one(&mut self) {
        self.forced = 1;
    }

    /// The retransmission that leaves need not look at the window.
    pub(super) const fn take_forced(&mut self) -> bool {
        let forced = self.forced > 0;
        self.forced = self.forced.saturating_sub(1);
        forced
    }

    /// The oldest segment left: a copy of it is to follow.
    pub(super) const fn take_copy(&mut self) -> bool {
        let copied = self.copies > 0;
        if copied {
            self.copies -= 1;
            self.forced += 1;
        }
        copied
    }

    /// An acknowledgement came.
    #[inline]
    pub(super) fn on_ack(&mut self, board: &mut Scoreboard, seen: &AckSeen) -> Found {
        self.recovery.on_ack(board, seen)
    }

    /// An acknowledgement advanced, and nothing is reported, lost or being repaired: the same as
    /// [`Retransmissions::on_ack`] if that finds nothing. False, and nothing changed, when it may.
    #[inline(always)]
    pub(super) fn on_plain_ack(&mut self, path: &Path, newest: &Departed) -> bool {
        self.reduction.is_none() && self.recovery.on_plain_ack(path, newest)
    }

    /// The timer ran out: gives the bytes that are to be retransmitted, copies of the oldest segment among it.
    pub(super) fn on_timeout(&mut self, board: &mut Scoreboard, path: &Path) -> u64 {
        self.copies = self.mode.timeout_copies() - 1;
        self.reduction = None;
        self.recovery.on_timeout(board, path)
    }

    /// The oldest segment is overdue by a clock of its own.
    pub(super) fn suspect(&mut self, board: &mut Scoreboard) -> Found {
        self.recovery.suspect(board)
    }

    /// Number of a segment that may be retransmitted although it is not given up, when nothing else can be sent.
    #[inline]
    pub(super) fn last_resort(&mut self, board: &Scoreboard) -> Option<usize> {
        self.recovery.last_resort(board)
    }

    /// Duplicates announced what no acknowledgement has confirmed yet.
    #[inline]
    pub(super) const fn has_counted(&self) -> bool {
        self.counted > 0
    }

    /// Where selective reports are not read, a duplicate says that one more segment arrived.
    pub(super) fn count_duplicates(
        &mut self,
        duplicate: bool,
        delivered: &mut Delivered,
        mss: u64,
        outstanding: u64,
    ) {
        let known = self.counted.min(delivered.bytes);
        delivered.bytes -= known;
        self.counted -= known;
        if duplicate {
            let arrived = mss.min(outstanding.saturating_sub(self.counted));
            self.counted += arrived;
            delivered.bytes += arrived;
        }
    }
}

fn options(config: &Config) -> Options {
    Options {
        threshold: config.dup_threshold,
        limited_transmit: config.limited_transmit,
        aero_burst: config.aero_burst,
        aero_adaptive: config.aero_adaptive,
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::Span;

    use super::*;

    #[test]
    fn what_duplicates_announced_is_not_delivered_again() {
        let mut retransmissions = Retransmissions::new(&Config::ns2());
        let announced = [1_000, 500].map(|bytes| {
            let mut delivered = Delivered::default();
            retransmissions.count_duplicates(true, &mut delivered, 1_000, 1_500);
            delivered.bytes == bytes
        });
        assert_eq!(announced, [true, true], "no more than is under way");
        let mut all = Delivered { bytes: 2_000, ..Delivered::default() };
        retransmissions.count_duplicates(false, &mut all, 1_000, 0);
        assert_eq!((all.bytes, retransmissions.has_counted()), (500, false));
    }

    #[test]
    fn a_copy_leaves_whatever_the_window_says() {
        let mut retransmissions =
            Retransmissions::new(&Config { recovery: Mode::Aero, ..Config::ns2() });
        let (now, rtt) = (Instant::ZERO, Span::from_millis(100));
        let path = Path { now, srtt: rtt, min_rtt: rtt, mss: 1_000, delivered: 0 };
        retransmissions.on_timeout(&mut Scoreboard::new(1), &path);
        retransmissions.force_only_one();
        assert!(
            retransmissions.take_forced()
                && retransmissions.take_copy()
                && !retransmissions.take_copy()
        );
        assert!(retransmissions.take_forced() && !retransmissions.take_forced());
    }
}
