//! `bentpipe twin`: the same download in the simulator and with real programs. It needs root, and is skipped without it.

mod namespaces;

use std::process::Command;

use namespaces::site::can_run;

#[test]
fn both_twins_download_the_same_and_the_real_one_leaves_nothing_behind() {
    if !can_run("twin", &["unshare", "nsenter", "ip", "nft"]) {
        return;
    }
    let output = Command::new(env!("CARGO_BIN_EXE_bentpipe"))
        .args(["twin", "gateway-leo", "--seeds", "1", "--json"])
        .args(["--set", "flows.file.size=300 kB", "--set", "links.satellite.loss=0"])
        .output()
        .expect("a program");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let rows: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = rows.as_array().expect("rows");
    assert_eq!(rows.len(), 8);
    for row in rows {
        // Nothing has to be retransmitted where nothing is lost.
        let may_be_none = row["what"] == "segments retransmitted";
        for side in ["simulated", "real"] {
            let mean = row[side]["mean"].as_f64().expect("a number");
            assert!(mean > 0.0 || may_be_none && mean == 0.0, "{row}");
        }
    }
    // The file crosses the link once, with headers, and nothing is lost.
    for side in ["simulated", "real"] {
        let ratio = rows[3][side]["mean"].as_f64().expect("a ratio");
        assert!((1.0..1.3).contains(&ratio), "{side}: {ratio}");
    }
}

#[test]
fn what_has_no_gateway_has_no_twin() {
    let output = Command::new(env!("CARGO_BIN_EXE_bentpipe"))
        .args(["twin", "geo"])
        .output()
        .expect("a program");
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("[gateway]"), "{said}");
}
