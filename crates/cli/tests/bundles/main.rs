//! Bundle nodes as programs: over XSTP with a relay that is killed, and with other implementations.

mod nodes;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use bentpipe_testkit::pattern;

use nodes::{Node, Running, bentpipe, file_of, free, output};

/// A source, a relay and a destination, each with the key of its neighbours.
fn chain(dir: &Path) -> [Node; 3] {
    let [(earth, earth_key), (relay, relay_key), (mars, mars_key)] =
        ["earth", "relay", "mars"].map(|name| Node::new(dir, name));
    let port = free();
    relay.configure(&format!(
        "[[listen]]\nlayer = \"xstp\"\naddress = \"127.0.0.1:{port}\"\n\
         [neighbours.earth]\nnode = \"dtn://earth/\"\nlayer = \"xstp\"\nkey = \"{earth_key}\"\n\
         [neighbours.mars]\nnode = \"dtn://mars/\"\nlayer = \"xstp\"\nkey = \"{mars_key}\"\n"
    ));
    for node in [&earth, &mars] {
        node.configure(&format!(
            "[limits]\nretry = \"1 s\"\n\
             [neighbours.relay]\nnode = \"dtn://relay/\"\nlayer = \"xstp\"\nkey = \"{relay_key}\"\n\
             address = \"127.0.0.1:{port}\"\n[[routes]]\nto = \"*\"\nvia = \"relay\"\n"
        ));
    }
    [earth, relay, mars]
}

#[test]
fn over_a_relay_that_is_killed_again_and_again_all_that_was_handed_over_arrives_once() {
    const BUNDLES: usize = 24;
    let dir = tempfile::tempdir().expect("a directory");
    let [earth, relay, mars] = chain(dir.path());
    let _earth = earth.start();
    let mut running = relay.start();
    let mut sent = BTreeMap::new();
    let file = dir.path().join("file");
    let (mut at_mars, mut mail) = (None, None);
    for number in 0..BUNDLES {
        let content = pattern(1 + number * 7_001);
        fs::write(&file, &content).expect("written");
        let id = earth.send("dtn://mars/mail", &file, &["--from", "mail"]);
        assert!(sent.insert(id, content.to_vec()).is_none(), "a name was given twice");
        if number % 4 == 1 {
            running.kill();
            running = relay.start();
        }
        // The destination comes late.
        if number == BUNDLES / 2 {
            at_mars = Some(mars.start());
            mail = Some(mars.recv("mail", &dir.path().join("inbox")));
        }
    }
    let mut mail = mail.expect("an application");
    let mut come: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for _ in 0..BUNDLES {
        let line = mail.line();
        let (id, _) = line.split_once("  ").expect("a name");
        assert!(come.insert(id.to_owned(), file_of(&line)).is_none(), "{line}: once more");
    }
    assert!(come == sent, "not what was sent");
    let files = fs::read_dir(dir.path().join("inbox")).expect("the directory").count();
    assert_eq!(files, BUNDLES);
    // The destination has taken each of them once, whatever the relay has forgotten.
    assert!(
        mars.list().contains(&format!(" 0 bundles; since it began {BUNDLES} taken")),
        "{}",
        mars.list()
    );
    drop((running, at_mars));
}

#[test]
fn who_claims_over_tcpcl_to_be_a_neighbour_with_a_key_gets_none_of_its_bundles() {
    let dir = tempfile::tempdir().expect("a directory");
    let [earth, relay, mars] = chain(dir.path());
    let (port, file) = (free(), dir.path().join("file"));
    let settings = fs::read_to_string(dir.path().join("relay.toml")).expect("a file");
    let (own, rest) = settings.split_once("[[listen]]").expect("a listener");
    let listen = format!("[[listen]]\nlayer = \"tcpcl\"\naddress = \"127.0.0.1:{port}\"\n");
    fs::write(dir.path().join("relay.toml"), format!("{own}{listen}[[listen]]{rest}"))
        .expect("written");
    let (_relay, _earth) = (relay.start(), earth.start());
    fs::write(&file, b"for mars").expect("written");
    earth.send("dtn://mars/mail", &file, &["--from", "mail"]);
    let far = dir.path().join("thief");
    fs::create_dir(&far).expect("a directory");
    let (thief, _) = Node::new(&far, "mars");
    thief.configure(&format!(
        "[neighbours.relay]\nnode = \"dtn://relay/\"\nlayer = \"tcpcl\"\n\
         address = \"127.0.0.1:{port}\"\n[[routes]]\nto = \"*\"\nvia = \"relay\"\n"
    ));
    let _thief = thief.start();
    // What it gives is taken, so that its session is there.
    thief.send("dtn://earth/mail", &file, &["--from", "mail"]);
    assert_eq!(file_of(&earth.recv("mail", &dir.path().join("earth-inbox")).line()), b"for mars");
    let _mars = mars.start();
    let line = mars.recv("mail", &dir.path().join("inbox")).line();
    assert_eq!(file_of(&line), b"for mars");
    assert!(thief.list().contains(" 0 bundles; since it began 1 taken"), "{}", thief.list());
}

#[test]
fn reports_come_back_and_a_node_that_was_killed_has_what_it_took() {
    let dir = tempfile::tempdir().expect("a directory");
    let [earth, relay, mars] = chain(dir.path());
    let file = dir.path().join("file");
    fs::write(&file, "hello").expect("written");
    let running = earth.start();
    let asks = ["--from", "mail", "--report", "delivered", "--report", "forwarded"];
    let id = earth.send("dtn://mars/mail", &file, &asks);
    // Nobody but it was there.
    running.kill();
    let _running = [earth.start(), relay.start(), mars.start()];
    assert_eq!(file_of(&mars.recv("mail", &dir.path().join("inbox")).line()), b"hello");
    let mut reports = earth.recv("mail", &dir.path().join("reports"));
    let mut said: Vec<String> = (0..3).map(|_| reports.line()).collect();
    said.sort_by_key(|line| line.contains("delivered"));
    for (line, what) in said.iter().zip(["forwarded", "forwarded", "delivered"]) {
        assert!(line.ends_with(&format!("{id}: {what}, reason 0")), "{line}");
    }
}

#[test]
fn what_cannot_be_is_refused_with_what_would_be_right() {
    let dir = tempfile::tempdir().expect("a directory");
    let (earth, _) = Node::new(dir.path(), "earth");
    earth.configure("[limits]\nlargest = \"1 kB\"\n");
    let file = dir.path().join("file");
    fs::write(&file, [0; 2000]).expect("written");
    let fails = |more: &[&str], to: &str| {
        let mut command = bentpipe();
        command.args(["bundle", "send", "--to", to, "--node"]).arg(earth.store());
        let output = command.args(more).arg(&file).output().expect("it starts");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = fails(&[], "dtn://mars/mail");
    assert_eq!(code, Some(1));
    assert!(
        said.contains("no node answers at") && said.contains("bundle node NODE.toml"),
        "{said}"
    );
    let _earth = earth.start();
    let (code, said) = fails(&[], "dtn://mars/mail");
    assert!(code == Some(2) && said.contains("2000 bytes, and this node takes"), "{said}");
    fs::write(&file, "short").expect("written");
    let (code, said) = fails(&[], "mars");
    assert!(code == Some(2) && said.contains("write dtn://NODE/SERVICE"), "{said}");
    let (code, said) = fails(&["--from", "dtn://mars/x"], "dtn://mars/mail");
    assert!(code == Some(2) && said.contains("no endpoint of this node"), "{said}");
    let second = bentpipe().args(["bundle", "node"]).arg(dir.path().join("earth.toml")).output();
    let second = second.expect("it starts");
    assert!(String::from_utf8_lossy(&second.stderr).contains("another node has this store"));
}

#[test]
fn a_bundle_is_deleted_by_its_name_and_one_that_is_not_there_is_named() {
    let dir = tempfile::tempdir().expect("a directory");
    let (earth, _) = Node::new(dir.path(), "earth");
    earth.configure("");
    let _earth = earth.start();
    let file = dir.path().join("file");
    fs::write(&file, "a mistake").expect("written");
    let id = earth.send("dtn://mars/mail", &file, &[]);
    let delete = |id: &str| {
        let mut command = bentpipe();
        command.args(["bundle", "delete", "--node"]).arg(earth.store()).arg(id);
        command.output().expect("it starts")
    };
    let done = delete(&id);
    assert!(done.status.success());
    assert_eq!(String::from_utf8_lossy(&done.stdout), format!("{id}: deleted\n"));
    assert!(earth.list().contains(" 0 bundles;"), "{}", earth.list());
    let done = delete(&id);
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.code() == Some(2) && said.contains(&format!("no bundle {id}")), "{said}");
}

#[test]
fn a_report_that_cannot_be_printed_stays_at_the_node() {
    let dir = tempfile::tempdir().expect("a directory");
    let (earth, _) = Node::new(dir.path(), "earth");
    earth.configure("");
    let _earth = earth.start();
    let (file, inbox) = (dir.path().join("file"), dir.path().join("inbox"));
    fs::write(&file, "hello").expect("written");
    let asks = ["--from", "reports", "--report", "delivered"];
    let id = earth.send("dtn://earth/mail", &file, &asks);
    earth.recv("mail", &inbox).line();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("a device");
    let ended = earth.recv_once("reports", &inbox).stdout(full).status().expect("it starts");
    assert!(!ended.success());
    let line = earth.recv("reports", &inbox).line();
    assert!(line.ends_with(&format!("{id}: delivered, reason 0")), "{line}");
}

#[test]
fn a_node_leaves_the_socket_of_another_one_alone() {
    let dir = tempfile::tempdir().expect("a directory");
    let [(earth, _), (mars, _)] = ["earth", "mars"].map(|name| Node::new(dir.path(), name));
    earth.configure("");
    let socket = earth.store().join("socket");
    mars.configure(&format!("socket = \"{}\"\n", socket.display()));
    let running = earth.start();
    let second = bentpipe().args(["bundle", "node"]).arg(dir.path().join("mars.toml")).output();
    let second = second.expect("it starts");
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(!second.status.success() && said.contains("another node answers there"), "{said}");
    assert!(earth.list().contains("dtn://earth/: 0 bundles"));
    // One that was killed leaves it behind.
    running.kill();
    let _mars = mars.start();
}

#[test]
fn what_cannot_be_written_stays_at_the_node() {
    let dir = tempfile::tempdir().expect("a directory");
    let (earth, _) = Node::new(dir.path(), "earth");
    earth.configure("");
    let _earth = earth.start();
    let (file, inbox) = (dir.path().join("file"), dir.path().join("inbox"));
    fs::write(&file, "hello").expect("written");
    earth.send("dtn://earth/mail", &file, &[]);
    // An application that ends before it confirms knows which file it would have been.
    let mut socket = UnixStream::connect(earth.store().join("socket")).expect("connected");
    socket.write_all(b"{\"recv\":{\"endpoint\":\"mail\"}}\n").expect("written");
    let mut line = String::new();
    BufReader::new(socket).read_line(&mut line).expect("a line");
    let delivered: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    let said = |key: &str| delivered[key].as_str().expect("a text").to_owned();
    let numbers = said("id").split_once('@').expect("a source").0.to_owned();
    let obstacle = inbox.join(format!("{numbers}-{}", said("hash")));
    fs::create_dir_all(&obstacle).expect("a directory");
    let receive = || earth.recv_once("mail", &inbox).output().expect("it starts");
    let failed = receive();
    let said = String::from_utf8_lossy(&failed.stderr);
    assert!(failed.status.code() == Some(1) && said.contains(&numbers), "{said}");
    assert_eq!(fs::read_dir(&inbox).expect("the directory").count(), 1, "a part is left");
    fs::remove_dir(&obstacle).expect("removed");
    assert!(receive().status.success());
    assert_eq!(fs::read_to_string(&obstacle).expect("the payload"), "hello");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test of sockets")]
fn strangers_who_say_nothing_keep_no_place() {
    let dir = tempfile::tempdir().expect("a directory");
    let [(earth, _), (mars, _)] = ["earth", "mars"].map(|name| Node::new(dir.path(), name));
    let port = free();
    mars.configure(&format!(
        "[limits]\nidle_timeout = \"1 s\"\n[[listen]]\nlayer = \"mtcp\"\naddress = \"127.0.0.1:{port}\"\n"
    ));
    earth.configure(&format!(
        "[neighbours.mars]\nnode = \"dtn://mars/\"\nlayer = \"mtcp\"\naddress = \"127.0.0.1:{port}\"\n"
    ));
    let _mars = mars.start();
    let strangers: Vec<TcpStream> =
        (0..16).map(|_| TcpStream::connect(("127.0.0.1", port)).expect("connected")).collect();
    let _earth = earth.start();
    let file = dir.path().join("file");
    fs::write(&file, "hello").expect("written");
    earth.send("dtn://mars/mail", &file, &[]);
    let mut mail = mars.recv("mail", &dir.path().join("inbox"));
    assert_eq!(file_of(&mail.line()), b"hello");
    drop(strangers);
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A script in Python with pyd3tn, if that is installed.
fn pyd3tn(script: &str) -> Option<Command> {
    let python = root().join(".venv/bin/python");
    let there = Command::new(&python).args(["-c", "import pyd3tn"]).output();
    if !there.is_ok_and(|it| it.status.success()) {
        println!("skipped: pyd3tn is not installed; `make setup` does that");
        return None;
    }
    let mut command = Command::new(python);
    command.arg("-u").arg(root().join("crates/cli/tests/data").join(script));
    Some(command)
}

/// A node that speaks MTCP with pyd3tn: where it listens, and where it calls.
fn beside_pyd3tn(dir: &Path, calls: u16) -> (Node, u16) {
    let (node, _) = Node::new(dir, "here");
    let port = free();
    node.configure(&format!(
        "[[listen]]\nlayer = \"mtcp\"\naddress = \"127.0.0.1:{port}\"\n\
         [neighbours.py]\nnode = \"dtn://py/\"\nlayer = \"mtcp\"\naddress = \"127.0.0.1:{calls}\"\n"
    ));
    (node, port)
}

#[test]
fn bundles_of_pyd3tn_arrive_over_mtcp_and_it_gets_the_reports() {
    let Some(mut sender) = pyd3tn("mtcp_send.py") else { return };
    let Some(mut receiver) = pyd3tn("mtcp_recv.py") else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let calls = free();
    let mut receiver = Running::start(receiver.arg(calls.to_string()));
    receiver.until("listening");
    let (node, port) = beside_pyd3tn(dir.path(), calls);
    let _node = node.start();
    let mut mail = node.recv("mail", &dir.path().join("inbox"));
    let sizes = ["0", "1", "23", "24", "300", "70000"];
    let printed = output(sender.arg(port.to_string()).args(sizes));
    let mut sums: Vec<String> = Vec::new();
    for size in sizes {
        let content = file_of(&mail.line());
        assert_eq!(content.len().to_string(), size);
        sums.push(content.iter().map(|byte| u64::from(*byte)).sum::<u64>().to_string());
    }
    assert_eq!(printed.lines().collect::<Vec<_>>(), sums);
    for _ in sizes {
        assert_eq!(receiver.line(), "report from dtn://here/: delivered True");
    }
}

#[test]
fn pyd3tn_reads_bundles_over_mtcp() {
    let Some(mut receiver) = pyd3tn("mtcp_recv.py") else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let calls = free();
    let (node, _) = beside_pyd3tn(dir.path(), calls);
    let _node = node.start();
    let file = dir.path().join("file");
    let mut expected = Vec::new();
    for len in [0, 5, 255, 256, 66_000] {
        let content = pattern(len);
        fs::write(&file, &content).expect("written");
        node.send("dtn://py/mail", &file, &["--from", "mail"]);
        let sum: u64 = content.iter().map(|byte| u64::from(*byte)).sum();
        expected.push(format!("dtn://here/mail to dtn://py/mail: {len} bytes, {sum}"));
    }
    // It comes late.
    let mut receiver = Running::start(receiver.arg(calls.to_string()));
    receiver.until("listening");
    for line in expected {
        assert_eq!(receiver.line(), line);
    }
}

/// The programs of dtn7, in the folder that BENTPIPE_DTN7 names.
fn dtn7(name: &str) -> Command {
    let folder = std::env::var("BENTPIPE_DTN7").expect("BENTPIPE_DTN7 names the folder of dtnd");
    Command::new(Path::new(&folder).join(name))
}

#[test]
#[ignore = "needs dtn7: `cargo install dtn7 --locked --root /tmp/dtn7`, then BENTPIPE_DTN7=/tmp/dtn7/bin and --ignored"]
fn dtn7_and_this_exchange_bundles_over_tcpcl_whoever_calls() {
    for calls in [true, false] {
        let dir = tempfile::tempdir().expect("a directory");
        let (here, there, web) = (free(), free(), free());
        let (node, _) = Node::new(dir.path(), "here");
        let address =
            if calls { format!("address = \"127.0.0.1:{there}\"\n") } else { String::new() };
        node.configure(&format!(
            "[limits]\nrequire_crc = false\n\
             [[listen]]\nlayer = \"tcpcl\"\naddress = \"127.0.0.1:{here}\"\n\
             [neighbours.dtn7]\nnode = \"dtn://there/\"\nlayer = \"tcpcl\"\n{address}"
        ));
        let _node = node.start();
        let mut daemon = dtn7("dtnd");
        daemon.current_dir(dir.path()).args(["-n", "there", "-e", "mail", "-d", "-D", "mem"]);
        daemon.args(["--disable_nd", "-i", "0", "-r", "epidemic", "-j", "1s"]);
        daemon.args(["-w", &web.to_string(), "-C", &format!("tcp:port={there}:bind=127.0.0.1")]);
        if !calls {
            daemon.args(["-s", &format!("tcp://127.0.0.1:{here}/here")]);
        }
        let _daemon = Running::start(&mut daemon);
        let file = dir.path().join("file");
        // It takes 64,000 bytes, whatever it is asked.
        let content = pattern(60_000);
        fs::write(&file, &content).expect("written");
        let from_here = || {
            node.send("dtn://there/mail", &file, &["--from", "mail"]);
            let got = dir.path().join("got");
            loop {
                let mut recv = dtn7("dtnrecv");
                recv.args(["-e", "mail", "-p", &web.to_string(), "-o"]).arg(&got);
                let _ = recv.output().expect("it starts");
                if fs::read(&got).is_ok_and(|got| got == content) {
                    break;
                }
            }
        };
        let from_there = || {
            let mut mail = node.recv("mail", &dir.path().join("inbox"));
            let mut send = dtn7("dtnsend");
            send.args(["-r", "dtn://here/mail", "-p", &web.to_string()]).arg(&file);
            // Its daemon may not be listening yet.
            while !send.output().expect("it starts").status.success() {}
            assert_eq!(file_of(&mail.line()), content);
        };
        // It calls when it has something to say.
        if calls {
            from_here();
            from_there();
        } else {
            from_there();
            from_here();
        }
    }
}
