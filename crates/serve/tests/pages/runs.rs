//! Runs, comparisons and skies over a real socket.

use bentpipe_scenario::Scenario;
use bentpipe_serve::Limits;
use bentpipe_sim::Silent;
use bentpipe_units::{ByteCount, Span};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::common::{Socket, server};

/// A transfer of some seconds.
const SHORT: &str = r#"
name = "short"
nodes = ["a", "b"]
[links.space]
between = ["a", "b"]
rate = "10 Mbit/s"
delay = "250 ms"
loss = 0.001
[flows.file]
from = "a"
to = "b"
size = "1 MB"
protocol = "tcp"
"#;
/// One that does not end by itself.
const ENDLESS: &str = r#"
name = "endless"
nodes = ["a", "b"]
duration = "1 h"
[links.space]
between = ["a", "b"]
rate = "10 Mbit/s"
delay = "5 ms"
[flows.file]
from = "a"
to = "b"
protocol = "tcp"
"#;

/// All that is said until the server closes.
async fn all(mut socket: Socket) -> Vec<Value> {
    let mut heard = Vec::new();
    while let Some(said) = socket.hear().await {
        heard.push(said);
    }
    heard
}

fn times(heard: &[Value]) -> Vec<f64> {
    let samples = heard.iter().filter(|said| said["kind"] == "samples");
    let times = samples.flat_map(|said| said["time_s"].as_array().cloned().unwrap_or_default());
    times.filter_map(|time| time.as_f64()).collect()
}

#[tokio::test]
async fn a_run_that_is_watched_comes_to_what_the_simulator_gives() {
    let address = server(Limits::default()).await;
    let asked = json!({"scenario": SHORT, "seed": 7, "packets": {"from_s": 0.0, "until_s": 1.0}});
    let heard = all(Socket::ask(address, "run", &asked).await).await;
    assert_eq!(heard[0]["kind"], "began");
    assert_eq!(heard[0]["flows"][0]["name"], "file");
    let times = times(&heard);
    assert!(times.len() > 20 && times.is_sorted(), "{times:?}");
    let packets = heard.iter().filter_map(|said| said["packets"].as_array()).flatten();
    let numbered = packets.filter(|packet| packet["seq"].is_u64()).count();
    assert!(numbered > 10, "{numbered}");
    let ended = heard.last().expect("an end");
    let scenario = Scenario::parse("short", SHORT).expect("a scenario");
    let spec = scenario.run_spec(Some(7), false).expect("a run");
    let summary = bentpipe_sim::run(&spec, &mut Silent).expect("it runs");
    let direct = serde_json::to_value(&summary.flows).expect("JSON");
    assert_eq!((&ended["kind"], &ended["summary"]["flows"]), (&json!("ended"), &direct));
}

#[tokio::test]
async fn what_waits_for_each_direction_of_a_link_is_told_in_bytes() {
    let address = server(Limits::default()).await;
    let often = SHORT.replace("nodes", "sample_every = \"5 ms\"\nnodes");
    let limited = often.replace("loss = 0.001", "queue = \"20 kB\"");
    for (scenario, most) in [(&limited, 20_000), (&often, u64::MAX)] {
        let asked = json!({"scenario": scenario, "seed": 7});
        let heard = all(Socket::ask(address, "run", &asked).await).await;
        let samples: Vec<_> = heard.iter().filter(|said| said["kind"] == "samples").collect();
        let waits = |direction: usize| -> Vec<u64> {
            let columns =
                samples.iter().filter_map(|said| said["queues"][direction].as_array()).flatten();
            columns.map(|bytes| bytes.as_u64().expect("it is known")).collect()
        };
        let [there, back] = [waits(0), waits(1)];
        assert_eq!([there.len(), back.len()], [times(&heard).len(); 2]);
        let full = there.iter().max().expect("moments");
        assert!((10_000..=most).contains(full) && there.contains(&0), "{there:?}");
        assert!(back.iter().all(|bytes| *bytes < 1_000), "{back:?}");
    }
}

#[tokio::test]
async fn a_run_that_is_paused_goes_on_by_steps() {
    let address = server(Limits::default()).await;
    let asked = json!({"scenario": ENDLESS, "paused": true});
    let mut socket = Socket::ask(address, "run", &asked).await;
    assert_eq!(socket.hear().await.expect("a beginning")["kind"], "began");
    for (seconds, last) in [(0.1, 0.1), (0.3, 0.4)] {
        socket.say(&json!({"do": "step", "seconds": seconds})).await;
        let mut seen = -1.0;
        while seen < last {
            let said = socket.hear().await.expect("samples");
            seen =
                said["time_s"].as_array().and_then(|times| times.last()?.as_f64()).expect("a time");
            assert!(seen <= last + 1e-9, "{seen}");
        }
    }
}

#[tokio::test]
async fn a_page_that_goes_ends_its_run_and_leaves_its_place() {
    let limits = Limits { at_once: 1, begun: usize::MAX, ..Limits::default() };
    let address = server(limits).await;
    let mut first =
        Socket::ask(address, "run", &json!({"scenario": ENDLESS, "paused": true})).await;
    assert_eq!(first.hear().await.expect("a beginning")["kind"], "began");
    let refused = all(Socket::ask(address, "run", &json!({"scenario": SHORT})).await).await;
    assert!(
        refused[0]["message"].as_str().expect("text").contains("1 go on at once"),
        "{refused:?}"
    );
    drop(first);
    // The run sees it when it looks next: until then there is no place.
    loop {
        let heard = all(Socket::ask(address, "run", &json!({"scenario": SHORT})).await).await;
        if heard[0]["kind"] == "began" {
            assert_eq!(heard.last().expect("an end")["kind"], "ended");
            break;
        }
    }
}

#[tokio::test]
async fn runs_end_at_their_limits() {
    let limits = Limits { simulated: Span::from_secs(2), ..Limits::default() };
    let address = server(limits).await;
    let heard = all(Socket::ask(address, "run", &json!({"scenario": ENDLESS})).await).await;
    let ended = heard.last().expect("an end");
    assert_eq!(
        (&ended["cut"], &ended["summary"]["simulated_seconds"]),
        (&json!(true), &json!(2.0))
    );
    let address = server(Limits { memory: ByteCount::new(1), ..Limits::default() }).await;
    let heard = all(Socket::ask(address, "run", &json!({"scenario": ENDLESS})).await).await;
    let said = heard.last().expect("an end")["message"].as_str().expect("text").to_owned();
    assert!(said.contains("this process has more than"), "{said}");
    let address = server(Limits { flows: 0, ..Limits::default() }).await;
    let heard = all(Socket::ask(address, "run", &json!({"scenario": SHORT})).await).await;
    assert!(heard[0]["message"].as_str().expect("text").contains("at most 0"), "{heard:?}");
}

#[tokio::test]
async fn what_is_wrong_with_a_scenario_has_its_line_and_its_key() {
    let address = server(Limits::default()).await;
    let text = SHORT.replace("rate =", "rat =");
    let heard = all(Socket::ask(address, "run", &json!({"scenario": text})).await).await;
    assert_eq!((&heard[0]["kind"], &heard[0]["line"]), (&json!("wrong"), &json!(6)));
    assert!(heard[0]["message"].as_str().expect("text").contains("did you mean `rate`?"));
    let text = SHORT.replace("rate = \"10 Mbit/s\"", "trace = \"/etc/passwd\"");
    let heard = all(Socket::ask(address, "run", &json!({"scenario": text})).await).await;
    assert!(heard[0]["message"].as_str().expect("text").contains("no files are read here"));
    let heard =
        all(Socket::ask(address, "run", &json!({"scenario": SHORT, "variant": "cubik"})).await)
            .await;
    assert!(heard[0]["message"].as_str().expect("text").contains("did you mean `cubic`?"));
}

#[tokio::test]
async fn a_comparison_ranks_and_a_figure_is_judged() {
    let address = server(Limits::default()).await;
    let asked =
        json!({"what": "compare", "scenario": SHORT, "variants": ["cubic", "xstp"], "reps": 2});
    let heard = all(Socket::ask(address, "study", &asked).await).await;
    let rows =
        heard.last().expect("an end")["comparison"]["rows"].as_array().expect("rows").clone();
    assert_eq!((rows.len(), &rows[0]["rank"], &rows[0]["goodput"]["n"]), (2, &json!(1), &json!(2)));
    let asked = json!({"what": "reproduce", "experiment": "/etc/x.toml"});
    let heard = all(Socket::ask(address, "study", &asked).await).await;
    assert!(heard[0]["message"].as_str().expect("text").contains("no experiment"), "{heard:?}");
    let asked =
        json!({"what": "compare", "scenario": SHORT, "variants": ["cubic"], "reps": u64::MAX});
    let heard = all(Socket::ask(address, "study", &asked).await).await;
    assert!(heard[0]["message"].as_str().expect("text").contains("at most 1000"), "{heard:?}");
}

#[tokio::test]
async fn a_sky_has_a_course_and_positions() {
    let address = server(Limits::default()).await;
    let asked = json!({
        "constellation": "iridium", "from": "London", "to": "Boston",
        "duration_s": 600.0, "step_s": 10.0, "update_interval_s": 10.0,
    });
    let mut socket = Socket::ask(address, "sky", &asked).await;
    let sky = socket.hear().await.expect("a sky");
    assert_eq!(sky["satellites"].as_array().expect("names").len(), 66);
    let mut samples = 0;
    loop {
        let part = socket.hear().await.expect("a part");
        let seen = part["samples"].as_array().expect("samples").clone();
        samples += seen.len();
        assert!(
            seen.iter().all(|sample| sample["delay_s"].as_f64().is_some_and(|delay| delay > 0.01))
        );
        if part["is_last"] == true {
            break;
        }
    }
    assert_eq!(samples, 61);
    socket.say(&json!({"at": [0.0, 60.0]})).await;
    for time in [0.0, 60.0] {
        let frame = socket.frame().await;
        assert_eq!(frame.len(), 8 + 24 * 66);
        assert_eq!(f64::from_le_bytes(frame[..8].try_into().expect("eight bytes")), time);
    }
}

#[tokio::test]
async fn czml_is_given_up_when_its_page_goes() {
    let address = server(Limits { at_once: 1, ..Limits::default() }).await;
    let sky = json!({
        "constellation": "starlink", "from": "London", "to": "Boston",
        "duration_s": 86_400, "step_s": 5, "update_interval_s": 5,
    });
    let body = json!({"sky": sky, "at_s": 0}).to_string();
    let request = format!(
        "POST /api/sky/czml HTTP/1.1\r\nHost: {address}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut page = TcpStream::connect(address).await.expect("it listens");
    page.write_all(request.as_bytes()).await.expect("it reads");
    let busy = json!({"scenario": SHORT});
    let kind = async || {
        let first = Socket::ask(address, "run", &busy).await.hear().await.expect("an answer");
        first["kind"].as_str().unwrap_or_default().to_owned()
    };
    // It has the one place now, and would have it for minutes.
    while kind().await != "wrong" {}
    drop(page);
    while kind().await != "began" {}
}
