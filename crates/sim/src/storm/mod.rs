//! Storms: whole hosts, their programs and disks, over links on which everything goes wrong that can.
//!
//! A seed is a history: who is killed when, what is lost, corrupted, repeated or held back, which calendar jumps, which disk
//! fails. After every event it is checked that nothing happened that must not, and after the storm, when everything works
//! again, so does everything else, within a stated time. The same seed gives the same history, byte for byte.

#[cfg(feature = "bundles")]
mod bundle_nodes;
#[cfg(feature = "bundles")]
mod bundles;
mod config;
mod flood;
mod flows;
mod gateway;
mod hostile;
mod hosts;
mod lan;
mod network;
mod node;
mod operator;
mod phase;
mod programs;
mod scale;
mod settings;
mod talks;
mod transfer;
mod users;

use std::fmt::{self, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};

use bentpipe_association::SecretKey;
use bentpipe_link::Stream;
use bentpipe_units::{Instant, Span};

pub use network::Datagrams;

use scale::Scale;

/// Lines of a log that are kept.
const MOST_LINES: usize = 20_000;

/// What a storm was like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Simulated time.
    pub simulated: Span,
    /// Arrivals of datagrams, timers and faults.
    pub events: u64,
    /// What became of datagrams.
    pub datagrams: Datagrams,
    /// Programs that were killed.
    pub kills: u64,
    /// Programs that were stopped by their operators.
    pub closes: u64,
    /// Losses of power.
    pub power_losses: u64,
    /// Changes of weather, outages, new addresses.
    pub changes: u64,
    /// Calendars that jumped.
    pub calendars: u64,
    /// Times that a disk began to fail, filled up or stalled.
    pub disk_faults: u64,
    /// Files that somebody changed while they were sent.
    pub edits: u64,
    /// Transfers or flows that were begun.
    pub attempts: u64,
    /// Those that arrived whole.
    pub successes: u64,
    /// Things that a hostile peer did.
    pub hostile: u64,
    /// A hash of everything that arrived and when.
    pub digest: u64,
}

impl Report {
    /// Adds what another storm was like.
    pub fn add(&mut self, other: &Self) {
        self.simulated = self.simulated + other.simulated;
        for (sum, one) in [
            (&mut self.events, other.events),
            (&mut self.datagrams.sent, other.datagrams.sent),
            (&mut self.datagrams.lost, other.datagrams.lost),
            (&mut self.datagrams.corrupted, other.datagrams.corrupted),
            (&mut self.datagrams.duplicated, other.datagrams.duplicated),
            (&mut self.datagrams.held, other.datagrams.held),
            (&mut self.datagrams.from_strangers, other.datagrams.from_strangers),
            (&mut self.kills, other.kills),
            (&mut self.closes, other.closes),
            (&mut self.power_losses, other.power_losses),
            (&mut self.changes, other.changes),
            (&mut self.calendars, other.calendars),
            (&mut self.disk_faults, other.disk_faults),
            (&mut self.edits, other.edits),
            (&mut self.attempts, other.attempts),
            (&mut self.successes, other.successes),
            (&mut self.hostile, other.hostile),
        ] {
            *sum += one;
        }
        self.digest ^= other.digest.rotate_left(1);
    }
}

/// What must not happen and did.
#[derive(Clone, Debug)]
pub struct Finding {
    /// When, in simulated time.
    pub at: Instant,
    /// What.
    pub what: String,
    /// What happened before, a line each.
    pub log: Vec<String>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "after {:.3} s: {}", self.at.as_secs_f64(), self.what)
    }
}

/// Which programs are in a storm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Storm {
    /// Clients send trees of files to a server, whose disk fails and whose power goes.
    Transfer,
    /// Two gateways, and flows between the hosts on both sides.
    Gateway,
    /// A source of bundles, a relay that keeps them, and a destination whose link is there for seconds.
    #[cfg(feature = "bundles")]
    Bundles,
}

impl Storm {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::Transfer,
        Self::Gateway,
        #[cfg(feature = "bundles")]
        Self::Bundles,
    ];

    /// What it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Transfer => "transfer",
            Self::Gateway => "gateway",
            #[cfg(feature = "bundles")]
            Self::Bundles => "bundles",
        }
    }

    /// Lets the storm of a seed happen.
    ///
    /// # Errors
    /// What must not happen and did, be it a panic.
    pub fn run(self, seed: u64) -> Result<Report, Box<Finding>> {
        self.run_on(seed, Scale::default())
    }

    /// The same, and every program that is killed is weighed: what its peers make it allocate is within their limits.
    /// Nothing of the bundles' world is weighed. `heap` tells how many bytes this process has allocated at the moment.
    ///
    /// # Errors
    /// What must not happen and did, be it a panic.
    pub fn run_weighing(self, seed: u64, heap: fn() -> usize) -> Result<Report, Box<Finding>> {
        self.run_on(seed, Scale::new(heap))
    }

    fn run_on(self, seed: u64, scale: Scale) -> Result<Report, Box<Finding>> {
        match self {
            Self::Transfer => transfer::World::new(seed, scale).run(),
            Self::Gateway => gateway::World::new(seed, scale).run(),
            #[cfg(feature = "bundles")]
            Self::Bundles => bundles::World::new(seed).run(),
        }
    }
}

/// Lets it happen. A panic is told like everything else that must not happen.
fn history(happens: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(happens)).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        Err(format!("panic: {}", text.unwrap_or("without a word")))
    })
}

/// Steps at one instant. A storm that needs more goes round in circles.
const MOST_STEPS: u32 = 100_000;

/// The time of a storm.
#[derive(Clone, Copy, Debug, Default)]
struct Time {
    now: Instant,
    steps: u32,
}

impl Time {
    /// It is `next` now, or still the same time.
    fn advance(&mut self, next: Instant) -> Result<Instant, String> {
        if next > self.now {
            *self = Self { now: next, steps: 0 };
        }
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return Err(format!("{MOST_STEPS} steps in which no time passes"));
        }
        Ok(self.now)
    }
}

/// Seconds since 1970 when a storm begins.
const CALENDAR: u64 = 1_700_000_000;

/// Nanoseconds since 1970 at the beginning of the world, by a calendar that is wrong: by seconds or by years.
fn jump(random: &mut Stream) -> u64 {
    const SECOND: u64 = 1_000_000_000;
    let most = [1, 30, 70, 200, 4_000, 400_000_000][random.below(6) as usize];
    let by = random.below(most * SECOND);
    let base = CALENDAR * SECOND;
    if random.chance(0.6) { base - by } else { base + by }
}

/// Keys whose order is random.
fn keys(random: &mut Stream, count: usize) -> Vec<SecretKey> {
    (0..count)
        .map(|_| {
            let mut bytes = [0; 32];
            bytes.iter_mut().for_each(|byte| *byte = random.bits() as u8);
            SecretKey::from_bytes(bytes)
        })
        .collect()
}

/// What happens in a storm, for whoever reads it.
#[derive(Debug, Default)]
struct Log {
    lines: Vec<String>,
    digest: u64,
}

impl Log {
    fn say(&mut self, now: Instant, what: impl fmt::Display) {
        if self.lines.len() < MOST_LINES {
            let mut line = String::new();
            let _ = write!(line, "{:10.3} s  {what}", now.as_secs_f64());
            self.lines.push(line);
        }
    }

    /// Something arrived: it goes into the hash of the history.
    fn digest(&mut self, now: Instant, bytes: &[u8]) {
        for part in now.as_nanos().to_le_bytes().iter().chain(bytes) {
            self.digest = (self.digest ^ u64::from(*part)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests;
