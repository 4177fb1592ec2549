//! The queue of a link in a scenario file.

use std::collections::BTreeMap;

use bentpipe_link::queue::{AckSpreadConfig, DisciplineSpec, QueueSpec, RedConfig};
use bentpipe_link::{CustomError, QueueLimit, Registry};
use bentpipe_units::ByteCount;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::did_you_mean;
use crate::named::Choice;
use crate::quantity::{Probability, Quantity, Room, Written as _};

/// What may wait in a queue that holds packets when nothing else is said.
const LIMIT: QueueLimit = QueueLimit::Packets(50);

/// What waits for a line, and what goes next.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "discipline", rename_all = "kebab-case", deny_unknown_fields)]
pub enum QueueTable {
    /// Drop-tail without held packets: the fate of each one is known when it comes.
    #[serde(skip)]
    Eager(QueueLimit),
    /// First in, first out; what finds the queue full is lost.
    DropTail {
        /// What may wait; 50 packets.
        limit: Option<Quantity<Room>>,
    },
    /// Random early detection.
    Red {
        /// What may wait; 50 packets.
        limit: Option<Quantity<Room>>,
        /// Mean queue in packets below which nothing happens; 5.
        min: Option<f64>,
        /// Mean queue in packets from which every packet is dropped; 15.
        max: Option<f64>,
        /// Weight of a new packet in the mean; 0.002.
        weight: Option<Probability>,
        /// Probability at `max`; 0.1.
        probability: Option<Probability>,
        /// From `max` to twice that the probability rises to 1; true.
        gentle: Option<bool>,
        /// Senders that understand marks are told by marks; true.
        ecn: Option<bool>,
    },
    /// Packets of low priority are lost first.
    LowFirst {
        /// What may wait; 50 packets.
        limit: Option<Quantity<Room>>,
    },
    /// Acknowledgments go before data.
    AcksFirst {
        /// What may wait; 50 packets.
        limit: Option<Quantity<Room>>,
        /// Acknowledgments before another packet has its turn; 8.
        in_a_row: Option<u32>,
    },
    /// An acknowledgment removes those that it makes needless.
    AckFilter {
        /// What may wait; 50 packets.
        limit: Option<Quantity<Room>>,
        /// XSTP's reports are filtered as well; false.
        reports: Option<bool>,
        /// It moves up to the place of the oldest one that it removes; false.
        in_place: Option<bool>,
    },
    /// Acknowledgments that were thinned out are filled up again.
    AckSpread {
        /// What may wait; 50 packets.
        limit: Option<Quantity<Room>>,
        /// Bytes that one data segment carries; 1460 B.
        segment: Option<Quantity<ByteCount>>,
        /// Most segments that one acknowledgment acknowledges after it; 2.
        every: Option<u32>,
    },
    /// The router of XCP.
    Xcp {
        /// What may wait; 50 packets.
        limit: Option<Quantity<Room>>,
    },
    /// The router of P-XCP.
    PXcp {
        /// What may wait; 50 packets.
        limit: Option<Quantity<Room>>,
    },
    /// A queue of the program that reads the file, which brings it.
    Custom {
        /// What may wait; 50 packets.
        limit: Option<Quantity<Room>>,
        /// Its name.
        name: String,
        /// Values of its parameters.
        #[serde(default)]
        parameters: BTreeMap<String, f64>,
    },
}

impl Choice for QueueTable {
    const KEY: &'static str = "discipline";
    const EXPECTED: &'static str = "\"100 packets\", a size such as \"64 kB\", \"unlimited\", \
                                    the name of a discipline such as \"red\", or a table with one";

    const SHORT: Option<&'static str> = Some(Room::PATTERN);

    fn short(text: &str) -> Option<Result<Self, String>> {
        let begins_with = |c: char| text.trim().starts_with(c);
        let is_room = text.trim() == "unlimited" || ('0'..='9').any(begins_with);
        is_room.then(|| text.parse().map(|room: Room| Self::Eager(room.0)))
    }
}

impl QueueTable {
    /// The queue, as one that holds its packets.
    ///
    /// # Errors
    /// The key that can not be, and why.
    pub(crate) fn spec(&self, brought: &Registry) -> Result<QueueSpec, (&'static str, String)> {
        let held = |limit: &Option<Quantity<Room>>, discipline| {
            Ok(QueueSpec { limit: limit.map_or(LIMIT, |room| room.0.0), discipline })
        };
        match self {
            Self::Eager(limit) => {
                Ok(QueueSpec { limit: *limit, discipline: DisciplineSpec::DropTail })
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
            Self::LowFirst { limit } => held(limit, DisciplineSpec::LowFirst),
            Self::AcksFirst { limit, in_a_row } => {
                let in_a_row = at_least_one("in_a_row", in_a_row.unwrap_or(8))?;
                held(limit, DisciplineSpec::AcksFirst { in_a_row })
            }
            Self::AckFilter { limit, reports, in_place } => {
                let (reports, in_place) = (reports.unwrap_or(false), in_place.unwrap_or(false));
                held(limit, DisciplineSpec::AckFilter { reports, in_place })
            }
            Self::AckSpread { limit, segment, every } => {
                let default = AckSpreadConfig::default();
                let config = AckSpreadConfig {
                    segment: segment.map_or(default.segment, |size| size.0),
                    every: at_least_one("every", every.unwrap_or(default.every))?,
                };
                if config.segment == ByteCount::ZERO {
                    return Err(("segment", "0 B: it must be above zero".to_owned()));
                }
                held(limit, DisciplineSpec::AckSpread(config))
            }
            Self::Xcp { limit } => held(limit, DisciplineSpec::Xcp { p_xcp: false }),
            Self::PXcp { limit } => held(limit, DisciplineSpec::Xcp { p_xcp: true }),
            Self::Custom { limit, name, parameters } => {
                let choice = brought
                    .queue(name, parameters)
                    .map_err(|error| unfit(&error, brought.queues().map(|row| row.name)))?;
                held(limit, DisciplineSpec::Custom(choice))
            }
        }
    }
}

fn at_least_one(key: &'static str, value: u32) -> Result<u32, (&'static str, String)> {
    if value == 0 { Err((key, "0: it must be 1 or more".to_owned())) } else { Ok(value) }
}

/// The key of a model or a queue of the program that can not be, and why; `known` are those that could.
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
