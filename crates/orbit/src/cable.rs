//! Cables on the ground.

use bentpipe_units::Span;

use crate::{Earth, OrbitError, Station};

/// A cable between two stations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cable {
    /// One end, by its place in the list of stations.
    pub a: u32,
    /// The other end.
    pub b: u32,
    /// The time that it takes; without it that of a glass fibre along the great circle.
    pub delay: Option<Span>,
}

impl Cable {
    /// The time that it takes.
    pub(crate) fn time(&self, earth: &Earth, stations: &[Station]) -> Result<Span, OrbitError> {
        let end = |number: u32| {
            let station = stations.get(number as usize);
            station.ok_or_else(|| {
                OrbitError::invalid("cable", format!("there is no station {number}"))
            })
        };
        let (a, b) = (end(self.a)?, end(self.b)?);
        if let Some(moving) = [a, b].into_iter().find(|station| station.track.is_some()) {
            let message = "it moves: a cable does not reach it".to_owned();
            return Err(OrbitError::invalid(format!("station {}", moving.name), message));
        }
        Ok(self.delay.unwrap_or_else(|| earth.fibre_delay(earth.great_circle(a.place, b.place))))
    }
}
