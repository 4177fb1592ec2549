//! The house stands: crates import from lower layers only, and the real clock stays where it is.

use cargo_metadata::{DependencyKind, MetadataCommand};

/// Every crate and its layer, bottom up. Nothing may depend on one without a layer, except in tests.
const TABLE: [(&str, Option<u8>); 28] = [
    ("units", Some(0)),
    ("wire", Some(1)),
    ("cc", Some(1)),
    ("record", Some(1)),
    ("orbit", Some(1)),
    ("scenes", Some(2)),
    ("transport", Some(2)),
    ("link", Some(2)),
    ("pep", Some(3)),
    ("trace", Some(3)),
    ("tunnel", Some(3)),
    ("bond", Some(3)),
    ("association", Some(4)),
    ("transfer", Some(5)),
    ("bundle", Some(5)),
    ("gateway", Some(5)),
    ("system", Some(5)),
    ("sim", Some(6)),
    ("net", Some(6)),
    ("monitor", Some(6)),
    ("emulator", Some(6)),
    ("scenario", Some(7)),
    ("experiments", Some(8)),
    ("serve", Some(9)),
    ("bentpipe", Some(9)),
    ("cli", Some(10)),
    ("python", Some(10)),
    ("testkit", None),
];

/// Crates that may use tokio.
const RUNTIMES: [&str; 7] = ["system", "net", "monitor", "serve", "bentpipe", "cli", "python"];
/// Crates of futures, which run on any executor.
const FUTURES: [&str; 5] = ["association", "transfer", "bundle", "gateway", "sim"];
/// What they may have of tokio: what needs neither a clock nor a thread.
const WITHOUT_RUNTIME: [&str; 3] = ["sync", "macros", "io-util"];

/// One dependency: who, on whom, and whether only for tests.
#[derive(Debug)]
struct Needs {
    who: String,
    whom: String,
    features: Vec<String>,
    tests_only: bool,
}

fn layer(name: &str) -> Option<Option<u8>> {
    TABLE.iter().find(|(known, _)| *known == name).map(|(_, layer)| *layer)
}

/// The name of a crate of ours without its prefix; the one that is all of them has none.
fn ours(package: &str) -> Option<&str> {
    if package == "bentpipe" { Some(package) } else { package.strip_prefix("bentpipe-") }
}

/// The crates of the workspace and what they depend on, as their manifests say.
fn workspace() -> (Vec<String>, Vec<Needs>) {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let metadata = MetadataCommand::new().manifest_path(manifest).no_deps().exec();
    let (mut crates, mut needs) = (Vec::new(), Vec::new());
    for package in metadata.expect("cargo metadata").packages {
        let name = package.name.as_str();
        let who = ours(name).unwrap_or_else(|| panic!("`{name}`: crates are called bentpipe-..."));
        crates.push(who.to_owned());
        needs.extend(package.dependencies.into_iter().map(|dependency| Needs {
            who: who.to_owned(),
            whom: dependency.name,
            features: dependency.features,
            tests_only: dependency.kind == DependencyKind::Development,
        }));
    }
    (crates, needs)
}

/// Everything in `needs` that the layers forbid.
fn violations(needs: &[Needs]) -> Vec<String> {
    let mut found = Vec::new();
    for Needs { who, whom, features, tests_only } in needs {
        let mut wrong = |why: &str| found.push(format!("`{who}` depends on `{whom}`: {why}"));
        let is_future = FUTURES.contains(&who.as_str())
            && features.iter().all(|feature| WITHOUT_RUNTIME.contains(&feature.as_str()));
        let may = RUNTIMES.contains(&who.as_str()) || (is_future && whom == "tokio");
        if whom.split('-').next() == Some("tokio") && !may {
            wrong(
                "tokio's runtime belongs to system, net, monitor, serve, bentpipe, cli and python",
            );
        }
        if who == "units" {
            wrong("units depends on nothing");
        }
        let Some(whom) = ours(whom) else { continue };
        match (who.as_str(), whom) {
            ("sim", "net") | ("net", "sim") => wrong("sim and net never meet"),
            ("scenario" | "experiments", "net" | "emulator") => wrong("scenarios know no sockets"),
            ("sim", "system" | "emulator") => wrong("the simulator knows no real time"),
            _ => {}
        }
        if *tests_only {
            continue;
        }
        match (layer(who).flatten(), layer(whom)) {
            (_, None) => wrong("it is not in the table of layers"),
            (_, Some(None)) => wrong("that is for tests only"),
            (Some(mine), Some(Some(other))) if other >= mine => {
                wrong(&format!("layer {mine} uses layer {other}, not a lower one"));
            }
            // Downwards; and what is only for tests may use everything.
            (_, Some(Some(_))) => {}
        }
    }
    found
}

fn made_up(who: &str, whom: &str, tests_only: bool) -> Vec<String> {
    let (who, whom) = (who.to_owned(), whom.to_owned());
    violations(&[Needs { who, whom, features: Vec::new(), tests_only }])
}

#[test]
fn every_crate_of_the_workspace_is_in_the_table_of_layers() {
    let (crates, _) = workspace();
    assert!(crates.len() >= 9, "only {crates:?}");
    for name in crates {
        assert!(
            layer(&name).is_some(),
            "crate `{name}` is in no layer: give it one in the architecture, then in this table"
        );
    }
}

#[test]
fn crates_depend_on_lower_layers_only_and_tokio_stays_in_its_rooms() {
    let (_, needs) = workspace();
    assert!(needs.iter().any(|needs| needs.who == "cli"), "no dependencies were read");
    let found = violations(&needs);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_dependency_upwards_or_sideways_is_found() {
    assert_eq!(made_up("link", "bentpipe-units", false), [""; 0]);
    assert_eq!(made_up("cli", "bentpipe-net", false), [""; 0]);
    for (who, whom) in [
        ("wire", "bentpipe-cc"),
        ("transport", "bentpipe-link"),
        ("record", "bentpipe-transport"),
        ("sim", "bentpipe-scenario"),
        ("sim", "bentpipe-net"),
        ("net", "bentpipe-sim"),
        ("sim", "bentpipe-system"),
        ("emulator", "bentpipe-net"),
        ("experiments", "bentpipe-emulator"),
        ("scenario", "bentpipe-net"),
        ("scenario", "bentpipe-experiments"),
        ("experiments", "bentpipe-net"),
        ("link", "bentpipe-testkit"),
        ("link", "bentpipe-unheard-of"),
        ("units", "libm"),
        ("scenario", "tokio"),
        ("sim", "tokio-util"),
    ] {
        assert!(!made_up(who, whom, false).is_empty(), "{who} may depend on {whom}");
    }
}

#[test]
fn futures_have_of_tokio_what_needs_no_runtime() {
    let needs = |who: &str, feature: &str| Needs {
        who: who.to_owned(),
        whom: "tokio".to_owned(),
        features: vec![feature.to_owned()],
        tests_only: false,
    };
    assert_eq!(violations(&[needs("transfer", "sync")]), [""; 0]);
    for (who, feature) in [("transfer", "time"), ("association", "rt"), ("link", "sync")] {
        assert!(!violations(&[needs(who, feature)]).is_empty(), "{who}: {feature}");
    }
}

#[test]
fn tests_may_use_the_testkit_but_sim_and_net_do_not_even_meet_there() {
    assert_eq!(made_up("link", "bentpipe-testkit", true), [""; 0]);
    assert_eq!(made_up("cc", "bentpipe-sim", true), [""; 0]);
    assert_eq!(made_up("testkit", "bentpipe-transport", false), [""; 0]);
    assert!(!made_up("sim", "bentpipe-net", true).is_empty());
    assert!(!made_up("scenario", "tokio", true).is_empty());
    assert!(!made_up("units", "proptest", true).is_empty());
}
