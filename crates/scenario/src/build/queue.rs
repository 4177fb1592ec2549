//! The queues of links that hold packets.

use bentpipe_link::queue::{
    AckReconstructionConfig, DisciplineSpec, FqCodelConfig, QueueSpec, RedConfig,
};
use bentpipe_link::{CustomError, QueueLimit, Registry};
use bentpipe_units::{BitRate, ByteCount};

use super::aqm;
use crate::error::did_you_mean;
use crate::schema::link::{LinkDirection, LinkTable};
use crate::schema::quantity::{Quantity, Room};
use crate::schema::queue::QueueTable;

/// What may wait in a queue that holds packets when nothing else is said.
const LIMIT: QueueLimit = QueueLimit::Packets(50);

impl QueueTable {
    /// The queue, as one that holds its packets; `product` is the bandwidth-delay product of its link, if that is known.
    ///
    /// # Errors
    /// The key that cannot be, and why.
    pub(crate) fn spec(
        &self,
        product: Option<ByteCount>,
        brought: &Registry,
    ) -> Result<QueueSpec, (&'static str, String)> {
        let room = |limit: &Option<Quantity<Room>>, default: QueueLimit| match limit {
            None => Ok(default),
            Some(Quantity(room)) => room.limit(product).map_err(|message| ("limit", message)),
        };
        let held = |limit: &Option<Quantity<Room>>, discipline| {
            Ok(QueueSpec { limit: room(limit, LIMIT)?, discipline })
        };
        match self {
            Self::Eager(room) => {
                let limit = room.limit(product).map_err(|message| ("limit", message))?;
                Ok(QueueSpec { limit, discipline: DisciplineSpec::DropTail })
            }
            Self::DropTail { limit } => held(limit, DisciplineSpec::DropTail),
            Self::Red { limit, min, max, weight, probability, gentle, ecn } => {
                let default = RedConfig::default();
                let config = RedConfig {
                    min: min.unwrap_or(default.min),
                    max: max.unwrap_or(default.max),
                    weight: weight.map_or(default.weight, |p| p.0),
                    probability: probability.map_or(default.probability, |p| p.0),
                    gentle: gentle.unwrap_or(default.gentle),
                    ecn: ecn.unwrap_or(default.ecn),
                };
                if config.min.is_nan() || config.min < 0.0 {
                    return Err(("min", format!("{}: it must not be below 0", config.min)));
                }
                if !(config.max > config.min && config.max.is_finite()) {
                    let message = format!("{}: it must be above `min`, {}", config.max, config.min);
                    return Err(("max", message));
                }
                held(limit, DisciplineSpec::Red(config))
            }
            Self::Codel { limit, target, interval, ecn } => {
                held(limit, DisciplineSpec::Codel(aqm::codel(*target, *interval, *ecn)?))
            }
            Self::FqCodel { limit, flows, quantum, target, interval, ecn } => {
                let codel = aqm::codel(*target, *interval, *ecn)?;
                let config = aqm::fq_codel(*flows, *quantum, codel)?;
                let limit = room(limit, FqCodelConfig::LIMIT)?;
                Ok(QueueSpec { limit, discipline: DisciplineSpec::FqCodel(config) })
            }
            Self::Pie { limit, target, update, alpha, beta, max_burst, ecn, mark_threshold } => {
                let (target, update, alpha, beta) = (*target, *update, *alpha, *beta);
                let pi = aqm::Pi { target, update, alpha, beta };
                let config = aqm::pie(pi, *max_burst, *ecn, *mark_threshold)?;
                held(limit, DisciplineSpec::Pie(config))
            }
            Self::DualPi2 { limit, target, update, alpha, beta, coupling, step } => {
                let (target, update, alpha, beta) = (*target, *update, *alpha, *beta);
                let pi = aqm::Pi { target, update, alpha, beta };
                held(limit, DisciplineSpec::DualPi2(aqm::dualpi2(pi, *coupling, *step)?))
            }
            Self::Fuzzy { limit, target, update, gain, ecn } => {
                held(limit, DisciplineSpec::Fuzzy(aqm::fuzzy(*target, *update, *gain, *ecn)?))
            }
            Self::DropLowPriority { limit } => held(limit, DisciplineSpec::DropLowPriority),
            Self::AckPriority { limit, in_a_row } => {
                let in_a_row = at_least_one("in_a_row", in_a_row.unwrap_or(8))?;
                held(limit, DisciplineSpec::AckPriority { in_a_row })
            }
            Self::AckFilter { limit, reports, in_place } => {
                let (reports, in_place) = (reports.unwrap_or(false), in_place.unwrap_or(false));
                held(limit, DisciplineSpec::AckFilter { reports, in_place })
            }
            Self::AckReconstruction { limit, segment, every } => {
                let default = AckReconstructionConfig::default();
                let config = AckReconstructionConfig {
                    segment: segment.map_or(default.segment, |size| size.0),
                    every: at_least_one("every", every.unwrap_or(default.every))?,
                };
                if config.segment == ByteCount::ZERO {
                    return Err(("segment", "0 B: it must be above zero".to_owned()));
                }
                held(limit, DisciplineSpec::AckReconstruction(config))
            }
            Self::Xcp { limit } => held(limit, DisciplineSpec::Xcp { p_xcp: false }),
            Self::PXcp { limit } => held(limit, DisciplineSpec::Xcp { p_xcp: true }),
            Self::BaTcp { limit } => held(limit, DisciplineSpec::BaTcp),
            Self::Custom { limit, name, parameters } => {
                let choice = brought
                    .queue(name, parameters)
                    .map_err(|error| unfit(&error, brought.queues().map(|row| row.name)))?;
                held(limit, DisciplineSpec::Custom(choice))
            }
        }
    }
}

/// What is under way in a round trip on a link that has this rate in a direction, where it says its delays.
pub(super) fn product(link: &LinkTable, rate: Option<BitRate>) -> Option<ByteCount> {
    let delay = |own: &Option<LinkDirection>| {
        own.as_ref().and_then(|own| own.delay).or(link.delay).map(|delay| delay.0)
    };
    let round_trip = delay(&link.forward_link)? + delay(&link.return_link)?;
    let bits = rate?.as_bps() as f64 * round_trip.as_secs_f64();
    Some(ByteCount::new((bits / 8.0).round() as u64))
}

fn at_least_one(key: &'static str, value: u32) -> Result<u32, (&'static str, String)> {
    if value == 0 { Err((key, "0: it must be 1 or more".to_owned())) } else { Ok(value) }
}

/// The key of a model or a queue of the program that cannot be, and why; `known` are those that could.
pub(crate) fn unfit<'a>(
    error: &CustomError,
    known: impl Iterator<Item = &'a str>,
) -> (&'static str, String) {
    match error {
        CustomError::NoSuchModel(name) | CustomError::NoSuchQueue(name) => {
            ("name", format!("{error}{}", did_you_mean(name, known)))
        }
        _ => ("parameters", error.to_string()),
    }
}
