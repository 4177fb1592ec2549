//! How long segments may be: what routers say (RFC 1191), and a search where they say nothing (RFC 4821).
//!
//! A probe is a segment of new data that is longer than the others. It leaves where the windows and the data allow
//! enough others behind it that its loss is found without the timer; a lost one is sent again in short segments and
//! is no sign of congestion. Lengths of the [search](crate::path_mtu) are those of packets, IP header included.

use bentpipe_units::{Instant, Seq32};
use bentpipe_wire::xcp::Header;

use super::connection::{Connection, Stage};
use super::recovery::Found;
use super::sender::Sender;
use crate::LEAST_MSS;
use crate::path_mtu::{Search, Unanswered};

/// Length of the packets that a search begins with (RFC 4821, section 7.2).
const BASE: u16 = 1024;
/// Full segments behind a probe, by which its loss is found (RFC 4821, section 7.4).
const BEHIND: u64 = 4;
/// Timeouts in a row of a segment that every path is taken to carry, until shorter ones are tried.
const TIMEOUTS: u32 = 3;

/// The search on the path, and the probe that is to leave or is out.
#[derive(Debug)]
pub(super) struct PathSearch {
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

    /// When [`Sender::search_mtu`] must be called.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.search.deadline()
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

impl Sender {
    /// Bytes of a full packet that are not payload.
    fn headers(&self) -> u16 {
        self.agreed.headers + if self.explicit { Header::LENGTH as u16 } else { 0 }
    }

    /// The connection opens: segments begin as short as every path carries them and become longer by a search. True
    /// if they can become longer.
    pub(super) fn begin_search(&mut self) -> bool {
        let headers = self.headers();
        let most = self.agreed.mss.saturating_add(headers);
        if BASE < most {
            let of = PathSearch::new(BASE, most, headers, true);
            self.agreed.mss = of.mss();
            self.path_search = Some(Box::new(of));
        }
        BASE < most
    }

    /// Somebody says that the path carries packets of `mtu` bytes. `most` is what both ends take.
    fn take_mtu(&mut self, now: Instant, mtu: u16, most: u16) {
        let headers = self.headers();
        let longest = most.saturating_add(headers);
        let mtu = mtu.clamp(headers.saturating_add(LEAST_MSS), longest);
        let searches = self.config.mtu_search;
        let of = self
            .path_search
            .get_or_insert_with(|| Box::new(PathSearch::new(mtu, longest, headers, searches)));
        of.search.told(now, mtu);
        of.forget_probe();
        let mss = of.mss();
        if mtu == longest && !searches {
            self.path_search = None;
        }
        self.plainly &= self.path_search.is_none();
        self.change_mss(now, mss);
        self.lose_too_long();
    }

    /// RFC 1191, section 6.4: what is too long now is sent again at once, and that is no sign of congestion.
    pub(super) fn lose_too_long(&mut self) {
        let lost = self.board.lose_longer_than(u32::from(self.agreed.mss));
        self.forced += u32::from(lost > 0);
    }

    /// Takes over the length that the search has come to.
    fn follow_search(&mut self, now: Instant) {
        if let Some(mss) = self.path_search.as_ref().map(|of| of.mss()) {
            self.change_mss(now, mss);
        }
    }

    /// A probe that is acknowledged is answered, even if what it carried had to be sent again in a packet as long.
    fn look_at_probe(&mut self, now: Instant) {
        let una = self.board.una();
        if let Some(of) = &mut self.path_search
            && let Some(probe) = of.out.take_if(|probe| probe.end <= una)
            && of.search.answered(now, probe.len)
        {
            self.follow_search(now);
        }
    }

    /// Payload of the next new segment if it is to be a probe, where so much is unsent and the peer has so much room.
    #[inline]
    pub(super) fn next_probe_len(&mut self, now: Instant, unsent: u64, room: u64) -> Option<u64> {
        self.path_search.as_ref()?;
        self.look_at_probe(now);
        let of = self.path_search.as_ref()?;
        let longer = of.wanted.filter(|wanted| *wanted > of.search.get())?;
        let len = u64::from(longer - of.headers);
        self.may_probe(len, unsent, room).then_some(len)
    }

    /// There is enough to send, and a window for it, that the loss of a probe would be found.
    fn may_probe(&self, len: u64, unsent: u64, room: u64) -> bool {
        let needed = len + BEHIND * self.mss();
        needed <= unsent && needed <= self.cwnd && len <= room && !self.board.has_lost()
    }

    /// New data left, `len` bytes of payload from `start` on, while so much was unsent and the peer had so much room.
    #[inline]
    pub(super) fn new_data_left(
        &mut self,
        now: Instant,
        [start, len]: [u64; 2],
        unsent: u64,
        room: u64,
    ) {
        if self.path_search.is_some() {
            self.note_new_data(now, [start, len], unsent, room);
        }
    }

    fn note_new_data(&mut self, now: Instant, [start, len]: [u64; 2], unsent: u64, room: u64) {
        let mss = self.mss();
        let may_probe = len == mss && self.may_probe(self.config.mss.into(), unsent, room);
        let Some(of) = &mut self.path_search else { return };
        if may_probe && of.wanted.is_none() {
            of.wanted = of.search.sent_full(now);
        }
        let known = of.search.get();
        let is_probe =
            of.wanted.is_some_and(|wanted| if wanted > known { len > mss } else { len == mss });
        if is_probe && let Some(len_wanted) = of.wanted.take() {
            of.out = Some(Probe { start, end: start + len, len: len_wanted });
        }
    }

    /// What an acknowledgement found lost is a probe and nothing else.
    pub(super) fn lost_a_probe(&self, found: &Found) -> bool {
        let Some(of) = &self.path_search else { return false };
        let probe = of.out.filter(|probe| probe.len > of.search.get());
        probe.is_some_and(|probe| {
            let segment = self.board.get(self.board.find(probe.start));
            let lost = segment.is_some_and(|segment| segment.start == probe.start && segment.lost);
            lost && found.lost == probe.end - probe.start
        })
    }

    /// The segment from `start` on was too long and leaves again in shorter ones: that says nothing of its length.
    #[cold]
    pub(super) fn cut_probe(&mut self, start: u64) {
        if let Some(of) = &mut self.path_search {
            _ = of.out.take_if(|probe| probe.start == start);
        }
    }

    /// The timer ran out for the oldest segment: its length may be why.
    pub(super) fn doubt_mtu(&mut self, now: Instant) {
        let (mss, first) = (self.agreed.mss, self.timeouts_in_row == 1);
        let Some(of) = &mut self.path_search else { return };
        let Some(head) = self.board.head().filter(|head| head.len >= u32::from(mss)) else {
            return;
        };
        if of.search.get() == of.search.base() {
            let shorter = (of.search.base() / 2).max(of.headers + LEAST_MSS);
            of.timeouts = if first { 1 } else { of.timeouts + 1 };
            if of.silent && of.timeouts >= TIMEOUTS && shorter < of.search.base() {
                of.search.fall_to(shorter);
                of.forget_probe();
                of.timeouts = 0;
                self.follow_search(now);
            }
        } else if let Some(len) = of.search.doubt(now) {
            of.wanted = None;
            of.out = Some(Probe { start: head.start, end: head.end(), len });
        }
    }

    /// Lets the time pass for the search.
    pub(super) fn search_mtu(&mut self, now: Instant) {
        self.look_at_probe(now);
        let Some(of) = &mut self.path_search else { return };
        let known = of.search.get();
        match of.search.handle_timeout(now) {
            // What is known to pass is tried by what is under way.
            Some(Unanswered::Again(len)) if len <= known && of.out.is_some() => {}
            Some(Unanswered::Again(len)) => (of.wanted, of.out) = (Some(len), None),
            Some(Unanswered::Shorter) => {
                of.forget_probe();
                of.timeouts = 0;
                self.follow_search(now);
            }
            None => of.out = of.out.filter(|_| of.search.deadline().is_some()),
        }
    }
}

impl Connection {
    /// A router says that packets of more than `mtu` bytes do not pass, or the path carries longer ones
    /// again (RFC 1191). What is too long is sent again in shorter segments; the congestion window
    /// stays. The segments never become longer than what both ends agreed on, nor shorter than 64 bytes. After ten
    /// minutes a longer one is tried, and from time to time again.
    pub fn set_path_mtu(&mut self, now: Instant, mtu: u16) {
        self.mark_dirty();
        if self.stage == Stage::Open {
            self.tx.take_mtu(now, mtu, self.agreed_mss);
        }
    }

    /// As [`Endpoint::handle_packet_too_big`](crate::Endpoint::handle_packet_too_big). Only what is under way can have been too
    /// long, and only what is longer than that (RFC 5927, section 7).
    pub(super) fn take_packet_too_big(&mut self, now: Instant, mtu: u16, number: u32) {
        let offset = self.tx.offset(Seq32::new(number));
        let sent = self.tx.board.get(self.tx.board.find(offset.max(0) as u64));
        let longer = sent.is_some_and(|sent| {
            let payload = sent.len - u32::from(sent.fin);
            sent.start as i64 == offset && payload + u32::from(self.tx.headers()) > u32::from(mtu)
        });
        if longer {
            self.set_path_mtu(now, mtu);
        } else {
            self.ignore();
        }
    }
}
