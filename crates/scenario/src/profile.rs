//! Scenarios that are made for a constellation and two places.

use std::ffi::OsStr;
use std::path::Path;

use bentpipe_orbit::Track;
use toml_edit::{DocumentMut, Table, Value, value};

use crate::library;

/// A flow over satellites that have nothing but delays.
const PLAIN: &str = r#"name = "profile"
encapsulation = "udp"
duration = "1 h"

[constellation]

[flows.file]
"#;

/// The text of a scenario from one place to another over a constellation: that of the built-in scenario of
/// this name, or else one whose links have no rate.
pub(crate) fn profile(constellation: &str, from: &str, to: &str) -> String {
    let built_in = library::scenario(constellation).and_then(|text| text.parse().ok());
    let built_in = built_in.filter(|text: &DocumentMut| text.contains_key("constellation"));
    // What is neither known nor a file is taken for a name: the error says what is known.
    let file = bentpipe_orbit::known(constellation).is_none() && Path::new(constellation).exists();
    let mut document = built_in.unwrap_or_else(|| {
        let mut plain = PLAIN.parse::<DocumentMut>().unwrap_or_default();
        let (key, name) = if file {
            // It stands beside the caller, not beside a scenario file.
            let path = std::path::absolute(constellation);
            let path = path.as_deref().unwrap_or(Path::new(constellation));
            ("file", path.to_string_lossy().into_owned())
        } else {
            ("name", constellation.to_owned())
        };
        plain["constellation"][key] = value(name);
        plain
    });
    let mut stations = Table::new();
    let names = [from, to].map(|place| {
        let mut station = toml_edit::InlineTable::new();
        let name = if Track::is_a_file(place) {
            // It stands beside the caller, not beside a scenario file.
            let path = std::path::absolute(place);
            let path = path.as_deref().unwrap_or(Path::new(place));
            station.insert("track", Value::from(path.to_string_lossy().into_owned()));
            Path::new(place).file_stem().map_or(place.into(), OsStr::to_string_lossy)
        } else {
            station.insert("place", Value::from(place));
            place.into()
        };
        stations.insert(&name, value(station));
        name.into_owned()
    });
    document["constellation"]["stations"] = stations.into();
    for (key, name) in ["from", "to"].into_iter().zip(names) {
        document["flows"]["file"][key] = value(name);
    }
    document.to_string()
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    #[test]
    fn a_built_in_scenario_lends_its_links_and_any_other_constellation_has_none() {
        for (name, rated) in [("iridium", true), ("kuiper", false), ("geo:-30", false)] {
            let scenario = Scenario::over(name, "Madrid", "40.7,-74").expect(name);
            let spec = scenario.run_spec(None, false).expect(name);
            assert_eq!(spec.nodes, ["Madrid", "40.7,-74"]);
            let constellation = spec.constellation.expect("a constellation");
            assert_eq!(constellation.network.constellation().name(), name);
            assert_eq!(!constellation.ground[0].up.is_empty(), rated, "{name}");
        }
    }

    #[test]
    fn what_can_not_be_names_the_constellation_or_the_place() {
        let said = |name, from, to| Scenario::over(name, from, to).expect_err(name).to_string();
        assert!(said("iridum", "Oslo", "Rome").contains("did you mean `iridium`?"));
        assert!(said("starlink", "80,0", "Rome").contains("no satellite of starlink ever"));
        assert!(said("iridium", "Rome", "Rome").contains("cannot send to itself"));
    }
}
