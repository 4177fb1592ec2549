//! `bentpipe sweep` and `bentpipe merge`, end to end.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin_cmd;
use predicates::prelude::*;
use tempfile::TempDir;

const SCENARIO: &str = r#"
name = "link"
duration = "20 s"
nodes = ["a", "b"]

[links.space]
between = ["a", "b"]
rate = "2 Mbit/s"
delay = "20 ms"
loss = 0.02

[flows.file]
from = "a"
to = "b"
protocol = "tcp"
size = "20 kB"
"#;

const VARY: [&str; 8] = [
    "sweep",
    "link.toml",
    "--vary",
    "links.space.queue=0.5,1,2 BDP",
    "--variants",
    "cubic, bbr",
    "--seeds",
    "1-4",
];

fn dir() -> TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("link.toml"), SCENARIO).expect("written");
    dir
}

fn bentpipe(dir: &Path, args: &[&str]) -> Command {
    let mut command = cargo_bin_cmd!("bentpipe");
    command.current_dir(dir).args(args);
    command
}

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    VARY.iter().chain(more).copied().collect()
}

#[test]
fn shards_make_the_file_of_the_whole_sweep() {
    let dir = dir();
    let dir = dir.path();
    bentpipe(dir, &with(&["--out", "runs.parquet"]))
        .assert()
        .success()
        .stdout("runs.parquet: 24 rows, 24 of them run now\n");
    for number in ["1", "2", "3"] {
        let (shard, out) = (format!("{number}/3"), format!("runs-{number}.parquet"));
        bentpipe(dir, &with(&["--shard", &shard, "--out", &out, "--jobs", number]))
            .assert()
            .success();
    }
    let files = ["runs-3.parquet", "runs-1.parquet", "runs-2.parquet"];
    let merge = |out| [&["merge"], &files[..], &["--out", out]].concat();
    bentpipe(dir, &merge("merged.parquet"))
        .assert()
        .success()
        .stdout("merged.parquet: 24 of 24 rows\n");
    let read = |name| fs::read(dir.join(name)).expect("a result");
    assert!(read("merged.parquet") == read("runs.parquet"));
    bentpipe(dir, &merge("merged.csv")).assert().success();
    let table = fs::read_to_string(dir.join("merged.csv")).expect("a table");
    // The same run as that of `run`, and of `compare`.
    let compared = [
        "compare",
        "link.toml",
        "--set",
        "links.space.queue=2 BDP",
        "--variants",
        "bbr",
        "--reps",
        "1",
    ];
    let compared =
        bentpipe(dir, &[&compared[..], &["--format", "csv"]].concat()).output().expect("run");
    let compared = String::from_utf8(compared.stdout).expect("text");
    let goodput = compared.lines().nth(1).and_then(|row| row.split(',').nth(2)).expect("a goodput");
    let row = table.lines().find(|row| row.contains(",2.0,tcp-bbr,1,")).expect("the row");
    assert_eq!(row.split(',').nth(6), Some(goodput), "{row}");
}

#[test]
fn what_is_wrong_is_told_before_the_first_run() {
    let dir = dir();
    let dir = dir.path();
    fs::write(dir.join("thesis.parquet"), "do not touch").expect("written");
    for (args, said) in [
        (
            vec!["--vary", "links.spce.loss=1%", "--out", "x"],
            "there is no link `spce`; did you mean `space`?",
        ),
        (vec!["--vary", "links.space.loss=0,2", "--out", "x"], "--vary links.space.loss=2"),
        (
            vec!["--vary", "links.space.queue=1 BDP", "--out", "x"],
            "`links.space.queue` is varied twice",
        ),
        (vec!["--vary", "seed=1,2", "--out", "x"], "name the seeds by --seeds"),
        (vec!["--shard", "4/3", "--out", "x"], "`4/3` is no shard"),
        (vec!["--flow", "fil", "--out", "x"], "there is no flow `fil`"),
        (vec!["--out", "runs.csv"], "a sweep writes Parquet, not csv: name it runs.parquet"),
        (vec!["--out", "thesis.parquet"], "thesis.parquet: it is no result of a sweep"),
    ] {
        bentpipe(dir, &with(&args)).assert().code(2).stderr(predicate::str::contains(said));
    }
    assert_eq!(fs::read_to_string(dir.join("thesis.parquet")).expect("there"), "do not touch");
    let merge = ["merge", "nothing.parquet", "--out", "merged.parquet"];
    bentpipe(dir, &merge).assert().code(1).stderr(predicate::str::contains("nothing.parquet"));
    assert!(!dir.join("x").exists() && !dir.join("merged.parquet").exists());
}

/// A sweep on a disk of 64 kB, which is full, and once more when the disk has grown.
const FULL: &str = r#"
set -u
mount -t tmpfs -o size=64k none disk || { echo "SKIPPED: mount"; exit 0; }
"$@" --out disk/runs.parquet; echo "first: $?"
mount -o remount,size=8m disk
"$@" --out disk/runs.parquet; echo "second: $?"
cp disk/runs.parquet kept.parquet
"#;

#[test]
fn a_disk_that_is_full_ends_a_sweep_and_loses_nothing_of_it() {
    let dir = dir();
    let dir = dir.path();
    fs::create_dir(dir.join("disk")).expect("made");
    let program = assert_cmd::cargo::cargo_bin!("bentpipe");
    let mut command = Command::new("unshare");
    command.current_dir(dir).args(["--mount", "sh", "-c", FULL, "sh"]).arg(program);
    // Some hundred bytes for each row.
    let long = ["--seeds", "1-60", "--jobs", "2"];
    let words: Vec<&str> = VARY.iter().take(6).copied().chain(long).collect();
    let output = command.args(&words).output();
    let said = output.as_ref().map(|o| String::from_utf8_lossy(&o.stdout).into_owned());
    let said = said.unwrap_or_else(|error| format!("SKIPPED: unshare: {error}"));
    if said.contains("SKIPPED") || said.is_empty() {
        let _ = std::io::Write::write_all(
            &mut std::io::stderr(),
            b"SKIPPED: a full disk needs root, unshare and mount\n",
        );
        return;
    }
    let error = String::from_utf8_lossy(&output.expect("it ran").stderr).into_owned();
    assert!(said.contains("first: 1") && said.contains("second: 0"), "{said}{error}");
    assert!(error.contains("disk/runs.parquet") && error.contains("No space left"), "{error}");
    let whole: Vec<&str> = words.iter().copied().chain(["--out", "whole.parquet"]).collect();
    bentpipe(dir, &whole).assert().success();
    let read = |name| fs::read(dir.join(name)).expect("a result");
    assert!(read("kept.parquet") == read("whole.parquet"));
}
