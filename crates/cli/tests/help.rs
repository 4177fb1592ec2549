//! What the program says about itself: help, version, completions, listings, schema.

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin_cmd;
use predicates::prelude::*;
use serde_json::Value;

const LISTINGS: [&str; 10] = [
    "experiments",
    "protocols",
    "controllers",
    "links",
    "scenarios",
    "constellations",
    "places",
    "traces",
    "metrics",
    "variants",
];

fn bentpipe(args: &[&str]) -> Command {
    let mut command = cargo_bin_cmd!("bentpipe");
    command.args(args);
    command
}

fn stdout(args: &[&str]) -> String {
    let output = bentpipe(args).assert().success().stderr("").get_output().stdout.clone();
    String::from_utf8(output).expect("text")
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&stdout(args)).expect("JSON")
}

/// The names of the subcommands, as the help lists them.
fn subcommands() -> Vec<String> {
    let help = stdout(&["--help"]);
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    let names = listed.filter_map(|line| line.split_whitespace().next()).map(str::to_owned);
    names.filter(|name| name != "help").collect()
}

/// The scenario files that come with the program, without the experiments.
fn shipped(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).expect("the directory of scenarios").flatten() {
        let path = entry.path();
        if !path.is_dir() {
            found.push(path);
        } else if !path.ends_with("experiments") {
            found.extend(shipped(&path));
        }
    }
    found
}

fn toml_as_json(text: &str) -> Value {
    let table: toml::Table = text.parse().expect("TOML");
    serde_json::to_value(table).expect("JSON")
}

#[test]
fn every_subcommand_has_help_with_an_example() {
    let names = subcommands();
    assert!(names.len() >= 5, "{names:?}");
    for name in names {
        let help = stdout(&[&name, "--help"]);
        let example = help.lines().skip_while(|line| !line.starts_with("Example"));
        let wanted = format!("bentpipe {name}");
        assert!(example.skip(1).any(|line| line.contains(&wanted)), "{name} has none:\n{help}");
    }
    assert!(stdout(&["--help"]).contains("Examples:\n  bentpipe "));
}

#[test]
fn the_examples_in_the_help_name_things_that_exist() {
    let help = stdout(&["run", "--help"]);
    let lines = help.lines().map(str::trim).filter(|line| line.starts_with("bentpipe run "));
    // A name, or a constellation with two places.
    let sources = lines.map(|line| {
        let words: Vec<&str> = line.split(' ').skip(2).collect();
        let length = if words[0] == "--profile" { 6 } else { 1 };
        words[..length].to_vec()
    });
    let sources: Vec<_> = sources.collect();
    assert!(sources.len() >= 2 && sources.iter().any(|words| words.len() > 1), "{help}");
    for source in sources {
        let args = [&["run"], &source[..], &["--set", "duration=\"1 s\""]].concat();
        bentpipe(&args).assert().success();
    }
}

#[test]
fn the_version_is_printed_by_the_program_and_by_each_subcommand() {
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(stdout(&["--version"]), format!("bentpipe {version}\n"));
    assert!(stdout(&["run", "--version"]).contains(version));
}

#[test]
fn a_command_line_that_makes_no_sense_exits_with_2_and_says_what_was_meant() {
    let said = |text: &'static str| predicate::str::contains(text);
    bentpipe(&[]).assert().code(2).stdout("").stderr(said("Usage: bentpipe"));
    bentpipe(&["repoduce"]).assert().code(2).stdout("").stderr(said("'reproduce'"));
    bentpipe(&["run", "geo", "--sed", "1"]).assert().code(2).stdout("").stderr(said("'--seed'"));
    bentpipe(&["list", "link"]).assert().code(2).stdout("").stderr(said("'links'"));
}

#[test]
fn completions_are_printed_for_every_shell() {
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(&["completions", shell]);
        assert!(script.contains("bentpipe") && script.contains("pcap-link"), "{shell}");
    }
    bentpipe(&["completions", "csh"]).assert().code(2).stdout("");
}

#[test]
fn every_command_has_a_manual_page() {
    let dir = tempfile::tempdir().expect("a directory");
    bentpipe(&["man", dir.path().to_str().expect("a path")]).assert().success().stdout("");
    let path = dir.path().join("man1");
    for command in
        ["", "-run", "-compare", "-reproduce", "-send", "-recv", "-emulate", "-keygen", "-orbit"]
    {
        let page = fs::read_to_string(path.join(format!("bentpipe{command}.1")));
        let page = page.expect("a page");
        assert!(page.contains(".SH NAME") && page.contains("Example"), "{command}");
    }
}

#[test]
fn every_key_of_a_file_is_on_its_manual_page_and_in_its_list() {
    let dir = tempfile::tempdir().expect("a directory");
    bentpipe(&["man", dir.path().to_str().expect("a path")]).assert().success();
    for format in ["scenario", "gateway"] {
        let page = fs::read_to_string(dir.path().join(format!("man5/bentpipe-{format}.5")));
        let (page, list) = (page.expect("a page"), stdout(&["schema", format, "--markdown"]));
        let schema = json(&["schema", format]);
        let tables = schema["$defs"].as_object().expect("definitions").values().chain([&schema]);
        let forms =
            tables.flat_map(|table| table["oneOf"].as_array().into_iter().flatten().chain([table]));
        let mut keys = 0;
        for key in forms.filter_map(|table| table["properties"].as_object()).flat_map(|p| p.keys())
        {
            assert!(page.contains(&format!("\\fB{key}\\fR")), "{format}: {key} has no line");
            assert!(list.contains(&format!("| `{key}` |")), "{format}: {key} is not listed");
            keys += 1;
        }
        assert!(keys > 40, "{format}: {keys}");
    }
}

#[test]
fn the_files_of_the_manual_are_right() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/manual");
    for format in ["scenario", "gateway"] {
        let text = fs::read_to_string(data.join(format!("{format}.toml"))).expect("a file");
        let schema = json(&["schema", format]);
        let validator = jsonschema::validator_for(&schema).expect("a JSON Schema");
        let document = toml_as_json(&text);
        let wrong: Vec<_> = validator.iter_errors(&document).map(|e| e.to_string()).collect();
        assert!(wrong.is_empty(), "{format}: {}", wrong.join("; "));
    }
    let scenario = data.join("scenario.toml");
    bentpipe(&["run", scenario.to_str().expect("a path")]).assert().success();
}

#[test]
fn each_listing_names_the_same_things_as_text_and_as_json() {
    let all = stdout(&["list"]);
    for what in LISTINGS {
        let text = stdout(&["list", what]);
        let document = json(&["list", what, "--json"]);
        let entries = document[what].as_array().expect("a list");
        assert!(!entries.is_empty(), "{what}");
        for entry in entries {
            let (name, summary) = (&entry["name"], &entry["summary"]);
            let name = name.as_str().expect("a name");
            assert!(summary.as_str().is_some_and(|s| !s.is_empty()), "{what}: {name}");
            let begins = format!("{name} ");
            let line = text.lines().find(|line| line.trim_start().starts_with(&begins));
            let line = line.unwrap_or_else(|| panic!("{name} is not in\n{text}"));
            assert!(all.contains(line), "`{line}` is not in\n{all}");
            for parameter in entry["parameters"].as_array().expect("a list") {
                let name = parameter["name"].as_str().expect("a name");
                assert!(text.contains(&format!("{name}: ")), "{name} is not in\n{text}");
            }
        }
    }
}

#[test]
fn list_without_a_word_is_all_the_listings() {
    let document = json(&["list", "--json"]);
    let mut names: Vec<_> = document.as_object().expect("an object").keys().collect();
    names.sort();
    let mut expected = LISTINGS;
    expected.sort_unstable();
    assert_eq!(names, expected);
    for what in LISTINGS {
        assert_eq!(json(&["list", what, "--json"])[what], document[what]);
    }
}

#[test]
fn every_scenario_that_is_listed_runs_under_its_full_name_and_its_last_part() {
    for entry in json(&["list", "scenarios", "--json"])["scenarios"].as_array().expect("a list") {
        let name = entry["name"].as_str().expect("a name");
        let last = name.rsplit('/').next().expect("a part");
        for name in [name, last] {
            bentpipe(&["run", name, "--set", "duration=\"2 s\""]).assert().success().stderr("");
        }
    }
}

#[test]
fn every_shipped_scenario_obeys_the_printed_schema() {
    let schema = json(&["schema"]);
    assert!(jsonschema::meta::is_valid(&schema), "the schema itself is not one");
    let validator = jsonschema::validator_for(&schema).expect("a JSON Schema");
    let files = shipped(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios"));
    assert!(files.len() >= 8, "{files:?}");
    for path in files {
        let document = toml_as_json(&fs::read_to_string(&path).expect("a file"));
        let wrong: Vec<_> = validator.iter_errors(&document).map(|e| e.to_string()).collect();
        assert!(wrong.is_empty(), "{}: {}", path.display(), wrong.join("; "));
    }
}

#[test]
fn every_configuration_of_a_gateway_that_is_shipped_obeys_its_schema() {
    let schema = json(&["schema", "gateway"]);
    assert!(jsonschema::meta::is_valid(&schema), "the schema itself is not one");
    let validator = jsonschema::validator_for(&schema).expect("a JSON Schema");
    let files = shipped(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/examples"));
    assert!(files.len() >= 2, "{files:?}");
    for path in files {
        let text = fs::read_to_string(&path).expect("a file");
        let wrong: Vec<_> =
            validator.iter_errors(&toml_as_json(&text)).map(|e| e.to_string()).collect();
        assert!(wrong.is_empty(), "{}: {}", path.display(), wrong.join("; "));
    }
    let wrong =
        toml_as_json("role = \"hub\"\nkey = \"key\"\nlisten = \"[::]:1\"\nlink = { rate = 10 }");
    assert!(!validator.is_valid(&wrong), "a rate has a unit");
}

#[test]
fn the_schema_refuses_what_the_program_refuses() {
    let validator = jsonschema::validator_for(&json(&["schema"])).expect("a JSON Schema");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/geo.toml");
    let right = fs::read_to_string(path).expect("a file");
    assert!(validator.is_valid(&toml_as_json(&right)));
    for (old, new) in [
        ("encapsulation = \"udp\"", "encapsulation = \"upd\""),
        ("encapsulation = \"udp\"", "sede = 3"),
        ("delay = \"250 ms\"", "dealy = \"250 ms\""),
        ("delay = \"250 ms\"", "delay = 250"),
        ("rate = \"10 Mbit/s\"", "rate = \"10 MBps\""),
        ("queue = \"50 packets\"", "queue = \"many packets\""),
        ("queue = \"50 packets\"", "queue = \"custom\""),
        ("ber = 1e-6", "ber = 1.5"),
        ("size = \"30 MB\"", "size = \"30 megabytes\""),
        ("mss = 1400", "mms = 1400"),
        ("mss = 1400", "mss = 70000"),
        ("between = [\"gateway\", \"client\"]", "between = [\"gateway\"]"),
    ] {
        assert!(right.contains(old), "{old}");
        let wrong = right.replacen(old, new, 1);
        assert!(!validator.is_valid(&toml_as_json(&wrong)), "{new} is accepted");
    }
}
