//! What a page may say of a sky.

use bentpipe_orbit::{
    Constellation, Epoch, IslPattern, IslRules, KNOWN, Network, OrbitError, Place, Policy, Site,
    Station, connect, known, operator,
};
use bentpipe_scenario::did_you_mean;
use bentpipe_units::{Degrees, Instant, Span};
use serde::Deserialize;

use crate::answer::Wrong;

/// The longest time that a course is followed, and the most samples of it.
const LONGEST: f64 = 86_400.0;
const MOST_SAMPLES: f64 = 20_000.0;
/// The mask of element sets, which have none of their own.
const ELEMENTS_MASK: Degrees = Degrees(10.0);
/// Most frames that are asked for at once.
const MOST_FRAMES: usize = 8;

/// A sky that is asked for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    /// The name of a constellation.
    pub(crate) constellation: String,
    /// Element sets (TLE or OMM) in place of a known constellation.
    pub(crate) elements: Option<String>,
    /// Where the route begins and ends: a city, or LAT,LON in degrees.
    pub(crate) from: String,
    pub(crate) to: String,
    /// Satellites are used above this elevation.
    pub(crate) elevation_mask_deg: Option<f64>,
    /// When the run of element sets starts, in UTC.
    pub(crate) start: Option<String>,
    /// How long the route is followed, and how often it is looked at, in seconds.
    pub(crate) duration_s: f64,
    pub(crate) step_s: f64,
    /// Between two checks of links, in seconds.
    pub(crate) update_interval_s: f64,
}

/// Times at which positions are wanted, in seconds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    at: Vec<f64>,
}

impl Wanted {
    /// Those that can be.
    pub(super) fn times(&self) -> impl Iterator<Item = Instant> {
        let can_be = |at: &&f64| (0.0..=2.0 * LONGEST).contains(*at);
        let times = self.at.iter().filter(can_be).take(MOST_FRAMES);
        times.map(|at| Instant::ZERO + Span::from_secs_f64(*at))
    }
}

impl Asked {
    /// The time that the route is followed, and that between two looks at it.
    pub(super) fn times(&self) -> (Span, Span) {
        (Span::from_secs_f64(self.duration_s), Span::from_secs_f64(self.step_s))
    }

    /// The network at its first check: the two places, and what the operator has on the ground.
    ///
    /// # Errors
    /// When it cannot be: which field is wrong, and what would be right.
    pub(crate) fn network(&self) -> Result<Network, Wrong> {
        self.check_times()?;
        let constellation = self.known_or_given()?;
        let run = operator(&self.constellation).filter(|_| self.elements.is_none());
        let policy = run.map_or(Policy::LongestHold, |operator| operator.policy);
        let end = |field: &str, text: &str| {
            let place: Place = text.parse().map_err(|message| {
                let hint = did_you_mean(text, bentpipe_orbit::cities().map(|(name, _)| name));
                wrong(field, format!("{message}{hint}"))
            })?;
            Ok::<_, Wrong>(Station { policy, ..Station::terminal(text.trim(), place) })
        };
        let mut stations = vec![end("from", &self.from)?, end("to", &self.to)?];
        stations.extend(run.into_iter().flat_map(|operator| operator.sites).map(Site::station));
        let cables = if stations.len() > 2 { connect(&stations) } else { Vec::new() };
        let interval = Span::from_secs_f64(self.update_interval_s);
        Network::new(constellation, stations, &cables, interval).map_err(|error| of_orbit(&error))
    }

    fn check_times(&self) -> Result<(), Wrong> {
        for (field, value, range) in [
            ("duration_s", self.duration_s, 1.0..=LONGEST),
            ("step_s", self.step_s, 0.1..=3600.0),
            ("update_interval_s", self.update_interval_s, 0.1..=3600.0),
            ("elevation_mask_deg", self.elevation_mask_deg.unwrap_or_default(), 0.0..=90.0),
        ] {
            if !range.contains(&value) {
                let message = format!("{value} lies outside {}..={}", range.start(), range.end());
                return Err(wrong(field, message));
            }
        }
        let samples = (self.duration_s / self.step_s).max(self.duration_s / self.update_interval_s);
        if samples > MOST_SAMPLES {
            let message = format!("{samples:.0} steps are too many: at most {MOST_SAMPLES}");
            return Err(wrong("step_s", message));
        }
        Ok(())
    }

    fn known_or_given(&self) -> Result<Constellation, Wrong> {
        let mask = self.elevation_mask_deg.map(Degrees);
        let orbit = |error: OrbitError| of_orbit(&error);
        if let Some(elements) = &self.elements {
            let start = self.start.as_deref().filter(|start| !start.is_empty());
            let start = start.map(str::parse::<Epoch>).transpose();
            let start = start.map_err(|message| wrong("start", message))?;
            // Laser links of real satellites are not known: each to its nearest four.
            let isl = IslRules { pattern: IslPattern::Nearest(4), ..IslRules::NONE };
            let mask = mask.unwrap_or(ELEMENTS_MASK);
            let name = &self.constellation;
            return Constellation::from_elements(name, elements, start, mask, isl).map_err(orbit);
        }
        let name = &self.constellation;
        let mut spec = known(name)
            .ok_or_else(|| {
                let hint = did_you_mean(name, KNOWN.iter().map(|known| known.name));
                wrong("constellation", format!("there is no constellation `{name}`{hint}"))
            })?
            .map_err(orbit)?;
        if let Some(mask) = mask {
            spec.shells.iter_mut().for_each(|shell| shell.mask = mask);
        }
        Constellation::new(&spec).map_err(orbit)
    }
}

fn wrong(field: &str, message: String) -> Wrong {
    Wrong { message, line: None, key: Some(field.to_owned()) }
}

/// What is wrong with orbits; the places among them are what people choose.
fn of_orbit(error: &OrbitError) -> Wrong {
    Wrong::plain(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(json: &str) -> Result<Network, Wrong> {
        serde_json::from_str::<Asked>(json).expect("a request").network()
    }

    fn iridium(change: &str) -> String {
        let usual = r#""constellation":"iridium","from":"London","to":"Boston","duration_s":60,"step_s":10,"update_interval_s":10"#;
        format!("{{{usual}}}")
            .replace(change.split('=').next().unwrap_or(""), change.split('=').nth(1).unwrap_or(""))
    }

    #[test]
    fn the_network_is_that_of_the_command() {
        let network = asked(&iridium("=")).expect("a network");
        assert_eq!((network.constellation().satellites(), network.stations().len()), (66, 2));
        let starlink = asked(&iridium("iridium=starlink")).expect("a network");
        assert!(starlink.stations().len() > 50 && starlink.cable_delays().count() > 50);
    }

    #[test]
    fn what_cannot_be_names_the_field_and_what_would_be_right() {
        for (change, key, said) in [
            ("iridium=iridum", "constellation", "did you mean `iridium`?"),
            ("iridium=/etc/passwd", "constellation", "no constellation"),
            ("London=Londn", "from", "did you mean `London`?"),
            ("Boston=91,0", "to", "-90..=90"),
            ("\"duration_s\":60=\"duration_s\":1e9", "duration_s", "outside 1..=86400"),
            ("\"step_s\":10=\"step_s\":0", "step_s", "outside 0.1..=3600"),
        ] {
            let wrong = asked(&iridium(change)).expect_err(change);
            assert_eq!(wrong.key.as_deref(), Some(key), "{wrong:?}");
            assert!(wrong.message.contains(said), "{wrong:?}");
        }
    }
}
