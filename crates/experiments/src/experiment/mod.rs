//! Experiments: a scenario, a sweep, metrics, and claims that are judged on the result.

mod airtime;
mod check;
mod claims;
mod metrics;
mod named;
mod ranks;
mod spec;
mod stats;
mod sweep;
mod trace;
mod verdicts;
mod watch;

pub use metrics::{METRICS, Metric, Outcome, metric};
pub use named::find;
pub use spec::{Experiment, FigureSpec, PointSpec, SweepSpec, VariantSpec};
pub use stats::Estimate;
pub(crate) use sweep::in_pool;
pub use sweep::{Laboratory, SweepOptions, run_all};
pub use trace::Trace;
pub use watch::WatchSpec;
