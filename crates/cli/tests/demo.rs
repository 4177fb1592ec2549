//! `bentpipe demo`: one screen, one page.

use std::fs;

use assert_cmd::cargo::cargo_bin_cmd;
use predicates::prelude::*;

const LINKS: [&str; 3] = ["geo", "leo-handovers", "starlink-trace"];
const PROTOCOLS: [&str; 4] = ["bentpipe", "tcp-bbr", "xstp-probing", "tcp-cubic"];

#[test]
fn the_screen_has_80_columns_and_the_page_needs_nothing_else() {
    let dir = tempfile::tempdir().expect("a directory");
    let page = dir.path().join("demo.html");
    let mut demo = cargo_bin_cmd!("bentpipe");
    demo.args(["demo", "--reps", "1", "--no-open", "--out"]).arg(&page);
    let screen = demo.assert().success().stderr("").get_output().stdout.clone();
    let screen = String::from_utf8(screen).expect("text");
    let path = page.to_str().expect("a path");
    assert!(screen.contains(path), "{screen}");
    let lines = || screen.lines().filter(|line| !line.contains(path));
    assert!(lines().count() <= 24 && lines().all(|line| line.chars().count() <= 80), "{screen}");
    for next in ["bentpipe compare geo", "bentpipe init", "bentpipe list scenarios"] {
        assert!(screen.contains(next), "{next}");
    }
    for protocol in PROTOCOLS {
        let mut rows = screen.lines().filter(|line| line.starts_with(protocol));
        assert!(rows.next().is_some_and(|row| row.matches('%').count() == LINKS.len()), "{screen}");
    }

    let page = fs::read_to_string(page).expect("the page");
    for name in LINKS.iter().chain(&PROTOCOLS) {
        assert!(page.contains(name), "{name}");
    }
    let figures: Vec<&str> = page.split("<svg").skip(1).collect();
    assert_eq!(figures.len(), 2 * LINKS.len());
    for figure in figures {
        let figure = figure.split_inclusive("</svg>").next().expect("an end");
        let figure = format!("<svg{figure}");
        roxmltree::Document::parse(&figure).expect("SVG");
    }
    // The name of SVG's namespace is no address that is fetched.
    let page = page.replace("http://www.w3.org/2000/svg", "");
    for outside in ["http://", "https://", "src=", "<link", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn a_page_that_cannot_be_written_is_named_before_anything_runs() {
    let mut demo = cargo_bin_cmd!("bentpipe");
    let said = predicate::str::contains("/nowhere/demo.html");
    demo.args(["demo", "--out", "/nowhere/demo.html"]).assert().code(1).stdout("").stderr(said);
}
