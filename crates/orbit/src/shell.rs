//! Shells: satellites that share an altitude, a mask and rules for their links.

use bentpipe_units::{Degrees, Km};

use crate::circular::within;
use crate::{OrbitError, Phasing, Planes};

/// A constellation as it is described: what [`crate::Constellation::new`] builds.
#[derive(Clone, Debug, PartialEq)]
pub struct ConstellationSpec {
    /// Name of the constellation.
    pub name: String,
    /// Its shells; at least one.
    pub shells: Vec<ShellSpec>,
}

/// One shell of a constellation.
#[derive(Clone, Debug, PartialEq)]
pub struct ShellSpec {
    /// Name of the shell.
    pub name: String,
    /// Where its satellites are.
    pub orbits: Orbits,
    /// A satellite is used from the ground while its elevation is above this; 0..90 degrees.
    pub mask: Degrees,
    /// Links between its satellites.
    pub isl: IslRules,
}

/// Where the satellites of a shell are.
#[derive(Clone, Debug, PartialEq)]
pub enum Orbits {
    /// Planes of circular orbits.
    Planes(Planes),
    /// At 35,786 km above these longitudes of the equator.
    Geostationary(Vec<Degrees>),
}

/// Which links between satellites there are, and when they are up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IslRules {
    /// Who is linked to whom.
    pub pattern: IslPattern,
    /// Links between planes are down while one of their ends is further from the equator than this,
    /// 0..=90 degrees; without it they are up there too.
    pub latitude_limit: Option<Degrees>,
    /// A link is down while it comes nearer to the ground than this.
    pub grazing_altitude: Km,
}

/// Who is linked to whom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum IslPattern {
    /// Nobody: bent pipes.
    None,
    /// Neighbours along the plane and in the planes beside it.
    Grid {
        /// Each satellite is linked to so many before it and so many behind it in its plane.
        along: u8,
        /// Each satellite is linked to the same number in so many planes on either side.
        across: u8,
        /// What becomes of the links between the last plane and the first.
        seam: Seam,
    },
    /// Each satellite is linked to so many nearest ones of its shell; chosen anew at every check.
    Nearest(u8),
}

/// What becomes of the links between the last plane and the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Seam {
    /// There are none: the planes run against each other.
    Open,
    /// The planes run with each other, as those of a Walker delta: links as between any two.
    Closed,
    /// One link for each satellite of the first plane, to the nearest one of the last plane, handed
    /// over as they pass each other; down while their longitudes differ by less than this.
    Handover(Degrees),
}

impl IslRules {
    /// Altitude below which the air disturbs a link, as in ns-2.
    pub const GRAZING_ALTITUDE: Km = Km(150.0);

    /// No links between satellites.
    pub const NONE: Self = Self {
        pattern: IslPattern::None,
        latitude_limit: None,
        grazing_altitude: Self::GRAZING_ALTITUDE,
    };
}

impl ShellSpec {
    /// Whether such a shell can be.
    ///
    /// # Errors
    /// The field that is wrong, as constellation files call it.
    pub fn check(&self) -> Result<(), OrbitError> {
        check_mask(self.mask)?;
        check_isl(&self.isl)?;
        match &self.orbits {
            Orbits::Planes(planes) => {
                planes.check()?;
                self.check_grid(planes)
            }
            Orbits::Geostationary(longitudes) => {
                if longitudes.is_empty() {
                    return Err(OrbitError::invalid("longitudes", "at least one is needed"));
                }
                longitudes
                    .iter()
                    .try_for_each(|east| within("longitudes", *east, -180.0, 180.0))?;
                if matches!(self.isl.pattern, IslPattern::Grid { .. }) {
                    let message = "satellites that stand still have no planes: none or nearest";
                    return Err(OrbitError::invalid("isl.pattern", message));
                }
                Ok(())
            }
        }
    }

    fn check_grid(&self, planes: &Planes) -> Result<(), OrbitError> {
        let IslPattern::Grid { along, across, seam } = self.isl.pattern else { return Ok(()) };
        if u16::from(along) * 2 >= planes.per_plane && along > 0 {
            let message = format!(
                "{along} on either side do not fit a plane of {} satellites",
                planes.per_plane
            );
            return Err(OrbitError::invalid("isl.along", message));
        }
        if u16::from(across) * 2 >= planes.planes && across > 0 {
            let message =
                format!("{across} planes on either side do not fit {} planes", planes.planes);
            return Err(OrbitError::invalid("isl.across", message));
        }
        // Links along a plane are never handed over: they must be in sight of each other.
        let radius = 6378.0 + planes.altitude.0;
        let half = std::f64::consts::PI * f64::from(along) / f64::from(planes.per_plane);
        if radius * libm::cos(half) < 6378.0 + self.isl.grazing_altitude.0 {
            let message = format!(
                "the {along}. neighbour in a plane of {} satellites is behind the Earth at {}",
                planes.per_plane, planes.altitude
            );
            return Err(OrbitError::invalid("isl.along", message));
        }
        if let Seam::Handover(threshold) = seam {
            within("isl.longitude_threshold", threshold, 0.0, 180.0)?;
        }
        Ok(())
    }

    /// How many satellites the shell has.
    pub fn satellites(&self) -> usize {
        match &self.orbits {
            Orbits::Planes(planes) => usize::from(planes.planes) * usize::from(planes.per_plane),
            Orbits::Geostationary(longitudes) => longitudes.len(),
        }
    }
}

pub(crate) fn check_mask(mask: Degrees) -> Result<(), OrbitError> {
    if (0.0..90.0).contains(&mask.0) {
        return Ok(());
    }
    Err(OrbitError::invalid("elevation_mask", format!("{mask} lies outside 0..90 deg")))
}

pub(crate) fn check_isl(isl: &IslRules) -> Result<(), OrbitError> {
    if let Some(limit) = isl.latitude_limit {
        within("isl.latitude_limit", limit, 0.0, 90.0)?;
    }
    if !(0.0..=1e5).contains(&isl.grazing_altitude.0) {
        let message = format!("{} lies outside 0..=100000 km", isl.grazing_altitude);
        return Err(OrbitError::invalid("isl.grazing_altitude", message));
    }
    if isl.pattern == IslPattern::Nearest(0) {
        return Err(OrbitError::invalid(
            "isl.nearest",
            "0 is no link: at least 1, or pattern none",
        ));
    }
    Ok(())
}

/// The angle that evens out the satellites of neighbouring planes: half of their distance.
pub(crate) fn half_slot(per_plane: u16) -> Phasing {
    Phasing::Stagger(Degrees(180.0 / f64::from(per_plane)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(per_plane: u16, along: u8, across: u8) -> ShellSpec {
        ShellSpec {
            name: "shell".into(),
            orbits: Orbits::Planes(Planes {
                altitude: Km(780.0),
                inclination: Degrees(86.4),
                planes: 6,
                per_plane,
                plane_spacing: Degrees(31.6),
                phasing: half_slot(per_plane),
            }),
            mask: Degrees(8.2),
            isl: IslRules {
                pattern: IslPattern::Grid { along, across, seam: Seam::Open },
                latitude_limit: Some(Degrees(60.0)),
                grazing_altitude: IslRules::GRAZING_ALTITUDE,
            },
        }
    }

    fn field(shell: &ShellSpec) -> String {
        match shell.check() {
            Err(OrbitError::Invalid { field, .. }) => field,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn links_that_do_not_fit_the_planes_are_refused() {
        assert_eq!(shell(11, 1, 1).check(), Ok(()));
        assert_eq!(field(&shell(11, 6, 1)), "isl.along");
        assert_eq!(field(&shell(11, 1, 3)), "isl.across");
    }

    #[test]
    fn neighbours_behind_the_earth_are_refused() {
        assert_eq!(field(&shell(6, 1, 1)), "isl.along");
        assert_eq!(field(&shell(11, 2, 1)), "isl.along");
        assert_eq!(shell(6, 0, 1).check(), Ok(()));
    }

    #[test]
    fn rules_out_of_range_name_their_field() {
        let mut wrong = shell(11, 1, 1);
        wrong.mask = Degrees(90.0);
        assert_eq!(field(&wrong), "elevation_mask");
        wrong = shell(11, 1, 1);
        wrong.isl.latitude_limit = Some(Degrees(91.0));
        assert_eq!(field(&wrong), "isl.latitude_limit");
        wrong.isl = IslRules { pattern: IslPattern::Nearest(0), ..IslRules::NONE };
        assert_eq!(field(&wrong), "isl.nearest");
        wrong.isl = IslRules { grazing_altitude: Km(-1.0), ..IslRules::NONE };
        assert_eq!(field(&wrong), "isl.grazing_altitude");
        wrong = shell(11, 1, 1);
        wrong.orbits = Orbits::Geostationary(vec![Degrees(0.0)]);
        assert_eq!(field(&wrong), "isl.pattern");
        wrong.isl = IslRules::NONE;
        assert_eq!(wrong.check(), Ok(()));
        wrong.orbits = Orbits::Geostationary(vec![Degrees(-200.0)]);
        assert_eq!(field(&wrong), "longitudes");
        wrong.orbits = Orbits::Geostationary(Vec::new());
        assert_eq!(field(&wrong), "longitudes");
    }
}
