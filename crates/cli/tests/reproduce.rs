//! `bentpipe reproduce`, end to end: documents, tables, figures.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin_cmd;
use predicates::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

fn bentpipe(args: &[&str]) -> Command {
    let mut command = cargo_bin_cmd!("bentpipe");
    command.arg("reproduce").args(args);
    command
}

fn stdout(args: &[&str]) -> String {
    let output = bentpipe(args).assert().success().stderr("").get_output().stdout.clone();
    String::from_utf8(output).expect("text")
}

fn document(args: &[&str]) -> Value {
    serde_json::from_str(&stdout(&[args, &["--json"]].concat())).expect("JSON")
}

fn figures(document: &Value) -> &[Value] {
    document["experiments"].as_array().expect("a list")
}

/// The identities of the experiments of a document.
fn ids(document: &Value) -> BTreeSet<&str> {
    figures(document).iter().filter_map(|figure| figure["id"].as_str()).collect()
}

/// What every document looks like. A metric that does not exist in a run has no mean.
fn schema() -> Value {
    let object = |properties: Value, required: &[&str]| json!({"type": "object", "properties": properties, "required": required});
    let text = json!({"type": "string", "minLength": 1});
    let points = object(
        json!({
            "x": {"type": "number"},
            "variant": text,
            "metric": text,
            "mean": {"type": ["number", "null"]},
            "ci95": {"type": "number", "minimum": 0},
            "n": {"type": "integer", "minimum": 1},
        }),
        &["x", "variant", "metric", "mean", "ci95", "n"],
    );
    let claims = object(
        json!({
            "text": text,
            "holds": {"type": ["boolean", "null"]},
            "measured": text,
            "informative": {"type": "boolean"},
            "bound": {"enum": ["paper", "ours"]},
        }),
        &["text", "holds", "measured", "informative", "bound"],
    );
    let figures = object(
        json!({
            "id": {"type": "string", "pattern": "^E[0-9]+$"},
            "figure": text,
            "points": {"type": "array", "minItems": 1, "items": points},
            "claims": {"type": "array", "minItems": 1, "items": claims},
        }),
        &["id", "figure", "points", "claims"],
    );
    object(
        json!({"experiments": {"type": "array", "minItems": 1, "items": figures}}),
        &["experiments"],
    )
}

#[test]
fn a_document_has_points_and_claims_for_each_figure() {
    let validator = jsonschema::validator_for(&schema()).expect("a JSON Schema");
    for (args, id) in [(&["E5"][..], "E5"), (&["E1", "--reps", "2"], "E1")] {
        let document = document(args);
        let wrong: Vec<_> = validator.iter_errors(&document).map(|e| e.to_string()).collect();
        assert!(wrong.is_empty(), "{args:?}: {}", wrong.join("; "));
        assert_eq!(ids(&document), BTreeSet::from([id]));
    }
}

#[test]
fn each_point_is_a_mean_over_as_many_runs_as_were_asked_for() {
    let document = document(&["E1", "--reps", "3"]);
    let figures = figures(&document);
    let names: Vec<_> = figures.iter().filter_map(|figure| figure["figure"].as_str()).collect();
    assert_eq!(names, ["6", "7", "8"]);
    for figure in figures {
        let points = figure["points"].as_array().expect("points");
        let drawn = points.iter().filter(|point| point["metric"] == figure["metric"]);
        let places: Vec<_> = drawn.map(|p| (p["x"].as_f64(), p["variant"].as_str())).collect();
        let expected: Vec<_> = [0, 1, 5, 10, 20, 30, 40, 50]
            .into_iter()
            .flat_map(|x| ["off", "on"].map(|variant| (Some(f64::from(x)), Some(variant))))
            .collect();
        assert_eq!(places, expected);
        for point in points {
            assert_eq!(point["n"], 3);
            assert!(point["mean"].as_f64().is_some_and(|mean| mean >= 0.0), "{point}");
        }
    }
}

#[test]
fn a_report_has_every_figure_claim_and_verdict_and_is_the_same_again() {
    let dir = TempDir::new().expect("a directory");
    let page = |name: &str| {
        let path = dir.path().join(name);
        let path = path.to_str().expect("a path");
        let said = stdout(&["E1", "E5", "--reps", "2", "--report", path]);
        assert!(said.contains(&format!("the report is in {path}")), "{said}");
        fs::read_to_string(path).expect("a page")
    };
    let (one, again) = (page("one.html"), page("again.html"));
    assert!(one == again);
    let document = document(&["E1", "E5", "--reps", "2"]);
    let figures = figures(&document);
    assert_eq!(one.matches("<svg").count(), figures.len());
    let claims: Vec<_> =
        figures.iter().flat_map(|figure| figure["claims"].as_array().expect("claims")).collect();
    for (bound, note) in [("paper", ""), ("ours", " (bound of our own)")] {
        for (holds, word) in [(true, "holds"), (false, "does not hold")] {
            let is = |claim: &&&Value| claim["bound"] == bound && claim["holds"] == holds;
            let cells = one.matches(&format!(">{word}{note}</td>")).count();
            assert_eq!(cells, claims.iter().filter(is).count(), "{word}{note}");
        }
    }
    assert!(one.contains("scenario <code>") && one.contains("Settings"), "{one}");
    assert!(!one.contains(" src=") && !one.contains("<link"), "it asks nobody for anything");
}

#[test]
fn what_has_no_chance_in_it_runs_once_and_its_claims_hold() {
    let document = document(&["E5", "--reps", "9"]);
    for figure in figures(&document) {
        assert!(figure["points"].as_array().expect("points").iter().all(|p| p["n"] == 1));
        for claim in figure["claims"].as_array().expect("claims") {
            assert_eq!(claim["holds"], true, "{claim}");
        }
    }
}

#[test]
fn the_document_is_the_same_for_every_number_of_threads_and_every_time() {
    let of = |jobs: &[&str]| stdout(&[&["E1", "E6", "--reps", "2", "--json"], jobs].concat());
    let one = of(&["--jobs", "1"]);
    assert!(one == of(&["--jobs", "2"]), "two threads find something else");
    assert!(one == of(&["--jobs", "7"]) && one == of(&[]) && one == of(&["--jobs", "1"]));
}

#[test]
fn the_text_has_a_table_for_each_figure_and_a_verdict_for_each_claim() {
    let text = stdout(&["E1", "--reps", "2"]);
    let document = document(&["E1", "--reps", "2"]);
    let (mut claims, mut holding) = ([0, 0], [0, 0]);
    for figure in figures(&document) {
        let place = format!("E1, figure {}: ", figure["figure"].as_str().expect("a name"));
        assert!(text.contains(&place), "no `{place}` in\n{text}");
        for claim in figure["claims"].as_array().expect("claims") {
            let holds = claim["holds"] == true;
            let verdict = if holds { "holds" } else { "fails" };
            let said = format!("  {verdict}  {}", claim["text"].as_str().expect("a text"));
            assert!(text.contains(&said), "no `{said}` in\n{text}");
            let whose = usize::from(claim["bound"] == "ours");
            claims[whose] += 1;
            holding[whose] += usize::from(holds);
        }
    }
    let mut total = format!("{} of {} claims hold", holding[0], claims[0]);
    if claims[1] > 0 {
        total += &format!(", and {} of {} with bounds of our own", holding[1], claims[1]);
    }
    assert!(text.ends_with(&(total + "\n")), "{text}");
    assert!(text.contains("gain of ON") && !text.contains('\u{1b}'), "{text}");
}

/// The text of an SVG picture, piece by piece, which is also proof that it is well-formed XML.
fn texts(path: &Path) -> Vec<String> {
    let picture = fs::read_to_string(path).expect("the picture");
    let document = roxmltree::Document::parse(&picture).expect("well-formed XML");
    let root = document.root_element();
    assert_eq!(root.tag_name().name(), "svg");
    assert_eq!(root.tag_name().namespace(), Some("http://www.w3.org/2000/svg"));
    let pieces = document.descendants().filter(|node| node.has_tag_name("text") || node.is_text());
    pieces.filter_map(|node| Some(node.text()?.trim().to_owned())).collect()
}

#[test]
fn out_writes_a_table_a_document_and_a_picture_of_each_figure() {
    let dir = TempDir::new().expect("a directory");
    let out = dir.path().join("new/figures");
    let path = out.to_str().expect("a path");
    let document = document(&["E1", "E6", "--reps", "2", "--out", path]);
    let names = fs::read_dir(&out).expect("the directory");
    let names: BTreeSet<_> =
        names.flatten().map(|entry| entry.file_name().into_string().expect("text")).collect();
    let stems = [
        "e1-fig-6",
        "e1-fig-7",
        "e1-fig-8",
        "e6-forward-control",
        "e6-outage",
        "e6-retransmission",
        "e6-reverse-control",
    ];
    let expected: BTreeSet<_> = stems
        .iter()
        .flat_map(|s| ["csv", "json", "svg", "vl.json"].map(|ending| format!("{s}.{ending}")))
        .collect();
    assert_eq!(names, expected);
    for stem in stems {
        let text = fs::read_to_string(out.join(format!("{stem}.json"))).expect("a file");
        let figure: Value = serde_json::from_str(&text).expect("JSON");
        assert!(figures(&document).contains(&figure), "{stem}.json is none of the figures");
        let points = figure["points"].as_array().expect("points");

        let mut reader = csv::Reader::from_path(out.join(format!("{stem}.csv"))).expect("CSV");
        let header = reader.headers().expect("a header").iter().collect::<Vec<_>>().join(",");
        assert_eq!(header, "x,variant,metric,mean,sd,ci95,n");
        let rows: Vec<_> = reader.records().map(|row| row.expect("a whole row")).collect();
        assert_eq!(rows.len(), points.len());
        for (row, point) in rows.iter().zip(points) {
            let mean: f64 = row[3].parse().expect("a number");
            let same = point["mean"].as_f64().is_some_and(|m| (m / mean - 1.0).abs() < 1e-12);
            assert!(same || mean == 0.0, "{stem}: {row:?} is not {point}");
            assert_eq!(&row[1], point["variant"]);
        }

        let texts = texts(&out.join(format!("{stem}.svg")));
        for legend in ["on", "off", figure["x_label"].as_str().expect("a label")] {
            assert!(texts.iter().any(|text| text == legend), "{stem}: no {legend} in {texts:?}");
        }
        let text = fs::read_to_string(out.join(format!("{stem}.vl.json"))).expect("a file");
        let spec: Value = serde_json::from_str(&text).expect("JSON");
        let seeds = if points.iter().any(|point| point["n"] == 2) { "1-2" } else { "1" };
        assert_eq!(spec["usermeta"]["source"]["seeds"], seeds);
        let drawn = points.iter().filter(|point| point["metric"] == figure["metric"]).count();
        assert_eq!(spec["data"]["values"].as_array().map(Vec::len), Some(drawn), "{stem}");
    }
}

#[test]
fn a_picture_that_can_not_be_written_is_named_and_exits_with_1() {
    let dir = TempDir::new().expect("a directory");
    let file = dir.path().join("file");
    fs::write(&file, "not a directory").expect("a file");
    let out = file.join("out");
    bentpipe(&["E5", "--out", out.to_str().expect("a path")])
        .assert()
        .code(1)
        .stdout("")
        .stderr(predicate::str::contains("cannot write"));
}

#[test]
fn an_unknown_experiment_exits_with_2_and_names_the_nearest_one() {
    for (wrong, right) in [("E99", "`E"), ("E333", "`E33`"), ("xtsp", "`xstp`"), ("e5x", "`E5`")] {
        for args in [&[wrong][..], &["E5", wrong, "--json"]] {
            let hint = predicate::str::contains(format!("did you mean {right}"));
            let said = predicate::str::contains(wrong).and(hint);
            bentpipe(args).assert().code(2).stdout("").stderr(said);
        }
    }
    let listed = predicate::str::contains("bentpipe list experiments");
    bentpipe(&["nonsense"]).assert().code(2).stdout("").stderr(listed);
}

#[test]
fn numbers_that_make_no_sense_exit_with_2() {
    for wrong in ["--reps=0", "--reps=-1", "--reps=many", "--jobs=0", "--jobs=1.5"] {
        let option = wrong.split('=').next().expect("an option");
        let said = predicate::str::contains(option);
        bentpipe(&["E5", wrong]).assert().code(2).stdout("").stderr(said);
    }
}

#[test]
fn identities_may_be_written_in_any_case_and_twice() {
    let one = stdout(&["E5", "--json"]);
    assert!(one == stdout(&["e5", "--json"]));
    assert!(one == stdout(&["E5", "e5", "--json"]));
}

#[test]
fn a_paper_is_all_of_its_experiments() {
    let xstp = ["E1", "E2", "E3", "E4", "E5", "E6", "E7", "E8", "E38", "E40"];
    for (name, members) in [("XSTP", &xstp[..]), ("e25", &["E25"])] {
        let document = document(&[name, "--reps", "1"]);
        assert_eq!(ids(&document), members.iter().copied().collect::<BTreeSet<_>>());
    }
}

/// An experiment of one's own over a scenario beside it.
const OWN: &str = r#"
id = "loss"
title = "Loss"
scenario = "link.toml"
replications = 2
variants = [{ name = "cubic", is = "tcp-cubic" }, { name = "bentpipe", is = "bentpipe" }]

[[sweeps]]
name = "loss"
x_label = "loss, %"
points = [{ x = 0 }, { x = 1, set = { "links.satellite.loss" = "0.01" } }]

[[figures]]
figure = "goodput"
title = "Goodput by loss"
sweep = "loss"
metric = "goodput"

[[figures.claims]]
text = "bentpipe is faster where packets are lost"
better = { variant = "bentpipe", than = "cubic", at = [1] }
"#;

#[test]
fn an_experiment_of_one_s_own_is_run_and_judged() {
    let dir = TempDir::new().expect("a directory");
    let own = dir.path().join("own.toml");
    fs::write(&own, OWN).expect("a file");
    let mut init = cargo_bin_cmd!("bentpipe");
    let link = ["init", "link", "--rate", "4 Mbit/s", "--yes"];
    init.current_dir(dir.path()).args(link).assert().success();
    let (own, out) = (own.to_str().expect("a path"), dir.path().join("out"));
    let document = document(&[own, "--out", out.to_str().expect("a path")]);
    let [figure] = figures(&document) else { panic!("{document}") };
    assert_eq!(figure["points"].as_array().map(Vec::len), Some(4), "{figure}");
    assert_eq!(figure["claims"][0]["holds"], true, "{figure}");
    for end in ["csv", "json", "svg"] {
        assert!(out.join(format!("loss-fig-goodput.{end}")).is_file(), "{end}");
    }
    // Beside those of a paper, each by its name.
    fs::write(dir.path().join("e1.toml"), OWN.replace("\"loss\"\ntitle", "\"e1\"\ntitle"))
        .expect("a file");
    let twice = dir.path().join("e1.toml");
    let said = predicate::str::contains("e1.toml: another experiment is called e1 too");
    bentpipe(&["E1", twice.to_str().expect("a path")]).assert().code(2).stderr(said);
}

#[test]
fn what_is_wrong_with_an_experiment_of_one_s_own_names_file_and_key() {
    let dir = TempDir::new().expect("a directory");
    let own = dir.path().join("own.toml");
    let path = own.to_str().expect("a path");
    let missing = predicate::str::contains("own.toml: ");
    bentpipe(&[path]).assert().code(2).stdout("").stderr(missing);
    let own_geo = OWN.replace("link.toml", "geo");
    for (changed, to, said) in [
        (
            "metric = \"goodput\"",
            "metric = \"godput\"",
            "own.toml, `figures[0].metric`: there is no metric `godput`; did you mean `goodput`?",
        ),
        ("id = \"loss\"", "id =", "own.toml, line 2: "),
        ("title = \"Loss\"", "titel = \"Loss\"", "did you mean `title`?"),
        ("\"geo\"", "\"goe\"", "own.toml, `sweeps[0].points[0]`: as `cubic`: goe: "),
    ] {
        assert!(own_geo.contains(changed), "{changed}");
        fs::write(&own, own_geo.replacen(changed, to, 1)).expect("a file");
        bentpipe(&[path]).assert().code(2).stdout("").stderr(predicate::str::contains(said));
    }
}

#[test]
fn a_value_of_all_scenarios_can_be_changed_and_stands_in_the_report() {
    let late = ["E5", "--set", "flows.file.xstp.timer_clock=jiffies"];
    let delay = |document: &Value| {
        let figure = figures(document).iter().find(|figure| figure["figure"] == "1").cloned();
        figure.expect("figure 1")["points"][0]["mean"].as_f64().expect("a mean")
    };
    assert!((delay(&document(&["E5"])) - 1.0).abs() < 1e-9);
    assert!((delay(&document(&late)) - 1.2).abs() < 1e-9, "POLLs are 80 ms apart and not 67");
    let dir = TempDir::new().expect("a directory");
    let path = dir.path().join("report.html");
    let report = path.to_str().expect("a path");
    stdout(&[&late[..], &["--report", report]].concat());
    let page = fs::read_to_string(&path).expect("the report");
    let command = "bentpipe reproduce E5 --set flows.file.xstp.timer_clock=jiffies";
    assert!(page.contains(command), "{page}");
    bentpipe(&["E5", "--set", "flows.file.xstp.timer_cloc=exact"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("did you mean `timer_clock`"));
}
