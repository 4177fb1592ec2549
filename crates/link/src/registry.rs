//! Every link model: its name, what it is, where it comes from, what can be set.

/// One link model. The row feeds the command line and the documentation.
#[derive(Clone, Copy, Debug)]
pub struct ModelRow {
    /// Name in scenario files.
    pub name: &'static str,
    /// One line on what it does.
    pub summary: &'static str,
    /// Where the model is written down.
    pub source: &'static str,
    /// What can be set.
    pub parameters: &'static [Parameter],
}

/// Something that can be set.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Name in scenario files.
    pub name: &'static str,
    /// Unit, or `1` for a pure number.
    pub unit: &'static str,
    /// What it does.
    pub summary: &'static str,
}

pub(crate) const fn parameter(
    name: &'static str,
    unit: &'static str,
    summary: &'static str,
) -> Parameter {
    Parameter { name, unit, summary }
}

/// All link models, in the order in which they are listed.
pub static MODELS: &[ModelRow] = &[
    ModelRow {
        name: "rate",
        summary: "sends packets one after another at a line rate, with a drop-tail queue",
        source: "store and forward; drop-tail as in ns-2",
        parameters: &[
            parameter("rate", "bit/s", "line rate"),
            parameter("queue", "packets or B", "most that may wait; or a discipline, below"),
        ],
    },
    ModelRow {
        name: "fades",
        summary: "gives the line another rate for a while",
        source: "rain fades under adaptive coding and modulation",
        parameters: &[
            parameter("at", "s", "begin of a fade"),
            parameter("lasts", "s", "length of a fade"),
            parameter("rate", "bit/s", "line rate meanwhile"),
        ],
    },
    ModelRow {
        name: "rain",
        summary: "slows the line down, or loses packets, by rain attenuation",
        source: "ITU-R P.618-14, P.838-3, P.1853-1; ETSI EN 302 307-1",
        parameters: &[
            parameter("attenuation", "dB", "a file of it over time"),
            parameter("frequency", "GHz", "or drawn: of the wave"),
            parameter("elevation", "deg", "of the satellite above the horizon"),
            parameter("polarization", "", "horizontal, vertical or circular"),
            parameter("latitude", "deg", "of the station"),
            parameter("station_height", "km", "of the station above the sea"),
            parameter("rain_height", "km", "below which it rains"),
            parameter("rain_rate", "mm/h", "exceeded for 0.01 % of the year"),
            parameter("rain_probability", "%", "part of the year in which it rains"),
            parameter("exceeded", "%", "the run begins with what is exceeded for it"),
            parameter("step", "s", "from one value to the next"),
            parameter("clear_sky", "dB", "Es/N0 without rain"),
            parameter("modcod", "", "constant modulation and coding"),
            parameter("acm", "", "or adaptive: modcods, margin, hysteresis, delay"),
        ],
    },
    ModelRow {
        name: "delay",
        summary: "delays every packet by the same time",
        source: "propagation at the speed of light",
        parameters: &[parameter("delay", "s", "time on the way")],
    },
    ModelRow {
        name: "ber",
        summary: "corrupts packets by independent bit errors",
        source: "packet error rate 1 - (1 - BER)^(8 bytes), headers included",
        parameters: &[parameter("ber", "1", "probability that a bit is wrong")],
    },
    ModelRow {
        name: "fec",
        summary: "corrects wrong bits in blocks; what shares a failed block is damaged",
        source: "bounded-distance decoding; block error rate by the binomial tail",
        parameters: &[
            parameter("block", "bits", "length of a block on the link"),
            parameter("payload", "bits", "bits of a block that carry packets"),
            parameter("corrects", "bits", "wrong bits that are corrected in a block"),
        ],
    },
    ModelRow {
        name: "loss",
        summary: "loses packets independently of each other",
        source: "Bernoulli trials, one for each packet",
        parameters: &[parameter("loss", "1", "probability that a packet is lost")],
    },
    ModelRow {
        name: "gilbert_elliott",
        summary: "loses packets in bursts: a channel that changes from packet to packet",
        source: "Gilbert 1960; Elliott 1963",
        parameters: &[
            parameter("to_bad", "1", "probability that it turns bad behind a packet"),
            parameter("to_good", "1", "the same back; bursts have 1 / to_good packets"),
            parameter("loss_good", "1", "probability of a loss while it is good"),
            parameter("loss_bad", "1", "probability of a loss while it is bad"),
        ],
    },
    ModelRow {
        name: "arq",
        summary: "retransmits what the link lost or damaged, after a while",
        source: "selective repeat; RFC 3366",
        parameters: &[
            parameter("tries", "1", "transmissions before a packet is given up"),
            parameter("timeout", "s", "time from one transmission to the next"),
            parameter("window", "packets", "most that are not acknowledged"),
            parameter("in_order", "true or false", "whether packets keep their order"),
        ],
    },
    ModelRow {
        name: "blackouts",
        summary: "loses every packet that enters while the link is down",
        source: "handover outages; scripted or periodic",
        parameters: &[
            parameter("at", "s", "begin of one blackout"),
            parameter("first", "s", "begin of the first of periodic blackouts"),
            parameter("every", "s", "time from one begin to the next"),
            parameter("lasts", "s", "length of a blackout"),
        ],
    },
    ModelRow {
        name: "xdeldrop",
        summary: "drops and delays by a channel that is good and bad by turns",
        source: "Elaasar et al. 2003, SSC03-XI-3, section 5",
        parameters: &[
            parameter("good, bad", "", "the two states, each with the parameters below"),
            parameter("mean_sojourn", "s", "mean length of a stay, exponentially distributed"),
            parameter("drop_probability", "1", "probability that a packet is dropped"),
            parameter("drop_at_min_delay", "1", "the same while the delay is delay_min"),
            parameter("delay_min", "s", "delay of one half of the stays"),
            parameter("delay_max", "s", "delay of the other half"),
            parameter("fifo", "true or false", "whether packets keep their order"),
        ],
    },
    ModelRow {
        name: "script",
        summary: "drops or delays packets named by what they carry and their number",
        source: "for tests of single losses and delays",
        parameters: &[
            parameter("kind", "", "what the packets carry, such as data or poll"),
            parameter("nth", "packets", "the first one, counted from 1"),
            parameter("count", "packets", "how many in a row"),
            parameter("action", "", "drop, or delay by a time"),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_a_link_in_a_scenario_has_its_row() {
        let names: Vec<_> = MODELS.iter().map(|row| row.name).collect();
        assert_eq!(
            names,
            [
                "rate",
                "fades",
                "rain",
                "delay",
                "ber",
                "fec",
                "loss",
                "gilbert_elliott",
                "arq",
                "blackouts",
                "xdeldrop",
                "script"
            ]
        );
    }

    #[test]
    fn rows_are_complete_and_fit_one_line() {
        for row in MODELS
            .iter()
            .chain(crate::queue::QUEUES)
            .chain(crate::mac::UPLINKS)
            .chain(crate::mac::RADIO)
        {
            assert!(!row.source.is_empty() && !row.parameters.is_empty(), "{}", row.name);
            for text in row.parameters.iter().map(|p| p.summary).chain([row.summary]) {
                assert!((1..=72).contains(&text.len()) && !text.ends_with('.'), "{text}");
            }
        }
    }
}
