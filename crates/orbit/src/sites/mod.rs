//! Gateways and points of presence of operators, and the cables between them.
//!
//! Operators publish little of it. What is here was gathered from licences and from what they and their customers say;
//! each row has its source, coordinates are those of the town to a tenth of a degree, and none of it is complete.

mod cables;
mod oneweb;
mod starlink;
mod telesat;

pub use cables::connect;
pub(crate) use oneweb::ONEWEB;
pub(crate) use starlink::STARLINK;
pub(crate) use telesat::TELESAT;

use bentpipe_units::Degrees;

use crate::{Place, Station};

/// A place on the ground that an operator runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Site {
    /// What it is for.
    pub kind: SiteKind,
    /// The town.
    pub name: &'static str,
    /// Where the town is.
    pub place: Place,
    /// How its place is known.
    pub source: Source,
    /// The elevation above which its antennas follow satellites, where it is not that of the terminals.
    pub mask: Option<Degrees>,
}

/// What a place on the ground is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiteKind {
    /// Antennas towards all satellites in view, joined to the rest by cable.
    Gateway,
    /// Where the operator's network meets the internet.
    PointOfPresence,
}

/// How the place of a site is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A licence of the Federal Communications Commission of the United States.
    Fcc,
    /// A licence or a notice of another regulator.
    Regulator,
    /// The operator, or a partner of its, said so.
    Operator,
    /// The names that the operator gives to addresses (reverse DNS, published lists of prefixes).
    Addresses,
}

impl Site {
    const fn gateway(name: &'static str, latitude: f64, longitude: f64, source: Source) -> Self {
        let place = Place::known(latitude, longitude);
        Self { kind: SiteKind::Gateway, name, place, source, mask: None }
    }

    const fn presence(name: &'static str, latitude: f64, longitude: f64) -> Self {
        let place = Place::known(latitude, longitude);
        let source = Source::Addresses;
        Self { kind: SiteKind::PointOfPresence, name, place, source, mask: None }
    }

    /// The same gateway with antennas that follow satellites down to this elevation.
    const fn above(self, degrees: f64) -> Self {
        Self { mask: Some(Degrees(degrees)), ..self }
    }

    /// The station that stands there.
    pub fn station(&self) -> Station {
        match self.kind {
            SiteKind::Gateway => Station {
                mask: self.mask,
                ..Station::gateway(format!("gateway {}", self.name), self.place)
            },
            SiteKind::PointOfPresence => {
                Station::point_of_presence(format!("PoP {}", self.name), self.place)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_site_is_listed_twice_and_all_lie_on_land_that_is_lived_on() {
        for sites in [STARLINK, ONEWEB, TELESAT] {
            let names: BTreeSet<_> = sites.iter().map(|site| site.station().name).collect();
            assert_eq!(names.len(), sites.len());
            for site in sites {
                let (latitude, longitude) = (site.place.latitude().0, site.place.longitude().0);
                assert!((-55.0..80.0).contains(&latitude), "{}", site.name);
                assert!((-180.0..180.0).contains(&longitude), "{}", site.name);
            }
        }
    }
}
