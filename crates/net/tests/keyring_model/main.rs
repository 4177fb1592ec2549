//! The rules that this protocol adds to Noise IK, checked in every order in which messages can be lost, repeated,
//! overtaken and kept for later, while hosts ask when they like and are restarted. The keyring is the one that hosts
//! use; ciphers are taken for perfect, so that keys are names.

use std::collections::BTreeSet;

use bentpipe_net::association::{Index, Keyring, Slot};
use bentpipe_units::Instant;
use stateright::{Checker as _, Model, Property};

/// A set of keys: who asked for it when, and which process answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Key {
    asker: usize,
    asker_epoch: u8,
    time: u8,
    answerer_epoch: u8,
}

impl Key {
    /// The name of the keys at a host.
    fn index(self, host: usize) -> Index {
        let side = u32::from(self.asker != host);
        let epochs = u32::from(self.asker_epoch) << 8 | u32::from(self.answerer_epoch);
        Index::new(side << 20 | epochs << 4 | u32::from(self.time))
    }
}

/// What anybody may have captured, and may deliver as often as he likes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Message {
    /// A request of a host in an epoch.
    Request { from: usize, epoch: u8, time: u8 },
    /// The answer to it.
    Answer(Key),
    /// A datagram of `from` under these keys.
    Data { from: usize, key: Key },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Host {
    ring: Keyring<Key, u8, ()>,
    epoch: u8,
    /// The calendar, which goes on over restarts.
    time: u8,
    /// The newest time of the peer's requests.
    seen: u8,
    asks: u8,
    restarts: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    hosts: [Host; 2],
    captured: BTreeSet<Message>,
    /// Messages that have arrived where they belong at least once.
    arrived: BTreeSet<Message>,
    /// Events with keys so far: the clock.
    clock: u64,
    /// A host took its peer for another one although the peer was not restarted.
    wrong_epoch: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Ask(usize),
    Say(usize),
    Deliver(Message),
    Restart(usize),
}

/// How much may happen.
struct Rules {
    /// Of each host.
    asks: [u8; 2],
    restarts: [u8; 2],
    /// The times of requests are kept over a restart.
    keeps_times: bool,
}

impl State {
    fn new() -> Self {
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

    fn now(&mut self) -> Instant {
        self.clock += 1;
        Instant::from_nanos(self.clock)
    }

    fn ask(&mut self, at: usize) -> Message {
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

    fn restart(&mut self, at: usize, keeps_times: bool) {
        let host = &mut self.hosts[at];
        host.ring = Keyring::new(at == 1);
        host.epoch += 1;
        host.restarts += 1;
        if !keeps_times {
            host.seen = 0;
        }
    }

    /// What a host says under the keys that it seals with.
    fn say(&mut self, at: usize) -> Option<Message> {
        let key = self.hosts[at].ring.current()?.traffic;
        let data = Message::Data { from: at, key };
        self.captured.insert(data);
        Some(data)
    }

    /// The keys that a host seals with.
    fn current(&mut self, at: usize) -> Option<Key> {
        self.hosts[at].ring.current().map(|keys| keys.traffic)
    }

    /// A host has proof that its peer is in another epoch than before.
    fn meets(&mut self, at: usize, before: Option<u64>) {
        let peer = u64::from(self.hosts[1 - at].epoch);
        let after = self.hosts[at].ring.epoch();
        // Never back, and never while the peer is the one of before.
        self.wrong_epoch |= before != after && before == Some(peer) || after < before;
    }

    fn deliver(&mut self, message: Message) -> Option<Message> {
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
    fn slot(&mut self, at: usize, key: Key) -> Option<Slot> {
        // Keys that the host asked for have the name of the request.
        let index = if key.asker == at { Key { answerer_epoch: 0, ..key } } else { key }.index(at);
        let (slot, known) = self.hosts[at].ring.find(index)?;
        (*known == key).then_some(slot)
    }

    /// A host that is started anew asks, and everything arrives: whether both then have the same keys.
    fn lets_in(&self, at: usize) -> bool {
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

    /// Everything has arrived that was sent, and both have said something under the keys that they seal with.
    fn is_quiet(&mut self) -> bool {
        let said = [0, 1].into_iter().all(|at| match self.current(at) {
            Some(key) => self.captured.contains(&Message::Data { from: at, key }),
            None => true,
        });
        said && self.captured == self.arrived
    }
}

impl Model for Rules {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State::new()]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for at in [0, 1] {
            let host = &state.hosts[at];
            if host.asks < self.asks[at] {
                actions.push(Action::Ask(at));
            }
            if host.restarts < self.restarts[at] {
                actions.push(Action::Restart(at));
            }
            if host.ring.is_up() {
                actions.push(Action::Say(at));
            }
        }
        actions.extend(state.captured.iter().map(|message| Action::Deliver(*message)));
    }

    fn next_state(&self, before: &State, action: Action) -> Option<State> {
        let mut state = before.clone();
        match action {
            Action::Ask(at) => drop(state.ask(at)),
            Action::Say(at) => drop(state.say(at)),
            Action::Restart(at) => state.restart(at, self.keeps_times),
            Action::Deliver(message) => drop(state.deliver(message)),
        }
        // The clock alone is no news.
        let clock = std::mem::replace(&mut state.clock, before.clock);
        if state == *before {
            return None;
        }
        state.clock = clock;
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(
                "nobody takes a peer for another one by a replay",
                |_, state: &State| !state.wrong_epoch,
            ),
            Property::always("a host that is started anew gets in", |_, state: &State| {
                [0, 1].into_iter().all(|at| state.lets_in(at))
            }),
            Property::always("what one seals when all is quiet the other opens", |_, state| {
                let mut state = State::clone(state);
                let restarted = state.hosts.iter().any(|host| host.restarts > 0);
                let asked_once = state.hosts.iter().all(|host| host.asks <= 1);
                let keys = [0, 1].map(|at| state.current(at));
                if restarted || !asked_once || !state.is_quiet() {
                    return true;
                }
                [0, 1]
                    .into_iter()
                    .all(|at| keys[at].is_none_or(|key| state.slot(1 - at, key).is_some()))
            }),
            Property::sometimes("requests cross", |rules: &Rules, state: &State| {
                if rules.asks.contains(&0) {
                    return true;
                }
                let mut state = state.clone();
                let keys = [0, 1].map(|at| state.current(at).map(|key| key.asker));
                keys == [Some(0), Some(1)]
            }),
            Property::sometimes("both agree on keys", |_, state: &State| {
                let mut state = state.clone();
                let keys = [0, 1].map(|at| state.current(at));
                keys[0].is_some() && keys[0] == keys[1]
            }),
        ]
    }
}

fn check(rules: Rules) {
    let checker = rules.checker().threads(2).spawn_bfs().join();
    println!(
        "{} states, {} of them different",
        checker.state_count(),
        checker.unique_state_count()
    );
    checker.assert_properties();
}

#[test]
fn replays_restarts_and_crossings_end_nothing_that_lives() {
    check(Rules { asks: [1, 1], restarts: [1, 1], keeps_times: true });
}

#[test]
fn so_they_do_where_the_times_of_requests_were_lost() {
    check(Rules { asks: [1, 1], restarts: [1, 1], keeps_times: false });
}

#[test]
fn requests_that_are_repeated_end_nothing_either() {
    for asks in [[2, 1], [1, 2]] {
        check(Rules { asks, restarts: [0, 0], keeps_times: true });
    }
}

#[test]
fn a_host_that_is_started_anew_twice_and_asks_again_is_the_one_that_counts() {
    for (asks, restarts) in [([2, 0], [2, 0]), ([0, 2], [0, 2])] {
        check(Rules { asks, restarts, keeps_times: true });
    }
}
