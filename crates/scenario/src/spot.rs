//! Places on the Earth as people write them.

use std::ffi::OsStr;
use std::path::Path;
use std::str::FromStr;

use bentpipe_orbit::{Place, Station, Track, cities};
use bentpipe_units::Instant;

use crate::did_you_mean;

/// A place and what it was called, or what moves and the file of its track.
#[derive(Clone, Debug)]
pub struct Spot {
    /// As it was written.
    pub written: String,
    /// What the station there is called.
    pub name: String,
    /// Where it is, at the start if it moves.
    pub place: Place,
    /// Where it is as time goes by, if it moves.
    pub track: Option<Track>,
}

impl Spot {
    /// The file that was read, if there is one.
    pub fn file(&self) -> Option<&Path> {
        self.track.as_ref().map(|_| Path::new(&self.written))
    }

    /// A station of the kind of this one that is where the spot is.
    pub(crate) fn station(&self, kind: Station) -> Station {
        Station { track: self.track.clone(), ..kind }
    }
}

impl FromStr for Spot {
    type Err = String;

    /// A city, `LAT,LON` in degrees, or the name of a file with a track (GPX, CSV), which is read.
    fn from_str(text: &str) -> Result<Self, String> {
        let written = text.trim().to_owned();
        if Track::is_a_file(&written) {
            let track = std::fs::read_to_string(&written).map_err(|error| error.to_string())?;
            let track = Track::read(&track).map_err(|error| error.to_string())?;
            let name = Path::new(&written).file_stem().map_or("".into(), OsStr::to_string_lossy);
            let (name, place) = (name.into_owned(), track.at(Instant::ZERO).place);
            return Ok(Self { written, name, place, track: Some(track) });
        }
        let place = written.parse().map_err(|message| {
            let known = cities().map(|(name, _)| name);
            format!("{message}{}", did_you_mean(text, known))
        })?;
        Ok(Self { name: written.clone(), written, place, track: None })
    }
}
