//! Programs that people use, through `bentpipe gateway` and between hosts that know nothing of it. Needs root and the
//! programs, and says so where it is skipped. `bench/programs.sh` does the same over a satellite link.

mod namespaces;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use bentpipe_testkit::pattern;
use rustix::process::{Pid, Signal, kill_process};

use namespaces::site::{Site, can_run};
use namespaces::{Host, inside, until};

const ADDRESS: &str = "10.61.3.2";
const NEEDED: [&str; 9] = ["nginx", "git", "ssh", "scp", "sshd", "rsync", "curl", "openssl", "ss"];
/// Files that are fetched side by side.
const FILES: usize = 20;

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/programs").join(name)
}

/// The servers, which end with the test.
struct Servers(Child);

impl Servers {
    fn start(host: &Host, dir: &Path) -> Self {
        let child = inside(host.id(), || {
            let mut command = Command::new(script("serve.sh"));
            command.arg(dir).arg(ADDRESS).stdin(Stdio::null()).spawn().expect("it starts")
        });
        let servers = Self(child);
        until(|| dir.join("ready").exists().then_some(()));
        servers
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
        let _ = self.0.wait();
    }
}

#[test]
fn curl_git_ssh_scp_and_rsync_get_what_the_servers_have() {
    if !can_run("programs through the gateway", &NEEDED) {
        return;
    }
    let site = Site::new();
    let _gateways = site.gateways();
    let dir = site.dir.path().join("servers");
    fs::create_dir_all(dir.join("files")).expect("a directory");
    for number in 0..FILES {
        let content = pattern(5_000 * number + 1);
        fs::write(dir.join(format!("files/{number}.js")), content).expect("a file");
    }
    let _servers = Servers::start(&site.server, &dir);
    for program in
        ["http1", "http2", "http2-many", "git", "ssh", "scp-down", "scp-up", "rsync", "rsync-ssh"]
    {
        let output = inside(site.client.id(), || {
            Command::new(script("use.sh")).arg(&dir).arg(ADDRESS).arg(program).output()
        });
        let output = output.expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program}: {said}");
    }
}
