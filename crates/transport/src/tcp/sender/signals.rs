//! What the sender learns of others than the peer: time passes, the link goes down, routers and this host say
//! something.

use bentpipe_cc::{LossCause, Signal};
use bentpipe_units::{ByteCount, Instant, Seq32, Span};
use bentpipe_wire::xcp::{Header, RateChange, Request};
use bytes::Bytes;

use super::Sender;
use crate::LocalQueue;
use crate::tcp::recovery::Found;
use crate::tcp::reduction::Heard;
use crate::tcp::timers::Exhausted;

impl Sender {
    /// The retransmission timeout with its backoff (RFC 6298, section 2).
    #[inline]
    pub(super) fn timeout(&self) -> Span {
        let base = self.round_trips.timeout(&self.config);
        let most = || self.governor.repair().max_backoff.or(self.retransmissions.max_backoff());
        let timeout = self.timers.factor(most).map_or(base, |factor| base * factor);
        timeout.min(self.config.rto_max)
    }

    /// The timer starts anew if anything is outstanding (RFC 6298, rules 5.2 and 5.3).
    #[inline(always)]
    pub(super) fn restart_timer(&mut self, now: Instant) {
        let runs = self.board.outstanding() > 0 && !self.probing.is_on() && !self.outage.is_on();
        let at = runs.then(|| now + self.timeout());
        self.timers.set_rto(at);
    }

    /// Sets the timer of a closed window to what is true now.
    pub(in crate::tcp) fn set_persist(&mut self, now: Instant) {
        let wanted = self.must_persist() && !self.outage.is_on();
        let at = wanted.then(|| now + self.timeout().min(self.config.persist_max));
        self.timers.set_persist(at);
    }

    /// The next time that something is to be done.
    #[inline]
    pub(in crate::tcp) fn deadline(&self) -> Option<Instant> {
        let resend = Instant::earliest(self.timers.deadline(), self.probing.deadline());
        let resend = Instant::earliest(resend, self.retransmissions.deadline());
        let search = if self.outage.is_on() { None } else { self.path_mtu.deadline() };
        let resend = Instant::earliest(resend, search);
        let pace = Instant::earliest(self.pacer.deadline(), self.probes.deadline());
        let controller = if self.open { self.governor.next_timer() } else { None };
        Instant::earliest(resend, Instant::earliest(pace, controller))
    }

    /// When something that was sent counts as late.
    #[inline]
    pub(in crate::tcp) fn late_at(&self) -> Option<Instant> {
        self.timers.late_at()
    }

    /// What leaves next may wait for a time that an acknowledgement changes.
    #[inline]
    pub(in crate::tcp) fn is_timed(&self) -> bool {
        self.is_paced() || self.governor.next_timer().is_some()
    }

    /// Lets the time pass.
    ///
    /// # Errors
    /// When the peer has not answered for too long.
    pub(in crate::tcp) fn handle_timeout(&mut self, now: Instant) -> Result<(), Exhausted> {
        self.pacer.new_burst();
        self.pacer.handle_timeout(now);
        if self.open && self.governor.next_timer().is_some_and(|at| at <= now) {
            let path = self.path_view(now);
            self.governor.on_timer(&path);
        }
        if self.probing.is_probe_lost(now) {
            self.timers.count_unanswered(self.config.retries)?;
            self.probing.begin_anew();
        }
        if !self.outage.is_on() {
            self.follow_path_mtu(now);
            let mss = self.path_mtu.handle_timeout(now);
            self.set_mss(now, mss);
        }
        if self.timers.take_persist(now) {
            self.peer.set_probe(true);
        }
        if self.retransmissions.deadline().is_some_and(|at| at <= now) {
            self.find_late(now);
        }
        if self.timers.tail_probe_mut().handle_timeout(now) {
            self.restart_timer(now);
        } else if self.timers.take_rto(now) && self.board.outstanding() > 0 {
            if self.may_ask_first() && self.timers.inquiry_mut().begin() {
                self.restart_timer(now);
            } else {
                let in_row = self.timers.count_unanswered(self.config.retries)?;
                self.time_out(now, in_row == 1);
            }
        }
        Ok(())
    }

    /// What is missing has had its time.
    fn find_late(&mut self, now: Instant) {
        let path = self.repair_path(now);
        let found = self.retransmissions.on_timer(&mut self.board, &path);
        if found.lost > 0 {
            self.episode.heard(self.path_mtu.is_probe(&found, &self.board));
            self.answer_loss(now, &found, LossCause::Gap);
            // As if one segment had arrived.
            let heard = Heard { delivered: path.mss, progress: false, mss: path.mss };
            self.retransmissions.follow_reduction(&self.board, &heard);
            self.restart_timer(now);
        }
    }

    /// The end of what is under way is probed for unless it is heard of.
    #[inline]
    pub(super) fn arm_tail_probe(&mut self, now: Instant) {
        if !self.config.tail_loss_probe {
            return;
        }
        let probes = self.agreed.reports
            && self.board.outstanding() > 0
            && self.retransmissions.is_open()
            && !self.outage.is_on()
            && !self.probing.is_on();
        if probes {
            let alone = self.board.outstanding() <= self.mss();
            let (srtt, rto) = (self.measured_rtt(), self.timers.rto());
            self.timers.tail_probe_mut().arm(now, srtt, alone, rto);
        } else {
            self.timers.tail_probe_mut().stop();
        }
    }

    /// The controller wants to know whether data or acknowledgements were lost, nothing tells, and there are new data
    /// that can ask.
    fn may_ask_first(&self) -> bool {
        let silent = self.board.sacked_bytes() == 0
            && !self.retransmissions.has_counted()
            && !self.board.has_losses()
            && self.board.head().is_some_and(|head| head.transmissions == 1);
        let unsent = self.backlog.unsent();
        let len = self.mss().min(unsent);
        self.governor.repair().asks_before_repair
            && silent
            && len > 0
            && self.peer.room(self.board.next()) >= len
            && self.is_worth_sending(len, unsent)
    }

    /// The oldest segment counts as lost, for the `first` time since the peer was heard.
    pub(super) fn time_out(&mut self, now: Instant, first: bool) {
        self.timers.inquiry_mut().stop();
        if self.peer.is_closed_at(self.board.una()) {
            // The peer closed its window: this is a probe of it, not a loss.
            self.board.lose(0);
        } else {
            let mss = self.path_mtu.doubt(now, &self.board, self.mss, first);
            self.set_mss(now, mss);
            let new_episode = self.board.head().is_some_and(|head| !head.timed_out)
                && self.retransmissions.timeout_begins_episode();
            let again = self.board.head().is_some_and(|head| head.transmissions > 1);
            let path = self.repair_path(now);
            let lost = self.retransmissions.on_timeout(&mut self.board, &path);
            self.timers.tail_probe_mut().stop();
            self.timers.tail_probe_mut().forget();
            self.timers.count_timeout();
            let found = Found { lost, new_episode, again, ..Found::default() };
            self.answer_loss(now, &found, LossCause::Timeout);
        }
        self.retransmissions.force_only_one();
        if self.timers.back_off(!self.probing.is_on()) {
            self.round_trips.forget();
        }
        self.restart_timer(now);
    }

    /// What is acknowledged may say how long packets may be.
    pub(super) fn follow_path_mtu(&mut self, now: Instant) {
        let mss = self.path_mtu.acknowledged(now, self.board.una());
        self.set_mss(now, mss);
    }

    /// A probe of the path leaves, if one is to be sent: its payload.
    pub(in crate::tcp) fn take_probe(&mut self, now: Instant) -> Option<Bytes> {
        let (trips, config) = (&self.round_trips, &self.config);
        self.probing.take_probe(now, self.board.una(), || trips.overdue_after(config))
    }

    /// The link went down or came up.
    pub(in crate::tcp) fn follow_link(&mut self, now: Instant, up: bool) {
        self.signal(now, &Signal::LinkState { up });
        if up {
            if let Some(since) = self.outage.end() {
                self.resume(now, since);
            }
        } else if self.governor.repair().rests_in_outages && self.outage.begin(now) {
            // Probes would get no answer: the loss that they are about is what an outage makes of it.
            self.timers.stop();
            self.pacer.stop();
            self.probing.stop();
            self.probes.stop();
        }
    }

    /// The sender rests, as the link is down.
    pub(in crate::tcp) const fn is_resting(&self) -> bool {
        self.outage.is_on()
    }

    /// The rest that began at `since` is over.
    fn resume(&mut self, now: Instant, since: Instant) {
        // By the end of its timeout what had left before would have been acknowledged without an outage.
        let at = (now + self.round_trips.rtt().min()).max(since + self.timeout());
        self.outage.over(now, since, at, self.board.next());
        self.pacer.forgive_idle(now);
        self.pacer.new_burst();
        if self.board.outstanding() > 0 {
            self.board.lose(0);
            self.retransmissions.force(1);
        } else {
            self.peer.set_probe(self.must_persist());
        }
        self.restart_timer(now);
    }

    /// Whoever opened the connection knows the path: from now on this is the window.
    pub(in crate::tcp) fn override_cwnd(&mut self, window: u64) {
        self.governor.override_cwnd(window, self.mss());
    }

    /// The controller wants to be told of the queue of this host.
    #[inline]
    pub(in crate::tcp) const fn follows_queue(&self) -> bool {
        self.governor.follows_queue()
    }

    /// How the queue of this host is.
    pub(in crate::tcp) fn handle_queue(&mut self, now: Instant, queue: &LocalQueue) {
        let signal = self.governor.measure_queue(now, queue);
        self.signal(now, &signal);
    }

    /// Segments of data ask routers for a rate.
    #[inline]
    pub(in crate::tcp) const fn is_explicit(&self) -> bool {
        self.governor.is_explicit()
    }

    /// What a segment of data asks the routers for.
    pub(in crate::tcp) fn request(&self, now: Instant) -> Option<Request> {
        self.governor.request(&self.path_view(now), self.round_trips.rtt().measured())
    }

    /// What routers left of what was asked for. True when the controller was told.
    pub(in crate::tcp) fn handle_feedback(&mut self, now: Instant, change: RateChange) -> bool {
        let Some(srtt) = self.round_trips.rtt().measured() else { return false };
        let payload = f64::from(self.mss) / (f64::from(self.mss) + f64::from(self.headers()));
        let signal = self.governor.read_feedback(change, srtt, payload);
        if let Some(signal) = &signal {
            self.signal(now, signal);
        }
        signal.is_some()
    }

    /// Bytes of a full packet that are not payload.
    pub(super) fn headers(&self) -> u16 {
        self.agreed.headers + if self.governor.is_explicit() { Header::LENGTH as u16 } else { 0 }
    }

    /// The byte with this sequence number is under way.
    pub(in crate::tcp) fn is_outstanding(&self, number: Seq32) -> bool {
        let offset = self.offset(number);
        (self.board.una() as i64..self.board.next() as i64).contains(&offset)
    }

    /// A segment with this sequence number is under way, in a packet of more than `mtu` bytes.
    pub(in crate::tcp) fn is_longer(&self, number: Seq32, mtu: u16) -> bool {
        let offset = self.offset(number);
        let sent = self.board.get(self.board.find(offset.max(0) as u64));
        sent.is_some_and(|sent| {
            let payload = sent.len - u32::from(sent.fin);
            sent.start as i64 == offset && payload + u32::from(self.headers()) > u32::from(mtu)
        })
    }

    /// Somebody says that the path carries packets of `mtu` bytes.
    pub(in crate::tcp) fn set_path_mtu(&mut self, now: Instant, mtu: u16) {
        let (longest, headers) = (self.agreed.mss, self.headers());
        let mss = self.path_mtu.told(now, mtu, longest, headers, self.config.mtu_search);
        if !self.path_mtu.is_known() {
            self.governor.forbid_plain();
        }
        self.set_mss(now, Some(mss));
        self.lose_too_long();
    }

    /// The payload of a full segment may have changed.
    fn set_mss(&mut self, now: Instant, mss: Option<u16>) {
        if let Some(mss) = mss.filter(|mss| *mss != self.mss) {
            self.mss = mss;
            self.lose_too_long();
            self.signal(now, &Signal::MtuChanged { mss: ByteCount::new(u64::from(mss)) });
        }
    }

    /// RFC 1191, section 6.4: what is too long now is retransmitted at once, and that is no sign of congestion.
    fn lose_too_long(&mut self) {
        let lost = self.board.lose_longer_than(u32::from(self.mss));
        self.retransmissions.force_more(lost > 0);
    }
}
