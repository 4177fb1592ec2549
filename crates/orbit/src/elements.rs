//! Real satellites: element sets as text, positions by SGP4.

use bentpipe_units::{Instant, Span};
use sgp4::{Constants, Elements, MinutesSinceEpoch};

use crate::{Epoch, OrbitError, Vector};

/// Below this radius, in km, a satellite is inside the Earth or as good as.
const GROUND: f64 = 6378.135;

/// One satellite of an element set.
#[derive(Clone, Debug)]
pub(crate) struct Satellite {
    pub(crate) name: String,
    pub(crate) epoch: Epoch,
    constants: Constants,
}

impl Satellite {
    /// A satellite from its elements, with the constants of WGS 72 for which element sets are made.
    pub(crate) fn new(elements: &Elements) -> Result<Self, String> {
        let name = match elements.object_name.as_deref().map(str::trim) {
            Some(name) if !name.is_empty() => name.to_owned(),
            _ => format!("{:05}", elements.norad_id),
        };
        let constants = Constants::from_elements_afspc_compatibility_mode(elements)
            .map_err(|error| format!("satellite {name}: {error}"))?;
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
            .propagate_afspc_compatibility_mode(MinutesSinceEpoch(minutes))
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

    /// Satellites from the text of element sets; the run starts at `start`, or at the latest epoch
    /// of them all.
    pub(crate) fn read(text: &str, start: Option<Epoch>) -> Result<Self, OrbitError> {
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
