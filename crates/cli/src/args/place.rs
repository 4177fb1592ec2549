//! Places on the Earth.

use bentpipe_orbit::{Place, cities};
use bentpipe_scenario::did_you_mean;

/// A place and what it was called.
#[derive(Clone, Debug)]
pub(crate) struct Spot {
    /// As it was written.
    pub(crate) name: String,
    /// Where it is.
    pub(crate) place: Place,
}

pub(super) fn spot(text: &str) -> Result<Spot, String> {
    let place = text.parse().map_err(|message| {
        let known = cities().map(|(name, _)| name);
        format!("{message}{}", did_you_mean(text, known))
    })?;
    Ok(Spot { name: text.trim().to_owned(), place })
}
