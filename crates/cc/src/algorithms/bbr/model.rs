//! What acknowledgements tell of the path, and what BBR does about it.

use bentpipe_units::{Instant, Span};

use super::long_term::Sample;
use super::{Bbr, CYCLE, PROBE_RTT_TIME, Said, State};
use crate::bottleneck::scatter;
use crate::{Ack, PathView};

impl Bbr {
    /// Whether this acknowledgement begins a round, and the rate that it measured.
    pub(super) fn take_rate(&mut self, path: &PathView, ack: &Ack) -> Said {
        let sampled_from = ack.rate_sample.map(|sample| path.delivered - sample.delivered);
        let begins = match sampled_from {
            Some(prior) => prior.get() >= self.round_ends,
            None => path.round != self.path_round,
        };
        self.path_round = path.round;
        let lost = ack.lost.get() as f64;
        self.lost += lost;
        let acked = ack.bytes.get() as f64;
        let Some(delivery) = self.deliveries.take(path, ack) else {
            let sampled = false;
            return Said { acked, lost, begins: false, app_limited: true, sampled };
        };
        if begins {
            self.round_ends = path.delivered.get();
            self.round += 1;
            self.conserves = false;
        }
        let measured = |(from, to): (Instant, Instant)| (from..=to).contains(&ack.newest_sent_at);
        let app_limited = delivery.app_limited || self.probed.is_some_and(measured);
        let said = Said { acked, lost, begins, app_limited, sampled: true };
        self.follow_long_term(path, &said);
        if !app_limited || delivery.rate >= self.rate.get() {
            self.rate.take(self.round, delivery.rate);
        }
        said
    }

    fn follow_long_term(&mut self, path: &PathView, said: &Said) {
        let sample = Sample {
            now: path.now,
            begins: said.begins,
            app_limited: said.app_limited,
            lost: said.lost,
            delivered: path.delivered.get() as f64,
            all_lost: self.lost,
        };
        if self.long_term.take(&sample, self.state == State::ProbeBw) {
            self.probe_bandwidth(path);
        }
    }

    fn probe_bandwidth(&mut self, path: &PathView) {
        self.state = State::ProbeBw;
        // Any phase but the draining one, so that flows do not probe together.
        self.cycle = match scatter(path, 7) {
            0 => 0,
            n => n as usize + 1,
        };
        self.cycle_began = path.now;
    }

    fn follow_cycle(&mut self, path: &PathView, said: &Said) {
        let over = path.now.since(self.cycle_began) > self.rtt.get().unwrap_or(Span::ZERO);
        // What was under way before this acknowledgement.
        let flight = path.in_flight.get() as f64 + said.acked + said.lost;
        let gain = self.gain();
        let next = if gain > 1.0 {
            over && (said.lost > 0.0 || flight >= self.inflight(gain))
        } else if gain < 1.0 {
            over || flight <= self.inflight(1.0)
        } else {
            over
        };
        if next {
            self.cycle = (self.cycle + 1) % CYCLE.len();
            self.cycle_began = path.now;
        }
    }

    pub(super) fn follow(&mut self, path: &PathView, said: &Said, expired: bool) {
        if self.state == State::ProbeBw {
            self.follow_cycle(path, said);
        }
        if said.begins && !said.app_limited && !self.full && self.rate.get() > 0.0 {
            self.full = self.plateau.reached(self.rate.get());
        }
        if self.state == State::Startup && self.full {
            self.state = State::Drain;
        }
        if self.state == State::Drain && path.in_flight.get() as f64 <= self.inflight(1.0) {
            self.probe_bandwidth(path);
        }
        if expired && !self.idle_restart && !matches!(self.state, State::ProbeRtt(_)) {
            self.save_window();
            self.state = State::ProbeRtt(None);
            self.probed = Some((path.now, path.now));
        }
        if let State::ProbeRtt(until) = self.state {
            self.probe_round_trip(path, said, until);
        }
        if said.sampled && said.acked > 0.0 {
            self.idle_restart = false;
        }
    }

    fn probe_round_trip(&mut self, path: &PathView, said: &Said, until: Option<(Instant, bool)>) {
        self.probed = self.probed.map(|(from, _)| (from, path.now));
        let until = match until {
            None if path.in_flight.get() as f64 <= self.few() => {
                self.round_ends = path.delivered.get();
                Some((path.now + PROBE_RTT_TIME, false))
            }
            None => None,
            Some((at, round)) => Some((at, round || said.begins)),
        };
        self.state = State::ProbeRtt(until);
        if until.is_some_and(|(at, round)| round && path.now > at) {
            self.end_probe(path);
        }
    }

    /// The round trip is measured.
    fn end_probe(&mut self, path: &PathView) {
        self.rtt.refresh(path.now);
        self.window.set(self.prior.max(self.window.cwnd()));
        if self.full {
            self.probe_bandwidth(path);
        } else {
            self.state = State::Startup;
        }
    }
}
