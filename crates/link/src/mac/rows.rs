//! Every way to share an uplink: its name, what it is, where it comes from, what can be set.

use crate::registry::{ModelRow, parameter};

/// The radio channel that stations share.
pub static RADIO: &[ModelRow] = &[ModelRow {
    name: "csma",
    summary: "stations that send or listen take a free channel with some probability",
    source: "Chepponis and Karn 1987, KISS; Kleinrock and Tobagi 1975",
    parameters: &[
        parameter("persistence", "1", "P: a free channel is taken with probability (P + 1) / 256"),
        parameter("slot_time", "s", "until a station that did not take it looks again"),
        parameter("tx_delay", "s", "from key-up to the first frame"),
        parameter("tx_tail", "s", "from the last frame until the carrier is off"),
        parameter("carrier_detect", "s", "until others hear a carrier"),
        parameter("max_frames", "frames", "most behind one key-up"),
        parameter("proc_time", "s", "between two frames of a station, for its equipment"),
        parameter("slot_first", "true or false", "a free slot comes before the first look, too"),
        parameter("late_frames", "true or false", "frames that come late join the transmission"),
    ],
}];

/// All ways to share an uplink, in the order in which they are listed.
pub static UPLINKS: &[ModelRow] = &[
    ModelRow {
        name: "aloha",
        summary: "terminals send at once and again after a collision",
        source: "unslotted ALOHA as in ns-2",
        parameters: &[
            parameter("header", "B", "link header of each transmission"),
            parameter("echo", "s", "until a sender has heard what it sent"),
            parameter("timeout", "s", "until it takes it for lost"),
            parameter("mean_backoff", "s", "mean wait before it is retransmitted"),
            parameter("retries", "1", "how often it is retransmitted"),
        ],
    },
    ModelRow {
        name: "tdma-dama",
        summary: "slots of a frame in proportion to what terminals have asked for",
        source: "after Secchi's TDMA-DAMA for ns-2, CNR-ISTI 2006",
        parameters: &[
            parameter("frame", "s", "length of a frame"),
            parameter("slots", "slots", "slots in a frame"),
            parameter("grant_delay", "s", "from a request to the first frame that knows of it"),
            parameter("demand", "", "what is asked for: volume or rate-and-volume"),
        ],
    },
    ModelRow {
        name: "cf-dama",
        summary: "slots on demand; those that nobody has asked for to all by turns",
        source: "Le-Ngoc and Mohammed 1993",
        parameters: &[
            parameter("payload", "B", "bytes of packets that a slot carries"),
            parameter("overhead", "B", "other bytes of a slot"),
            parameter("slots", "slots", "data slots in a frame"),
            parameter("minislot", "B", "length of what terminals ask in, before the slots"),
            parameter("minislots", "1", "with random requests: how many are shared in a frame"),
            parameter(
                "backoff",
                "frames",
                "with random requests: waits after a collision are shorter",
            ),
            parameter("grant_delay", "s", "from a request to the first slot that it can get"),
            parameter("requests", "", "minislot, piggyback, both, random or random-and-piggyback"),
            parameter("free", "true or false", "whether slots nobody asked for are given away"),
        ],
    },
];
