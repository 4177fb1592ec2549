//! How many of a connection's own segments wait in queues, from round-trip times (TCP Vegas).

use bentpipe_units::Span;

use crate::PathView;

/// The round-trip samples of one round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundRtt {
    /// Their mean in seconds.
    pub(crate) mean: f64,
    /// The smallest in seconds.
    pub(crate) min: f64,
    /// How many there were.
    pub(crate) samples: u64,
}

/// Gathers the samples of each round.
#[derive(Debug, Default)]
pub(crate) struct Rounds {
    round: u64,
    sum: f64,
    min: f64,
    samples: u64,
}

impl Rounds {
    /// Takes the latest sample. If it begins a round, gives the samples of the round before.
    pub(crate) fn take(&mut self, path: &PathView) -> Option<RoundRtt> {
        self.take_in(path, path.round)
    }

    /// The same with rounds that are numbered otherwise than the sender's.
    pub(crate) fn take_in(&mut self, path: &PathView, round: u64) -> Option<RoundRtt> {
        let ended = (round != self.round && self.samples > 0).then(|| RoundRtt {
            mean: self.sum / self.samples as f64,
            min: self.min,
            samples: self.samples,
        });
        let rtt = path.latest_rtt.as_secs_f64();
        if round != self.round || self.samples == 0 {
            *self = Self { round, sum: 0.0, min: rtt, samples: 0 };
        }
        self.sum += rtt;
        self.min = self.min.min(rtt);
        self.samples += 1;
        ended
    }
}

/// Segments of a window that wait in queues: what the window would carry without queues, less what it
/// carries, for the time of an empty path. Zero while nothing is measured.
pub(crate) fn queued(segments: f64, base: Span, rtt: f64) -> f64 {
    let waiting = rtt - base.as_secs_f64();
    if waiting > 0.0 { segments * waiting / rtt } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_of_twice_the_path_has_half_of_itself_in_queues() {
        assert_eq!(queued(40.0, Span::from_millis(500), 1.0), 20.0);
        assert_eq!(queued(40.0, Span::from_millis(500), 0.5), 0.0);
        assert_eq!(queued(40.0, Span::MAX, 0.5), 0.0);
    }
}
