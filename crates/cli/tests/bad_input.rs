//! What cannot be is refused before anything happens, and said so that it can be mended.

use std::fs;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin_cmd;
use predicates::prelude::*;
use tempfile::TempDir;

/// A valid scenario with something of everything.
const RIGHT: &str = r#"name = "right"
nodes = ["source", "router", "destination"]

[links.access]
between = ["source", "router"]
rate = "10 Mbit/s"
queue = "100 packets"

[links.space]
between = ["router", "destination"]
delay = "100 ms"
ber = 1e-6
blackouts = [
  { at = "5 s", lasts = "2 s" },
  { at = "9 s", lasts = "1 s" },
]

[links.space.xdeldrop]
good = { mean = "10 s", drop = 0.0, delay_min = "100 ms", delay_max = "150 ms" }
bad = { mean = "10 s", drop = 0.05, delay_min = "100 ms", delay_max = "150 ms" }

[links.space.return]
loss = 0.01

[flows.file]
from = "source"
to = "destination"
size = "1 MB"
chunk = "1000 B"

[flows.file.xstp]
preset = "paper"
mss = 1000
"#;

/// What is wrong: this text, in place of that one, at this key, and what must be said of it. The
/// line is that on which the new text begins.
type Case = (&'static str, &'static str, &'static str, &'static str);

/// Keys that do not exist, at every depth.
const UNKNOWN: [Case; 11] = [
    ("seed = 3", "sede = 3", "sede", "did you mean `seed`?"),
    ("delay = \"100 ms\"", "dealy = \"100 ms\"", "links.space.dealy", "did you mean `delay`?"),
    ("mean = \"10 s\", drop", "maen = \"10 s\", drop", "links.space.xdeldrop.good.maen", "`mean`?"),
    ("drop = 0.05", "drop = 0.05, dorp = 1", "links.space.xdeldrop.bad.dorp", "`drop`?"),
    ("{ at = \"9 s\", lasts", "{ at = \"9 s\", lats", "links.space.blackouts.1.lats", "`lasts`?"),
    ("[links.space.return]", "[links.space.bakc]", "links.space.bakc", "did you mean `back`?"),
    ("loss = 0.01", "lose = 0.01", "links.space.return.lose", "did you mean `loss`?"),
    ("chunk = ", "chnuk = ", "flows.file.chnuk", "did you mean `chunk`?"),
    ("mss = 1000", "mms = 1000", "flows.file.xstp.mms", "did you mean `mss`?"),
    ("preset = \"paper\"", "preset = \"papre\"", "flows.file.xstp.preset", "did you mean `paper`?"),
    ("seed = 3", "encapsulation = \"upd\"", "encapsulation", "did you mean `udp`?"),
];

/// Values without a unit, with a wrong one, or of another type.
const UNITS: [Case; 11] = [
    ("\"10 Mbit/s\"", "\"10 MBps\"", "links.access.rate", "such as \"10 Mbit/s\""),
    ("\"10 Mbit/s\"", "\"0 Mbit/s\"", "links.access.rate", "above zero"),
    ("delay = \"100 ms\"", "delay = 100", "links.space.delay", "such as \"250 ms\""),
    ("delay = \"100 ms\"", "delay = \"100\"", "links.space.delay", "such as \"250 ms\""),
    ("mean = \"10 s\", drop = 0.05", "mean = 10", "links.space.xdeldrop.bad.mean", "\"250 ms\""),
    ("lasts = \"1 s\"", "lasts = \"1 sek\"", "links.space.blackouts.1.lasts", "ms, s, min"),
    ("\"100 packets\"", "\"100 packtes\"", "links.access.queue", "\"100 packets\""),
    ("\"100 packets\"", "100", "links.access.queue", "\"unlimited\""),
    ("\"1 MB\"", "\"1 MiBi\"", "flows.file.size", "such as \"64 kB\""),
    ("mss = 1000", "mss = \"1000\"", "flows.file.xstp.mss", "a whole number in 0..=65535"),
    ("mss = 1000", "probing = 1", "flows.file.xstp.probing", "true or false"),
];

/// Values that have the right form and still cannot be.
const IMPOSSIBLE: [Case; 22] = [
    ("ber = 1e-6", "ber = 1.5", "links.space.ber", "0..=1"),
    ("ber = 1e-6", "ber = nan", "links.space.ber", "0..=1"),
    ("loss = 0.01", "loss = -0.01", "links.space.return.loss", "0..=1"),
    ("drop = 0.05", "drop = 1.5", "links.space.xdeldrop.bad.drop", "0..=1"),
    ("\"150 ms\" }\nbad", "\"50 ms\" }\nbad", "links.space.xdeldrop.good.delay_max", "`delay_min`"),
    ("\"10 s\", drop = 0.05", "\"0 s\", drop = 1", "links.space.xdeldrop.bad.mean", "too short"),
    ("rate = \"10 Mbit/s\"\n", "", "links.access.queue", "needs a `rate`"),
    ("loss = 0.01", "queue = \"9 packets\"", "links.space.return.queue", "needs a `rate`"),
    ("\"1 MB\"", "\"0 B\"", "flows.file.size", "leave the key out"),
    ("\"1000 B\"", "\"0 B\"", "flows.file.chunk", "1..=65535"),
    ("mss = 1000", "mss = 0", "flows.file.xstp.mss", "64 to 65535"),
    ("mss = 1000", "mss = 70000", "flows.file.xstp.mss", "in 0..=65535"),
    ("mss = 1000", "map_size = 1", "flows.file.xstp.map_size", "2..=1024"),
    (
        "mss = 1000",
        "controller = \"hybbla\"",
        "flows.file.xstp.controller",
        "did you mean `hybla`?",
    ),
    (
        "mss = 1000",
        "controller_parameters = { alhpa = 1.0 }",
        "flows.file.xstp.controller_parameters.alhpa",
        "has no parameter",
    ),
    ("[\"router\", \"dest", "[\"rotuer\", \"dest", "links.space.between", "did you mean `router`?"),
    ("[\"router\", \"destination\"]", "[\"router\"]", "links.space.between", "array of length 2"),
    ("[\"router\", \"destination\"]", "[\"router\", \"router\"]", "links.space.between", "itself"),
    ("to = \"dest", "to = \"dset", "flows.file.to", "did you mean `destination`?"),
    ("to = \"destination\"", "to = \"source\"", "flows.file.to", "itself"),
    ("nodes = [", "nodes = [\"router\", ", "nodes", "duplicate node name"),
    ("seed = 3", "seed = -3", "seed", "not negative"),
];

/// Texts that are not TOML.
const SYNTAX: [Case; 5] = [
    ("[flows.file]", "[flows.file", "flows.file", "expected `]`"),
    ("name = \"right\"", "name = right", "name", "quoted"),
    ("name = \"right\"", "name = \"right", "name", "expected `\"`"),
    ("mss = 1000", "mss = 1000\nmss = 1001", "flows.file.xstp.mss", "duplicate key"),
    ("delay = \"100 ms\"", "delay \"100 ms\"", "links.space.delay", "expected `=`"),
];

fn bentpipe(args: &[&str]) -> Command {
    let mut command = cargo_bin_cmd!("bentpipe");
    command.arg("run").args(args);
    command
}

/// A directory with one scenario in it, in which nothing else may appear.
struct Room(TempDir);

impl Room {
    fn new(scenario: &str) -> Self {
        let dir = TempDir::new().expect("a directory");
        fs::write(dir.path().join("scenario.toml"), scenario).expect("a file");
        Self(dir)
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().expect("a path").to_owned()
    }

    /// Runs the scenario with files to write; it must be refused. Gives what is said.
    fn refused(&self, args: &[&str]) -> String {
        let path = |name| self.path(name);
        let (csv, pcap) = (path("samples.csv"), path("capture.pcapng"));
        let files = ["--samples", &csv, "--pcap", &pcap];
        let run = bentpipe(&[args, &files].concat()).assert().code(2).stdout("");
        assert_eq!(fs::read_dir(self.0.path()).expect("the directory").count(), 1, "{args:?}");
        String::from_utf8(run.get_output().stderr.clone()).expect("text")
    }
}

/// Each case is refused, at its line (the second one of a key that stands twice) and key.
fn check(cases: &[Case]) {
    let right = RIGHT.replacen('\n', "\nseed = 3\n", 1);
    for &(old, new, key, said) in cases {
        let place = right.find(old).unwrap_or_else(|| panic!("`{old}` is not in the scenario"));
        let wrong = right.replacen(old, new, 1);
        let line = right[..place].matches('\n').count() + 1 + usize::from(said == "duplicate key");
        let room = Room::new(&wrong);
        let file = room.path("scenario.toml");
        let stderr = room.refused(&[&file]);
        let start = format!("bentpipe: {file}, line {line}, `");
        let rest = stderr.strip_prefix(&start).unwrap_or_else(|| panic!("{new}: {stderr}"));
        let (named, message) = rest.split_once("`: ").expect("a key and a message");
        assert!(named == key && message.contains(said), "{new}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
    }
}

#[test]
fn the_scenario_that_is_broken_here_is_a_valid_one() {
    let room = Room::new(RIGHT);
    bentpipe(&[&room.path("scenario.toml")]).assert().success().stderr("");
}

#[test]
fn an_unknown_key_is_refused_where_it_stands() {
    check(&UNKNOWN);
}

#[test]
fn a_quantity_without_its_unit_is_refused_and_shown_how_it_is_written() {
    check(&UNITS);
}

#[test]
fn a_value_that_can_not_be_is_refused_with_what_could() {
    check(&IMPOSSIBLE);
}

#[test]
fn a_text_that_is_not_toml_is_refused_where_it_breaks() {
    check(&SYNTAX);
}

#[test]
fn what_is_missing_is_named_where_it_belongs() {
    let flows = RIGHT.find("[flows.file]").expect("a flow");
    let line = |what: &str| RIGHT[..RIGHT.find(what).expect(what)].matches('\n').count() + 1;
    let at = |line: usize, key: &str| format!("scenario.toml, line {line}, `{key}`: ");
    for (wrong, place, said) in [
        (RIGHT.replace("name = \"right\"\n", ""), "scenario.toml, `name`: ".into(), "missing"),
        (RIGHT[..flows].to_owned(), "scenario.toml, `flows`: ".into(), "missing"),
        (format!("{}[flows]\n", &RIGHT[..flows]), at(line("[flows.file]"), "flows"), "no flow"),
        (
            RIGHT.replace("to = \"destination\"\n", ""),
            at(line("[flows.file]"), "flows.file.to"),
            "missing",
        ),
        (
            RIGHT.replace("{ mean = \"10 s\", drop = 0.05,", "{ mean = \"10 s\","),
            at(line("bad = {"), "links.space.xdeldrop.bad.drop"),
            "missing",
        ),
        (
            RIGHT.replace("size = \"1 MB\"\n", ""),
            at(line("[flows.file]"), "flows.file"),
            "needs a `duration`",
        ),
        (
            RIGHT.replace("between = [\"router\", \"dest", "between = [\"router\", \"source\"] # "),
            at(line("[flows.file]"), "flows.file"),
            "no links lead from `source` to `destination`",
        ),
        (String::new(), "scenario.toml, `name`: ".into(), "missing"),
    ] {
        let room = Room::new(&wrong);
        let stderr = room.refused(&[&room.path("scenario.toml")]);
        assert!(stderr.contains(&place) && stderr.contains(said), "{place} {said}: {stderr}");
    }
}

#[test]
fn a_file_that_is_not_there_is_named_with_the_nearest_built_in_scenario() {
    let room = Room::new(RIGHT);
    for (wrong, right) in [
        ("handof", "did you mean the built-in scenario `handoff`?"),
        ("xstp/handof", "did you mean the built-in scenario `xstp/handoff`?"),
        ("handoff.toml", "did you mean the built-in scenario `handoff`?"),
        ("goe", "did you mean the built-in scenario `geo`?"),
        ("nothing-like-it.toml", "`bentpipe list scenarios`"),
    ] {
        let stderr = room.refused(&[wrong]);
        assert!(stderr.starts_with(&format!("bentpipe: {wrong}: ")), "{stderr}");
        assert!(stderr.contains(right), "{stderr}");
    }
    let directory = room.0.path().to_str().expect("a path").to_owned();
    assert!(room.refused(&[&directory]).contains(&directory));
}

#[test]
fn a_change_on_the_command_line_that_can_not_be_is_refused_by_name() {
    let room = Room::new(RIGHT);
    let file = room.path("scenario.toml");
    for (set, key, said) in [
        ("links.space.dealy=1 ms", "links.space.dealy", "did you mean `delay`?"),
        ("links.spcae.delay=1 ms", "links.spcae.delay", "did you mean `space`?"),
        ("flows.fiel.size=1 MB", "flows.fiel.size", "did you mean `file`?"),
        ("flow.file.size=1 MB", "flow.file.size", "did you mean `flows`?"),
        ("links.space.delay=5", "links.space.delay", "such as \"250 ms\""),
        ("links.space.delay=5 mins", "links.space.delay", "`5 mins` is not a time"),
        ("links.space.xdeldrop.good.drop=1.5", "links.space.xdeldrop.good.drop", "0..=1"),
        ("links.space.blackouts.0.at=5", "links.space.blackouts.0.at", "such as \"250 ms\""),
        ("links.space.blackouts.7.at=5 s", "links.space.blackouts.7.at", "nothing called `7`"),
        ("flows.file.xstp.mss=0", "flows.file.xstp.mss", "64 to 65535"),
        ("flows.file.from=sorce", "flows.file.from", "did you mean `source`?"),
        ("name.first=x", "name.first", "nothing called `first`"),
        ("nodes=[\"a\"]", "links.access.between", "there is no node `source`"),
    ] {
        let stderr = room.refused(&[&file, "--set", "seed=4", "--set", set]);
        assert!(stderr.starts_with("bentpipe: --set ") && stderr.contains(set), "{stderr}");
        assert!(stderr.contains(&format!(", `{key}`: ")) && stderr.contains(said), "{stderr}");
    }
    for wrong in ["links.space.delay", "=1 ms", "links..delay=1 ms", ""] {
        let stderr = room.refused(&[&file, "--set", wrong]);
        assert!(stderr.contains("'--set <KEY=VALUE>'") && stderr.contains("not key=value"));
    }
}

#[test]
fn a_seed_or_a_scenario_that_is_none_is_refused() {
    let room = Room::new(RIGHT);
    let file = room.path("scenario.toml");
    for seed in ["-1", "one", "1.5", "18446744073709551616"] {
        bentpipe(&[&file, &format!("--seed={seed}")])
            .assert()
            .code(2)
            .stdout("")
            .stderr(predicate::str::contains("--seed").and(predicate::str::contains(seed)));
    }
    assert!(room.refused(&[]).contains("<SCENARIO>"));
}

#[test]
fn an_option_of_the_last_release_is_taken_and_warned_of() {
    let room = Room::new(RIGHT);
    let (file, key) = (room.path("scenario.toml"), room.path("no-key"));
    let peer = "g9GFFU8rGj+Q69zpXoj1ecxx/izHNwRWbH/BhgNl9w8=";
    let send = |options: &[&str]| {
        let mut command = cargo_bin_cmd!("bentpipe");
        command.args(["send", &file, "127.0.0.1:9", "--peer", peer, "--key", &key]).args(options);
        String::from_utf8_lossy(&command.output().expect("it runs").stderr).into_owned()
    };
    let old = "--patience";
    let said = send(&[old, "1 s"]);
    let warning = "bentpipe: warning: `--patience` is called `--idle-timeout` now\n";
    assert!(said.starts_with(warning) && said.contains("no-key"), "{said}");
    assert!(!send(&["--idle-timeout", "1 s"]).contains("warning"));
    assert!(send(&["--idle-timeout", "1 s", old, "1 s"]).contains("cannot be used with"));
}
