//! Which keys of an association are used: the rules that this protocol adds to Noise IK.
//!
//! | slot | keys that | seals | opens |
//! |---|---|---|---|
//! | `current` | are agreed: the peer has proved that it has them | yes | yes |
//! | `next` | the peer asked for and has not used yet | no | yes |
//! | `previous` | were current before, or lost to others when two requests crossed | no | yes |
//!
//! | what happens | what follows |
//! |---|---|
//! | request of the peer | its keys become `next`; nothing else changes, for a request may be a replay |
//! | datagram under `next` | they become `current` and this host's own request is withdrawn. Where the own request was answered in the meantime the two crossed: the keys that the host with the larger public key asked for become `current`, the others `previous` |
//! | answer to the own request | its keys become `current` at once: it is bound to the request, so it cannot be a replay |
//! | either, with a later epoch of the peer than before | all keys of the epoch before are dropped, and so is what that epoch knew |
//! | either, with an earlier one | it is late, and ignored; but an answer to a request that was sent after the later epoch had proved its keys tells that the peer's calendar went back, and counts |
//! | [`REJECT_AFTER`] | keys in any slot are erased |
//!
//! An *epoch* is one run of the peer's process, named by the time of its start, which grows as the times in requests
//! do. Keys know the epoch that made them.

use bentpipe_units::{Instant, Span};

use super::datagram::{Index, MAC_LEN};

/// This host asks for new keys when those that it asked for are so old.
const REKEY_AFTER: Span = Span::from_secs(120);
/// The other host asks when they are so old, in case the first one cannot.
const REKEY_AFTER_LATE: Span = Span::from_secs(150);
/// Keys are renewed after so many datagrams: far below what AES-GCM allows.
const REKEY_DATAGRAMS: u64 = 1 << 23;
/// Keys are not used any more and erased when they are so old, whatever happens.
const REJECT_AFTER: Span = Span::from_secs(180);
/// Keys that the peer asked for and has not used after so long are nobody's. Longer than the longest time
/// between two requests.
const OFFER: Span = Span::from_secs(15);
/// Keys that were offered are waited for so long before this host asks for its own.
const OFFER_WAIT: Span = Span::from_secs(5);
/// First time to wait for the answer to a request. Longer than most round trips over a satellite.
const RETRY_FIRST: Span = Span::from_millis(1500);
/// Longest time to wait for it.
const RETRY_LAST: Span = Span::from_secs(12);

/// What counts how often it has sealed something.
pub trait Sealed {
    /// Datagrams sealed so far.
    fn sealed(&self) -> u64;
}

/// One set of keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Keys<T> {
    /// What seals and opens.
    pub traffic: T,
    /// This host's name for them.
    pub index: Index,
    epoch: u64,
    since: Instant,
    /// This host asked for them.
    is_ours: bool,
}

/// Keys that the peer asked for, and what is to be done once it has used them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Offer<T, X> {
    keys: Keys<T>,
    held: X,
    /// The peer has not used them for so long that this host asks for its own.
    is_stale: bool,
}

/// A request of this host that waits for its answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Request<I> {
    /// What the answer is read with; taken while that is tried.
    pub initiator: Option<I>,
    /// Where the answer is to come to.
    pub index: Index,
    /// What the peer gave as a proof of this host's address.
    pub cookie: Option<[u8; MAC_LEN]>,
    sent_at: Instant,
    retry_at: Instant,
    wait: Span,
}

/// Which slot keys are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// Those that seal.
    Current,
    /// Those that the peer has asked for.
    Next,
    /// Those of before.
    Previous,
}

/// What agreed keys bring with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreed<X> {
    /// The peer is not the one of before: its process was started anew, and knows nothing of what was.
    pub new_epoch: bool,
    /// What was to be done once the keys are agreed.
    pub held: X,
}

/// The keys of one association: `T` seals and opens, `I` waits for an answer, `X` waits for keys to be used.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Keyring<T, I, X> {
    /// This host's public key is the larger one of the two.
    is_larger: bool,
    current: Option<Keys<T>>,
    next: Option<Offer<T, X>>,
    previous: Option<Keys<T>>,
    request: Option<Request<I>>,
    /// The epoch of the peer that proved its keys last, and when those were made.
    epoch: Option<(u64, Instant)>,
    /// Names of keys that are gone.
    dropped: Vec<Index>,
}

impl<T, I, X> Keyring<T, I, X> {
    /// No keys yet. Of two requests that cross, that of the host with the larger public key counts.
    pub const fn new(is_larger: bool) -> Self {
        Self {
            is_larger,
            current: None,
            next: None,
            previous: None,
            request: None,
            epoch: None,
            dropped: Vec::new(),
        }
    }

    /// The keys that seal.
    pub const fn current(&mut self) -> Option<&mut Keys<T>> {
        self.current.as_mut()
    }

    /// Whether there are keys that seal.
    pub const fn is_up(&self) -> bool {
        self.current.is_some()
    }

    /// Whether there are any keys, or a request for some.
    pub const fn is_empty(&self) -> bool {
        self.current.is_none()
            && self.next.is_none()
            && self.previous.is_none()
            && self.request.is_none()
    }

    /// The epoch of the peer that has proved its keys.
    pub fn epoch(&self) -> Option<u64> {
        self.epoch.map(|(epoch, _)| epoch)
    }

    /// Whether a request of this epoch comes late: the peer has been started anew since.
    pub fn is_past(&self, epoch: u64) -> bool {
        self.epoch().is_some_and(|known| epoch < known)
    }

    /// The request that waits for its answer to `index`.
    pub fn request(&mut self, index: Index) -> Option<&mut Request<I>> {
        self.request.as_mut().filter(|request| request.index == index)
    }

    /// Where the answer to the request that waits is to come to.
    pub fn requested(&self) -> Option<Index> {
        self.request.as_ref().map(|request| request.index)
    }

    /// Whether keys are on their way: this host has asked, or the peer has a moment ago.
    pub fn is_coming(&self) -> bool {
        self.request.is_some() || self.next.as_ref().is_some_and(|offer| !offer.is_stale)
    }

    /// The keys of this name.
    pub fn find(&mut self, index: Index) -> Option<(Slot, &mut T)> {
        let next = self.next.as_mut().map(|offer| &mut offer.keys);
        let slots = [
            (Slot::Current, self.current.as_mut()),
            (Slot::Next, next),
            (Slot::Previous, self.previous.as_mut()),
        ];
        slots.into_iter().find_map(|(slot, keys)| {
            keys.filter(|keys| keys.index == index).map(|keys| (slot, &mut keys.traffic))
        })
    }

    /// The peer asked for these keys, in this epoch of its own. Once it uses them `held` is due. Returns what was
    /// held for the request before this one.
    pub fn offer(
        &mut self,
        now: Instant,
        traffic: T,
        index: Index,
        epoch: u64,
        held: X,
    ) -> Option<X> {
        let keys = Keys { traffic, index, epoch, since: now, is_ours: false };
        let before = self.next.replace(Offer { keys, held, is_stale: false })?;
        self.dropped.push(before.keys.index);
        Some(before.held)
    }

    /// The peer has used the keys that it asked for. Nothing follows if it has been started anew since.
    pub fn confirm(&mut self) -> Option<Agreed<X>> {
        let Offer { keys, held, .. } = self.next.take()?;
        if self.is_past(keys.epoch) {
            self.dropped.push(keys.index);
            return None;
        }
        self.withdraw();
        let new_epoch = self.begin_epoch(keys.epoch, keys.since);
        let crossed = |current: &Keys<T>| current.is_ours && current.since >= keys.since;
        let gives_way = if self.is_larger && self.current.as_ref().is_some_and(crossed) {
            Some(keys)
        } else {
            self.current.replace(keys)
        };
        if gives_way.is_some() {
            self.retire(gives_way);
        }
        Some(Agreed { new_epoch, held })
    }

    /// The peer answered the request of this host, in this epoch of its own. Nothing follows if it has been started
    /// anew since.
    pub fn agree(&mut self, now: Instant, traffic: T, epoch: u64) -> Option<Agreed<()>> {
        let sent_at = self.request.as_ref()?.sent_at;
        let later = |(known, proved): (u64, Instant)| epoch < known && proved >= sent_at;
        if self.epoch.is_some_and(later) {
            return None;
        }
        let index = self.request.take()?.index;
        let new_epoch = self.begin_epoch(epoch, sent_at);
        let keys = Keys { traffic, index, epoch, since: now, is_ours: true };
        let before = self.current.replace(keys);
        if before.is_some() {
            self.retire(before);
        }
        Some(Agreed { new_epoch, held: () })
    }

    /// The peer has proved that it was in this epoch at that time: keys of another one are nobody's, but those that a
    /// later one asked for.
    fn begin_epoch(&mut self, epoch: u64, at: Instant) -> bool {
        let before = self.epoch.replace((epoch, at));
        let is_new = before.is_some_and(|(before, _)| before != epoch);
        if is_new {
            for keys in [self.current.take(), self.previous.take()].into_iter().flatten() {
                self.dropped.push(keys.index);
            }
        }
        if let Some(offer) = self.next.take_if(|offer| offer.keys.epoch < epoch) {
            self.dropped.push(offer.keys.index);
        }
        is_new
    }

    /// Keys that only open what is late from now on.
    fn retire(&mut self, keys: Option<Keys<T>>) {
        if let Some(older) = std::mem::replace(&mut self.previous, keys) {
            self.dropped.push(older.index);
        }
    }

    /// A request was sent, whose answer comes to `index`: when to send another one.
    pub fn asked(&mut self, now: Instant, initiator: I, index: Index) {
        let before = self.request.take();
        let wait = before.as_ref().map_or(RETRY_FIRST, |r| (r.wait * 2).min(RETRY_LAST));
        let cookie = before.and_then(|r| r.cookie);
        let initiator = Some(initiator);
        let retry_at = now + wait;
        self.request = Some(Request { initiator, index, cookie, sent_at: now, retry_at, wait });
    }

    /// Nobody waits for the answer to this host's request any more.
    pub fn withdraw(&mut self) {
        if let Some(request) = self.request.take() {
            self.dropped.push(request.index);
        }
    }

    /// Forgets all keys and the peer's epoch: what it says next is a beginning. A request of this host waits on.
    pub fn forget(&mut self) {
        let keys = [self.current.take(), self.previous.take()];
        let offered = self.next.take().map(|offer| offer.keys);
        for keys in keys.into_iter().flatten().chain(offered) {
            self.dropped.push(keys.index);
        }
        self.epoch = None;
    }

    /// Erases what is too old. Returns what was held for keys that the peer has never used.
    pub fn expire(&mut self, now: Instant) -> Option<X> {
        for slot in [&mut self.current, &mut self.previous] {
            if let Some(keys) = slot.take_if(|keys| keys.since + REJECT_AFTER <= now) {
                self.dropped.push(keys.index);
            }
        }
        let offer = self.next.as_mut()?;
        offer.is_stale = offer.keys.since + OFFER_WAIT <= now;
        let offer = self.next.take_if(|offer| offer.keys.since + OFFER <= now)?;
        self.dropped.push(offer.keys.index);
        Some(offer.held)
    }

    /// When a request that was not answered is to be repeated.
    pub fn retry(&self) -> Option<Instant> {
        self.request.as_ref().map(|request| request.retry_at)
    }

    /// When this host asks for keys, if the peer is considered unreachable at `silent`.
    pub fn renewal(&self, silent: Option<Instant>) -> Option<Instant>
    where
        T: Sealed,
    {
        if self.request.is_some() {
            return self.retry();
        }
        let keys = self.current.as_ref()?;
        let age = match (keys.is_ours, keys.traffic.sealed() >= REKEY_DATAGRAMS) {
            (_, true) => Span::ZERO,
            (true, false) => REKEY_AFTER,
            (false, false) => REKEY_AFTER_LATE,
        };
        Instant::earliest(Some(keys.since + age), silent)
    }

    /// When [`Keyring::expire`] has something to do.
    pub fn expiry(&self) -> Option<Instant> {
        let end = |keys: &Option<Keys<T>>| keys.as_ref().map(|keys| keys.since + REJECT_AFTER);
        let offer = self
            .next
            .as_ref()
            .map(|offer| offer.keys.since + if offer.is_stale { OFFER } else { OFFER_WAIT });
        Instant::earliest(Instant::earliest(end(&self.current), end(&self.previous)), offer)
    }

    /// Takes the names of keys that are gone.
    pub fn take_dropped(&mut self) -> Vec<Index> {
        std::mem::take(&mut self.dropped)
    }

    /// The names of all keys and of the request.
    pub fn indices(&self) -> impl Iterator<Item = Index> + '_ {
        let offered = self.next.as_ref().map(|offer| &offer.keys);
        let keys = [self.current.as_ref(), offered, self.previous.as_ref()];
        let request = self.request.as_ref().map(|request| request.index);
        keys.into_iter().flatten().map(|keys| keys.index).chain(request)
    }
}
