//! Real satellites: element sets as text, positions by SGP4.

use bentpipe_units::{Degrees, Instant, Span};
use sgp4::{Constants, Elements, MinutesSinceEpoch, Orbit, WGS72};

use crate::{Epoch, OrbitError, Vector};

/// Below this radius, in km, a satellite is inside the Earth or as good as.
const GROUND: f64 = 6378.135;
const MINUTES_OF_A_DAY: f64 = 1440.0;

/// One satellite of an element set.
#[derive(Clone, Debug)]
pub(crate) struct Satellite {
    pub(crate) name: String,
    pub(crate) epoch: Epoch,
    constants: Constants,
}

impl Satellite {
    /// A satellite from its elements: WGS 72, for which element sets are made, and the improved mode
    /// of Vallado et al., AIAA 2006-6753, appendix, in which the Moon acts without jumps.
    pub(crate) fn new(elements: &Elements) -> Result<Self, String> {
        let name = match elements.object_name.as_deref().map(str::trim) {
            Some(name) if !name.is_empty() => name.to_owned(),
            _ => format!("{:05}", elements.norad_id),
        };
        let wrong = |error: &dyn std::fmt::Display| format!("satellite {name}: {error}");
        let orbit = Orbit::from_kozai_elements(
            &WGS72,
            Degrees(elements.inclination).radians(),
            Degrees(elements.right_ascension).radians(),
            elements.eccentricity,
            Degrees(elements.argument_of_perigee).radians(),
            Degrees(elements.mean_anomaly).radians(),
            elements.mean_motion * (std::f64::consts::TAU / MINUTES_OF_A_DAY),
        )
        .map_err(|error| wrong(&error))?;
        let constants = Constants::new(
            WGS72,
            sgp4::iau_epoch_to_sidereal_time,
            elements.epoch(),
            elements.drag_term,
            orbit,
        )
        .map_err(|error| wrong(&error))?;
        Ok(Self { name, epoch: Epoch::new(elements.datetime), constants })
    }

    /// Where the satellite is, in TEME.
    pub(crate) fn position(&self, at: Epoch) -> Result<Vector, OrbitError> {
        let minutes = at.minutes_since(self.epoch);
        let lost = |reason: String| OrbitError::Decayed {
            satellite: self.name.clone(),
            at,
            reason: format!("{reason}; its elements are of {}", self.epoch),
        };
        let prediction = self
            .constants
            .propagate(MinutesSinceEpoch(minutes))
            .map_err(|error| lost(error.to_string()))?;
        let [x, y, z] = prediction.position;
        let position = Vector::new(x, y, z);
        let radius = position.length();
        if radius.is_nan() || radius < GROUND {
            return Err(lost("it has come down".to_owned()));
        }
        Ok(position)
    }
}

/// The satellites of element sets, and the time at which the run starts.
#[derive(Clone, Debug)]
pub(crate) struct Catalogue {
    pub(crate) satellites: Vec<Satellite>,
    pub(crate) start: Epoch,
}

impl Catalogue {
    /// Appends where all the satellites are.
    pub(crate) fn positions(&self, at: Instant, out: &mut Vec<Vector>) -> Result<(), OrbitError> {
        let now = self.start.after(at.since(Instant::ZERO));
        for satellite in &self.satellites {
            out.push(satellite.position(now)?);
        }
        Ok(())
    }

    /// Where one of the satellites is, if there is such a one.
    pub(crate) fn position(&self, index: usize, at: Instant) -> Result<Option<Vector>, OrbitError> {
        let now = self.start.after(at.since(Instant::ZERO));
        self.satellites.get(index).map(|satellite| satellite.position(now)).transpose()
    }

    /// Satellites from the text of element sets; the run starts at `start`, or at the latest epoch
    /// of them all.
    pub(crate) fn read(text: &str, start: Option<Epoch>) -> Result<Self, OrbitError> {
        if let Some(form) = unread_form(text) {
            let message = format!(
                "orbit mean-elements messages as {form} are not read: have them as JSON or KVN, or take \
                 two-line element sets"
            );
            return Err(OrbitError::Tle { line: 1, message });
        }
        let satellites = if text.trim_start().starts_with(['[', '{']) {
            crate::omm::read_json(text)?
        } else if text.lines().any(|line| line.trim_start().starts_with("CCSDS_OMM_VERS")) {
            crate::omm::read_kvn(text)?
        } else {
            crate::tle::read(text)?
        };
        let latest = satellites.iter().map(|satellite| satellite.epoch).max();
        let Some(start) = start.or(latest) else {
            let message = "there is no satellite in it: two lines each, or OMM as JSON or KVN";
            return Err(OrbitError::Tle { line: 1, message: message.to_owned() });
        };
        let catalogue = Self { satellites, start };
        // What is not in orbit at the start is better said now.
        catalogue.positions(Instant::ZERO + Span::ZERO, &mut Vec::new())?;
        Ok(catalogue)
    }
}

/// A form of orbit mean-elements messages that is not read.
fn unread_form(text: &str) -> Option<&'static str> {
    let first = text.trim_start_matches('\u{feff}').trim_start().lines().next()?;
    if first.starts_with('<') {
        return Some("XML");
    }
    let columns = ["OBJECT_NAME", "EPOCH", "MEAN_MOTION"];
    columns.iter().all(|name| first.contains(name)).then_some("CSV")
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::tle::tests::{STATION, summed};

    const VERIFICATION: &str = include_str!("../tests/data/sgp4-verification.txt");

    fn satellite(text: &str) -> Satellite {
        Catalogue::read(text, None).expect(text).satellites.remove(0)
    }

    #[test]
    fn positions_are_those_of_the_published_verification() {
        let lines = VERIFICATION.lines().filter(|line| !line.starts_with('#'));
        let (mut first, mut now, mut checked) = (String::new(), None, 0);
        for line in lines {
            if line.starts_with("1 ") && line.len() == 69 {
                first = format!("{line}\n");
            } else if line.starts_with("2 ") && line.len() == 69 {
                now = Some(crate::tle::read(&(first.clone() + line)).expect(line).remove(0));
            } else {
                let numbers = line.split(' ').map(|number| number.parse().expect(line));
                let [minutes, x, y, z] = numbers.collect::<Vec<f64>>()[..] else {
                    panic!("{line}")
                };
                let satellite = now.as_ref().expect("its elements");
                let after = TimeDelta::nanoseconds((minutes * 60e9).round() as i64);
                let at = Epoch::new(satellite.epoch.get() + after);
                let off = satellite.position(at).expect(line).distance(Vector::new(x, y, z));
                assert!(off < 0.001, "{}: {off} km at {line}", satellite.name);
                checked += 1;
            }
        }
        assert!(checked > 600, "{checked}");
    }

    #[test]
    fn a_satellite_that_has_come_down_is_named_with_the_time() {
        let station = satellite(STATION);
        let late: Epoch = "2045-01-01".parse().expect("a day");
        let heavy = summed(&STATION.replace("-31515-4", " 31515-1"));
        let falling = satellite(&heavy);
        let said = falling.position(late).expect_err("down").to_string();
        assert!(
            said.starts_with("satellite 25544 is not in orbit at 2045-01-01T00:00:00Z"),
            "{said}"
        );
        assert!(said.contains("its elements are of 2020-07-12T21:16:"), "{said}");
        assert!(station.position(station.epoch).is_ok());
        assert!(Catalogue::read(&heavy, Some(late)).is_err());
    }

    #[test]
    fn forms_that_are_not_read_are_called_by_their_names() {
        let csv = "OBJECT_NAME,OBJECT_ID,EPOCH,MEAN_MOTION,ECCENTRICITY\nISS (ZARYA),1998-067A,\
                   2020-07-12T21:16:01,15.49,.0001";
        let xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ndm><omm></omm></ndm>";
        for (form, text) in [("CSV", csv), ("XML", xml)] {
            let said = Catalogue::read(text, None).expect_err(form).to_string();
            assert!(
                said.contains(&format!("as {form} are not read: have them as JSON or KVN")),
                "{said}"
            );
        }
    }

    #[test]
    fn a_text_without_satellites_is_refused() {
        for empty in ["", "\n\n", "[]", "# nothing"] {
            let said = Catalogue::read(empty, None).expect_err(empty).to_string();
            assert!(said.contains("there is no satellite"), "{said}");
        }
    }

    #[test]
    fn the_run_starts_at_the_latest_epoch_or_when_it_is_told_to() {
        let later = summed(&STATION.replace("20194.88612269", "20195.77612269"));
        let both = format!("{STATION}{later}");
        let start = |start| Catalogue::read(&both, start).expect("two").start.to_string();
        assert!(start(None).starts_with("2020-07-13T18:37:"), "{}", start(None));
        let told: Epoch = "2020-07-14".parse().expect("a day");
        assert_eq!(start(Some(told)), "2020-07-14T00:00:00Z");
    }
}
