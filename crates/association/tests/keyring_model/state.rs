//! Two hosts with their keyrings, and whoever captures what they say. Ciphers are taken for perfect, so that keys
//! are names.
#![allow(dead_code, reason = "the fuzzer asks for less than the model")]

use std::collections::BTreeSet;

use bentpipe_association::secure::{Index, Keyring, Slot};
use bentpipe_units::{Instant, Span};

/// A set of keys: who asked for it when, and which process answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) asker: usize,
    pub(crate) asker_epoch: u8,
    pub(crate) time: u8,
    pub(crate) answerer_epoch: u8,
}

impl Key {
    /// The name of the keys at a host.
    pub(crate) fn index(self, host: usize) -> Index {
        let side = u32::from(self.asker != host);
        let epochs = u32::from(self.asker_epoch) << 8 | u32::from(self.answerer_epoch);
        Index::new(side << 24 | epochs << 8 | u32::from(self.time))
    }
}

/// What anybody may have captured, and may deliver as often as he likes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Message {
    /// A request of a host in an epoch.
    Request { from: usize, epoch: u8, time: u8 },
    /// The answer to it.
    Answer(Key),
    /// A datagram of `from` under these keys.
    Data { from: usize, key: Key },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Host {
    pub(crate) ring: Keyring<Key, u8, ()>,
    pub(crate) epoch: u8,
    /// The calendar, which goes on over restarts.
    pub(crate) time: u8,
    /// The newest time of the peer's requests.
    pub(crate) seen: u8,
    pub(crate) asks: u8,
    pub(crate) restarts: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct State {
    pub(crate) hosts: [Host; 2],
    pub(crate) captured: BTreeSet<Message>,
    /// Messages that have arrived where they belong at least once.
    pub(crate) arrived: BTreeSet<Message>,
    /// Events with keys so far: the clock.
    pub(crate) clock: u64,
    /// A host took its peer for another one although the peer was not restarted.
    pub(crate) wrong_epoch: bool,
}

impl State {
    pub(crate) fn new() -> Self {
        // The second host has the larger key.
        let host = |is_larger| Host {
            ring: Keyring::new(is_larger),
            epoch: 1,
            time: 0,
            seen: 0,
            asks: 0,
            restarts: 0,
        };
        Self {
            hosts: [host(false), host(true)],
            captured: BTreeSet::new(),
            arrived: BTreeSet::new(),
            clock: 0,
            wrong_epoch: false,
        }
    }

    pub(crate) fn now(&mut self) -> Instant {
        self.clock += 1;
        Instant::from_nanos(self.clock)
    }

    /// The time now.
    pub(crate) const fn time(&self) -> Instant {
        Instant::from_nanos(self.clock)
    }

    /// Time passes, and what is too old is erased.
    pub(crate) fn pass(&mut self, span: Span) {
        self.clock += span.as_nanos();
        let now = self.time();
        for host in &mut self.hosts {
            host.ring.expire(now);
            host.ring.take_dropped();
        }
    }

    pub(crate) fn ask(&mut self, at: usize) -> Message {
        let now = self.now();
        let host = &mut self.hosts[at];
        host.time += 1;
        host.asks += 1;
        let key = Key { asker: at, asker_epoch: host.epoch, time: host.time, answerer_epoch: 0 };
        host.ring.asked(now, host.time, key.index(at));
        let request = Message::Request { from: at, epoch: host.epoch, time: host.time };
        self.captured.insert(request);
        request
    }

    pub(crate) fn restart(&mut self, at: usize, keeps_times: bool) {
        let host = &mut self.hosts[at];
        host.ring = Keyring::new(at == 1);
        host.epoch += 1;
        host.restarts += 1;
        if !keeps_times {
            host.seen = 0;
        }
    }

    /// What a host says under the keys that it seals with.
    pub(crate) fn say(&mut self, at: usize) -> Option<Message> {
        let key = self.hosts[at].ring.current()?.traffic;
        let data = Message::Data { from: at, key };
        self.captured.insert(data);
        Some(data)
    }

    /// The keys that a host seals with.
    pub(crate) fn current(&mut self, at: usize) -> Option<Key> {
        self.hosts[at].ring.current().map(|keys| keys.traffic)
    }

    /// A host has proof that its peer is in another epoch than before.
    pub(crate) fn meets(&mut self, at: usize, before: Option<u64>) {
        let peer = u64::from(self.hosts[1 - at].epoch);
        let after = self.hosts[at].ring.epoch();
        // Never back, and never while the peer is the one of before.
        self.wrong_epoch |= before != after && before == Some(peer) || after < before;
    }

    pub(crate) fn deliver(&mut self, message: Message) -> Option<Message> {
        let now = self.now();
        self.arrived.insert(message);
        let answer = match message {
            Message::Request { from, epoch, time } => {
                let at = 1 - from;
                let host = &mut self.hosts[at];
                if time <= host.seen {
                    return None;
                }
                host.seen = time;
                let key = Key { asker: from, asker_epoch: epoch, time, answerer_epoch: host.epoch };
                host.ring.offer(now, key, key.index(at), epoch.into(), ());
                Some(Message::Answer(key))
            }
            Message::Answer(key) => {
                let (at, before) = (key.asker, self.hosts[key.asker].ring.epoch());
                let host = &mut self.hosts[at];
                // The answer is bound to this request of this process.
                let waits = Key { answerer_epoch: 0, ..key }.index(at);
                let request = host.ring.request(waits)?;
                if request.initiator != Some(key.time) || host.epoch != key.asker_epoch {
                    return None;
                }
                host.ring.agree(now, key, key.answerer_epoch.into())?;
                self.meets(at, before);
                None
            }
            Message::Data { from, key } => {
                let (at, before) = (1 - from, self.hosts[1 - from].ring.epoch());
                let slot = self.slot(at, key)?;
                if slot == Slot::Next {
                    self.hosts[at].ring.confirm();
                    self.meets(at, before);
                }
                None
            }
        };
        for host in &mut self.hosts {
            host.ring.take_dropped();
        }
        self.captured.extend(answer);
        answer
    }

    /// Where a host has these keys.
    pub(crate) fn slot(&mut self, at: usize, key: Key) -> Option<Slot> {
        // Keys that the host asked for have the name of the request.
        let index = if key.asker == at { Key { answerer_epoch: 0, ..key } } else { key }.index(at);
        let (slot, known) = self.hosts[at].ring.find(index)?;
        (*known == key).then_some(slot)
    }

    /// A host that is started anew asks, and everything arrives: whether both then have the same keys.
    pub(crate) fn lets_in(&self, at: usize) -> bool {
        let mut state = self.clone();
        state.restart(at, true);
        let request = state.ask(at);
        let Some(answer) = state.deliver(request) else { return false };
        state.deliver(answer);
        let Some(data) = state.say(at) else { return false };
        state.deliver(data);
        let epoch = u64::from(state.hosts[at].epoch);
        let both = [0, 1].map(|host| state.current(host));
        both[0].is_some() && both[0] == both[1] && state.hosts[1 - at].ring.epoch() == Some(epoch)
    }

    /// A host asks for new keys, and everything arrives: whether both then have the same.
    pub(crate) fn renews(&self, at: usize) -> bool {
        let mut state = self.clone();
        let request = state.ask(at);
        let Some(answer) = state.deliver(request) else { return false };
        state.deliver(answer);
        let Some(data) = state.say(at) else { return false };
        state.deliver(data);
        let both = [0, 1].map(|host| state.current(host));
        both[0].is_some() && both[0] == both[1]
    }

    /// Everything has arrived that was sent, and both have said something under the keys that they seal with.
    pub(crate) fn is_quiet(&mut self) -> bool {
        let said = [0, 1].into_iter().all(|at| match self.current(at) {
            Some(key) => self.captured.contains(&Message::Data { from: at, key }),
            None => true,
        });
        said && self.captured == self.arrived
    }
}
