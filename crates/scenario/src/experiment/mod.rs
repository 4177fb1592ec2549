//! Experiments: a scenario, a sweep, metrics, and claims that are judged on the result.

mod claims;
mod metrics;
mod spec;
mod stats;
mod sweep;
mod watch;

pub use metrics::{METRICS, Metric, metric};
pub use spec::{Experiment, FigureSpec, PointSpec, SweepSpec, VariantSpec, find};
pub use stats::Estimate;
pub use sweep::{Progress, SweepOptions, run_all};
pub use watch::WatchSpec;
