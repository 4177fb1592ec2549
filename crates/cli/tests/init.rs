//! `bentpipe init`: a scenario of one's own link.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use assert_cmd::cargo::cargo_bin_cmd;
use predicates::prelude::*;

fn bentpipe(dir: &Path, args: &[&str]) -> Assert {
    let mut command: Command = cargo_bin_cmd!("bentpipe");
    command.current_dir(dir).args(args).assert()
}

#[test]
fn what_is_written_can_be_run_and_compared() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    fs::write(dir.join("a \"b\".csv"), "time_s,rate_bps,loss\n0,5000000,0.01\n").expect("a trace");
    for (name, options) in [
        ("usual", &[][..]),
        ("said", &["--rate", "2 Mbps", "--delay", "30 ms", "--loss", "1%"]),
        ("lopsided", &["--rate", "8 Mbit/s", "--return-rate", "64 kbit/s"]),
        ("built-in", &["--trace", "starlink-down"]),
        ("own", &["--trace", "a \"b\".csv", "--delay", "40 ms"]),
    ] {
        let file = format!("{name}.toml");
        let init = [&["init", name, "--yes"], options].concat();
        bentpipe(dir, &init).success().stderr("").stdout(predicate::str::contains(&file));
        let small = ["--set", "flows.file.size=50 kB"];
        let said = bentpipe(dir, &[&["run", &file, "--json"], &small[..]].concat()).success();
        said.stdout(predicate::str::contains("\"complete\": true"));
        let compare = ["compare", &file, "--variants", "tcp-cubic,xstp,bentpipe", "--reps", "1"];
        bentpipe(dir, &[&compare[..], &small[..]].concat()).success();
    }
    let said = fs::read_to_string(dir.join("said.toml")).expect("the scenario");
    for value in ["rate = \"2 Mbit/s\"", "delay = \"30 ms\"", "loss = 0.01"] {
        assert!(said.contains(value), "{value}\n{said}");
    }
    let lopsided = fs::read_to_string(dir.join("lopsided.toml")).expect("the scenario");
    let back = "\n[links.satellite.return]\nrate = \"64 kbit/s\"\n";
    assert!(lopsided.contains(back), "{lopsided}");
}

#[test]
fn a_file_that_is_there_stays_as_it_is() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    fs::write(dir.join("mine.toml"), "mine").expect("a file");
    std::os::unix::fs::symlink("nowhere", dir.join("link.toml")).expect("a link");
    for name in ["mine", "mine.toml", "link"] {
        let said = predicate::str::contains(".toml: it is there already");
        bentpipe(dir, &["init", name, "--yes"]).code(2).stdout("").stderr(said);
    }
    assert_eq!(fs::read_to_string(dir.join("mine.toml")).expect("a file"), "mine");
    assert!(!dir.join("nowhere").exists());
}

#[test]
fn without_a_terminal_it_says_what_it_takes() {
    let dir = tempfile::tempdir().expect("a directory");
    let said = predicate::str::contains("no terminal").and(predicate::str::contains("10 Mbit/s"));
    bentpipe(dir.path(), &["init", "mine"]).success().stderr(said);
    assert!(dir.path().join("mine.toml").exists());
}

#[test]
fn what_can_not_be_names_the_option_and_the_value() {
    let dir = tempfile::tempdir().expect("a directory");
    for (args, named) in [
        (&["--rate", "fast"][..], &["--rate", "`fast`", "Mbit/s"][..]),
        (&["--delay", "20"], &["--delay", "`20`", "250 ms"]),
        (&["--loss", "2"], &["--loss", "`2`", "0 % to 100 %"]),
        (&["--trace", "starlink-dwon"], &["--trace", "starlink-dwon"]),
        (
            &["--trace", "starlink-down", "--return-rate", "1 Mbit/s"],
            &["--return-rate 1 Mbit/s", "starlink-down"],
        ),
        (
            &["--trace", "starlink-down", "--rate", "1 Mbit/s"],
            &["--rate 1 Mbit/s", "starlink-down"],
        ),
    ] {
        let args = [&["init", "mine", "--yes"], args].concat();
        let output = bentpipe(dir.path(), &args).code(2).stdout("").get_output().stderr.clone();
        let said = String::from_utf8(output).expect("text");
        assert!(named.iter().all(|part| said.contains(part)), "{args:?}: {said}");
    }
    for name in ["a/b", "", "ü", "../x", "."] {
        bentpipe(dir.path(), &["init", name]).code(2).stdout("");
    }
    assert_eq!(fs::read_dir(dir.path()).expect("the directory").count(), 0);
}
