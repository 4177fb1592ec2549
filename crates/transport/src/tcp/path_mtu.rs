//! How long segments may be: what routers say (RFC 1191), and a search where they say nothing (RFC 4821).
//!
//! A probe is a segment of new data that is longer than the others. It leaves where the windows and the data allow
//! enough others behind it that its loss is found without the timer; a lost one is retransmitted in short segments and
//! is no sign of congestion. Lengths of the [search](crate::path_mtu) are those of packets, IP header included.

use bentpipe_units::Instant;

use super::recovery::{Found, Scoreboard};
use crate::LEAST_MSS;
use crate::path_mtu::{Search, Unanswered};

/// Length of the packets that a search begins with (RFC 4821, section 7.2).
const BASE: u16 = 1024;
/// Full segments behind a probe, by which its loss is found (RFC 4821, section 7.4).
const BEHIND: u64 = 4;
/// Timeouts in a row of a segment that every path is taken to carry, until shorter ones are tried.
const TIMEOUTS: u32 = 3;

/// How long the segments of one sender may be.
#[derive(Debug, Default)]
pub(super) struct PathMtu {
    /// Where that is less than the ends agreed on or not known.
    search: Option<Box<PathSearch>>,
}

/// The search on the path, and the probe that is to leave or is out.
#[derive(Debug)]
struct PathSearch {
    search: Search,
    /// Bytes of a packet that are not payload.
    headers: u16,
    /// Nobody is relied on to say that packets are too long.
    silent: bool,
    /// A probe of this length is to leave.
    wanted: Option<u16>,
    out: Option<Probe>,
    /// Timeouts in a row since packets are as short as every path carries them.
    timeouts: u32,
}

/// A segment whose acknowledgement says that packets of its length pass.
#[derive(Clone, Copy, Debug)]
struct Probe {
    start: u64,
    end: u64,
    /// Length of its packet.
    len: u16,
}

/// What new data a sender has and may send.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// Bytes that wait to be sent, and that the peer has room for.
    pub(super) unsent: u64,
    pub(super) peer: u64,
    pub(super) cwnd: u64,
    /// Payload of a full segment.
    pub(super) mss: u64,
    /// Something waits to be retransmitted.
    pub(super) has_lost: bool,
}

impl Room {
    /// There is enough to send, and a window for it, that the loss of a probe would be found.
    const fn may_probe(&self, len: u64) -> bool {
        let needed = len + BEHIND * self.mss;
        needed <= self.unsent && needed <= self.cwnd && len <= self.peer && !self.has_lost
    }
}

impl PathSearch {
    /// A search for packets of `base` to `most` bytes with so many of them for headers.
    fn new(base: u16, most: u16, headers: u16, silent: bool) -> Self {
        Self {
            search: Search::new(base, most),
            headers,
            silent,
            wanted: None,
            out: None,
            timeouts: 0,
        }
    }

    /// Largest payload of a segment.
    fn mss(&self) -> u16 {
        self.search.get().saturating_sub(self.headers).max(LEAST_MSS)
    }

    /// No probe is to leave, and none is waited for.
    const fn forget_probe(&mut self) {
        (self.wanted, self.out) = (None, None);
    }
}

// Where a verb gives a payload, segments are to be that long from now on.
impl PathMtu {
    /// Segments may be as long as the ends agreed on.
    #[inline]
    pub(super) const fn is_known(&self) -> bool {
        self.search.is_none()
    }

    /// The connection opens: segments begin as short as every path carries them and become longer by a search.
    /// `None` if they cannot become longer.
    pub(super) fn begin(&mut self, mss: u16, headers: u16) -> Option<u16> {
        let most = mss.saturating_add(headers);
        if BASE >= most {
            return None;
        }
        let search = self.search.insert(Box::new(PathSearch::new(BASE, most, headers, true)));
        Some(search.mss())
    }

    /// Somebody says that the path carries packets of `mtu` bytes. `most` is the payload that both ends take.
    pub(super) fn told(
        &mut self,
        now: Instant,
        mtu: u16,
        most: u16,
        headers: u16,
        searches: bool,
    ) -> u16 {
        let longest = most.saturating_add(headers);
        let mtu = mtu.clamp(headers.saturating_add(LEAST_MSS), longest);
        let of = self
            .search
            .get_or_insert_with(|| Box::new(PathSearch::new(mtu, longest, headers, searches)));
        of.search.told(now, mtu);
        of.forget_probe();
        let mss = of.mss();
        if mtu == longest && !searches {
            self.search = None;
        }
        mss
    }

    /// Everything before `una` is acknowledged. A probe among it is answered, even if what it carried had to be sent
    /// again in a packet as long.
    pub(super) fn acknowledged(&mut self, now: Instant, una: u64) -> Option<u16> {
        let of = self.search.as_mut()?;
        let probe = of.out.take_if(|probe| probe.end <= una)?;
        of.search.answered(now, probe.len).then(|| of.mss())
    }

    /// Payload of the next new segment if it is to be a probe.
    pub(super) fn next_probe_len(&self, room: &Room) -> Option<u64> {
        let of = self.search.as_ref()?;
        let longer = of.wanted.filter(|wanted| *wanted > of.search.get())?;
        let len = u64::from(longer - of.headers);
        room.may_probe(len).then_some(len)
    }

    /// New data left, `len` bytes of payload from `start` on; there is so much room behind them. `longest` is the
    /// payload that a segment can have at most.
    pub(super) fn sent(&mut self, now: Instant, [start, len]: [u64; 2], room: &Room, longest: u64) {
        let Some(of) = &mut self.search else { return };
        if len == room.mss && room.may_probe(longest) && of.wanted.is_none() {
            of.wanted = of.search.sent_full(now);
        }
        let known = of.search.get();
        let is_probe = of
            .wanted
            .is_some_and(|wanted| if wanted > known { len > room.mss } else { len == room.mss });
        if is_probe && let Some(len_wanted) = of.wanted.take() {
            of.out = Some(Probe { start, end: start + len, len: len_wanted });
        }
    }

    /// What an acknowledgement found lost is a probe and nothing else.
    pub(super) fn is_probe(&self, found: &Found, board: &Scoreboard) -> bool {
        let Some(of) = &self.search else { return false };
        let probe = of.out.filter(|probe| probe.len > of.search.get());
        probe.is_some_and(|probe| {
            let segment = board.get(board.find(probe.start));
            let lost = segment.is_some_and(|segment| segment.start == probe.start && segment.lost);
            lost && found.lost == probe.end - probe.start
        })
    }

    /// The segment from `start` on was too long and leaves again in shorter ones: that says nothing of its length.
    #[cold]
    pub(super) fn cut(&mut self, start: u64) {
        if let Some(of) = &mut self.search {
            _ = of.out.take_if(|probe| probe.start == start);
        }
    }

    /// The timer ran out for the oldest segment, for the `first` time in a row: its length may be why.
    pub(super) fn doubt(
        &mut self,
        now: Instant,
        board: &Scoreboard,
        mss: u16,
        first: bool,
    ) -> Option<u16> {
        let of = self.search.as_mut()?;
        let head = board.head().filter(|head| head.len >= u32::from(mss))?;
        if of.search.get() == of.search.base() {
            let shorter = (of.search.base() / 2).max(of.headers + LEAST_MSS);
            of.timeouts = if first { 1 } else { of.timeouts + 1 };
            if of.silent && of.timeouts >= TIMEOUTS && shorter < of.search.base() {
                of.search.fall_to(shorter);
                of.forget_probe();
                of.timeouts = 0;
                return Some(of.mss());
            }
        } else if let Some(len) = of.search.doubt(now) {
            of.wanted = None;
            of.out = Some(Probe { start: head.start, end: head.end(), len });
        }
        None
    }

    /// When [`PathMtu::handle_timeout`] must be called.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.search.as_ref().and_then(|of| of.search.deadline())
    }

    /// Lets the time pass.
    pub(super) fn handle_timeout(&mut self, now: Instant) -> Option<u16> {
        let of = self.search.as_mut()?;
        let known = of.search.get();
        match of.search.handle_timeout(now) {
            // What is known to pass is tried by what is under way.
            Some(Unanswered::Again(len)) if len <= known && of.out.is_some() => {}
            Some(Unanswered::Again(len)) => (of.wanted, of.out) = (Some(len), None),
            Some(Unanswered::Shorter) => {
                of.forget_probe();
                of.timeouts = 0;
                return Some(of.mss());
            }
            None => of.out = of.out.filter(|_| of.search.deadline().is_some()),
        }
        None
    }
}
