//! Shapers of a known rate, shared in rounds.
//!
//! Where the rate of a link is known nobody has to find out what may be sent. The connections of an
//! association are scheduled in rounds on its shaper, and the associations of a host on the host's, for each link:
//! no queue stands anywhere but here, and what is short or repairs goes ahead of bulk. What the link to a peer
//! really carries its connections find out together ([`DedicatedLink`]).

use bentpipe_cc::DedicatedLink;
use bentpipe_pep::scheduler::{Discipline, Scheduler};
use bentpipe_units::{BitRate, ByteCount, Instant, Span};

use super::links::LINKS;

/// A timer may be late by this without loss of rate.
const CATCH_UP: Span = Span::from_millis(5);
/// Longer than this an answer does not wait for its round: it leaves at once, and is charged.
const ANSWER_WAIT: Span = Span::from_millis(20);
/// Bytes of answers that leave at once between two rounds, about.
const ANSWERS: ByteCount = ByteCount::new(3_000);
/// How much ahead of bulk repairs and short objects are.
pub(super) const AHEAD: u32 = 16;

/// The part of a link that a peer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The rate at which datagrams leave for it, all headers included.
    pub rate: BitRate,
    /// Its weight among the peers of this host.
    pub weight: u32,
}

/// The shaper of an association over one link.
#[derive(Debug)]
pub(super) struct PeerShaper {
    shaper: Shaper<Member>,
    /// What is known of the link to the peer.
    link: DedicatedLink,
    /// Its number on the shaper of the host.
    member: u32,
    /// The number on it of datagrams of applications, and whether some wait.
    datagrams: Option<u32>,
    datagrams_wait: bool,
    /// What was sent and not yet charged, headers of IP and UDP included.
    on_wire: ByteCount,
    /// Data of connections among it.
    data: ByteCount,
    /// Of answers that left at once since the last round.
    answers: ByteCount,
}

/// The shapers of an association, over each link whose rate is known.
pub(super) type Shapers = [Option<PeerShaper>; LINKS];

/// Who is scheduled by the shaper of an association.
#[derive(Clone, Copy, Debug)]
pub(super) enum Member {
    Connection(usize),
    Datagrams,
}

impl PeerShaper {
    /// That of a peer with this share, which is this member of the host's shaper.
    pub(super) fn new(share: Share, member: u32) -> Self {
        Self {
            shaper: Shaper::new(share.rate),
            link: DedicatedLink::new(share.rate),
            member,
            datagrams: None,
            datagrams_wait: false,
            // What was sent before there was a shaper is no debt.
            on_wire: ByteCount::ZERO,
            data: ByteCount::ZERO,
            answers: ByteCount::ZERO,
        }
    }

    /// Its number on the shaper of the host.
    pub(super) const fn member(&self) -> u32 {
        self.member
    }

    /// What is known of the link to the peer.
    pub(super) const fn link(&self) -> &DedicatedLink {
        &self.link
    }

    /// The peer's share is so large.
    pub(super) fn set_rate(&mut self, now: Instant, rate: BitRate) {
        self.link.set_rate(rate);
        self.shaper.set_rate(now, self.link.pace());
    }

    /// A member more. Returns its number.
    pub(super) fn join(&mut self, who: Member, weight: u32) -> u32 {
        self.shaper.join(who, weight)
    }

    pub(super) fn leave(&mut self, member: u32) {
        self.shaper.leave(member);
    }

    /// A member has something to send.
    pub(super) fn wake(&mut self, member: u32) {
        self.shaper.wake(member);
    }

    /// Datagrams of applications wait for their round.
    pub(super) fn wake_datagrams(&mut self, weight: u32) {
        let shaper = &mut self.shaper;
        let member = *self.datagrams.get_or_insert_with(|| shaper.join(Member::Datagrams, weight));
        if !self.datagrams_wait {
            shaper.set_weight(member, weight);
        }
        shaper.wake(member);
        self.datagrams_wait = true;
    }

    /// Whether datagrams of applications wait for their round.
    pub(super) const fn datagrams_wait(&self) -> bool {
        self.datagrams_wait
    }

    /// None waits any more.
    pub(super) const fn datagrams_left(&mut self) {
        self.datagrams_wait = false;
    }

    /// A datagram of so many bytes leaves, headers of IP and UDP included; a connection hears whether it `is_data` that
    /// arrived.
    pub(super) fn count_sent(&mut self, bytes: usize, is_data: bool) {
        let bytes = ByteCount::new(bytes as u64);
        self.on_wire += bytes;
        if is_data {
            self.data += bytes;
        }
    }

    /// So many bytes have left since this was asked last.
    fn take_sent(&mut self, now: Instant) -> ByteCount {
        let (bytes, data) = (std::mem::take(&mut self.on_wire), std::mem::take(&mut self.data));
        if bytes > ByteCount::ZERO {
            self.link.sent(now, bytes, data);
        }
        self.shaper.set_rate(now, self.link.pace());
        bytes
    }

    /// Charges what has left outside of a round. Returns its bytes.
    pub(super) fn charge_others(&mut self, now: Instant) -> ByteCount {
        let bytes = self.take_sent(now);
        self.shaper.charge(now, bytes);
        bytes
    }

    /// Who is scheduled next.
    pub(super) fn next(&mut self, now: Instant) -> Option<(u32, Member)> {
        self.shaper.next(now)
    }

    /// What became of a round of a member: it sent something, and weighs so much in the next, or it did not. Returns
    /// the bytes that left.
    pub(super) fn end_round(
        &mut self,
        now: Instant,
        member: u32,
        sent: bool,
        weight: u32,
    ) -> ByteCount {
        let bytes = self.take_sent(now);
        self.answers = ByteCount::ZERO;
        if sent {
            self.shaper.set_weight(member, weight);
        }
        self.shaper.end_round(now, member, sent.then_some(bytes));
        bytes
    }

    /// Whether an answer leaves without a round: it would wait for so long that the peer takes it for a queue in the
    /// path, and since the last round answers have taken little, however many are asked for.
    pub(super) fn answers_at_once(&self, now: Instant) -> bool {
        self.shaper.scheduler.busy_for(now) > ANSWER_WAIT && self.answers < ANSWERS
    }

    /// Charges an answer that has left at once. Returns its bytes.
    pub(super) fn charge_answer(&mut self, now: Instant) -> ByteCount {
        let bytes = self.charge_others(now);
        self.answers += bytes;
        bytes
    }

    /// When it is free for those who found it busy.
    pub(super) const fn due(&self) -> Option<Instant> {
        self.shaper.due()
    }

    /// Whether it is free for those who found it busy; true once.
    pub(super) fn take_due(&mut self, now: Instant) -> bool {
        self.shaper.due.take_if(|due| *due <= now).is_some()
    }
}

/// A shaper that several share, and what each of them stands for.
#[derive(Debug)]
pub(super) struct Shaper<T> {
    scheduler: Scheduler,
    rate: BitRate,
    owners: Vec<T>,
    /// When it is free, if somebody found it busy.
    due: Option<Instant>,
}

impl<T: Copy> Shaper<T> {
    /// A shaper of this rate.
    pub(super) const fn new(rate: BitRate) -> Self {
        let scheduler = Scheduler::new(rate, Discipline::Weighted).with_catch_up(CATCH_UP);
        Self { scheduler, rate, owners: Vec::new(), due: None }
    }

    /// A shaper that is never busy.
    pub(super) const fn unlimited() -> Self {
        Self::new(BitRate::from_bps(u64::MAX))
    }

    pub(super) const fn rate(&self) -> BitRate {
        self.rate
    }

    pub(super) fn set_rate(&mut self, now: Instant, rate: BitRate) {
        self.rate = rate;
        self.scheduler.set_rate(now, rate);
    }

    /// A member more. Returns its number.
    pub(super) fn join(&mut self, owner: T, weight: u32) -> u32 {
        let member = self.scheduler.join(weight);
        let index = member as usize;
        self.owners.resize(self.owners.len().max(index + 1), owner);
        self.owners[index] = owner;
        member
    }

    pub(super) fn leave(&mut self, member: u32) {
        self.scheduler.leave(member);
    }

    /// A member has something to send.
    pub(super) fn wake(&mut self, member: u32) {
        self.scheduler.wake(member);
    }

    pub(super) fn set_weight(&mut self, member: u32, weight: u32) {
        self.scheduler.set_weight(member, weight);
    }

    /// Who is scheduled next, and what that member stands for.
    pub(super) fn next(&mut self, now: Instant) -> Option<(u32, T)> {
        let member = self.scheduler.next(now);
        self.due = if member.is_none() { self.scheduler.poll_timeout() } else { None };
        member.map(|member| (member, self.owners[member as usize]))
    }

    /// What became of a round: so many bytes were sent, or nothing.
    pub(super) fn end_round(&mut self, now: Instant, member: u32, sent: Option<ByteCount>) {
        match sent {
            Some(bytes) => self.scheduler.sent(now, member, bytes),
            None => self.scheduler.passed(member),
        }
    }

    /// Bytes that left outside of a round count too.
    pub(super) fn charge(&mut self, now: Instant, bytes: ByteCount) {
        self.scheduler.charge(now, bytes);
    }

    /// The same of one member, whose next turn is later for it.
    pub(super) fn charge_to(&mut self, now: Instant, member: u32, bytes: ByteCount) {
        self.scheduler.charge_to(now, member, bytes);
    }

    /// When it is free for those who found it busy.
    pub(super) const fn due(&self) -> Option<Instant> {
        self.due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant::ZERO;

    /// A shaper on which a datagram of data has just left, and so many answers of so many bytes that did not wait.
    fn busy(answers: usize, bytes: usize) -> PeerShaper {
        let share = Share { rate: BitRate::from_bps(20_000), weight: 1 };
        let mut own = PeerShaper::new(share, 0);
        own.count_sent(1_500, true);
        own.charge_others(NOW);
        for _ in 0..answers {
            assert!(own.answers_at_once(NOW));
            own.count_sent(bytes, true);
            own.charge_answer(NOW);
        }
        own
    }

    #[test]
    fn answers_wait_for_nobody_until_they_took_their_part_of_a_round() {
        let share = Share { rate: BitRate::from_bps(20_000), weight: 1 };
        assert!(!PeerShaper::new(share, 0).answers_at_once(NOW), "the shaper is free");
        let mut own = busy(30, 100);
        assert!(!own.answers_at_once(NOW), "data would never have a round");
        let member = own.join(Member::Datagrams, 1);
        own.wake(member);
        let later = NOW + Span::from_secs(2);
        assert!(own.next(later).is_some());
        own.count_sent(1_500, true);
        own.end_round(later, member, true, 1);
        assert!(own.answers_at_once(later), "they had nothing of this round yet");
    }

    #[test]
    fn answers_that_left_at_once_are_charged_at_once() {
        let busy_for = |own: &PeerShaper| own.shaper.scheduler.busy_for(NOW);
        let more = busy_for(&busy(10, 100)).saturating_sub(busy_for(&busy(0, 100)));
        assert_eq!(more, Span::from_millis(400), "1,000 bytes at 20 kbit/s");
    }
}
