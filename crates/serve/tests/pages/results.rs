//! Results of sweeps.

use std::path::Path;

use bentpipe_experiments::sweep::file::SweepFile;
use bentpipe_experiments::sweep::{Shard, Sweep, Varied};
use bentpipe_scenario::Scenario;
use bentpipe_serve::Options;
use serde_json::{Value, json};

use crate::common::{get, post, serve};

/// Writes a sweep of two losses, one variant and three seeds.
fn write(out: &Path) {
    let changes = ["flows.file.size=100 kB", "flows.file.protocol=tcp"];
    let changes: Vec<_> = changes.iter().map(|change| change.parse().expect("a change")).collect();
    let scenario = Scenario::open("geo").and_then(|geo| geo.with(&changes)).expect("a scenario");
    let varied = Varied {
        axes: vec!["links.satellite.loss=0,0.02".parse().expect("an axis")],
        variants: vec!["tcp-cubic".parse().expect("a variant")],
        seeds: "1-3".parse().expect("seeds"),
        flows: Vec::new(),
    };
    let sweep = Sweep::new(scenario, varied).expect("a sweep");
    let file = SweepFile::open(&sweep, Shard::WHOLE, out, false).expect("a file");
    file.run(Some(1), &()).expect("rows");
}

fn document(answer: &str) -> Value {
    let body = answer.split("\r\n\r\n").nth(1).expect("a body");
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

#[tokio::test]
async fn a_result_is_told_cell_by_cell_and_run_by_run() {
    let folder = tempfile::tempdir().expect("a folder");
    write(&folder.path().join("runs.parquet"));
    std::fs::write(folder.path().join("broken.parquet"), "PAR1 and no more").expect("written");
    let options = Options {
        folder: Some(folder.path().canonicalize().expect("a path")),
        ..Options::new(([127, 0, 0, 1], 0).into())
    };
    let address = serve(options).await;
    let listed = document(&get(address, "/api/results", "").await);
    assert_eq!(listed["files"][1]["name"], "runs.parquet");

    let asked = "/api/result?name=runs.parquet&measure=goodput_bps";
    let result = document(&get(address, asked, "").await);
    assert_eq!(result["axes"], json!([{"key": "links.satellite.loss", "unit": null}]));
    let cells = result["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), 2);
    assert_eq!((&cells[0]["last_run"], &cells[1]["last_run"]), (&json!(2), &json!(5)));
    let of =
        |cell: &Value| (cell["values"][0].clone(), cell["first_run"].clone(), cell["runs"].clone());
    assert_eq!(of(&cells[0]), (json!("0"), json!(0), json!(3)));
    assert_eq!(of(&cells[1]), (json!("0.02"), json!(3), json!(3)));
    let mean = cells[1]["measure"]["mean"].as_f64().expect("a mean");

    let runs =
        document(&get(address, "/api/result/runs?name=runs.parquet&first=3&last=5", "").await);
    let runs = runs["runs"].as_array().expect("runs");
    let seeds: Vec<_> = runs.iter().map(|run| run["seed"].as_u64()).collect();
    assert_eq!(seeds, [Some(1), Some(2), Some(3)]);
    let goodputs =
        runs.iter().map(|run| run["measured"]["goodput_bps"].as_f64().expect("a number"));
    assert!((goodputs.sum::<f64>() / 3.0 - mean).abs() < 1e-6 * mean);

    // The scenario is in the file: a run of it can be made again.
    let text = result["sweep"]["text"].as_str().expect("the scenario");
    let change = async |value| {
        let body = json!({"scenario": text, "changes": [format!("links.satellite.loss={value}")]});
        post(address, "/api/change", "application/json", &body.to_string()).await
    };
    let changed = change("0.02").await;
    assert!(changed["scenario"].as_str().expect("a text").contains("loss = 0.02"), "{changed}");
    let refused = change("200 %").await;
    assert!(refused["wrong"]["key"] == "links.satellite.loss", "{refused}");

    for (path, code) in [
        ("/api/result?name=broken.parquet&measure=goodput_bps", "422"),
        ("/api/result?name=runs.parquet&measure=nothing", "404"),
        ("/api/result?name=..%2fruns.parquet&measure=goodput_bps", "404"),
        ("/api/result?name=runs.parquet", "400"),
        ("/api/result/runs?name=runs.parquet&first=99999999999999999999&last=1", "400"),
        ("/api/result/runs?name=runs.parquet&first=18446744073709551615&last=0", "200"),
    ] {
        let said = get(address, path, "").await;
        assert!(said.lines().next().is_some_and(|line| line.contains(code)), "{path}: {said}");
    }
}
