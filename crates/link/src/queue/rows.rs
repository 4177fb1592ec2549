//! Every discipline: its name, what it is, where it comes from, what can be set.

use crate::registry::{ModelRow, Parameter, parameter};

const LIMIT: Parameter = parameter("limit", "packets or B", "most that may wait");

const ECN: Parameter =
    parameter("ecn", "true or false", "marks instead of drops where they are understood");

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
            ECN,
        ],
    },
    ModelRow {
        name: "codel",
        summary: "drops or marks at the head what has waited for too long",
        source: "RFC 8289",
        parameters: &[
            LIMIT,
            parameter("target", "s", "sojourn time that may stand"),
            parameter("interval", "s", "how long it may be above target; a long round trip"),
            ECN,
        ],
    },
    ModelRow {
        name: "fq-codel",
        summary: "a queue with CoDel for each flow, served by turns, new flows first",
        source: "RFC 8290",
        parameters: &[
            LIMIT,
            parameter("flows", "queues", "over which flows are spread"),
            parameter("quantum", "B", "what a queue sends in its turn"),
            parameter("target", "s", "sojourn time that may stand"),
            parameter("interval", "s", "how long it may be above target; a long round trip"),
            ECN,
        ],
    },
    ModelRow {
        name: "pie",
        summary: "drops or marks what comes, with a probability that follows the delay",
        source: "RFC 8033",
        parameters: &[
            LIMIT,
            parameter("target", "s", "queueing delay that is aimed at"),
            parameter("update", "s", "time between two updates of the probability"),
            parameter("alpha", "1/s", "its change for each second above target"),
            parameter("beta", "1/s", "its change for each second of growth"),
            parameter("max_burst", "s", "how long a burst passes after a quiet time"),
            ECN,
            parameter("mark_threshold", "1", "probability up to which is marked"),
        ],
    },
    ModelRow {
        name: "dualpi2",
        summary: "a queue of low latency beside the classic one, coupled by marks (L4S)",
        source: "RFC 9332, appendix A",
        parameters: &[
            LIMIT,
            parameter("target", "s", "queueing delay that is aimed at in the classic queue"),
            parameter("update", "s", "time between two updates of the probability"),
            parameter("alpha", "1/s", "its change for each second above target"),
            parameter("beta", "1/s", "its change for each second of growth"),
            parameter("coupling", "1", "probability of marks for each unit of the base"),
            parameter("step", "s", "sojourn above which the L queue is marked"),
        ],
    },
    ModelRow {
        name: "fuzzy",
        summary: "drops or marks as fuzzy rules over the delay and its change say",
        source: "this project's rules; fuzzy control with ECN is named in surveys",
        parameters: &[
            LIMIT,
            parameter("target", "s", "queueing delay that is aimed at"),
            parameter("update", "s", "time between two updates of the probability"),
            parameter(
                "gain",
                "1",
                "largest change of the probability at an update, as a part of it",
            ),
            ECN,
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
    ModelRow {
        name: "ba-tcp",
        summary: "tells flows that ask what bandwidth it has for each of them",
        source: "BA-TCP as surveys describe it; the shares are this project's",
        parameters: &[LIMIT],
    },
];
