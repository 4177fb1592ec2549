//! Traces that come with the program.

use std::io::Read as _;
use std::path::Path;

use crate::{TraceError, open_regular};

/// A trace that comes with the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub summary: &'static str,
    /// Its text: CSV.
    pub text: &'static str,
}

static TRACES: &[Known] = &[
    Known {
        name: "starlink-down",
        summary: "from a Starlink gateway to a terminal, 5 min: rate, delay, losses, handovers every 15 s; generated after published measurements",
        text: include_str!("../../../traces/starlink-down.csv"),
    },
    Known {
        name: "starlink-up",
        summary: "from a Starlink terminal to a gateway, in the same minutes",
        text: include_str!("../../../traces/starlink-up.csv"),
    },
    Known {
        name: "geo-rain",
        summary: "a geostationary link of 50 Mbit/s whose coding changes in the rain, 5 min",
        text: include_str!("../../../traces/geo-rain.csv"),
    },
];

/// The traces that come with the program.
pub fn known() -> impl Iterator<Item = Known> {
    TRACES.iter().copied()
}

/// The bytes of a file, or else those of the trace of this name, with or without `.csv`, that comes with the program.
///
/// # Errors
/// When there is neither, with the names that there are.
pub fn open(path: &Path, name: &str) -> Result<Vec<u8>, TraceError> {
    let read = open_regular(path).and_then(|mut file| {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    });
    read.or_else(|error| {
        let wanted = name.strip_suffix(".csv").unwrap_or(name);
        let own = TRACES.iter().find(|known| known.name == wanted);
        own.map(|known| known.text.as_bytes().to_vec()).ok_or_else(|| {
            let names = TRACES.iter().map(|known| known.name).collect::<Vec<_>>().join(", ");
            let problem = format!("{error}; there come with the program {names}");
            TraceError::whole(&path.display().to_string(), problem)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_trace_can_be_read_and_lasts_five_minutes() {
        for Known { name, text, .. } in known() {
            let trace =
                crate::read(name, text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(trace.length.as_secs_f64(), 300.0, "{name}");
            let file = format!("{name}.csv");
            let found = open(Path::new("no/such/folder").join(&file).as_path(), &file);
            assert_eq!(found.as_deref(), Ok(text.as_bytes()));
        }
        let error = open(Path::new("nowhere"), "nowhere").expect_err("no trace").to_string();
        assert!(error.starts_with("nowhere: ") && error.contains("starlink-down, "), "{error}");
    }
}
