//! Constellations that are known by name, with the source of their parameters.

use bentpipe_units::{Degrees, Km};

use crate::shell::half_slot;
use crate::sites;
use crate::{
    ConstellationSpec, IslPattern, IslRules, OrbitError, Orbits, Phasing, Planes, Policy, Seam,
    ShellSpec, Site, Slots,
};

/// A constellation that is known by name.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Its name.
    pub name: &'static str,
    /// One line on what it is.
    pub summary: &'static str,
    /// Where its parameters are published, and what had to be chosen.
    pub source: &'static str,
    /// What its terminals do, if its operator is known to do so; `None` for the constellations of papers.
    operator: Option<Operator>,
    shells: &'static [Row],
}

/// How an operator runs its constellation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Operator {
    /// How its terminals choose satellites.
    pub policy: Policy,
    /// Its gateways and points of presence, as far as they are known.
    pub sites: &'static [Site],
}

/// A shell in short.
#[derive(Clone, Copy, Debug)]
struct Row {
    altitude: f64,
    inclination: f64,
    planes: u16,
    per_plane: u16,
    spacing: f64,
    phasing: Ahead,
    mask: f64,
    links: Links,
}

/// How planes stand to each other.
#[derive(Clone, Copy, Debug)]
enum Ahead {
    Not,
    Half,
    Walker(u16),
}

/// The links between satellites.
#[derive(Clone, Copy, Debug)]
enum Links {
    None,
    /// Neighbours along and across, over the seam while the longitudes differ by so much, and none
    /// between planes above 60 degrees.
    Polar(u8, Option<f64>),
    /// The plus grid of a Walker delta.
    Plus,
}

/// Longitudes of the three satellites of Fu, Atiquzzaman and Ivancic (see `geo` below).
const THREE: [f64; 3] = [-90.0, 30.0, 150.0];
/// Mask of satellites that stand still, in degrees: they see 81 degrees of latitude at most.
const GEOSTATIONARY_MASK: f64 = 0.0;

/// Name of the shell that stands still, alone or before `:LON,LON`.
const GEO: &str = "geo";

const IRIDIUM: Row = Row {
    altitude: 780.0,
    inclination: 86.4,
    planes: 6,
    per_plane: 11,
    spacing: 31.6,
    phasing: Ahead::Half,
    mask: 8.2,
    links: Links::Polar(1, None),
};

const TELEDESIC: Row = Row {
    altitude: 1375.0,
    inclination: 84.7,
    planes: 12,
    per_plane: 24,
    spacing: 15.0,
    phasing: Ahead::Not,
    mask: 40.0,
    links: Links::Polar(2, Some(8.0)),
};

/// A shell of a Walker delta with a plus grid.
const fn delta(
    altitude: f64,
    inclination: f64,
    planes: u16,
    per_plane: u16,
    walker: u16,
    mask: f64,
) -> Row {
    let spacing = 360.0 / planes as f64;
    let phasing = Ahead::Walker(walker);
    Row { altitude, inclination, planes, per_plane, spacing, phasing, mask, links: Links::Plus }
}

/// All constellations that are known by name.
pub static KNOWN: &[Known] = &[
    Known {
        name: GEO,
        summary: "3 satellites at -90, 30 and 150 deg; geo:-101,12.5 has them elsewhere",
        source: "Fu, Atiquzzaman and Ivancic 2005, table II; altitude 35,786 km",
        operator: None,
        shells: &[],
    },
    Known {
        name: "iridium",
        summary: "66 satellites, 6 planes at 780 km and 86.4 deg, no links across the seam",
        source: "Pattan 1997; the table of polar constellations in the ns-2 manual",
        operator: None,
        shells: &[IRIDIUM],
    },
    Known {
        name: "iridium-cross-seam",
        summary: "iridium with links across the seam",
        source: "as iridium; a longitude threshold of 10 deg as in the ns-2 example",
        operator: None,
        shells: &[Row { links: Links::Polar(1, Some(10.0)), ..IRIDIUM }],
    },
    Known {
        name: "teledesic",
        summary: "288 satellites, 12 planes at 1375 km and 84.7 deg, 8 links each",
        source: "the table of polar constellations in the ns-2 manual: no phasing between planes",
        operator: None,
        shells: &[TELEDESIC],
    },
    Known {
        name: "teledesic-staggered",
        summary: "teledesic with every other plane half a place ahead",
        source: "as teledesic; staggered by 7.5 deg as in the ns-2 example",
        operator: None,
        shells: &[Row { phasing: Ahead::Half, ..TELEDESIC }],
    },
    Known {
        name: "starlink",
        summary: "Starlink's first shell: 1,584 satellites at 550 km and 53 deg",
        source: "FCC SAT-MOD-20190830-00087: 72 planes of 22, 25 deg; phasing 39 is chosen",
        operator: Some(Operator { policy: Policy::Slots(Slots::STARLINK), sites: sites::STARLINK }),
        shells: &[delta(550.0, 53.0, 72, 22, 39, 25.0)],
    },
    Known {
        name: "oneweb",
        summary: "OneWeb's first phase: 588 satellites at 1200 km and 87.9 deg, bent pipes",
        source: "FCC SAT-MPL-20200526-00062: 12 planes of 49, 15.225 deg apart; mask 45 deg",
        operator: Some(Operator { policy: Policy::HighestElevation, sites: sites::ONEWEB }),
        shells: &[Row {
            altitude: 1200.0,
            inclination: 87.9,
            planes: 12,
            per_plane: 49,
            spacing: 15.225,
            phasing: Ahead::Half,
            mask: 45.0,
            links: Links::None,
        }],
    },
    Known {
        name: "kuiper",
        summary: "Kuiper: 3,236 satellites in shells at 630, 610 and 590 km",
        source: "FCC SAT-LOA-20190704-00057: 34x34, 36x36, 28x28, 35 deg; phasing is chosen",
        operator: Some(Operator { policy: Policy::ShortestPath, sites: &[] }),
        shells: &[
            delta(630.0, 51.9, 34, 34, 1, 35.0),
            delta(610.0, 42.0, 36, 36, 1, 35.0),
            delta(590.0, 33.0, 28, 28, 1, 35.0),
        ],
    },
    Known {
        name: "telesat",
        summary: "Telesat Lightspeed: 298 satellites at 1015 km, 98.98 deg and 1325 km, 50.88 deg",
        source: "FCC SAT-MPL-20200526-00053, first phase: 6x13, 20x11, 10 deg; phasing is chosen",
        operator: Some(Operator { policy: Policy::ShortestPath, sites: sites::TELESAT }),
        shells: &[
            Row {
                altitude: 1015.0,
                inclination: 98.98,
                planes: 6,
                per_plane: 13,
                spacing: 30.0,
                phasing: Ahead::Half,
                mask: 10.0,
                links: Links::Polar(1, None),
            },
            delta(1325.0, 50.88, 20, 11, 1, 10.0),
        ],
    },
];

/// The constellation of a name: one of [`KNOWN`], `geo:` with longitudes, or several joined by `+`.
///
/// # Errors
/// When a longitude is no number; `None` when a name is not known.
pub fn known(name: &str) -> Option<Result<ConstellationSpec, OrbitError>> {
    let mut shells = Vec::new();
    for part in name.split('+') {
        match part.split_once(':') {
            Some((GEO, longitudes)) => match read_longitudes(longitudes) {
                Ok(longitudes) => shells.push(geostationary(longitudes)),
                Err(error) => return Some(Err(error)),
            },
            Some(_) => return None,
            None => {
                let known = KNOWN.iter().find(|known| known.name == part)?;
                shells.extend(known.shells());
            }
        }
    }
    Some(Ok(ConstellationSpec { name: name.to_owned(), shells }))
}

/// How the operator of a constellation of this name runs it; `None` where no operator does.
pub fn operator(name: &str) -> Option<&'static Operator> {
    KNOWN.iter().find(|known| known.name == name)?.operator.as_ref()
}

fn read_longitudes(text: &str) -> Result<Vec<Degrees>, OrbitError> {
    let read = |part: &str| match part.trim().parse() {
        Ok(longitude) => Ok(Degrees(longitude)),
        Err(_) => {
            let message = format!("`{part}` is not one: write degrees east, such as geo:-101,12.5");
            Err(OrbitError::invalid("longitudes", message))
        }
    };
    text.split(',').map(read).collect()
}

fn geostationary(longitudes: Vec<Degrees>) -> ShellSpec {
    ShellSpec {
        name: GEO.to_owned(),
        orbits: Orbits::Geostationary(longitudes),
        mask: Degrees(GEOSTATIONARY_MASK),
        isl: IslRules::NONE,
    }
}

impl Known {
    fn shells(&self) -> Vec<ShellSpec> {
        if self.name == GEO {
            return vec![geostationary(THREE.map(Degrees).to_vec())];
        }
        let several = self.shells.len() > 1;
        let name = |row: &Row| match several {
            true => format!("{}-{}", self.name, row.altitude),
            false => self.name.to_owned(),
        };
        self.shells.iter().map(|row| row.shell(name(row))).collect()
    }
}

impl Row {
    fn shell(&self, name: String) -> ShellSpec {
        let phasing = match self.phasing {
            Ahead::Not => Phasing::Stagger(Degrees(0.0)),
            Ahead::Half => half_slot(self.per_plane),
            Ahead::Walker(parts) => Phasing::Walker(parts),
        };
        ShellSpec {
            name,
            orbits: Orbits::Planes(Planes {
                altitude: Km(self.altitude),
                inclination: Degrees(self.inclination),
                planes: self.planes,
                per_plane: self.per_plane,
                plane_spacing: Degrees(self.spacing),
                phasing,
            }),
            mask: Degrees(self.mask),
            isl: self.links.rules(),
        }
    }
}

impl Links {
    fn rules(self) -> IslRules {
        let grid = |reach, seam, latitude_limit| IslRules {
            pattern: IslPattern::Grid { along: reach, across: reach, seam },
            latitude_limit,
            grazing_altitude: IslRules::GRAZING_ALTITUDE,
        };
        match self {
            Self::None => IslRules::NONE,
            Self::Polar(reach, threshold) => {
                let seam = threshold.map_or(Seam::Open, |east| Seam::Handover(Degrees(east)));
                grid(reach, seam, Some(Degrees(60.0)))
            }
            // Over the sea of a plus grid a link can be long; only the air ends it.
            Self::Plus => grid(1, Seam::Closed, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Constellation;

    fn satellites(name: &str) -> usize {
        let spec = known(name).expect(name).expect(name);
        Constellation::new(&spec).unwrap_or_else(|error| panic!("{name}: {error}")).satellites()
    }

    #[test]
    fn every_known_constellation_has_as_many_satellites_as_it_says() {
        let counts = KNOWN.iter().map(|known| satellites(known.name));
        assert_eq!(counts.collect::<Vec<_>>(), [3, 66, 66, 288, 288, 1584, 588, 3236, 298]);
        for known in KNOWN {
            for line in [known.summary, known.source] {
                assert!((1..=84).contains(&line.len()) && !line.ends_with('.'), "{line}");
            }
        }
    }

    #[test]
    fn names_can_be_joined_and_satellites_put_over_any_longitude() {
        assert_eq!(satellites("iridium+geo"), 69);
        assert_eq!(satellites("geo:-101, 12.5"), 2);
        let wrong = known("geo:west").expect("it is geo").expect_err("no number").to_string();
        assert!(wrong.starts_with("longitudes: `west`"), "{wrong}");
        assert!(known("iridum").is_none() && known("leo:3").is_none() && known("").is_none());
        let off = known("geo:200").expect("it is geo").expect("a number");
        assert!(Constellation::new(&off).expect_err("off").to_string().contains("200 deg"));
    }
}
