//! Media access described as data.

use bentpipe_units::BitRate;

use super::{
    Aloha, AlohaConfig, CfDama, CfDamaConfig, Csma, CsmaConfig, Hop, Line, Mac, Tdma, TdmaConfig,
};
use crate::queue::QueueSpec;
use crate::{Stream, Streams};

/// A [`Mac`] and its settings.
#[derive(Clone, Debug, PartialEq)]
pub enum MacSpec {
    /// [`Line`].
    Line {
        /// Line rate.
        rate: BitRate,
        /// What waits for it.
        queue: QueueSpec,
    },
    /// Terminals that share an uplink.
    Uplink {
        /// Rate of the uplink, for all of them together.
        rate: BitRate,
        /// Who sends when.
        access: Access,
        /// The queue of each terminal, which is a line of it.
        queues: Vec<QueueSpec>,
    },
    /// [`Csma`].
    Radio {
        /// Bit rate of the channel, for all stations together.
        rate: BitRate,
        /// How they share it.
        csma: CsmaConfig,
        /// Each line: where it leads, and what waits for it. Stations are numbered from 0.
        lines: Vec<(Hop, QueueSpec)>,
    },
}

/// Who sends when on a shared uplink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// [`Aloha`].
    Aloha(AlohaConfig),
    /// [`Tdma`].
    Tdma(TdmaConfig),
    /// [`CfDama`].
    CfDama(CfDamaConfig),
}

impl MacSpec {
    /// The queue before a line.
    pub fn queue(&self, line: usize) -> Option<&QueueSpec> {
        match self {
            Self::Line { queue, .. } => Some(queue),
            Self::Uplink { queues, .. } => queues.get(line),
            Self::Radio { lines, .. } => lines.get(line).map(|(_, queue)| queue),
        }
    }

    /// Builds it. Each line draws from streams below its own name in `lines`, so that
    /// another line shifts none of its draws.
    pub fn build(&self, streams: &Streams, lines: &[String]) -> Box<dyn Mac> {
        let stream = |line: usize, what: &str| {
            let name = lines.get(line).map_or("", String::as_str);
            streams.stream(&format!("{name}/{what}"))
        };
        let (rate, access, queues) = match self {
            Self::Line { rate, queue } => {
                return Box::new(Line::new(*rate, queue.build(*rate, stream(0, "queue"))));
            }
            Self::Radio { rate, csma, lines } => {
                return Box::new(radio(*rate, *csma, lines, &stream));
            }
            Self::Uplink { rate, access, queues } => (*rate, access, queues),
        };
        let queues =
            queues.iter().enumerate().map(|(n, queue)| queue.build(rate, stream(n, "queue")));
        match access {
            Access::Aloha(config) => {
                let terminals = queues.enumerate().map(|(n, queue)| (queue, stream(n, "backoff")));
                Box::new(Aloha::new(rate, *config, terminals))
            }
            Access::Tdma(config) => Box::new(Tdma::new(rate, *config, queues)),
            Access::CfDama(config) => {
                let terminals = queues.enumerate().map(|(n, queue)| (queue, stream(n, "requests")));
                Box::new(CfDama::new(rate, *config, terminals))
            }
        }
    }
}

/// A radio channel. A station draws from a stream below the name of its first line.
fn radio(
    rate: BitRate,
    csma: CsmaConfig,
    lines: &[(Hop, QueueSpec)],
    stream: &dyn Fn(usize, &str) -> Stream,
) -> Csma {
    let stations = lines.iter().flat_map(|(hop, _)| [hop.from, hop.to]).max();
    let stations = (0..stations.map_or(0, |last| last + 1)).map(|station| {
        let sends = |(hop, _): &(Hop, QueueSpec)| hop.from == station;
        // One without a line of its own never draws.
        stream(lines.iter().position(sends).unwrap_or(lines.len()), "persistence")
    });
    let queue = |(n, (hop, queue)): (usize, &(Hop, QueueSpec))| {
        (*hop, queue.build(rate, stream(n, "queue")))
    };
    Csma::new(rate, csma, lines.iter().enumerate().map(queue), stations)
}
