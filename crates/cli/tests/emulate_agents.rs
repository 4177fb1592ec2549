//! Agents, queue disciplines and shared uplinks of the emulator, on the TCP of the kernel. What needs root says so and is
//! skipped without it.

mod namespaces;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use namespaces::can_make_namespaces;

/// A wire, and a link through the air that loses one packet in fifty on its way to the client.
const AIR: &str = r#"
name = "air"
duration = "10 min"
nodes = ["server", "base", "client"]

[links.wire]
between = ["server", "base"]
rate = "20 Mbit/s"
queue = "500 packets"
delay = "40 ms"

[links.air]
between = ["base", "client"]
rate = "10 Mbit/s"
queue = "100 packets"
delay = "5 ms"
forward = { loss = 0.02 }

[flows.file]
from = "server"
to = "client"
protocol = "tcp"
"#;
const SNOOP: &str = r#"
[agents.repair]
at = "base"
link = "air"
agent = "snoop"
"#;
/// A queue that drops early on the way down, and slots on demand on the way up, behind a filter of acknowledgments.
const UPLINK: &str = r#"
name = "uplink"
duration = "10 min"
nodes = ["hub", "terminal", "elsewhere"]

[links.satellite]
between = ["hub", "terminal"]
delay = "20 ms"
forward = { rate = "10 Mbit/s", queue = { discipline = "codel", limit = "1000 packets" } }
return = { queue = { discipline = "ack-filter", limit = "50 packets" } }

[links.other]
between = ["hub", "elsewhere"]
delay = "20 ms"
forward = { rate = "10 Mbit/s", queue = "100 packets" }
return = { queue = "100 packets" }

[uplinks.shared]
to = "hub"
links = ["satellite", "other"]
rate = "256 kbit/s"
access = "cf-dama"

[flows.file]
from = "hub"
to = "terminal"
protocol = "tcp"
"#;

/// Bytes of the file that is fetched.
const LENGTH: usize = 1_000_000;

/// What a download took and what became of its packets.
#[derive(Debug)]
struct Download {
    seconds: f64,
    counters: Value,
}

impl Download {
    fn count(&self, direction: &str, what: &str) -> u64 {
        self.counters[direction][what].as_u64().expect("a count")
    }
}

fn emulate(folder: &Path, scenario: &str, rest: &[&str]) -> Output {
    let file = folder.join("scenario.toml");
    fs::write(&file, scenario).expect("written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_bentpipe"));
    command.arg("emulate").arg(file).args(rest).output().expect("it runs")
}

/// Fetches a file with curl from a server that sends with Reno, over HTTP and the links of a scenario.
fn download(scenario: &str) -> Download {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let sent: Vec<u8> = (0..LENGTH).map(|n| (n * 31 / 7 + n / 4096) as u8).collect();
    fs::create_dir(path("www")).expect("made");
    fs::write(path("www/file"), &sent).expect("written");
    let conf = format!(
        "worker_processes 1; daemon off; pid {0}/pid; error_log stderr; events {{}}\n\
         http {{ access_log off; client_body_temp_path {0}; proxy_temp_path {0}; \
         fastcgi_temp_path {0}; uwsgi_temp_path {0}; scgi_temp_path {0};\n\
         server {{ listen 80; root {0}/www; }} }}",
        folder.path().display()
    );
    fs::write(path("nginx.conf"), format!("user root; {conf}")).expect("written");
    let server = format!(
        "echo reno > /proc/sys/net/ipv4/tcp_congestion_control; exec /usr/sbin/nginx -c {}",
        path("nginx.conf").display()
    );
    let got = path("got").display().to_string();
    let rest = ["--netns", "--json", "--server", &server, "--", "curl", "-s", "-o", &got];
    let url = ["-w", "%{time_total}\n", "http://10.53.0.2/file"];
    let ended = emulate(folder.path(), scenario, &[&rest[..], &url].concat());
    let errors = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{errors}");
    assert!(fs::read(&got).expect("a file") == sent, "other bytes; {errors}");
    let said = String::from_utf8_lossy(&ended.stdout);
    let (seconds, counters) = said.split_once('\n').expect("a line");
    Download {
        seconds: seconds.parse().expect("seconds"),
        counters: serde_json::from_str(counters).expect("JSON"),
    }
}

#[test]
fn snoop_repairs_the_losses_of_a_link_so_that_curl_takes_less_time() {
    if !can_make_namespaces() {
        return;
    }
    let (without, with) = (download(AIR), download(&[AIR, SNOOP].concat()));
    assert_eq!(without.count("forward", "sent_by_agents"), 0);
    assert!(without.count("forward", "lost") > 0 && with.count("forward", "lost") > 0);
    assert!(with.count("forward", "sent_by_agents") > 0, "{with:?}");
    assert!(with.count("return", "suppressed") > 0, "{with:?}");
    assert!(with.seconds < without.seconds, "{with:?} {without:?}");
}

#[test]
fn a_discipline_a_filter_and_a_shared_uplink_act_on_what_the_kernel_sends() {
    if !can_make_namespaces() {
        return;
    }
    let fetched = download(UPLINK);
    assert!(fetched.count("return", "acks_filtered") > 0, "{fetched:?}");
    let hit = fetched.count("forward", "lost_early") + fetched.count("forward", "marked");
    assert!(hit > 0, "{fetched:?}");
}

#[test]
fn agents_need_packets_of_ip() {
    let folder = tempfile::tempdir().expect("a folder");
    let scenario = [AIR, SNOOP].concat();
    let refused = emulate(folder.path(), &scenario, &["--udp", "127.0.0.1:0=127.0.0.1:9"]);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("scenario.toml: agents see packets of IP"), "{said}");
}
