//! Values that are put into texts of scenarios.

use std::net::SocketAddr;

use bentpipe_serve::{Limits, Options};
use serde_json::{Value, json};

use crate::common::{post, serve, server};

const TEXT: &str = r#"
name = "own"
nodes = ["a", "b"]
duration = "20 s"
[links.space]
between = ["a", "b"]
rate = "10 Mbit/s" # as hired
delay = "250 ms"
[flows.file]
from = "a"
to = "b"
size = "1 MB"
protocol = "tcp"
"#;

async fn change(address: SocketAddr, text: &str, changes: &[&str]) -> Value {
    let body = json!({"scenario": text, "changes": changes}).to_string();
    post(address, "/api/change", "application/json", &body).await
}

#[tokio::test]
async fn a_value_that_is_wrong_in_the_text_is_mended_by_a_change_of_it() {
    let address = server(Limits::default()).await;
    for (right, wrong, mended) in [
        ("10 Mbit/s", "10 cows", "links.space.rate=10 Mbit/s"),
        // What is read well, and does not fit to the rest.
        ("to = \"b\"", "to = \"c\"", "flows.file.to=b"),
    ] {
        let changed = change(address, &TEXT.replace(right, wrong), &[mended]).await;
        assert_eq!(changed, json!({"scenario": TEXT}), "{wrong}");
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_change_is_told_with_its_line_and_its_key_and_nothing_of_the_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = Options {
        folder: Some(folder.path().canonicalize().expect("a path")),
        ..Options::new(([127, 0, 0, 1], 0).into())
    };
    let address = serve(options).await;
    for (text, asked, line, key) in [
        (TEXT, "links.space.rate=10 cows", json!(7), json!("links.space.rate")),
        (TEXT, "links.space.rate.more=1", json!(null), json!("links.space.rate.more")),
        ("name =\n", "duration=1 s", json!(1), json!(null)),
        (TEXT, "duration", json!(null), json!(null)),
    ] {
        let said = change(address, text, &[asked]).await;
        let wrong = &said["wrong"];
        assert_eq!((&wrong["line"], &wrong["key"]), (&line, &key), "{asked}: {said}");
        let message = wrong["message"].as_str().expect("a message");
        assert!(!message.contains("page.toml") && !message.contains("--set"), "{message}");
    }
}

#[tokio::test]
async fn a_request_has_a_bounded_number_of_changes() {
    let address = server(Limits::default()).await;
    let changes = ["links.space.delay=1 ms"; 65];
    let changed = change(address, TEXT, &changes[..64]).await;
    assert_eq!(changed, json!({"scenario": TEXT.replace("250 ms", "1 ms")}));
    let said = change(address, TEXT, &changes).await;
    assert_eq!(said["wrong"]["message"], "65 changes at once are too many: at most 64");
}

#[tokio::test]
async fn somebody_who_types_is_answered_however_often_and_however_much_goes_on() {
    let address = server(Limits { at_once: 0, begun: 0, ..Limits::default() }).await;
    for _ in 0..5 {
        let changed = change(address, TEXT, &["links.space.delay=1 ms"]).await;
        assert!(changed["scenario"].is_string(), "{changed}");
        let checked = post(address, "/api/check/scenario", "text/plain", TEXT).await;
        assert_eq!(checked, json!({"wrong": []}));
    }
}
