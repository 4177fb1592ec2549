//! Histories of keyrings that are longer than a model checker can look at, with time that passes.
#![allow(dead_code, reason = "the fuzzer has no seeds")]

use std::collections::BTreeMap;

use bentpipe_units::{Instant, Span};

use crate::state::{Key, Message, State};

/// Keys are not used any more when they are so old.
const REJECT_AFTER: Span = Span::from_secs(180);
/// Requests of one history: their times are small numbers.
const ASKS: u8 = 100;

/// Plays the history that the input says, two bytes for each step.
///
/// # Panics
///
/// If a host takes its peer for another process by a replay, seals with keys that are too old, does not let a peer in
/// that was started anew, or has other keys than its peer after a renewal.
pub(crate) fn keyring_history(input: &[u8]) {
    let (order, steps) = input.split_first().unwrap_or((&0, &[]));
    let mut history = History::default();
    for step in steps.chunks_exact(2).take(100) {
        history.step(step[0], step[1], order % 2 == 0);
        history.check();
    }
    history.heals();
}

/// Requests that are answered, cross, are repeated and come after a restart.
pub(crate) fn keyring_seeds() -> Vec<Vec<u8>> {
    const ASK: [u8; 2] = [0, 0];
    const BACK: [u8; 2] = [0, 1];
    const SAY: [u8; 2] = [1, 0];
    const ANSWER: [u8; 2] = [1, 1];
    const RESTART: [u8; 2] = [3, 0];
    const RESTART_OTHER: [u8; 2] = [3, 1];
    const MINUTES: [u8; 2] = [4, 247];
    const ALL: [u8; 2] = [5, 3];
    let one = |number| [2, number];
    let histories: [&[[u8; 2]]; 6] = [
        &[ASK, ALL, SAY, ALL, ANSWER, ALL, MINUTES, ASK, ALL, SAY, ALL],
        &[ASK, BACK, ALL, SAY, ANSWER, ALL],
        &[ASK, ALL, SAY, ALL, RESTART, one(0), ASK, one(0), ALL, SAY, ALL],
        &[ASK, ALL, SAY, ALL, RESTART_OTHER, BACK, ALL, ANSWER, one(0), one(1), ALL],
        &[ASK, one(0), MINUTES, one(1), ASK, ALL, SAY, MINUTES, ALL],
        &[ASK, ASK, BACK, one(1), one(0), one(2), RESTART, BACK, ALL, ANSWER, SAY, ALL],
    ];
    histories
        .into_iter()
        .flat_map(|steps| [0, 1].map(|order| [&[order], &steps.concat()[..]].concat()))
        .collect()
}

struct History {
    state: State,
    /// Since when a host seals with keys.
    since: BTreeMap<(usize, Key), Instant>,
}

impl Default for History {
    fn default() -> Self {
        Self { state: State::new(), since: BTreeMap::new() }
    }
}

impl History {
    fn step(&mut self, what: u8, how: u8, keeps_times: bool) {
        let at = usize::from(how % 2);
        match what % 8 {
            0 if self.state.hosts[at].asks < ASKS => drop(self.state.ask(at)),
            1 => drop(self.state.say(at)),
            2 | 6 => {
                let which = usize::from(how) % self.state.captured.len().max(1);
                if let Some(message) = self.state.captured.iter().nth(which).copied() {
                    self.state.deliver(message);
                }
            }
            3 if self.state.hosts[at].restarts < 100 => self.state.restart(at, keeps_times),
            0 | 3 => {}
            4 => {
                let units = [1, 50, 1_000, 2_000].map(Span::from_millis);
                let span = units[usize::from(how % 4)] * u64::from(how / 4);
                self.state.pass(span);
            }
            5 => {
                for _ in 0..how % 4 {
                    self.everything_arrives();
                }
            }
            _ => self.state.hosts[at].ring.withdraw(),
        }
    }

    /// What has not arrived yet does.
    fn everything_arrives(&mut self) {
        let missing: Vec<Message> =
            self.state.captured.difference(&self.state.arrived).copied().collect();
        for message in missing {
            self.state.deliver(message);
        }
    }

    fn check(&mut self) {
        assert!(!self.state.wrong_epoch, "{:?}", self.state);
        for at in [0, 1] {
            let now = self.state.time();
            let Some(key) = self.state.current(at) else { continue };
            let since = *self.since.entry((at, key)).or_insert(now);
            assert!(now.since(since) < REJECT_AFTER, "{at} seals with {key:?} of {since:?}");
        }
    }

    /// From here on everything arrives.
    fn heals(&mut self) {
        for at in [0, 1] {
            assert!(self.state.lets_in(at), "{at}: {:?}", self.state);
            assert!(self.state.renews(at), "{at}: {:?}", self.state);
        }
    }
}
