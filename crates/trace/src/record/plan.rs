//! What a recording will take.

use bentpipe_units::{BitRate, ByteCount, Span};

use super::error::PlanError;
use super::message::{ECHO_SIZE, LOAD_SIZE, PROBE_SIZE, SILENCE, WIDE_SIZE};
use crate::import::Way;

/// The shortest time between probes.
const LEAST_INTERVAL: Span = Span::from_millis(1);
/// The longest.
const MOST_INTERVAL: Span = Span::from_secs(60);
/// Probes before the first answer and behind the last one are not closer than this.
pub(super) const SLOW: Span = Span::from_millis(100);
/// An answer is waited for so long at first.
pub(super) const OPEN_TIMEOUT: Span = Span::from_secs(10);
/// Late answers are waited for so long.
pub(super) const GRACE: Span = Span::from_secs(3);
/// The most that is sent besides probes and loads: before the first answer, behind the end, and to take leave.
const BESIDES: u64 = (OPEN_TIMEOUT.as_nanos() + GRACE.as_nanos()) / SLOW.as_nanos() + 8;

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Far {
    /// Anybody who sends back what comes.
    Echo,
    /// A responder.
    Responder,
}

/// What is to be recorded, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Who answers.
    pub far: Far,
    /// How long it takes from the first answer on.
    pub duration: Span,
    /// Time between two probes.
    pub interval: Span,
    /// The most bytes, both ways together.
    pub limit: ByteCount,
    /// A load to the far end.
    pub load_up: Option<BitRate>,
    /// A load from there.
    pub load_down: Option<BitRate>,
    /// Which way the trace is for.
    pub way: Way,
    /// More missing answers in a row than this are an outage.
    pub gap: usize,
    /// Bytes of headers before each datagram.
    pub headers: ByteCount,
}

/// What is sent one way at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount {
    /// How many packets.
    pub packets: u64,
    /// Bytes with headers.
    pub bytes: ByteCount,
}

impl Plan {
    /// Whether it can be.
    ///
    /// # Errors
    /// When it takes more bytes than it may, or asks for what there is not.
    pub fn check(&self) -> Result<(), PlanError> {
        // A responder takes a client that is silent for one who has left.
        let most = if self.far == Far::Responder { SILENCE / 2 } else { MOST_INTERVAL };
        let (interval, least) = (self.interval, LEAST_INTERVAL);
        if !(least..=most).contains(&interval) {
            return Err(PlanError::Interval { interval, least, most });
        }
        if self.duration < interval {
            return Err(PlanError::Duration { duration: self.duration, least: interval });
        }
        if self.far == Far::Echo && (self.load_up.is_some() || self.load_down.is_some()) {
            return Err(PlanError::Load);
        }
        let needed = self.up().bytes + self.down().bytes;
        if needed > self.limit {
            return Err(PlanError::Limit { limit: self.limit, needed });
        }
        Ok(())
    }

    /// What is sent to the far end at most.
    pub fn up(&self) -> Amount {
        self.amount(self.load_up)
    }

    /// What comes from there at most, if each packet comes once.
    pub fn down(&self) -> Amount {
        self.amount(self.load_down)
    }

    fn amount(&self, load: Option<BitRate>) -> Amount {
        let probes = self.duration.as_nanos().div_ceil(self.interval.as_nanos().max(1)) + BESIDES;
        let size = self.wire(LOAD_SIZE);
        let loads = load.map_or(0, |rate| rate.bytes_in(self.duration).get() / size.get() + 1);
        Amount {
            packets: probes + loads,
            bytes: self.wire(self.probe_size()) * probes + size * loads,
        }
    }

    /// Bytes of a probe without headers.
    pub(super) const fn probe_size(&self) -> usize {
        match (self.far, self.load_up) {
            (Far::Echo, _) => ECHO_SIZE,
            (Far::Responder, None) => PROBE_SIZE,
            (Far::Responder, Some(_)) => WIDE_SIZE,
        }
    }

    /// Bytes of a datagram on the wire.
    pub(super) fn wire(&self, size: usize) -> ByteCount {
        self.headers + ByteCount::new(size as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: Plan = Plan {
        far: Far::Responder,
        duration: Span::from_secs(10),
        interval: Span::from_millis(20),
        limit: ByteCount::new(100_000_000),
        load_up: None,
        load_down: None,
        way: Way::Down,
        gap: 3,
        headers: ByteCount::new(28),
    };

    #[test]
    fn a_plan_says_what_it_takes_each_way() {
        let loaded = Plan { load_down: Some(BitRate::from_bps(9_824_000)), ..PLAN };
        assert_eq!(loaded.check(), Ok(()));
        let Amount { packets, bytes } = loaded.up();
        assert_eq!((packets, bytes), (638, ByteCount::new(638 * (128 + 28))));
        assert_eq!(loaded.down().packets, 638 + 10_001);
    }

    #[test]
    fn a_plan_that_cannot_be_is_named() {
        let rate = Some(BitRate::from_bps(1_000_000));
        let ms = Span::from_millis;
        for (plan, said) in [
            (
                Plan { interval: Span::from_micros(999), ..PLAN },
                "--interval: 999 us is not in 1 ms",
            ),
            (Plan { interval: ms(501), ..PLAN }, "to 500 ms"),
            (Plan { duration: ms(19), ..PLAN }, "--duration: 19 ms is too short"),
            (Plan { far: Far::Echo, load_up: rate, ..PLAN }, "write HOST:PORT"),
            (Plan { limit: ByteCount::new(100_000), ..PLAN }, "--limit: 100000 B is too little"),
        ] {
            let error = plan.check().expect_err(said).to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
