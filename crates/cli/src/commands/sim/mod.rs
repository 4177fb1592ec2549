//! The commands of the simulator.

mod compare;
mod demo;
mod init;
pub(super) mod json;
mod list;
mod orbit;
mod reproduce;
mod run;
pub(in crate::commands) mod show;
mod storm;
#[cfg(feature = "parquet")]
mod sweep;
mod trace;

use bentpipe_scenario::{GroundError, Override, Scenario, ScenarioError};

use crate::args::sim::Simulator;
use crate::failure::Failure;

/// Does what was asked.
pub(crate) fn execute(command: Simulator) -> Result<(), Failure> {
    match command {
        Simulator::Demo(args) => demo::demo(&args),
        Simulator::Init(args) => init::init(&args),
        Simulator::Reproduce(args) => reproduce::reproduce(&args),
        Simulator::Compare(args) => compare::compare(&args),
        #[cfg(feature = "parquet")]
        Simulator::Sweep(args) => sweep::sweep(&args),
        #[cfg(feature = "parquet")]
        Simulator::Merge(args) => sweep::merge(&args),
        Simulator::Run(args) => run::run(&args),
        Simulator::Storm(args) => storm::storm(&args),
        Simulator::Orbit(args) => orbit::orbit(&args),
        Simulator::Trace(args) => trace::trace(&args),
        Simulator::List(args) => list::list(&args),
    }
}

/// Changes values of a scenario, and says so where its keys have another name now.
pub(super) fn changed(
    scenario: &Scenario,
    overrides: &[Override],
) -> Result<Scenario, ScenarioError> {
    for warning in scenario.warnings() {
        anstream::eprintln!("bentpipe: warning: {warning}");
    }
    scenario.with(overrides)
}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<GroundError> for Failure {
    fn from(error: GroundError) -> Self {
        Self::Input(match error {
            GroundError::Option { option, message } => {
                format!("--{}: {message}", option.replace('_', "-"))
            }
            GroundError::Constellation(..) => error.to_string(),
        })
    }
}

/// The library that reads Parquet panics on some damaged files, which is an error like others and said as one.
pub(super) fn hush_damaged_files() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().name() != Some(bentpipe_trace::parquet::THREAD) {
            tell(panic);
        }
    }));
}
