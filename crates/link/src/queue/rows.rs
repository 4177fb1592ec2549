//! Every discipline: its name, what it is, where it comes from, what can be set.

use crate::registry::{ModelRow, Parameter, parameter};

const LIMIT: Parameter = parameter("limit", "packets or B", "most that may wait");

/// All disciplines, in the order in which they are listed.
pub static QUEUES: &[ModelRow] = &[
    ModelRow {
        name: "drop-tail",
        summary: "first in, first out; what finds the queue full is lost",
        source: "as rate and queue, with held packets",
        parameters: &[LIMIT],
    },
    ModelRow {
        name: "red",
        summary: "drops or marks at random before the queue is full",
        source: "Floyd and Jacobson 1993; RFC 3168",
        parameters: &[
            LIMIT,
            parameter("min", "packets", "mean queue below which nothing happens"),
            parameter("max", "packets", "mean queue from which every packet is dropped"),
            parameter("weight", "1", "weight of a new packet in the mean"),
            parameter("probability", "1", "probability at max"),
            parameter("gentle", "true or false", "the probability rises from max to twice that"),
            parameter("ecn", "true or false", "marks instead of drops where they are understood"),
        ],
    },
    ModelRow {
        name: "drop-low-priority",
        summary: "when it is full, packets of low priority are lost first",
        source: "Padmanabhan and Katz 1998, TCP Fast Start; Akyildiz et al. 2001, TCP Peach",
        parameters: &[LIMIT],
    },
    ModelRow {
        name: "ack-priority",
        summary: "acknowledgments go before data",
        source: "Balakrishnan, Padmanabhan and Katz 1999",
        parameters: &[
            LIMIT,
            parameter("in_a_row", "packets", "acknowledgments before data have a turn"),
        ],
    },
    ModelRow {
        name: "ack-filter",
        summary: "an acknowledgment removes those that it makes needless",
        source: "Balakrishnan, Padmanabhan and Katz 1999",
        parameters: &[
            LIMIT,
            parameter("reports", "true or false", "filters XSTP's reports as well"),
            parameter("in_place", "true or false", "takes the place of the oldest one removed"),
        ],
    },
    ModelRow {
        name: "ack-reconstruction",
        summary: "fills up acknowledgments that were filtered on the way",
        source: "ACK reconstruction, Balakrishnan, Padmanabhan and Katz 1999",
        parameters: &[
            LIMIT,
            parameter("segment", "B", "bytes that a data segment carries"),
            parameter("every", "segments", "most that one acknowledgment acknowledges after it"),
        ],
    },
    ModelRow {
        name: "xcp",
        summary: "grants changes of rate that senders ask for in congestion headers",
        source: "Katabi, Handley and Rohrs 2002; draft-falk-xcp-spec-03",
        parameters: &[LIMIT],
    },
    ModelRow {
        name: "p-xcp",
        summary: "XCP that gives to others what limited flows leave",
        source: "Zhou, Yeung and Li, GLOBECOM 2004",
        parameters: &[LIMIT],
    },
];
