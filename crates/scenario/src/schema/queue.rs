//! The queue of a link in a scenario file.

use std::collections::BTreeMap;

use bentpipe_units::{ByteCount, Span, Written as _};
use schemars::JsonSchema;
use serde::Deserialize;

use super::named::Choice;
use super::quantity::{Probability, Quantity, Room};

/// What waits for a line, and what goes next.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "discipline", rename_all = "kebab-case", deny_unknown_fields)]
pub enum QueueTable {
    /// Drop-tail without held packets: the fate of each one is known when it comes.
    #[serde(skip)]
    Eager(Room),
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
    /// Controlled delay: packets that have waited for too long are dropped at the head.
    Codel {
        /// What may wait; 50 packets.
        limit: Option<Quantity<Room>>,
        /// Sojourn time that may stand; 5 ms.
        target: Option<Quantity<Span>>,
        /// How long the sojourn time may be above `target`, longer than that: a long round trip;
        /// 100 ms.
        interval: Option<Quantity<Span>>,
        /// Senders that understand marks are told by marks; true.
        ecn: Option<bool>,
    },
    /// A queue with CoDel for each flow, served by turns.
    FqCodel {
        /// What may wait in all queues together; 10,240 packets.
        limit: Option<Quantity<Room>>,
        /// Queues over which flows are spread by their hash, 1 to 65,536; 1024.
        flows: Option<u32>,
        /// Bytes that a queue sends in its turn, 64 B or more; 1514 B.
        quantum: Option<Quantity<ByteCount>>,
        /// Sojourn time that may stand; 5 ms.
        target: Option<Quantity<Span>>,
        /// How long the sojourn time may be above `target`, longer than that: a long round trip;
        /// 100 ms.
        interval: Option<Quantity<Span>>,
        /// Senders that understand marks are told by marks; true.
        ecn: Option<bool>,
    },
    /// Packets are dropped as they come, with a probability that follows the queueing delay.
    Pie {
        /// What may wait; 50 packets.
        limit: Option<Quantity<Room>>,
        /// Queueing delay that is aimed at; 15 ms.
        target: Option<Quantity<Span>>,
        /// Time between two updates of the probability; 15 ms.
        update: Option<Quantity<Span>>,
        /// Change of the probability for each second of delay above `target`; 0.125.
        alpha: Option<f64>,
        /// Change of the probability for each second by which the delay has grown; 1.25.
        beta: Option<f64>,
        /// How long a burst passes unharmed after a quiet time; 150 ms.
        max_burst: Option<Quantity<Span>>,
        /// Senders that understand marks are told by marks up to `mark_threshold`; true.
        ecn: Option<bool>,
        /// Probability above which they lose packets all the same; 0.1.
        mark_threshold: Option<Probability>,
    },
    /// A queue of low latency for L4S beside the classic one; marks and drops of both are coupled.
    #[serde(rename = "dualpi2")]
    DualPi2 {
        /// What may wait in both queues together; 50 packets.
        limit: Option<Quantity<Room>>,
        /// Queueing delay that is aimed at in the classic queue; 15 ms.
        target: Option<Quantity<Span>>,
        /// Time between two updates of the base probability; 16 ms.
        update: Option<Quantity<Span>>,
        /// Change of the base probability for each second of delay above `target`; 0.16.
        alpha: Option<f64>,
        /// Change of the base probability for each second by which the delay has grown; 3.2.
        beta: Option<f64>,
        /// Probability of a mark in the L queue for each unit of the base probability; 2.
        coupling: Option<f64>,
        /// Sojourn time above which every packet of the L queue is marked; 1 ms.
        step: Option<Quantity<Span>>,
    },
    /// Nine fuzzy rules over the delay and its change.
    Fuzzy {
        /// What may wait; 50 packets.
        limit: Option<Quantity<Room>>,
        /// Queueing delay that is aimed at; 20 ms.
        target: Option<Quantity<Span>>,
        /// Time between two updates of the probability; 50 ms.
        update: Option<Quantity<Span>>,
        /// Largest change of the probability at an update, as a part of it; 0.25.
        gain: Option<f64>,
        /// Senders that understand marks are marked; true.
        ecn: Option<bool>,
    },
    /// Packets of low priority are lost first.
    #[serde(alias = "low-first")]
    DropLowPriority {
        /// What may wait; 50 packets.
        limit: Option<Quantity<Room>>,
    },
    /// Acknowledgments go before data.
    #[serde(alias = "acks-first")]
    AckPriority {
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
    #[serde(alias = "ack-spread")]
    AckReconstruction {
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
    /// The router of BA-TCP.
    BaTcp {
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
    const EXPECTED: &'static str = "\"100 packets\", a size such as \"64 kB\", \"1 BDP\", \"unlimited\", \
                                    the name of a discipline such as \"red\", or a table with one";

    const SHORT: Option<&'static str> = Some(Room::PATTERN);

    fn short(text: &str) -> Option<Result<Self, String>> {
        let begins_with = |c: char| text.trim().starts_with(c);
        let is_room = text.trim() == "unlimited" || ('0'..='9').any(begins_with);
        is_room.then(|| text.parse().map(Self::Eager))
    }
}
