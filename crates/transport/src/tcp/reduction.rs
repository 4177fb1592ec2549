//! How a window is reduced while losses are repaired: in proportion to what arrives (RFC 6937 and its successor,
//! draft-ietf-tcpm-prr-rfc6937bis).

/// A reduction that is under way (Proportional Rate Reduction). All in bytes.
#[derive(Debug)]
pub(super) struct Reduction {
    /// The window before, and the one that it comes to (RecoverFS and ssthresh).
    before: u64,
    target: u64,
    /// It is over when everything before this offset is acknowledged.
    until: u64,
    /// What arrived and what left since it began.
    delivered: u64,
    sent: u64,
    window: u64,
}

/// What an acknowledgement says of what is under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heard {
    /// Bytes that arrived.
    pub(super) delivered: u64,
    /// It advanced, and nothing was found lost: more may leave than arrived.
    pub(super) progress: bool,
    /// Payload of a full segment.
    pub(super) mss: u64,
}

impl Reduction {
    /// From one window to another, with so much under way; it is over when everything before `until` is acknowledged.
    pub(super) fn new(before: u64, target: u64, until: u64, window: u64) -> Self {
        Self { before: before.max(1), target, until, delivered: 0, sent: 0, window }
    }

    /// Everything that was under way when it began is acknowledged.
    pub(super) const fn is_over(&self, una: u64) -> bool {
        una >= self.until
    }

    /// An acknowledgement came; so much is under way.
    pub(super) fn hear(&mut self, pipe: u64, heard: &Heard) {
        if heard.delivered == 0 {
            return;
        }
        let mss = heard.mss.max(1);
        self.delivered += heard.delivered;
        let room = if pipe > self.target {
            let share = u128::from(self.target) * u128::from(self.delivered);
            let allowed = share.div_ceil(u128::from(self.before)) as u64;
            allowed.next_multiple_of(mss).saturating_sub(self.sent)
        } else {
            let arrived = self.delivered.saturating_sub(self.sent).max(heard.delivered);
            let grows = if heard.progress { mss } else { 0 };
            (arrived + grows).min(self.target - pipe)
        };
        let least = if self.sent == 0 { mss } else { 0 };
        self.window = pipe + room.max(least);
    }

    /// So many bytes leave.
    pub(super) const fn sent(&mut self, bytes: u64) {
        self.sent += bytes;
    }

    /// Bytes that may be under way.
    pub(super) const fn window(&self) -> u64 {
        self.window
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::Instant;

    use super::super::recovery::{Delivered, Scoreboard, Stamp};
    use super::*;

    const MSS: u64 = 100;

    /// So many segments are under way.
    fn out(segments: u64) -> Scoreboard {
        let mut board = Scoreboard::new(1);
        (0..segments).for_each(|_| send(&mut board));
        board
    }

    fn send(board: &mut Scoreboard) {
        let at = Instant::ZERO;
        let stamp = Stamp { delivered: 0, delivered_at: at, first_sent_at: at, app_limited: false };
        board.push(MSS as u32, false, at, stamp);
    }

    fn begin(before: u64, target: u64, board: &Scoreboard) -> Reduction {
        Reduction::new(before, target, board.next(), board.pipe())
    }

    fn heard(progress: bool) -> Heard {
        Heard { delivered: MSS, progress, mss: MSS }
    }

    /// Acknowledgements for all but the first segment, one by one: how many segments left.
    fn reduced(target: u64) -> u64 {
        let mut board = out(20);
        board.lose(0);
        let mut reduction = begin(20 * MSS, target * MSS, &board);
        let mut left = 0;
        for n in 1..20 {
            board.sack(n * MSS + 1, (n + 1) * MSS + 1, &mut Delivered::default());
            reduction.hear(board.pipe(), &heard(false));
            while board.pipe() + MSS <= reduction.window() {
                send(&mut board);
                reduction.sent(MSS);
                left += 1;
            }
        }
        left
    }

    #[test]
    fn as_much_leaves_of_what_arrives_as_the_window_keeps() {
        assert_eq!(reduced(10), 10, "every second one");
        assert_eq!(reduced(14), 14, "seven of ten");
    }

    #[test]
    fn where_less_is_under_way_than_the_window_as_much_leaves_as_arrives_and_one_more_for_progress()
    {
        let mut board = out(20);
        (0..15).for_each(|n| _ = board.lose(n));
        let mut reduction = begin(20 * MSS, 10 * MSS, &board);
        reduction.hear(board.pipe(), &heard(false));
        assert_eq!(reduction.window(), board.pipe() + MSS);
        reduction.sent(MSS);
        reduction.hear(board.pipe(), &heard(true));
        assert_eq!(reduction.window(), board.pipe() + 2 * MSS);
    }

    #[test]
    fn the_first_retransmission_leaves_whatever_arrived() {
        let board = out(20);
        let mut reduction = begin(20 * MSS, MSS, &board);
        reduction.hear(board.pipe(), &Heard { delivered: 1, progress: false, mss: MSS });
        assert_eq!(reduction.window(), board.pipe() + MSS);
    }

    #[test]
    fn it_is_over_when_what_was_under_way_is_acknowledged() {
        let reduction = begin(20 * MSS, 10 * MSS, &out(20));
        assert!(!reduction.is_over(2000) && reduction.is_over(2001));
    }
}
