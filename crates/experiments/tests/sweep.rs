//! Files of sweeps: taken up again, shared, merged, and never lost.

use std::fs;
use std::path::{Path, PathBuf};

use bentpipe_experiments::sweep::file::{Done, FileError, SweepFile};
use bentpipe_experiments::sweep::{Merged, Shard, Sweep, Varied, merge};
use bentpipe_scenario::Scenario;
use proptest::prelude::*;
use tempfile::TempDir;

const LINK: &str = r#"
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

fn sweep(losses: &str, variants: &str, seeds: &str) -> Sweep {
    let scenario = Scenario::parse("link.toml", LINK).expect("a scenario");
    let axes = [format!("links.space.loss={losses}"), "links.space.delay=5 ms,40 ms".to_owned()];
    let varied = Varied {
        axes: axes.iter().map(|axis| axis.parse().expect("an axis")).collect(),
        variants: variants.split(',').map(|name| name.parse().expect("a variant")).collect(),
        seeds: seeds.parse().expect("seeds"),
        flows: Vec::new(),
    };
    let sweep = Sweep::new(scenario, varied).expect("a sweep");
    sweep.check(None).expect("it can be run");
    sweep
}

/// 2 losses, 2 delays, 2 variants, 3 seeds: 24 runs.
fn small() -> Sweep {
    sweep("0,0.05", "tcp-cubic,sctp", "1-3")
}

fn shard(text: &str) -> Shard {
    text.parse().expect("a shard")
}

fn run(sweep: &Sweep, part: Shard, out: &Path) -> Result<Done, FileError> {
    SweepFile::open(sweep, part, out, false)?.run(Some(2), &())
}

fn bytes_of(sweep: &Sweep, dir: &TempDir) -> Vec<u8> {
    let out = dir.path().join("all-at-once.parquet");
    let total = sweep.total();
    assert_eq!(run(sweep, Shard::WHOLE, &out).expect("run"), Done { rows: total, run: total });
    let bytes = fs::read(&out).expect("a result");
    fs::remove_file(out).expect("removed");
    bytes
}

/// The files in a directory.
fn files(dir: &TempDir) -> Vec<String> {
    let names = fs::read_dir(dir.path()).expect("a directory");
    let mut names: Vec<String> = names
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn dir() -> TempDir {
    tempfile::tempdir().expect("a directory")
}

#[test]
fn rows_are_the_same_for_any_number_of_threads_and_shards() {
    let (dir, sweep) = (dir(), small());
    let whole = bytes_of(&sweep, &dir);
    let one = dir.path().join("one.parquet");
    let file = SweepFile::open(&sweep, Shard::WHOLE, &one, false).expect("a file");
    file.run(Some(1), &()).expect("run");
    assert!(fs::read(&one).expect("a result") == whole);
    let mut parts = Vec::new();
    for number in [3, 1, 5, 2, 4] {
        let part = dir.path().join(format!("part-{number}.parquet"));
        run(&sweep, shard(&format!("{number}/5")), &part).expect("run");
        parts.push(part);
    }
    // A run that is there twice comes once.
    parts.push(one);
    let merged = dir.path().join("merged.parquet");
    let done = merge(&parts, &merged, false).expect("merged");
    assert_eq!(done, Merged { rows: 24, total: 24 });
    assert!(fs::read(&merged).expect("a result") == whole);
}

#[test]
fn rows_that_were_run_elsewhere_make_the_same_file() {
    let (dir, sweep) = (dir(), small());
    let whole = bytes_of(&sweep, &dir);
    let out = dir.path().join("gathered.parquet");
    let mut file = SweepFile::open(&sweep, Shard::WHOLE, &out, false).expect("a file");
    let batch = |runs: std::ops::Range<u64>| sweep.run_batch(runs, Some(1), &()).expect("run");
    let error = file.append(&batch(5..7)).expect_err("not the next ones").to_string();
    assert!(error.contains("run 5 is not the next one, which is 0"), "{error}");
    let other =
        self::sweep("0,0.06", "tcp-cubic,sctp", "1-3").run_batch(0..5, None, &()).expect("run");
    let error = file.append(&other).expect_err("another sweep").to_string();
    assert!(error.contains("of another sweep"), "{error}");
    for runs in [0..5, 5..6, 6..24] {
        file.append(&batch(runs)).expect("appended");
    }
    assert_eq!(file.finish().expect("finished"), Done { rows: 24, run: 24 });
    assert!(fs::read(&out).expect("a result") == whole);
}

#[test]
fn only_what_is_new_has_to_be_run_elsewhere() {
    let (dir, sweep) = (dir(), small());
    let out = dir.path().join("runs.parquet");
    run(&sweep, Shard::WHOLE, &out).expect("run");
    let grown = self::sweep("0,0.05,0.07", "tcp-cubic,sctp,tcp-reno", "1-5");
    let whole = bytes_of(&grown, &dir);
    let mut file = SweepFile::open(&grown, Shard::WHOLE, &out, false).expect("a file");
    let missing = file.to_run().expect("all can be");
    let runs: u64 = missing.iter().map(|range| range.end - range.start).sum();
    assert_eq!((grown.total(), runs), (90, 90 - 24), "{missing:?}");
    for range in missing {
        file.append(&grown.run_batch(range, Some(1), &()).expect("run")).expect("appended");
    }
    assert_eq!(file.finish().expect("finished"), Done { rows: grown.total(), run: runs });
    assert!(fs::read(&out).expect("a result") == whole);
}

#[test]
fn a_sweep_that_grows_runs_only_what_is_new() {
    let (dir, out) = (dir(), "runs.parquet");
    let out = dir.path().join(out);
    run(&small(), Shard::WHOLE, &out).expect("run");
    let grown = sweep("0,0.01,0.05", "bbr,tcp-cubic,sctp", "1-4");
    let done = run(&grown, Shard::WHOLE, &out).expect("run");
    assert_eq!(done, Done { rows: 72, run: 72 - 24 });
    assert!(fs::read(&out).expect("a result") == bytes_of(&grown, &dir));
    assert_eq!(run(&grown, Shard::WHOLE, &out).expect("run"), Done { rows: 72, run: 0 });
    assert_eq!(files(&dir), ["runs.parquet"]);
}

#[test]
fn nothing_is_written_over_that_is_not_of_the_sweep() {
    let dir = dir();
    let out = dir.path().join("runs.parquet");
    for contents in [&b"my thesis"[..], b"PAR1", b""] {
        fs::write(&out, contents).expect("written");
        let error = run(&small(), Shard::WHOLE, &out).expect_err("refused").to_string();
        assert!(error.contains("it is no result of a sweep"), "{error}");
        assert_eq!(fs::read(&out).expect("still there"), contents);
    }
    fs::remove_file(&out).expect("removed");
    run(&small(), Shard::WHOLE, &out).expect("run");
    let before = fs::read(&out).expect("a result");
    let other = sweep("0", "tcp-cubic", "1-3");
    let error = run(&other, Shard::WHOLE, &out).expect_err("refused").to_string();
    assert!(error.contains("18 of its 24 rows are of another sweep"), "{error}");
    assert!(fs::read(&out).expect("still there") == before);
    let replaced = SweepFile::open(&other, Shard::WHOLE, &out, true).expect("a file");
    assert_eq!(replaced.run(None, &()).expect("run"), Done { rows: 6, run: 0 });
    assert!(fs::read(&out).expect("a result") == bytes_of(&other, &dir));
}

#[test]
fn two_sweeps_never_write_to_one_file() {
    let (dir, sweep) = (dir(), small());
    let out = dir.path().join("runs.parquet");
    let first = SweepFile::open(&sweep, Shard::WHOLE, &out, false).expect("a file");
    let Err(error) = SweepFile::open(&sweep, Shard::WHOLE, &out, false) else {
        panic!("the second one is refused")
    };
    assert!(error.to_string().contains("another sweep writes to it"), "{error}");
    assert_eq!(first.run(None, &()).expect("run").run, 24);
}

#[test]
fn what_cannot_be_merged_is_named_and_leaves_no_result() {
    let (dir, sweep) = (dir(), small());
    let path = |name: &str| dir.path().join(name);
    let [one, two, other] = ["one.parquet", "two.parquet", "other.parquet"].map(path);
    run(&sweep, shard("1/2"), &one).expect("run");
    run(&sweep, shard("2/2"), &two).expect("run");
    run(&self::sweep("0,0.06", "tcp-cubic,sctp", "1-3"), shard("2/2"), &other).expect("run");
    fs::write(path("text"), "no Parquet").expect("written");
    let out = path("out.parquet");
    let cases: [(&[PathBuf], &Path, &str); 5] = [
        (std::slice::from_ref(&one), &out, "run 1 is in none of the files"),
        (std::slice::from_ref(&two), &out, "run 0 is in none of the files"),
        (&[one.clone(), other], &out, "other.parquet: it is of another sweep"),
        (&[one.clone(), path("text")], &out, "text: "),
        (&[one.clone(), two.clone()], &two, "it is one of the files"),
    ];
    for (files, out, said) in cases {
        let error = merge(files, out, false).expect_err(said).to_string();
        assert!(error.contains(said), "{error}");
        assert!(!path("out.parquet").exists(), "{said}");
    }
    let partial = merge(std::slice::from_ref(&one), &out, true).expect("a part");
    assert_eq!(partial, Merged { rows: 12, total: 24 });
    let csv = path("runs.csv");
    merge(&[one, two], &csv, false).expect("merged");
    let text = fs::read_to_string(csv).expect("a table");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with(
        "run,hash,scenario,links.space.loss,links.space.delay,variant,seed,goodput_bps"
    ));
    assert_eq!(lines.len(), 25);
    assert!(lines[24].contains(",link,0.05,40.0,sctp,3,"), "{}", lines[24]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_sweep_that_was_broken_off_anywhere_goes_on(
        runs in 0_u64..24, lost in 0.0_f64..1.0, garbage in prop::collection::vec(any::<u8>(), 0..40), grow in any::<bool>(),
    ) {
        let (dir, sweep) = (dir(), small());
        let out = dir.path().join("runs.parquet");
        let mut file = SweepFile::open(&sweep, Shard::WHOLE, &out, false).expect("a file");
        for run in 0..runs {
            file.append(&sweep.run_batch(run..run + 1, Some(1), &()).expect("run")).expect("appended");
        }
        drop(file);
        // A kill and a crash of the host take the end of the file, or leave anything there.
        let part = dir.path().join("runs.parquet.part");
        let mut bytes = fs::read(&part).expect("a part");
        bytes.truncate((bytes.len() as f64 * (1.0 - lost * lost)) as usize);
        bytes.extend(garbage);
        fs::write(&part, bytes).expect("written");
        let sweep = if grow { self::sweep("0,0.05,0.07", "tcp-cubic,sctp", "1-3") } else { sweep };
        let done = run(&sweep, Shard::WHOLE, &out).expect("run");
        prop_assert!(done.run >= sweep.total() - runs, "{done:?}");
        if lost < 0.01 {
            prop_assert!(done.run <= sweep.total() - runs + 1, "{done:?}");
        }
        prop_assert!(fs::read(&out).expect("a result") == bytes_of(&sweep, &dir));
        prop_assert_eq!(files(&dir), ["runs.parquet"]);
    }
}
