//! Measuring a link: machines that probe it, answer, and make a trace of what they saw.
//!
//! Both are told the time and the datagrams that came, and say what to send next. A [`Recorder`] sends probes to
//! whoever echoes them (ICMP) or to a [`Responder`], which also counts a paced load or sends one. Everything in the
//! trace is at the time at which the probe left that saw it.

mod arrivals;
mod cookie;
mod error;
mod message;
mod pace;
mod plan;
mod recorder;
mod reported;
mod responder;
mod samples;
mod session;

pub use error::{Early, PlanError, RecordError};
pub use plan::{Amount, Far, Plan};
pub use recorder::{Recorder, Recording};
pub use responder::{Limits, Responder};
