//! The ways of stations that move.

use std::error::Error;

use bentpipe_orbit::Network;
use bentpipe_scenes::split;
use bentpipe_units::Instant;
use plotters::prelude::*;

use super::{Map, STATION, point};

/// Straight pieces of a way.
const PIECES: u64 = 200;

/// Draws the way of each station that moves, from its first point to its last.
pub(super) fn draw_tracks(map: &mut Map<'_, '_>, network: &Network) -> Result<(), Box<dyn Error>> {
    for track in network.stations().iter().filter_map(|station| station.track.as_ref()) {
        let places = (0..=PIECES).map(|n| {
            let since = track.length() / PIECES * n;
            point(track.at(Instant::ZERO + since).place)
        });
        for line in split(&places.collect::<Vec<_>>()) {
            let style = STATION.mix(0.6).stroke_width(1);
            map.draw_series(std::iter::once(PathElement::new(line, style)))?;
        }
    }
    Ok(())
}
