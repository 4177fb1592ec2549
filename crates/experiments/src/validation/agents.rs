//! The agents of ns-2 and what stands for each of them here.

use bentpipe_scenario::{Override, Scenario};

use super::Error;

/// An agent of ns-2.35.
#[derive(Clone, Copy, Debug)]
pub struct Agent {
    /// Its name in ns-2's results.
    pub name: &'static str,
    /// The recovery that it has.
    recovery: &'static str,
    /// Its congestion controller.
    controller: &'static str,
    /// Parameters of the controller, as in a scenario file.
    parameters: &'static str,
}

const fn native(name: &'static str, recovery: &'static str) -> Agent {
    Agent { name, recovery, controller: "reno", parameters: "" }
}

/// The agent that drives modules of Linux 2.6.22 finds losses by FACK and halves rates.
const fn linux(name: &'static str, controller: &'static str, parameters: &'static str) -> Agent {
    Agent { name, recovery: "fack", controller, parameters }
}

/// All agents that are compared.
pub const AGENTS: [Agent; 12] = [
    native("tahoe", "tahoe"),
    native("reno", "reno"),
    native("newreno", "newreno"),
    native("sack1", "sack"),
    linux("linux-reno", "reno", "linux = 1.0,"),
    linux("linux-cubic", "cubic", "linux = 1.0,"),
    linux("linux-highspeed", "highspeed", "linux = 1.0,"),
    linux("linux-hybla", "hybla", "estimate = 0.0, paced = 0.0, linux = 1.0,"),
    linux("linux-scalable", "scalable", "a = 0.02, linux = 1.0,"),
    linux("linux-vegas", "vegas", "alpha = 2.0, beta = 4.0, linux = 1.0,"),
    linux("linux-veno", "veno", "linux = 1.0,"),
    linux("linux-westwood", "westwood-plus", "linux = 1.0,"),
];

/// What the agent that drives modules of Linux does otherwise: timestamps beside 1000 bytes of payload, a
/// finer clock, a sample from each acknowledgement, four reports for a loss.
const LINUX: [&str; 6] = [
    "timestamps=true",
    "mss=1012",
    "tick=1 ms",
    "sample_every_ack=true",
    "sample_duplicates=true",
    "dup_threshold=4",
];

/// The agent of this name.
pub fn agent(name: &str) -> Option<&'static Agent> {
    AGENTS.iter().find(|agent| agent.name == name)
}

impl Agent {
    /// The setting of ns-2's runs with what stands for this agent, at this bit error rate, and with further
    /// changes (`links.satellite.rate=2 Mbit/s`).
    ///
    /// # Errors
    /// When a change is not a valid one.
    pub fn scenario(&self, ber: f64, changes: &[String]) -> Result<Scenario, Error> {
        let Self { recovery, controller, parameters, .. } = self;
        let mut all = vec![
            format!("links.satellite.forward.ber={ber:?}"),
            format!("flows.file.tcp.recovery={recovery}"),
            format!("flows.file.tcp.controller={controller}"),
            format!(
                "flows.file.tcp.controller_parameters={{ {parameters} initial_ssthresh = 2000.0 }}"
            ),
        ];
        if self.is_linux() {
            all.extend(LINUX.map(|change| format!("flows.file.tcp.{change}")));
        }
        all.extend_from_slice(changes);
        let all: Result<Vec<Override>, _> = all.iter().map(|change| change.parse()).collect();
        Ok(Scenario::open("validate/geo-6mbit")?.with(&all?)?)
    }

    /// It drives a module of Linux 2.6.22.
    pub fn is_linux(&self) -> bool {
        self.name.starts_with("linux-")
    }
}
