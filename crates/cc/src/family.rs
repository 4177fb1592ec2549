//! The frame of window algorithms: what TCP's controllers have in common, so that an algorithm is only what differs.

use std::fmt::Debug;

use bentpipe_units::{BitRate, ByteCount, Span};

use crate::row::{Build, Row};
use crate::window::Window;
use crate::{
    Ack, Controller, Gauge, Limits, Loss, LossCause, LowPriority, PathRequest, PathView, Phase,
    Repair, Sent, Signal, Snapshot,
};

/// Why a window is reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// A gap or a report of the peer showed a loss.
    Loss,
    /// A timer ran out.
    Timeout,
    /// A router marked a packet.
    Mark,
}

/// An event that an algorithm answers with a smaller window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reduction {
    /// Why.
    pub(crate) cause: Cause,
    /// Bytes in flight when it happened: what the path did not carry.
    pub(crate) flight: f64,
    /// What was lost was a repair.
    pub(crate) again: bool,
    /// The sender thinks that noise was the cause.
    pub(crate) looks_corrupt: bool,
}

/// What differs between algorithms. Everything has Reno's answer as its default.
pub(crate) trait Algorithm: Debug + Send {
    /// Looks at every acknowledgement, before the window grows.
    fn measure(&mut self, _window: &mut Window, _path: &PathView, _ack: &Ack) {}

    /// Enlarges the window. Called when the window limits the sender and no losses are repaired.
    fn grow(&mut self, window: &mut Window, path: &PathView, ack: &Ack);

    /// The new threshold in bytes, or `None` for no answer at all.
    fn reduce(&mut self, _window: &Window, _path: &PathView, event: &Reduction) -> Option<f64> {
        Some(event.flight / 2.0)
    }

    /// The window after a timeout in segments.
    fn loss_window(&self) -> f64 {
        1.0
    }

    /// The window in bytes while losses are repaired, in the form of Linux 2.6.22; what was under way is
    /// halved by the sender on the way there.
    fn while_repairing(&self, window: &Window) -> f64 {
        window.ssthresh() / 2.0
    }

    /// After the reduction for a loss, a mark or a timeout; also called for every further timeout.
    fn reduced(&mut self, _window: &mut Window, _path: &PathView, _event: &Reduction) {}

    /// Nothing known of the path is worth keeping; the window was reset.
    fn restart(&mut self) {}

    /// The sender was idle.
    fn idle(&mut self, window: &mut Window, _path: &PathView) {
        window.idle();
    }

    /// What the frame does not answer itself.
    fn signal(&mut self, _window: &mut Window, _path: &PathView, _signal: &Signal) {}

    /// The sending rate, from the window and the smoothed round trip.
    fn pacing(&self, _window: &Window, _srtt: Span) -> Option<BitRate> {
        None
    }

    /// The sending rate is that of the payload.
    fn of_payload(&self) -> bool {
        false
    }

    /// Segments that may leave back to back.
    fn burst(&self) -> Option<u64> {
        None
    }

    /// Paced segments leave in groups of [`Algorithm::burst`].
    fn groups(&self) -> bool {
        false
    }

    /// The phase, where it is one of the algorithm's own.
    fn phase(&self) -> Option<Phase> {
        None
    }

    /// What only this algorithm has.
    fn gauges(&self, _window: &Window) -> Vec<Gauge> {
        Vec::new()
    }

    /// As [`Controller::follows_sending`].
    fn follows_sending(&self) -> bool {
        false
    }

    /// As [`Controller::follows_queue`].
    fn follows_queue(&self) -> bool {
        false
    }

    /// As [`Controller::on_sent`].
    fn sent(&mut self, _window: &mut Window, _path: &PathView, _sent: &Sent) {}

    /// As [`Controller::path_request`].
    fn path_request(&self, _window: &Window, _path: &PathView) -> Option<PathRequest> {
        None
    }

    /// As [`Controller::low_priority`].
    fn low_priority(&self) -> LowPriority {
        LowPriority::Nothing
    }

    /// As [`Controller::repair`].
    fn repair(&self) -> Repair {
        Repair::default()
    }
}

/// A window that moves by an algorithm.
#[derive(Debug)]
pub(crate) struct Windowed<L> {
    window: Window,
    algorithm: L,
    srtt: Span,
    in_recovery: bool,
    /// The algorithm left the window as it was at the first timeout of the oldest segment: further ones do too.
    kept: bool,
}

impl<L: Algorithm + 'static> Windowed<L> {
    /// A new connection's controller.
    pub(crate) fn boxed(build: &Build<'_>, row: &Row, algorithm: L) -> Box<dyn Controller> {
        Box::new(Self::new(Window::new(build, row), algorithm))
    }
}

impl<L: Algorithm> Windowed<L> {
    /// A controller that starts with this window.
    pub(crate) const fn new(window: Window, algorithm: L) -> Self {
        Self { window, algorithm, srtt: Span::ZERO, in_recovery: false, kept: false }
    }

    /// Bytes in flight when a loss was found, without what it has taken out of flight. Where the window
    /// was the limit it says this best: the sender may count what was selectively acknowledged as gone.
    /// Linux 2.6.22 always takes the window.
    fn flight(&self, path: &PathView, lost: f64) -> f64 {
        let cwnd = self.window.cwnd();
        if path.cwnd_limited || self.window.is_whole() {
            cwnd
        } else {
            cwnd.min(path.in_flight.get() as f64 + lost)
        }
    }

    fn reduce(&mut self, path: &PathView, event: &Reduction) {
        if let Some(ssthresh) = self.algorithm.reduce(&self.window, path, event) {
            self.window.reduce(ssthresh);
            if self.window.is_whole() {
                self.window.fall_to(self.algorithm.while_repairing(&self.window));
            }
            self.algorithm.reduced(&mut self.window, path, event);
        }
    }

    fn time_out(&mut self, path: &PathView, event: &Reduction, new_episode: bool) {
        // RFC 5681, section 3.1: a segment that times out again leaves the threshold as it is. Linux 2.6.22
        // as ns-2.35 drives it halves it again.
        let ssthresh = if new_episode || self.window.is_whole() {
            let answer = self.algorithm.reduce(&self.window, path, event);
            self.kept = answer.is_none();
            answer
        } else {
            None
        };
        if self.kept {
            return;
        }
        self.window.time_out(ssthresh, self.algorithm.loss_window() * self.window.mss());
        self.algorithm.reduced(&mut self.window, path, event);
    }
}

impl<L: Algorithm> Controller for Windowed<L> {
    fn on_ack(&mut self, path: &PathView, ack: &Ack) {
        self.srtt = path.srtt;
        self.in_recovery = ack.in_recovery;
        self.algorithm.measure(&mut self.window, path, ack);
        if path.cwnd_limited && !ack.in_recovery && ack.bytes.get() > 0 {
            self.algorithm.grow(&mut self.window, path, ack);
        }
    }

    fn on_loss(&mut self, path: &PathView, loss: &Loss) {
        let event = Reduction {
            cause: if loss.cause == LossCause::Timeout { Cause::Timeout } else { Cause::Loss },
            flight: self.flight(path, loss.bytes.get() as f64),
            again: loss.again,
            looks_corrupt: loss.looks_corrupt,
        };
        self.in_recovery = false;
        match loss.cause {
            LossCause::Timeout => self.time_out(path, &event, loss.new_episode),
            LossCause::Persistent => {
                self.window.restart();
                self.algorithm.restart();
            }
            LossCause::Gap | LossCause::Nack => {
                self.in_recovery = true;
                if loss.new_episode {
                    self.reduce(path, &event);
                }
            }
        }
    }

    fn on_signal(&mut self, path: &PathView, signal: &Signal) {
        match signal {
            Signal::EcnCe => {
                let flight = self.flight(path, 0.0);
                let (again, looks_corrupt) = (false, false);
                self.reduce(path, &Reduction { cause: Cause::Mark, flight, again, looks_corrupt });
            }
            Signal::SpuriousLoss => self.window.undo(),
            Signal::RecoveryDone => {
                self.in_recovery = false;
                self.window.recovered(path.in_flight);
            }
            Signal::Idle { halvings: Some(times) } => self.window.halve(*times),
            Signal::Idle { halvings: None } => self.algorithm.idle(&mut self.window, path),
            Signal::MtuChanged { mss } => self.window.change_mss(*mss),
            Signal::Resume { window, ssthresh } => {
                self.window.resume(*window, *ssthresh);
                self.algorithm.restart();
            }
            _ => {}
        }
        self.algorithm.signal(&mut self.window, path, signal);
    }

    fn limits(&self) -> Limits {
        Limits {
            window: Some(self.window.bytes()),
            pacing: self.algorithm.pacing(&self.window, self.srtt),
            of_payload: self.algorithm.of_payload(),
            burst: self.algorithm.burst().map(|n| ByteCount::new(n * self.window.mss() as u64)),
            groups: self.algorithm.groups(),
        }
    }

    fn snapshot(&self) -> Snapshot {
        let phase = if self.in_recovery {
            Phase::Recovery
        } else if self.window.in_slow_start() {
            Phase::SlowStart
        } else {
            Phase::CongestionAvoidance
        };
        Snapshot {
            phase: self.algorithm.phase().unwrap_or(phase),
            cwnd: Some(self.window.bytes()),
            ssthresh: self.window.ssthresh_bytes(),
            gauges: self.algorithm.gauges(&self.window),
        }
    }

    fn follows_sending(&self) -> bool {
        self.algorithm.follows_sending()
    }

    fn follows_queue(&self) -> bool {
        self.algorithm.follows_queue()
    }

    fn on_sent(&mut self, path: &PathView, sent: &Sent) {
        self.algorithm.sent(&mut self.window, path, sent);
    }

    fn path_request(&self, path: &PathView) -> Option<PathRequest> {
        self.algorithm.path_request(&self.window, path)
    }

    fn low_priority(&self) -> LowPriority {
        self.algorithm.low_priority()
    }

    fn repair(&self) -> Repair {
        self.algorithm.repair()
    }
}
