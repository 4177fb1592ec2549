//! Constellations: all satellites of some shells, and where they are.

use bentpipe_units::{Degrees, Instant};

use crate::circular::Circles;
use crate::elements::Catalogue;
use crate::shell::{check_isl, check_mask};
use crate::{
    ConstellationSpec, Earth, Epoch, IslRules, OrbitError, Orbits, Place, Planes, ShellSpec,
    Station, Vector,
};

/// The satellites of one or more shells, numbered from 0 through all of them.
#[derive(Clone, Debug)]
pub struct Constellation {
    name: String,
    earth: Earth,
    start: Option<Epoch>,
    shells: Vec<Shell>,
}

/// One shell, built.
#[derive(Clone, Debug)]
pub(crate) struct Shell {
    pub(crate) name: String,
    /// Number of its first satellite.
    pub(crate) first: u32,
    pub(crate) count: u32,
    pub(crate) mask: Degrees,
    pub(crate) isl: IslRules,
    motion: Motion,
    /// How its satellites are ordered, when they are.
    pub(crate) planes: Option<Planes>,
}

/// How satellites move.
#[derive(Clone, Debug)]
enum Motion {
    Circles(Circles),
    Catalogue(Catalogue),
}

impl Constellation {
    /// Ideal orbits around an ideal Earth.
    ///
    /// # Errors
    /// When there is no shell or one that cannot be.
    pub fn new(spec: &ConstellationSpec) -> Result<Self, OrbitError> {
        let earth = Earth::ideal();
        let mut shells = Vec::new();
        let mut first = 0;
        for spec in &spec.shells {
            spec.check()?;
            let shell = Shell::ideal(spec, first, &earth);
            first += shell.count;
            shells.push(shell);
        }
        if shells.is_empty() {
            return Err(OrbitError::invalid("shells", "there is none: at least one is needed"));
        }
        Ok(Self { name: spec.name.clone(), earth, start: None, shells })
    }

    /// Real satellites around the real Earth: two-line element sets, or orbit mean-elements messages
    /// in JSON or KVN, propagated by SGP4. The run starts at `start`, or at the latest epoch in `text`.
    ///
    /// # Errors
    /// When `text` cannot be read, a satellite is not in orbit at the start, or a rule cannot be.
    pub fn from_elements(
        name: &str,
        text: &str,
        start: Option<Epoch>,
        mask: Degrees,
        isl: IslRules,
    ) -> Result<Self, OrbitError> {
        check_mask(mask)?;
        check_isl(&isl)?;
        let catalogue = Catalogue::read(text, start)?;
        let start = catalogue.start;
        let shell = Shell {
            name: name.to_owned(),
            first: 0,
            count: u32::try_from(catalogue.satellites.len()).unwrap_or(u32::MAX),
            mask,
            isl,
            motion: Motion::Catalogue(catalogue),
            planes: None,
        };
        let earth = Earth::real(start);
        Ok(Self { name: name.to_owned(), earth, start: Some(start), shells: vec![shell] })
    }

    /// Name of the constellation.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The Earth that it goes around.
    pub const fn earth(&self) -> &Earth {
        &self.earth
    }

    /// The civil time of [`Instant::ZERO`]; ideal orbits have none.
    pub const fn start(&self) -> Option<Epoch> {
        self.start
    }

    /// Number of satellites.
    pub fn satellites(&self) -> usize {
        self.shells.iter().map(|shell| shell.count as usize).sum()
    }

    pub(crate) fn shells(&self) -> &[Shell] {
        &self.shells
    }

    /// Name of a satellite: its own, or that of its shell with plane and place or number behind it,
    /// counted from 0.
    pub fn satellite_name(&self, satellite: u32) -> String {
        let Some(shell) = self.shells.iter().rev().find(|shell| shell.first <= satellite) else {
            return format!("{satellite}");
        };
        let index = satellite - shell.first;
        match (&shell.motion, &shell.planes) {
            (Motion::Catalogue(catalogue), _) => {
                let named = catalogue.satellites.get(index as usize);
                named.map_or_else(|| format!("{satellite}"), |satellite| satellite.name.clone())
            }
            (_, Some(planes)) => {
                let per_plane = u32::from(planes.per_plane);
                format!("{} {}/{}", shell.name, index / per_plane, index % per_plane)
            }
            _ => format!("{} {index}", shell.name),
        }
    }

    /// The elevation above which a satellite is used, where a station has no mask of its own.
    pub fn mask(&self, satellite: u32) -> Degrees {
        let shell = self.shells.iter().rev().find(|shell| shell.first <= satellite);
        shell.map_or(Degrees(0.0), |shell| shell.mask)
    }

    /// Puts the places of all satellites into `out`, by their numbers.
    ///
    /// # Errors
    /// When a satellite of an element set is not in orbit at that time.
    pub fn positions(&self, at: Instant, out: &mut Vec<Vector>) -> Result<(), OrbitError> {
        out.clear();
        for shell in &self.shells {
            match &shell.motion {
                Motion::Circles(circles) => circles.positions(&self.earth, at, out),
                Motion::Catalogue(catalogue) => catalogue.positions(at, out)?,
            }
        }
        Ok(())
    }

    /// Where one satellite is; `None` when there is none of that number.
    ///
    /// # Errors
    /// When it is not in orbit at that time.
    pub(crate) fn position(
        &self,
        satellite: u32,
        at: Instant,
    ) -> Result<Option<Vector>, OrbitError> {
        let Some(shell) = self.shells.iter().rev().find(|shell| shell.first <= satellite) else {
            return Ok(None);
        };
        let index = (satellite - shell.first) as usize;
        match &shell.motion {
            Motion::Circles(circles) => Ok(circles.position(index, &self.earth, at)),
            Motion::Catalogue(catalogue) => catalogue.position(index, at),
        }
    }

    /// Whether a satellite of a station's shells can ever be above its mask. Of element sets that is not
    /// asked.
    pub(crate) fn covers(&self, station: &Station) -> bool {
        let mut used = self.shells.iter().filter(|shell| station.uses(shell));
        used.any(|shell| {
            let mask = station.mask(shell);
            station.places().any(|place| shell.covers(&self.earth, place, mask))
        })
    }
}

impl Shell {
    fn ideal(spec: &ShellSpec, first: u32, earth: &Earth) -> Self {
        let (circles, planes) = match &spec.orbits {
            Orbits::Planes(planes) => (Circles::of_planes(planes, earth), Some(planes.clone())),
            Orbits::Geostationary(longitudes) => (Circles::geostationary(longitudes, earth), None),
        };
        Self {
            name: spec.name.clone(),
            first,
            count: u32::try_from(circles.len()).unwrap_or(u32::MAX),
            mask: spec.mask,
            isl: spec.isl,
            motion: Motion::Circles(circles),
            planes,
        }
    }

    fn covers(&self, earth: &Earth, place: Place, mask: Degrees) -> bool {
        let radius = earth.radius().0;
        // How far from the point below a satellite the ground still sees it above the mask.
        let reach = |satellite: f64| {
            let mask = mask.radians();
            libm::acos(radius / satellite * libm::cos(mask)) - mask
        };
        match (&self.motion, &self.planes) {
            (Motion::Catalogue(_), _) => true,
            (_, Some(planes)) => {
                let inclination = planes.inclination.0.min(180.0 - planes.inclination.0);
                let highest = Degrees(inclination).radians() + reach(radius + planes.altitude.0);
                place.latitude().radians().abs() < highest
            }
            (Motion::Circles(circles), None) => {
                let mut positions = Vec::new();
                circles.positions(earth, Instant::ZERO, &mut positions);
                let sight = earth.sight(place, Instant::ZERO);
                let sees = |satellite: &Vector| {
                    sight.up.dot(*satellite)
                        > satellite.length() * libm::cos(reach(satellite.length()))
                };
                positions.iter().any(sees)
            }
        }
    }
}
