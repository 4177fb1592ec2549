//! The commands of the simulator.

mod demo;
mod experiments;
mod init;
mod list;
mod orbit;
#[cfg(feature = "net")]
mod record;
mod run;
mod storm;
#[cfg(feature = "parquet")]
mod sweep;
mod trace;

use clap::Subcommand;

pub(crate) use demo::Demo;
pub(crate) use experiments::{Compare, Format, Reproduce};
pub(crate) use init::Init;
pub(crate) use list::List;
pub(crate) use orbit::Orbit;
#[cfg(feature = "net")]
pub(crate) use record::{FarEnd, TraceRecord, TraceRespond};
pub(crate) use run::Run;
#[cfg(feature = "net")]
pub(crate) use run::Source;
pub(crate) use storm::{Storm, World};
#[cfg(feature = "parquet")]
pub(crate) use sweep::{Merge, Sweep};
#[cfg(feature = "net")]
pub(crate) use trace::TraceWay;
pub(crate) use trace::{Measured, Trace, TraceCommand, TraceFromOrbit, TraceImport, TraceInfo};

use demo::DEMO_EXAMPLES;
use experiments::{COMPARE_EXAMPLES, REPRODUCE_EXAMPLES};
use init::INIT_EXAMPLES;
use list::LIST_EXAMPLES;
use orbit::ORBIT_EXAMPLES;
use run::RUN_EXAMPLES;
use storm::STORM_EXAMPLES;
use trace::TRACE_EXAMPLES;

/// What needs no network and no other host.
#[derive(Debug, Subcommand)]
pub(crate) enum Simulator {
    /// Show four protocols over three satellite links, in seconds
    #[command(after_help = DEMO_EXAMPLES)]
    Demo(Demo),
    /// Write a scenario of a link of your own
    #[command(after_help = INIT_EXAMPLES)]
    Init(Init),
    /// Reproduce experiments of a paper and judge its claims
    #[command(after_help = REPRODUCE_EXAMPLES)]
    Reproduce(Reproduce),
    /// Rank protocols and controllers on one scenario
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(Compare),
    /// Run a scenario with many values, variants and seeds
    #[cfg(feature = "parquet")]
    #[command(after_help = sweep::SWEEP_EXAMPLES)]
    Sweep(Sweep),
    /// Put the shards of a sweep together
    #[cfg(feature = "parquet")]
    #[command(after_help = sweep::MERGE_EXAMPLES)]
    Merge(Merge),
    /// Run one scenario once
    #[command(after_help = RUN_EXAMPLES)]
    Run(Run),
    /// Test gateways and file transfer under random faults
    #[command(after_help = STORM_EXAMPLES)]
    Storm(Storm),
    /// Compute delay, route and handovers between two places over satellites
    #[command(after_help = ORBIT_EXAMPLES)]
    Orbit(Orbit),
    /// Show, import and compute traces of links
    #[command(after_help = TRACE_EXAMPLES)]
    Trace(Trace),
    /// List built-in scenarios, controllers, models
    #[command(after_help = LIST_EXAMPLES)]
    List(List),
}
