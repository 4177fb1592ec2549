//! File transfer between two hosts on the loopback interface.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use bentpipe_net::transfer::{PORT, Progress, TransferError, entries, receive, send};
use bentpipe_net::{Connection, Host, SecretKey, Security};
use bentpipe_testkit::pattern;
use bentpipe_transport::xstp::Config;
use bentpipe_units::ByteCount;

fn config() -> Arc<Config> {
    Arc::new(Config {
        mss: 1400,
        snd_buf: ByteCount::new(2_000_000),
        rcv_buf: ByteCount::new(2_000_000),
        cwnd_init: 256,
        max_burst: 64,
        ..Config::default()
    })
}

/// Two connected hosts; the second end receives.
async fn pair() -> (Host, Connection, Host, Connection) {
    let [a, b] = [(); 2].map(|()| SecretKey::generate());
    let any = "127.0.0.1:0".parse().expect("an address");
    let server = Host::bind(any, b.clone(), Security::Full).expect("a server");
    server.allow(a.public());
    server.listen(config());
    let client = Host::bind(any, a, Security::Full).expect("a client");
    let address = server.local_addr();
    let (connected, accepted) =
        tokio::join!(client.connect(address, b.public(), PORT, config()), server.accept());
    (client, connected.expect("a connection"), server, accepted)
}

fn silent(_: Progress) {}

async fn transfer(paths: &[PathBuf], dir: &Path) -> bentpipe_net::transfer::Outcome {
    let (_client, from, _server, to) = pair().await;
    let (found, errors) = entries(paths);
    assert!(errors.is_empty(), "{errors:?}");
    let (sent, received) = tokio::join!(send(&from, &found, silent), receive(&to, dir, silent));
    let received = received.expect("received");
    let sent = sent.expect("sent");
    assert_eq!((sent.done, sent.failed), (received.done, received.failed));
    sent
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_arrives_as_it_is() {
    let [from, to] = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
    let root = from.path().join("tree");
    fs::create_dir_all(root.join("deep/er")).expect("made");
    fs::write(root.join("big"), pattern(3_000_000)).expect("written");
    fs::write(root.join("deep/er/empty"), "").expect("written");
    for n in 0..50 {
        fs::write(root.join(format!("deep/{n}")), pattern(n * 10)).expect("written");
    }
    let outcome = transfer(std::slice::from_ref(&root), to.path()).await;
    assert_eq!((outcome.done, outcome.failed), (55, 0));
    let same = |name: &str| {
        let [a, b] = [from.path(), to.path()].map(|dir| dir.join("tree").join(name));
        assert_eq!(fs::read(&a).expect("read"), fs::read(&b).expect("read"), "{name}");
        let times = [a, b].map(|path| fs::metadata(path).and_then(|m| m.modified()).expect("time"));
        assert_eq!(times[0], times[1], "{name}");
    };
    same("big");
    same("deep/er/empty");
    (0..50).for_each(|n| same(&format!("deep/{n}")));
    assert_eq!(fs::read_dir(to.path().join("tree")).expect("a directory").count(), 2);
    let again = transfer(&[root], to.path()).await;
    assert_eq!((again.done, again.failed), (55, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_is_missing_is_sent_again() {
    let [from, to] = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
    let path = from.path().join("file");
    let data = pattern(40_000_000);
    fs::write(&path, &data).expect("written");
    // What a receiver that was killed left behind, and what it left of another version.
    fs::write(to.path().join(".file.bentpipe-part"), &data[..35_000_000]).expect("written");
    let outcome = transfer(std::slice::from_ref(&path), to.path()).await;
    assert_eq!((outcome.done, outcome.failed), (1, 0));
    assert!(outcome.skipped > 10_000_000, "{outcome:?}");
    assert_eq!(outcome.skipped + outcome.sent, 40_000_000);
    assert_eq!(fs::read(to.path().join("file")).expect("read"), data);
    fs::remove_file(to.path().join("file")).expect("removed");
    fs::write(to.path().join(".file.bentpipe-part"), pattern(99).repeat(9_999)).expect("written");
    let outcome = transfer(&[path], to.path()).await;
    assert_eq!((outcome.done, outcome.skipped), (1, 0));
    assert_eq!(fs::read(to.path().join("file")).expect("read"), data);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_is_gone_leaves_nothing_under_the_final_name() {
    let [from, to] = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
    let path = from.path().join("file");
    fs::write(&path, pattern(20_000_000)).expect("written");
    let (_client, sender, _server, receiver) = pair().await;
    let (found, _) = entries(&[path]);
    let seen = Mutex::new(0);
    let dir = to.path().to_owned();
    let (sent, received) = tokio::join!(
        async {
            let watch = |progress| {
                if let Progress::At { offset } = progress {
                    *seen.lock().expect("a lock") = offset;
                }
            };
            tokio::select! {
                result = send(&sender, &found, watch) => result.map(drop),
                () = async {
                    while *seen.lock().expect("a lock") < 2_000_000 {
                        tokio::task::yield_now().await;
                    }
                } => Err(TransferError::Cut),
            }?;
            Ok::<_, TransferError>(())
        },
        async {
            let received = receive(&receiver, &dir, silent);
            tokio::select! {
                result = received => result.map(drop),
                () = async {
                    while *seen.lock().expect("a lock") < 2_000_000 {
                        tokio::task::yield_now().await;
                    }
                } => Err(TransferError::Cut),
            }
        },
    );
    assert!(sent.is_err() && received.is_err());
    assert!(!to.path().join("file").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_entry_that_fails_does_not_stop_the_others() {
    let [from, to] = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
    let names = ["a", "b", "c"].map(|name| from.path().join(name));
    for name in &names {
        fs::write(name, pattern(100_000)).expect("written");
    }
    // A directory is in the way of the second one, and the third has vanished.
    fs::create_dir(to.path().join("b")).expect("made");
    let (_client, sender, _server, receiver) = pair().await;
    let (found, _) = entries(&names);
    fs::remove_file(&names[2]).expect("removed");
    let failures = Mutex::new(Vec::new());
    let note = |progress| {
        if let Progress::Failed { name, reason } = progress {
            failures.lock().expect("a lock").push((name, reason));
        }
    };
    let (sent, received) =
        tokio::join!(send(&sender, &found, note), receive(&receiver, to.path(), silent));
    assert_eq!(sent.map(|o| (o.done, o.failed)).expect("an outcome"), (1, 2));
    assert_eq!(received.map(|o| (o.done, o.failed)).expect("an outcome"), (1, 2));
    let failures = failures.into_inner().expect("a list");
    assert_eq!(failures.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["b", "c"]);
    assert_eq!(fs::read(to.path().join("a")).expect("read"), pattern(100_000));
}
