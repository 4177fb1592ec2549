//! The rooms inside the crates: who imports whom, how large structs are, and over how many files a type is spread.

mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;

use source::{Crate, File};

/// Files over which the methods of a type may be spread.
const MOST_FILES: usize = 4;
/// Fields of a struct, but for configurations.
const MOST_FIELDS: usize = 20;
/// Crates whose state machines this holds for.
const MACHINES: [&str; 5] = ["transport", "association", "bundle", "gateway", "sim"];

fn crates() -> Vec<Crate> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found: Vec<_> = std::fs::read_dir(all)
        .expect("the crates")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.join("src").is_dir())
        .map(|path| Crate::read(&path))
        .collect();
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found
}

/// Circles of imports that lead from one folder to another and back.
fn circles(of: &Crate) -> Vec<String> {
    let mut graph = DiGraphMap::<usize, ()>::new();
    for (from, file) in of.files.iter().enumerate() {
        for path in &file.paths {
            if let Some(to) = of.resolve(file, path).filter(|to| *to != from) {
                graph.add_edge(from, to, ());
            }
        }
    }
    let circles = tarjan_scc(&graph).into_iter().filter(|circle| circle.len() > 1);
    let across = circles.filter(|circle| {
        let folders: BTreeSet<_> = circle.iter().map(|file| of.files[*file].folder()).collect();
        folders.len() > 1
    });
    let named = across.map(|circle| {
        let mut files: Vec<_> = circle.iter().map(|file| of.files[*file].name()).collect();
        files.sort();
        format!("{}: {}", of.name, files.join(", "))
    });
    named.collect()
}

/// Types whose methods are spread over too many files.
fn spread(of: &Crate) -> Vec<String> {
    let mut files: BTreeMap<(usize, String), BTreeSet<String>> = BTreeMap::new();
    for file in &of.files {
        for path in &file.extended {
            let Some(home) = of.home(file, path) else { continue };
            let name = path.last().expect("a path has an end").clone();
            files.entry((home, name)).or_default().insert(file.name());
        }
    }
    let wide = files.into_iter().filter(|(_, files)| files.len() > MOST_FILES);
    wide.map(|((_, name), files)| format!("{}: {name} in {files:?}", of.name)).collect()
}

/// Structs with too many fields.
fn large(of: &Crate) -> Vec<String> {
    let structs = of.files.iter().flat_map(|file| file.structs.iter().map(move |it| (file, it)));
    let large = structs.filter(|(_, (name, fields))| {
        *fields > MOST_FIELDS && !(name == "Config" || name.ends_with("Spec"))
    });
    large.map(|(file, (name, n))| format!("{}, {}: {name}: {n}", of.name, file.name())).collect()
}

fn of_text(files: &[(&str, &str)]) -> Crate {
    Crate {
        name: "made up".to_owned(),
        files: files.iter().map(|(name, text)| File::parse(name, text)).collect(),
    }
}

#[test]
fn no_imports_lead_from_one_folder_to_another_and_back() {
    let all = crates();
    assert!(all.iter().any(|it| it.name == "sim" && it.files.len() > 50), "nothing was read");
    let found: Vec<_> = all.iter().flat_map(circles).collect();
    assert!(found.is_empty(), "circles:\n{}", found.join("\n"));
}

#[test]
fn methods_of_a_type_are_in_four_files_at_most() {
    let found: Vec<_> = crates().iter().flat_map(spread).collect();
    assert!(found.is_empty(), "spread:\n{}", found.join("\n"));
}

#[test]
fn structs_of_the_machines_have_twenty_fields_at_most() {
    let machines = crates().into_iter().filter(|it| MACHINES.contains(&it.name.as_str()));
    let found: Vec<_> = machines.flat_map(|it| large(&it)).collect();
    assert!(found.is_empty(), "large:\n{}", found.join("\n"));
}

#[test]
fn circles_spread_types_and_large_structs_are_found() {
    let circle = of_text(&[
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "use crate::b::c::C; pub struct A;"),
        ("b/mod.rs", "pub mod c;"),
        ("b/c.rs", "use super::super::a::A; pub struct C;"),
    ]);
    assert_eq!(circles(&circle), ["made up: a.rs, b/c.rs"]);
    let by_export = of_text(&[
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "fn f() { crate::b::g(); }"),
        ("b/mod.rs", "mod c; pub use self::c::g;"),
        ("b/c.rs", "pub fn g() { crate::a::f(); }"),
    ]);
    assert_eq!(circles(&by_export), ["made up: a.rs, b/c.rs"]);
    let tests = of_text(&[
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "use crate::b::c::C; pub struct A;"),
        ("b/mod.rs", "pub mod c;"),
        ("b/c.rs", "pub struct C; #[cfg(test)] mod tests { use crate::a::A; }"),
    ]);
    assert_eq!(circles(&tests), [""; 0]);
    let text = "use crate::a::A; impl A { fn x() {} }";
    let names = ["b.rs", "c.rs", "d.rs", "e.rs"];
    let mut files = vec![("lib.rs", ""), ("a.rs", "pub struct A; impl A {}")];
    files.extend(names.map(|name| (name, text)));
    assert_eq!(spread(&of_text(&files)).len(), 1);
    files.pop();
    assert_eq!(spread(&of_text(&files)), [""; 0]);
    let fields = |n: usize| (0..n).map(|n| format!("f{n}: u8,")).collect::<String>();
    let of = |n: usize| of_text(&[("lib.rs", &format!("struct S {{ {} }}", fields(n)))]);
    assert_eq!((large(&of(20)).len(), large(&of(21)).len()), (0, 1));
}
