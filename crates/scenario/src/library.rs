//! Scenarios that come with the program.

/// A name and the text of a file under `scenarios/`.
type Entry = (&'static str, &'static str);

macro_rules! entries {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../scenarios/", $name, ".toml")))),*]
    };
}

static SCENARIOS: &[Entry] = entries![
    "geo",
    "vsat-asymmetric",
    "ka-rain",
    "leo-broadband",
    "leo-handovers",
    "starlink-trace",
    "gateway-geo",
    "gateway-leo",
    "sctp-two-paths",
    "iridium",
    "teledesic",
    "starlink",
    "xstp/leo",
    "xstp/bit-corruption",
    "xstp/handoff",
    "xstp/connectivity",
    "xstp/relay",
    "xstp/scripted",
    "xstp/outage",
    "radio/packet-radio",
    "pep/gateway",
    "pep/gateways",
    "pep/aero",
    "pep/aero-direct",
    "pep/onboard",
    "pep/xstp",
    "pep/xcp",
    "pep/side-by-side",
    "bench/geo-clean",
    "bench/starlink-hour",
    "bench/tcp-geo",
    "bench/tcp-geo-ten",
    "validate/geo-6mbit",
    "s1/geo-vsat",
    "s1/leo",
    "s1/leo-uplink",
    "s1/snoop",
    "s1/xcp-link",
    "s1/survey",
    "validate/sctp-windows",
    "sctp/crowd",
    "sctp/crowd-geo",
    "sctp/slow-start",
    "sctp/two-behind-red",
    "sctp/handover",
];

/// The scenarios by name.
pub fn scenarios() -> impl Iterator<Item = Entry> {
    SCENARIOS.iter().copied()
}

/// The text of a scenario, by its name or by the last part of it.
pub fn scenario(name: &str) -> Option<&'static str> {
    let found = SCENARIOS.iter().find(|(known, _)| *known == name || last_part(known) == name)?;
    Some(found.1)
}

/// What stands behind the last slash of a name.
pub(crate) fn last_part(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn files(dir: &Path, found: &mut Vec<String>, root: &Path) {
        for entry in std::fs::read_dir(dir).expect("the directory").flatten() {
            let path = entry.path();
            if path.is_dir() {
                files(&path, found, root);
            } else {
                let name = path.strip_prefix(root).expect("below the root").with_extension("");
                found.push(name.to_string_lossy().into_owned());
            }
        }
    }

    #[test]
    fn every_file_under_scenarios_is_listed() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let mut found = Vec::new();
        files(&root, &mut found, &root);
        found.sort();
        let listed = scenarios().map(|(name, _)| name.to_owned());
        let mut listed: Vec<_> = listed.collect();
        listed.sort();
        assert_eq!(found, listed);
    }

    #[test]
    fn every_scenario_can_be_read_and_its_name_is_that_of_its_file() {
        for (name, text) in scenarios() {
            let scenario = crate::Scenario::parse(name, text).unwrap_or_else(|e| panic!("{e}"));
            assert!(name.ends_with(&scenario.file().name), "{name}");
        }
    }
}
