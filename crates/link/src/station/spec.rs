//! Stations described as data.

use bentpipe_units::BitRate;

use super::{Line, Station};
use crate::Streams;
use crate::queue::QueueSpec;

/// A station and its settings.
#[derive(Clone, Debug, PartialEq)]
pub enum StationSpec {
    /// [`Line`].
    Line {
        /// Line rate.
        rate: BitRate,
        /// What waits for it.
        queue: QueueSpec,
    },
}

impl StationSpec {
    /// Builds the station. Each line draws from streams below its own name in `lines`, so that
    /// another line shifts none of its draws.
    pub fn build(&self, streams: &Streams, lines: &[String]) -> Box<dyn Station> {
        let stream = |line: usize, what: &str| {
            let name = lines.get(line).map_or("", String::as_str);
            streams.stream(&format!("{name}/{what}"))
        };
        match self {
            Self::Line { rate, queue } => {
                Box::new(Line::new(*rate, queue.build(*rate, stream(0, "queue"))))
            }
        }
    }
}
