//! Why there is no recording, or why it ended early.

use bentpipe_units::{BitRate, ByteCount, Span};

use crate::TraceError;

/// A plan that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The probes come too fast or too slowly.
    #[error("--interval: {interval} is not in {least} to {most}")]
    Interval {
        /// The time between two probes that was asked for.
        interval: Span,
        /// The shortest.
        least: Span,
        /// The longest.
        most: Span,
    },
    /// It is no longer than one interval.
    #[error("--duration: {duration} is too short: it takes at least {least}")]
    Duration {
        /// What was asked for.
        duration: Span,
        /// The shortest.
        least: Span,
    },
    /// A load without anybody who counts it.
    #[error("--load-up and --load-down need a responder: write HOST:PORT")]
    Load,
    /// It takes too many bytes.
    #[error(
        "--limit: {limit} is too little: this takes up to {needed} both ways; raise it, or measure more briefly, \
         with a longer --interval or with less load"
    )]
    Limit {
        /// Bytes that may be used.
        limit: ByteCount,
        /// Bytes that may be needed.
        needed: ByteCount,
    },
}

/// Why there is no recording.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RecordError {
    /// Nobody answers.
    #[error("nobody answered for {0}")]
    Silent(Span),
    /// It was stopped before it began.
    #[error("stopped before anybody answered")]
    Stopped,
    /// What came used up the bytes before anything was measured.
    #[error("--limit: what comes from there took {0} before anything was measured")]
    Flooded(ByteCount),
    /// The responder has as many sessions as it may have.
    #[error("the responder has no place for one more session: try again later")]
    Full,
    /// The responder sends no load at this rate.
    #[error("--load-down: the responder sends at no more than {0} now")]
    TooFast(BitRate),
    /// The responder sends no load of this size.
    #[error("the responder allows {0} in a session: measure more briefly or with less load")]
    TooMuch(ByteCount),
    /// There is no trace in what was measured.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

/// Why a recording is shorter than its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Early {
    /// It was told to stop.
    Stopped,
    /// It has used the bytes that it may use.
    Limit,
    /// The responder has sent what it may send.
    Responder,
}
