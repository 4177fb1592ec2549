//! What is written, what is built from it, and who reads it are three floors: each knows the lower ones only.

use std::fs;
use std::path::Path;

/// The lines of the files in a folder of the crate that name a part of the crate at all.
fn imports(folder: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(folder);
    let files = fs::read_dir(folder).expect("the folder").flatten();
    let texts = files.map(|file| fs::read_to_string(file.path()).expect("a text"));
    let lines = texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>());
    lines.filter(|line| line.contains("crate::") || climbs(line)).collect()
}

/// Leads out of the folder: a file in it is one step below the folder's own module.
fn climbs(line: &str) -> bool {
    line.contains("super::super::")
}

#[test]
fn tables_know_nothing_of_what_is_built_from_them() {
    assert_eq!(imports("schema"), [""; 0]);
}

#[test]
fn what_builds_runs_does_not_know_who_reads_files() {
    let found = imports("build");
    assert!(found.iter().any(|line| line.contains("crate::schema::")), "no imports were read");
    let upwards = ["crate::load", "crate::profile", "crate::library"];
    let wrong = |line: &&String| upwards.iter().any(|above| line.contains(above)) || climbs(line);
    assert_eq!(found.iter().filter(wrong).collect::<Vec<_>>(), [""; 0]);
}
