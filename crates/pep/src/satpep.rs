//! Windows that follow how much of a satellite link is used (SaTPEP: Velenis, Kalogeras and Maglaris,
//! NETWORKING 2002).
//!
//! The proxy before the link counts what its connections send in a round trip. What the link could have
//! carried besides is added to the windows of those that had something waiting; a link that is full, or
//! a queue before it, brings all windows to equal shares. Losses are found by what the receiver reports
//! and change no window. The paper leaves the shares open; those here are ours.

use bentpipe_units::{BitRate, ByteCount, Instant, Span};

/// The link counts as used below this share.
const USED: f64 = 0.95;
/// The queue before the link that is too long, as share of what a round trip holds.
const QUEUE: f64 = 0.1;
/// No window is smaller than so many segments.
const LEAST: u64 = 2;

/// The windows of the connections that share a link.
#[derive(Debug)]
pub struct Windows {
    /// Bytes per second.
    capacity: f64,
    mss: ByteCount,
    windows: Vec<ByteCount>,
    /// The share of the last round trip that nobody used.
    spare: f64,
    /// When the running round trip began, and what had been sent by then.
    since: Instant,
    sent: u64,
    next: Option<Instant>,
}

/// What a connection did in a round trip.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    /// Number of the connection.
    pub number: u32,
    /// Something waits for its window.
    pub waits: bool,
}

impl Windows {
    /// Nobody shares the link of this rate yet; segments have `mss` bytes.
    pub const fn new(rate: BitRate, mss: ByteCount) -> Self {
        Self {
            capacity: rate.as_bps() as f64 / 8.0,
            mss,
            windows: Vec::new(),
            spare: 1.0,
            since: Instant::ZERO,
            sent: 0,
            next: None,
        }
    }

    /// A connection more. Returns its number; it has a window when it is [admitted](Windows::admit).
    pub fn join(&mut self) -> u32 {
        self.windows.push(ByteCount::ZERO);
        self.windows.len() as u32 - 1
    }

    /// A connection opened and measured this round trip: it may send at once what nobody used in the
    /// last one.
    pub fn admit(&mut self, now: Instant, member: u32, rtt: Span) -> ByteCount {
        if self.next.is_none() {
            (self.since, self.next) = (now, Some(now + rtt));
        }
        let window = self.bytes(self.spare * self.capacity * rtt.as_secs_f64());
        self.windows[member as usize] = window;
        window
    }

    /// The window of a connection.
    pub fn window(&self, member: u32) -> ByteCount {
        self.windows[member as usize]
    }

    /// Bytes that the link carries in a round trip.
    pub fn holds(&self, rtt: Span) -> ByteCount {
        ByteCount::new((self.capacity * rtt.as_secs_f64()) as u64)
    }

    /// When [`Windows::adjust`] is to be called.
    pub const fn poll_timeout(&self) -> Option<Instant> {
        self.next
    }

    /// A round trip of length `rtt` is over. `sent` is what all connections together have sent since the
    /// beginning, headers included, `queue` what waits before the link; `members` are those that are
    /// open.
    pub fn adjust(
        &mut self,
        now: Instant,
        rtt: Span,
        sent: ByteCount,
        queue: ByteCount,
        members: &[Member],
    ) {
        let elapsed = now.since(self.since).as_secs_f64();
        let used = if elapsed > 0.0 {
            (sent.get() - self.sent.min(sent.get())) as f64 / (self.capacity * elapsed)
        } else {
            0.0
        };
        (self.since, self.sent) = (now, sent.get());
        self.next = (!members.is_empty()).then(|| now + rtt.max(Span::from_millis(1)));
        self.spare = (1.0 - used).max(0.0);
        let round = self.capacity * rtt.as_secs_f64();
        if used >= 1.0 || queue.get() as f64 > QUEUE * round {
            let share = self.bytes(round / members.len().max(1) as f64);
            members.iter().for_each(|member| self.windows[member.number as usize] = share);
        } else if used < USED {
            let waiting = members.iter().filter(|member| member.waits).count();
            let more = whole(self.spare * round / waiting.max(1) as f64);
            for member in members.iter().filter(|member| member.waits) {
                self.windows[member.number as usize] += more;
            }
        }
    }

    /// A window of so many bytes, or the smallest one.
    fn bytes(&self, bytes: f64) -> ByteCount {
        whole(bytes).max(self.mss * LEAST)
    }
}

/// The nearest number of bytes.
fn whole(bytes: f64) -> ByteCount {
    ByteCount::new((bytes + 0.5) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Span = Span::from_millis(500);
    /// 1 MB/s: a round trip holds 500,000 bytes.
    const LINE: BitRate = BitRate::from_bps(8_000_000);

    fn at(rounds: u64) -> Instant {
        Instant::ZERO + RTT * rounds
    }

    fn windows(members: u32) -> Windows {
        let mut windows = Windows::new(LINE, ByteCount::new(1000));
        (0..members).for_each(|_| _ = windows.join());
        windows
    }

    fn member(number: u32, waits: bool) -> Member {
        Member { number, waits }
    }

    fn bytes(n: u64) -> ByteCount {
        ByteCount::new(n)
    }

    #[test]
    fn the_first_connection_may_use_the_whole_link_at_once() {
        let mut windows = windows(1);
        assert_eq!(windows.admit(at(0), 0, RTT), bytes(500_000));
        assert_eq!(windows.poll_timeout(), Some(at(1)));
    }

    #[test]
    fn what_nobody_used_goes_to_those_that_wait() {
        let mut windows = windows(3);
        (0..3).for_each(|number| _ = windows.admit(at(0), number, RTT));
        let before = windows.window(0);
        let members = [member(0, true), member(1, false), member(2, true)];
        windows.adjust(at(1), RTT, bytes(400_000), ByteCount::ZERO, &members);
        let grown = [0, 1, 2].map(|number| windows.window(number) - before);
        assert_eq!(grown, [bytes(50_000), ByteCount::ZERO, bytes(50_000)]);
        assert_eq!(windows.join(), 3);
        assert_eq!(windows.admit(at(1), 3, RTT), bytes(100_000), "a fifth was free");
    }

    #[test]
    fn a_full_link_or_a_queue_brings_equal_shares() {
        for (sent, queue) in [(500_000, 0), (100_000, 60_000)] {
            let mut windows = windows(4);
            (0..4).for_each(|number| _ = windows.admit(at(0), number, RTT));
            let members = [0, 1, 2, 3].map(|number| member(number, true));
            windows.adjust(at(1), RTT, bytes(sent), bytes(queue), &members);
            assert!((0..4).all(|number| windows.window(number) == bytes(125_000)));
        }
    }

    #[test]
    fn a_link_that_is_used_well_changes_nothing_and_no_window_is_too_small_to_go_on() {
        let mut windows = windows(1);
        windows.admit(at(0), 0, RTT);
        windows.adjust(at(1), RTT, bytes(480_000), ByteCount::ZERO, &[member(0, true)]);
        assert_eq!(windows.window(0), bytes(500_000));
        let many: Vec<_> = (0..1000).map(|_| windows.join()).map(|n| member(n, true)).collect();
        windows.adjust(at(2), RTT, bytes(980_000), ByteCount::ZERO, &many);
        assert_eq!(windows.window(1), bytes(2_000));
    }
}
