//! Radio channels that stations share.

use bentpipe_link::mac::{CsmaConfig, Hop, MacSpec};
use bentpipe_link::{Direction, Registry};
use bentpipe_sim::MacPlace;
use bentpipe_units::Span;

use super::macs::{OneWay, TERMINAL_QUEUE};
use crate::error::did_you_mean;
use crate::problem::{Problem, problem};
use crate::schema::file::ScenarioFile;
use crate::schema::radio::RadioTable;

/// The channel with this name, before both directions of its links.
pub(super) fn radio(
    file: &ScenarioFile,
    name: &str,
    table: &RadioTable,
    brought: &Registry,
) -> Result<MacPlace, Problem> {
    if table.links.is_empty() {
        return problem(&["radios", name, "links"], "there is no link: nobody would send");
    }
    let mut places = Vec::new();
    let mut lines = Vec::new();
    // Stations are numbered in the order in which links name them.
    let mut stations: Vec<&String> = Vec::new();
    for (number, link) in table.links.iter().enumerate() {
        let number = number.to_string();
        let path = ["radios", name, "links", &number];
        let Some((index, link, both)) = file.links.get_full(link) else {
            let hint = did_you_mean(link, file.links.keys().map(String::as_str));
            return problem(&path, format!("there is no link `{link}`{hint}"));
        };
        if places.contains(&(index, Direction::Forward)) {
            return problem(&path, format!("duplicate link `{link}`"));
        }
        let [a, b] = both.between.each_ref().map(|node| {
            stations.iter().position(|known| *known == node).unwrap_or_else(|| {
                stations.push(node);
                stations.len() - 1
            })
        });
        for direction in Direction::BOTH {
            let one = OneWay::new(link, both, direction);
            if one.rate().is_some() {
                let message = format!("it sends at the `rate` of the radio channel `{name}`");
                return problem(&one.rate_path(), message);
            }
            let queue = one.queue().map_or(Ok(TERMINAL_QUEUE), |q| one.queue_spec(q, brought))?;
            let hop = match direction {
                Direction::Forward => Hop { from: a, to: b },
                Direction::Return => Hop { from: b, to: a },
            };
            places.push((index, direction));
            lines.push((hop, queue));
        }
    }
    let csma = config(table).or_else(|(key, message)| problem(&["radios", name, key], message))?;
    Ok(MacPlace { mac: MacSpec::Radio { rate: table.rate.0, csma, lines }, lines: places })
}

/// The settings of a channel; otherwise the key that cannot be, and why.
fn config(table: &RadioTable) -> Result<CsmaConfig, (&'static str, String)> {
    let default = CsmaConfig::default();
    let config = CsmaConfig {
        persistence: table.persistence.unwrap_or(default.persistence),
        slot_time: table.slot_time.map_or(default.slot_time, |time| time.0),
        tx_delay: table.tx_delay.map_or(default.tx_delay, |time| time.0),
        tx_tail: table.tx_tail.map_or(default.tx_tail, |time| time.0),
        carrier_detect: table.carrier_detect.map_or(default.carrier_detect, |time| time.0),
        max_frames: table.max_frames.unwrap_or(default.max_frames),
        proc_time: table.proc_time.map_or(default.proc_time, |time| time.0),
        slot_first: table.slot_first.unwrap_or(default.slot_first),
        late_frames: table.late_frames.unwrap_or(default.late_frames),
    };
    for (key, time) in [("slot_time", config.slot_time), ("carrier_detect", config.carrier_detect)]
    {
        if time == Span::ZERO {
            return Err((key, "0 s: it must be above zero".to_owned()));
        }
    }
    if config.max_frames == 0 {
        return Err(("max_frames", "0: it must be 1 or more".to_owned()));
    }
    Ok(config)
}
