//! Flows that are there many times, each between stations of its own.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::problem::{Problem, problem};
use crate::schema::file::ScenarioFile;
use crate::schema::flow::FlowTable;

/// Most copies of a flow: each brings stations that take part in every check.
const MOST: u16 = 1000;

/// The scenario with each flow of several `copies` replaced by these, and the stations that it names by
/// copies, numbered from 1: `file` between `a` and `b` becomes `file-1` between `a-1` and `b-1`, and so on.
/// Stations beside those that no path of the flow has are left out.
pub(crate) fn spread(file: &ScenarioFile) -> Result<Cow<'_, ScenarioFile>, Problem> {
    if file.flows.values().all(|flow| flow.copies.is_none()) {
        return Ok(Cow::Borrowed(file));
    }
    let mut spread = file.clone();
    spread.flows.clear();
    for (name, flow) in &file.flows {
        let Some(count) = flow.copies else {
            spread.flows.insert(name.clone(), flow.clone());
            continue;
        };
        let path = ["flows", name, "copies"];
        if count == 0 || count > MOST {
            return problem(&path, format!("{count}: it must lie in 1..={MOST}"));
        }
        let Some(constellation) = &mut spread.constellation else {
            return problem(&path, "only stations of a [constellation] can be copied");
        };
        let ends = ends(flow);
        for end in &ends {
            let Some(template) = constellation.stations.shift_remove(end) else {
                let message = format!("`{end}` is no station, or one of another flow with copies");
                return problem(&path, message);
            };
            for number in 1..=count {
                let mut station = template.clone();
                // Its own name is a place; that of a copy is none.
                let placed = station.place.is_some() || station.beside.is_some();
                station.place = station.place.or_else(|| (!placed).then(|| end.clone()));
                if let Some(other) = station.beside.as_mut().filter(|other| ends.contains(*other)) {
                    *other = copy(other, number);
                }
                constellation.stations.insert(copy(end, number), station);
            }
        }
        // What stands beside a station that is there no more and carries nothing goes with it.
        constellation
            .stations
            .retain(|_, station| station.beside.as_ref().is_none_or(|other| !ends.contains(other)));
        for number in 1..=count {
            let mut flow = FlowTable { copies: None, ..flow.clone() };
            let paths = flow.more_paths.iter_mut().flat_map(|path| [&mut path.from, &mut path.to]);
            let changes = flow.address_changes.iter_mut();
            let changes =
                changes.flat_map(|change| change.add.iter_mut().chain(&mut change.delete));
            for end in [&mut flow.from, &mut flow.to].into_iter().chain(paths).chain(changes) {
                *end = copy(end, number);
            }
            spread.flows.insert(copy(name, number), flow);
        }
    }
    Ok(Cow::Owned(spread))
}

/// The stations that a flow names.
fn ends(flow: &FlowTable) -> BTreeSet<String> {
    let paths = flow.more_paths.iter().flat_map(|path| [&path.from, &path.to]);
    [&flow.from, &flow.to].into_iter().chain(paths).cloned().collect()
}

fn copy(name: &str, number: u16) -> String {
    format!("{name}-{number}")
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    const TWO: &str = r#"name = "two"
duration = "10 s"

[constellation]
name = "iridium+geo"

[constellation.stations.ship]
place = "anywhere"
latitudes = ["-40 deg", "70 deg"]

[constellation.stations.ship-geo]
beside = "ship"
shells = ["geo"]
ground.rate = "2 Mbit/s"

[constellation.stations.Boston]

[flows.file]
from = "ship"
to = "Boston"
more_paths = [{ from = "ship-geo", to = "Boston" }]
protocol = "sctp"
copies = 2
"#;

    #[test]
    fn each_copy_has_stations_of_its_own_that_stand_together() {
        let scenario = Scenario::parse("two", TWO).expect("a scenario");
        let places = |seed| {
            let spec = scenario.run_spec(Some(seed), false).expect("a run");
            let constellation = spec.constellation.expect("a constellation");
            let stations = constellation.network.stations();
            let place = |name: &str| {
                let station = stations.iter().position(|station| station.name == name);
                let station = station.unwrap_or_else(|| panic!("{name}"));
                (stations[station].place, constellation.ground[station].up.len())
            };
            assert_eq!((stations.len(), spec.flows.len()), (6, 2));
            assert_eq!(spec.flows[1].name, "file-2");
            assert_eq!(place("ship-2").0, place("ship-geo-2").0);
            assert_eq!((place("ship-2").1, place("ship-geo-2").1), (0, 1));
            assert_eq!(place("Boston-1").0, "Boston".parse().expect("a city"));
            [place("ship-1").0, place("ship-2").0]
        };
        let [one, two] = places(1);
        assert_ne!(one, two);
        assert_eq!(places(1), [one, two]);
        assert!(places(2)[0] != one);
    }

    #[test]
    fn what_can_not_be_copied_is_named() {
        for (old, new, key) in [
            ("copies = 2", "copies = 0", "flows.file.copies"),
            ("from = \"ship\"\nto", "from = \"shop\"\nto", "flows.file.copies"),
            ("beside = \"ship\"", "beside = \"shop\"", "constellation.stations.ship-geo-1.beside"),
            ("[\"geo\"]", "[\"goe\"]", "constellation.stations.ship-geo-1"),
            (
                "\"-40 deg\", \"70 deg\"",
                "\"70 deg\", \"-40 deg\"",
                "constellation.stations.ship-1.latitudes",
            ),
        ] {
            let text = TWO.replacen(old, new, 1);
            assert_ne!(text, TWO, "{old}");
            let error = Scenario::parse("two", &text).expect_err(new);
            assert_eq!(error.key.as_deref(), Some(key), "{error}");
        }
    }
}
