//! The rules that this protocol adds to Noise IK, checked in every order in which messages can be lost, repeated,
//! overtaken and kept for later, while hosts ask when they like and are restarted; and in long histories with time.
//! The keyring is the one that hosts use.

mod history;
mod state;

use bentpipe_testkit::fuzz::bounded_runs;
use stateright::{Checker as _, Model, Property};

use history::{keyring_history, keyring_seeds};
use state::{Message, State};

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

#[test]
fn in_long_histories_with_time_too() {
    for seed in keyring_seeds() {
        keyring_history(&seed);
    }
    bounded_runs(20_000, &keyring_seeds(), keyring_history);
}
