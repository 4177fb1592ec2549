//! Constellations that are known, and those of files.

use std::path::Path;

use bentpipe_orbit::{
    Constellation, ConstellationSpec, Epoch, IslPattern, IslRules, KNOWN, OrbitError, Orbits,
    Phasing, Planes, Seam, ShellSpec, known,
};
use bentpipe_trace::read_regular;
use bentpipe_units::Degrees;

use crate::error::{ScenarioError, did_you_mean};
use crate::problem::Problem;
use crate::schema::constellation_file::{
    ConstellationFile, IslTable, PatternName, SeamName, ShellTable,
};
use crate::text::{locate, read};

/// Mask of element sets, which have none of their own.
const ELEMENTS_MASK: Degrees = Degrees(10.0);

/// What may be said of a constellation besides its name.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ConstellationOptions {
    /// Satellites are used above this elevation; their own, or 10 degrees for element sets, if `None`.
    pub mask: Option<Degrees>,
    /// Satellites of element sets are linked to so many nearest ones; to none if `None`.
    pub nearest: Option<u8>,
    /// When the run of element sets starts; at their latest epoch if `None`.
    pub start: Option<Epoch>,
}

/// The constellation of a known name, or of a file: shells in TOML, or element sets.
///
/// # Errors
/// When there is no such constellation or file, it cannot be read, or an option is not for it.
pub fn open_constellation(
    name: &str,
    options: &ConstellationOptions,
) -> Result<Constellation, ScenarioError> {
    let wrong =
        |message: String| ScenarioError { source: name.to_owned(), line: None, key: None, message };
    let orbit = |error: OrbitError| wrong(error.to_string());
    let mut spec = match known(name) {
        Some(spec) => spec.map_err(orbit)?,
        None => {
            let text = read_regular(Path::new(name)).map_err(|error| {
                let hint = did_you_mean(name, KNOWN.iter().map(|known| known.name));
                let list = "`bentpipe list constellations` names those that are known";
                wrong(format!("{error}{hint}; {list}"))
            })?;
            if Path::new(name).extension().is_none_or(|ending| ending != "toml") {
                return elements(name, &text, options).map_err(orbit);
            }
            parse(name, &text)?
        }
    };
    if options.nearest.is_some() || options.start.is_some() {
        let message =
            "a start and links to the nearest are for element sets, these are ideal orbits";
        return Err(wrong(message.to_owned()));
    }
    if let Some(mask) = options.mask {
        spec.shells.iter_mut().for_each(|shell| shell.mask = mask);
    }
    Constellation::new(&spec).map_err(orbit)
}

fn elements(
    name: &str,
    text: &str,
    options: &ConstellationOptions,
) -> Result<Constellation, OrbitError> {
    let isl = match options.nearest {
        Some(count) => IslRules { pattern: IslPattern::Nearest(count), ..IslRules::NONE },
        None => IslRules::NONE,
    };
    let mask = options.mask.unwrap_or(ELEMENTS_MASK);
    Constellation::from_elements(name, text, options.start, mask, isl)
}

/// Reads a constellation from a TOML text that came from `source`.
///
/// # Errors
/// When it is not a valid one: file, line, key, what is wrong and what would be right.
fn parse(source: &str, text: &str) -> Result<ConstellationSpec, ScenarioError> {
    let file: ConstellationFile = read(source, text)?;
    let wrong = |problem| locate(source, text, problem);
    let mut shells = Vec::new();
    for (index, table) in file.shells.iter().enumerate() {
        let within = |error| wrong(in_shell(index, error));
        let shell = shell(&file.name, index, table).map_err(within)?;
        shell.check().map_err(within)?;
        shells.push(shell);
    }
    let spec = ConstellationSpec { name: file.name, shells };
    Constellation::new(&spec).map_err(|error| wrong(problem(Vec::new(), error)))?;
    Ok(spec)
}

fn in_shell(index: usize, error: OrbitError) -> Problem {
    problem(vec!["shells".to_owned(), index.to_string()], error)
}

/// The problem that an error of the orbits is, below a path.
fn problem(mut path: Vec<String>, error: OrbitError) -> Problem {
    match error {
        OrbitError::Invalid { field, message } => {
            path.extend(field.split('.').map(str::to_owned));
            Problem { path, message }
        }
        other => Problem { path, message: other.to_string() },
    }
}

fn wrong<T>(field: &str, message: &str) -> Result<T, OrbitError> {
    Err(OrbitError::Invalid { field: field.to_owned(), message: message.to_owned() })
}

fn shell(constellation: &str, index: usize, table: &ShellTable) -> Result<ShellSpec, OrbitError> {
    let orbits = match &table.longitudes {
        Some(longitudes) => geostationary(table, longitudes)?,
        None => Orbits::Planes(planes(table)?),
    };
    let default = || match index {
        0 => constellation.to_owned(),
        _ => format!("{constellation}-{index}"),
    };
    Ok(ShellSpec {
        name: table.name.clone().unwrap_or_else(default),
        orbits,
        mask: table.elevation_mask.0,
        isl: table.isl.as_ref().map_or(Ok(IslRules::NONE), isl)?,
    })
}

fn geostationary(table: &ShellTable, longitudes: &[f64]) -> Result<Orbits, OrbitError> {
    let of_planes = [
        ("altitude", table.altitude.is_some()),
        ("inclination", table.inclination.is_some()),
        ("planes", table.planes.is_some()),
        ("satellites_per_plane", table.satellites_per_plane.is_some()),
        ("plane_spacing", table.plane_spacing.is_some()),
        ("stagger", table.stagger.is_some()),
        ("walker_phasing", table.walker_phasing.is_some()),
    ];
    if let Some((field, _)) = of_planes.iter().find(|(_, given)| *given) {
        return wrong(field, "a shell with `longitudes` stands still and has no planes");
    }
    Ok(Orbits::Geostationary(longitudes.iter().copied().map(Degrees).collect()))
}

fn planes(table: &ShellTable) -> Result<Planes, OrbitError> {
    const MISSING: &str = "missing: a shell has planes, or else `longitudes`";
    let Some(altitude) = table.altitude else { return wrong("altitude", MISSING) };
    let Some(inclination) = table.inclination else { return wrong("inclination", MISSING) };
    let Some(planes) = table.planes else { return wrong("planes", MISSING) };
    let Some(per_plane) = table.satellites_per_plane else {
        return wrong("satellites_per_plane", MISSING);
    };
    let phasing = match (table.stagger, table.walker_phasing) {
        (Some(_), Some(_)) => return wrong("stagger", "either this or `walker_phasing`"),
        (Some(angle), None) => Phasing::Stagger(angle.0),
        (None, Some(parts)) => Phasing::Walker(parts),
        (None, None) => Phasing::Stagger(Degrees(0.0)),
    };
    let even = Degrees(360.0 / f64::from(planes.max(1)));
    let plane_spacing = table.plane_spacing.map_or(even, |angle| angle.0);
    let (altitude, inclination) = (altitude.0, inclination.0);
    Ok(Planes { altitude, inclination, planes, per_plane, plane_spacing, phasing })
}

fn isl(table: &IslTable) -> Result<IslRules, OrbitError> {
    let pattern = match table.pattern {
        PatternName::Nearest => nearest(table)?,
        PatternName::Grid => grid(table)?,
    };
    Ok(IslRules {
        pattern,
        latitude_limit: table.latitude_limit.map(|limit| limit.0),
        grazing_altitude: table.grazing_altitude.map_or(IslRules::GRAZING_ALTITUDE, |km| km.0),
    })
}

fn nearest(table: &IslTable) -> Result<IslPattern, OrbitError> {
    let of_grids = [
        ("isl.along", table.along.is_some()),
        ("isl.across", table.across.is_some()),
        ("isl.seam", table.seam.is_some()),
        ("isl.longitude_threshold", table.longitude_threshold.is_some()),
    ];
    if let Some((field, _)) = of_grids.iter().find(|(_, given)| *given) {
        return wrong(field, "only for the pattern `grid`");
    }
    match table.nearest {
        Some(count) => Ok(IslPattern::Nearest(count)),
        None => wrong("isl.nearest", "missing: how many, such as 4"),
    }
}

fn grid(table: &IslTable) -> Result<IslPattern, OrbitError> {
    if table.nearest.is_some() {
        return wrong("isl.nearest", "only for the pattern `nearest`");
    }
    let seam = match (table.seam.unwrap_or(SeamName::Open), table.longitude_threshold) {
        (SeamName::Open, None) => Seam::Open,
        (SeamName::Closed, None) => Seam::Closed,
        (SeamName::Handover, threshold) => {
            Seam::Handover(threshold.map_or(Degrees(0.0), |angle| angle.0))
        }
        _ => return wrong("isl.longitude_threshold", "only for the seam `handover`"),
    };
    let (along, across) = (table.along.unwrap_or(1), table.across.unwrap_or(1));
    Ok(IslPattern::Grid { along, across, seam })
}

#[cfg(test)]
mod tests {
    use bentpipe_orbit::known;

    use super::*;

    const DOCS: &str = include_str!("../../../../docs/orbits.md");
    const TELEDESIC: &str = r#"name = "teledesic-staggered"

[[shells]]
altitude = "1375 km"
inclination = "84.7 deg"
planes = 12
satellites_per_plane = 24
plane_spacing = "15 deg"
stagger = "7.5 deg"
elevation_mask = "40 deg"

[shells.isl]
pattern = "grid"
along = 2
across = 2
seam = "handover"
longitude_threshold = "8 deg"
latitude_limit = "60 deg"
"#;

    #[test]
    fn a_known_constellation_can_be_written_as_a_file() {
        let read = parse("test.toml", TELEDESIC).expect("a constellation");
        assert_eq!(Some(Ok(read)), known("teledesic-staggered"));
    }

    #[test]
    fn the_file_in_the_documentation_can_be_read() {
        let toml = DOCS.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
        let spec = parse("docs", toml.expect("a file")).expect("a constellation");
        assert_eq!(spec.shells.iter().map(ShellSpec::satellites).sum::<usize>(), 1584 + 2);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line_and_its_key() {
        for (old, new, line, key, said) in [
            ("stagger =", "stager =", 9, "shells.0.stager", "did you mean `stagger`?"),
            ("\"1375 km\"", "1375", 4, "shells.0.altitude", "such as \"550 km\""),
            ("\"1375 km\"", "\"-1 km\"", 4, "shells.0.altitude", "more than 0 km"),
            ("\"84.7 deg\"", "\"184 deg\"", 5, "shells.0.inclination", "0..=180 deg"),
            ("planes = 12", "planes = 0", 6, "shells.0.planes", "at least 1"),
            ("planes = 12\n", "", 3, "shells.0.planes", "`longitudes`"),
            ("\"40 deg\"", "\"95 deg\"", 10, "shells.0.elevation_mask", "0..90 deg"),
            ("along = 2", "along = 9", 14, "shells.0.isl.along", "behind the Earth"),
            ("\"grid\"", "\"gird\"", 13, "shells.0.isl.pattern", "did you mean `grid`?"),
            ("\"handover\"", "\"open\"", 17, "shells.0.isl.longitude_threshold", "`handover`"),
            ("stagger =", "walker_phasing = 1\nstagger =", 10, "shells.0.stagger", "either"),
            ("along = 2", "nearest = 2", 14, "shells.0.isl.nearest", "`nearest`"),
            ("planes = 12", "longitudes = [0]\nplanes = 12", 4, "shells.0.altitude", "still"),
        ] {
            let text = TELEDESIC.replacen(old, new, 1);
            assert_ne!(text, TELEDESIC, "{old}");
            let error = parse("test.toml", &text).expect_err(new);
            assert_eq!((error.line, error.key.as_deref()), (Some(line), Some(key)), "{error}");
            assert!(error.message.contains(said), "{error}");
        }
        let none = parse("test.toml", "name = \"x\"\nshells = []").expect_err("none");
        assert_eq!(none.key.as_deref(), Some("shells"));
    }
}
