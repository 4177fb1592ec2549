//! Every fact a run emits, in one schema with one version number.
//!
//! Data flows one way: endpoints and links fill these, the command line, files, plots and Python
//! read them. Nothing here depends on the wall clock.
//!
//! ```
//! use bentpipe_record::LinkSummary;
//!
//! // What both directions of a link carried.
//! let forward = LinkSummary { packets: 100, delivered: 99, lost_random: 1, ..LinkSummary::default() };
//! let mut both = LinkSummary { packets: 50, delivered: 50, ..LinkSummary::default() };
//! both.add(&forward);
//! assert_eq!((both.packets, both.delivered, both.lost_random), (150, 149, 1));
//! ```

mod agent;
mod comparison;
mod constellation;
mod distribution;
mod experiment;
mod flow;
mod limit;
mod proxy;
mod run;
mod sample;
mod steady;

pub use agent::AgentSummary;
pub use comparison::{Comparison, ComparisonRow, Estimate};
pub use constellation::{ConstellationSummary, HandoverRecord, RouteChange, RouteSummary};
pub use distribution::{Distribution, Quantiles};
pub use experiment::{Bound, Claim, Experiments, Figure, Point, Tally};
pub use flow::{
    FlowMetrics, FlowSummary, PieceSummary, ProbingCycle, ProbingSummary, TransportCounters,
};
pub use limit::{LimitCounts, LimitShares, SendLimit};
pub use proxy::{Occupancy, ProxySample, ProxySummary};
pub use run::{GatewaySummary, LinkSummary, RunSummary};
pub use sample::Sample;
pub use steady::{Steady, SteadyFlow, SteadyProxy};

/// Version of the schema. It grows whenever a field changes its meaning or goes away.
pub const SCHEMA_VERSION: u32 = 1;
