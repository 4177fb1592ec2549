//! File transfer between two hosts on the loopback interface.

mod slow;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bentpipe_association::host::Connection;
use bentpipe_association::{SecretKey, Security};
use bentpipe_net::Host;
use bentpipe_net::transfer::{Inbox, Links, entries, receive, send};
use bentpipe_testkit::pattern;
use bentpipe_transfer::frames::{Frame, Frames, Message, Reply, message};
use bentpipe_transfer::memory_disk::MemoryDisk;
use bentpipe_transfer::{Outcome, PORT, Progress, Rules, TransferError};
use bentpipe_transport::xstp::Config;
use bentpipe_units::ByteCount;
use slow::Proxy;

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

/// Two hosts that know each other; the second one listens.
fn hosts() -> (Host, Host) {
    let [a, b] = [(); 2].map(|()| SecretKey::generate());
    let any = "127.0.0.1:0".parse().expect("an address");
    let server = Host::bind(any, b, Security::Full).expect("a server");
    server.allow(a.public());
    server.listen(config());
    (Host::bind(any, a, Security::Full).expect("a client"), server)
}

/// Two connected hosts; the second end receives.
async fn pair() -> (Host, Connection, Host, Connection) {
    let (client, server) = hosts();
    let (connected, accepted) = tokio::join!(
        client.connect(server.local_addr(), server.public_key(), PORT, config()),
        server.accept()
    );
    (client, connected.expect("a connection"), server, accepted)
}

fn silent(_: Progress) {}

fn from_a() -> Rules {
    Rules { sender: Some("a".to_owned()), overwrite: false }
}

async fn transfer(paths: &[PathBuf], dir: &Path) -> Outcome {
    let (_client, from, _server, to) = pair().await;
    let (found, errors) = entries(paths, Links::Skip);
    assert!(errors.is_empty(), "{errors:?}");
    let (sent, received) =
        tokio::join!(send(&from, &found, silent), receive(&to, Inbox::new(dir), from_a(), silent));
    let received = received.expect("received");
    let sent = sent.expect("sent");
    assert_eq!((sent.done, sent.failed), (received.done, received.failed));
    sent
}

/// A receiver that has the file already and leaves as soon as the sender has said that it may keep it.
async fn keep_and_leave(to: &Connection, bytes: &[u8]) {
    let mut frames = Frames::default();
    loop {
        match frames.next::<Message>(to).await.expect("a frame") {
            Some(Frame::Message(Message::Offer(_))) => {
                let hash = *blake3::hash(bytes).as_bytes();
                let have = Reply::Have { entry: 0, len: bytes.len() as u64, hash, whole: true };
                to.write_bytes(message(&have)).await.expect("written");
            }
            Some(Frame::Message(Message::Keep)) => break to.close(),
            Some(_) => {}
            None => panic!("the sender left first"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_left_when_it_could_keep_the_last_file_is_no_failure() {
    let dir = tempfile::tempdir().expect("a directory");
    let (path, bytes) = (dir.path().join("file"), pattern(3_000_000));
    fs::write(&path, &bytes).expect("written");
    let (found, _) = entries(&[path], Links::Skip);
    let (_client, from, _server, to) = pair().await;
    // The sender hears of the end before it looks at what is settled.
    let wait_for_the_end = |progress: Progress| {
        if matches!(progress, Progress::Kept { .. }) {
            let mut context = Context::from_waker(Waker::noop());
            while !matches!(pin!(from.read_bytes()).poll(&mut context), Poll::Ready(Ok(None))) {
                std::thread::yield_now();
            }
        }
    };
    let receiver = tokio::spawn(async move { keep_and_leave(&to, &bytes).await });
    let sent = send(&from, &found, wait_for_the_end).await;
    receiver.await.expect("no panic");
    let sent = sent.expect("sent");
    assert_eq!((sent.done, sent.failed), (1, 0));
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
    assert!(outcome.had > 10_000_000, "{outcome:?}");
    assert_eq!(outcome.had + outcome.sent, 40_000_000);
    assert_eq!(fs::read(to.path().join("file")).expect("read"), data);
    fs::remove_file(to.path().join("file")).expect("removed");
    fs::write(to.path().join(".file.bentpipe-part"), pattern(99).repeat(9_999)).expect("written");
    let outcome = transfer(&[path], to.path()).await;
    assert_eq!((outcome.done, outcome.had), (1, 0));
    assert_eq!(fs::read(to.path().join("file")).expect("read"), data);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_is_gone_leaves_nothing_under_the_final_name() {
    let [from, to] = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
    let path = from.path().join("file");
    fs::write(&path, pattern(20_000_000)).expect("written");
    let (_client, sender, _server, receiver) = pair().await;
    let (found, _) = entries(&[path], Links::Skip);
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
            let received = receive(&receiver, Inbox::new(&dir), from_a(), silent);
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
    let (found, _) = entries(&names, Links::Skip);
    fs::remove_file(&names[2]).expect("removed");
    let failures = Mutex::new(Vec::new());
    let note = |progress| {
        if let Progress::Failed { name, reason } = progress {
            failures.lock().expect("a lock").push((name, reason));
        }
    };
    let (sent, received) = tokio::join!(
        send(&sender, &found, note),
        receive(&receiver, Inbox::new(to.path()), from_a(), silent)
    );
    assert_eq!(sent.map(|o| (o.done, o.failed)).expect("an outcome"), (1, 2));
    assert_eq!(received.map(|o| (o.done, o.failed)).expect("an outcome"), (1, 2));
    let failures = failures.into_inner().expect("a list");
    let failed: Vec<_> = failures
        .iter()
        .map(|(name, why)| (name.as_str(), why.starts_with("at the receiver: ")))
        .collect();
    assert_eq!(failed, [("b", true), ("c", false)], "{failures:?}");
    assert_eq!(fs::read(to.path().join("a")).expect("read"), pattern(100_000));
}

/// All that is in a directory, with its bytes.
fn bytes_in(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut left = vec![dir.to_owned()];
    while let Some(next) = left.pop() {
        for entry in fs::read_dir(next).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                left.push(path);
            } else {
                let name = path.strip_prefix(dir).expect("inside").to_owned();
                all.insert(name, fs::read(path).expect("read"));
            }
        }
    }
    all
}

/// Inode and time of each file: whether anything was touched.
fn stamps(dir: &Path) -> BTreeMap<PathBuf, (u64, i64, i64)> {
    use std::os::unix::fs::MetadataExt;
    let stamp = |path: &PathBuf| {
        let metadata = fs::metadata(dir.join(path)).expect("a file");
        (metadata.ino(), metadata.ctime(), metadata.ctime_nsec())
    };
    bytes_in(dir).into_keys().map(|path| (path.clone(), stamp(&path))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn sending_again_changes_no_byte_however_often() {
    let [from, to] = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
    for (name, len) in [("empty", 0), ("small", 1_000), ("middle", 700_000), ("big", 10_000_000)] {
        fs::write(from.path().join(name), pattern(len)).expect("written");
        let path = [from.path().join(name)];
        transfer(&path, to.path()).await;
        let before = stamps(to.path());
        for _ in 0..4 {
            let again = transfer(&path, to.path()).await;
            assert_eq!((again.done, again.failed), (1, 0), "{name}");
            assert!(fs::read(to.path().join(name)).expect("read") == pattern(len), "{name}");
            assert_eq!(stamps(to.path()), before, "{name}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_that_is_there_stays_as_it_is() {
    let [from, to] = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
    let root = from.path().join("tree");
    fs::create_dir_all(root.join("deep")).expect("made");
    for n in 0..200 {
        fs::write(root.join(format!("deep/{n}")), pattern(20_000 + n)).expect("written");
    }
    transfer(std::slice::from_ref(&root), to.path()).await;
    let (bytes, before) = (bytes_in(from.path()), stamps(to.path()));
    for _ in 0..3 {
        let (client, server) = hosts();
        let proxy = Proxy::start(server.local_addr(), Duration::from_millis(150)).await;
        let (connected, receiver) = tokio::join!(
            client.connect(proxy.address, server.public_key(), PORT, config()),
            server.accept()
        );
        let sender = connected.expect("a connection");
        let (found, _) = entries(std::slice::from_ref(&root), Links::Skip);
        let inbox = Inbox::new(to.path());
        let (again, received) = tokio::join!(
            send(&sender, &found, silent),
            receive(&receiver, inbox, from_a(), silent)
        );
        let (again, received) = (again.expect("sent"), received.expect("received"));
        assert_eq!((again.done, again.failed, received.kept), (202, 0, 200));
        assert!(bytes_in(to.path()) == bytes);
        assert_eq!(stamps(to.path()), before);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_content_of_the_same_size_and_time_replaces_what_is_there() {
    for len in [10_000, 3_000_000] {
        let [from, to] = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
        let path = from.path().join("file");
        fs::write(&path, pattern(len)).expect("written");
        transfer(std::slice::from_ref(&path), to.path()).await;
        let time = fs::metadata(&path).and_then(|m| m.modified()).expect("a time");
        let mut other = pattern(len).to_vec();
        other[len / 2] ^= 1;
        fs::write(&path, &other).expect("written");
        fs::File::open(&path).and_then(|file| file.set_modified(time)).expect("a time");
        transfer(std::slice::from_ref(&path), to.path()).await;
        assert!(fs::read(to.path().join("file")).expect("read") == other);
        assert_eq!(fs::read_dir(to.path()).expect("a directory").count(), 1);
    }
}

/// Sends one file as a sender with this key.
async fn send_as(path: &Path, dir: &Path, sender: &str, overwrite: bool) -> (u64, u64) {
    let (_client, from, _server, to) = pair().await;
    let (found, _) = entries(&[path.to_owned()], Links::Send);
    let rules = Rules { sender: Some(sender.to_owned()), overwrite };
    let inbox = Inbox::new(dir);
    let (sent, received) =
        tokio::join!(send(&from, &found, silent), receive(&to, inbox, rules, silent));
    received.expect("received");
    sent.map(|sent| (sent.done, sent.failed)).expect("sent")
}

#[tokio::test(flavor = "multi_thread")]
async fn only_its_sender_replaces_a_file() {
    let [from, to] = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
    let path = from.path().join(".bashrc");
    let there = to.path().join(".bashrc");
    let is = |text: &str| fs::read(&there).expect("read") == text.as_bytes();
    fs::write(&there, "mine").expect("written");
    fs::write(&path, "theirs").expect("written");
    assert_eq!(send_as(&path, to.path(), "a", false).await, (0, 1));
    assert!(is("mine"));
    assert_eq!(send_as(&path, to.path(), "a", true).await, (1, 0));
    assert!(is("theirs"));
    fs::write(&path, "a newer one").expect("written");
    assert_eq!(send_as(&path, to.path(), "b", false).await, (0, 1));
    assert!(is("theirs"));
    assert_eq!(send_as(&path, to.path(), "a", false).await, (1, 0));
    assert!(is("a newer one"));
    // Who changes what he received keeps it.
    fs::write(&there, "mine again").expect("written");
    fs::write(&path, "the newest").expect("written");
    assert_eq!(send_as(&path, to.path(), "a", false).await, (0, 1));
    assert!(is("mine again"));
    assert_eq!(fs::read_dir(to.path()).expect("a directory").count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn links_arrive_when_they_stay_inside_and_nothing_is_written_through_them() {
    use std::os::unix::fs::symlink;
    let [from, to] = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
    let root = from.path().join("tree");
    fs::create_dir_all(root.join("d")).expect("made");
    fs::write(root.join("file"), "x").expect("written");
    for (name, target) in [("d/in", "../file"), ("d/out", "../../../file"), ("abs", "/etc/passwd")]
    {
        symlink(target, root.join(name)).expect("linked");
    }
    for _ in 0..2 {
        let (_client, sender, _server, receiver) = pair().await;
        let (found, errors) = entries(std::slice::from_ref(&root), Links::Send);
        assert!(errors.is_empty());
        let inbox = Inbox::new(to.path());
        let (sent, received) = tokio::join!(
            send(&sender, &found, silent),
            receive(&receiver, inbox, from_a(), silent)
        );
        received.expect("received");
        let sent = sent.expect("sent");
        assert_eq!((sent.done, sent.failed, sent.skipped), (4, 0, 2));
        let link = fs::read_link(to.path().join("tree/d/in")).expect("a link");
        assert_eq!(link, Path::new("../file"));
        assert!(
            !to.path().join("tree/d/out").is_symlink() && !to.path().join("tree/abs").is_symlink()
        );
    }
    // A name that leads through a link is refused.
    let through = from.path().join("tree/d2/in");
    fs::create_dir_all(&through).expect("made");
    fs::write(through.join("file"), "y").expect("written");
    symlink("d", to.path().join("tree/d2")).expect("linked");
    assert_eq!(send_as(&from.path().join("tree"), to.path(), "a", false).await.1, 3);
    assert_eq!(fs::read(to.path().join("tree/file")).expect("read"), b"x");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_transfers_of_one_file_at_the_same_time_leave_it_whole() {
    let [from, to] = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
    let path = from.path().join("file");
    fs::write(&path, pattern(5_000_000)).expect("written");
    let two =
        tokio::join!(send_as(&path, to.path(), "a", false), send_as(&path, to.path(), "a", false));
    assert_eq!(two, ((1, 0), (1, 0)));
    assert!(fs::read(to.path().join("file")).expect("read") == pattern(5_000_000));
    assert_eq!(fs::read_dir(to.path()).expect("a directory").count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_is_full_fails_each_file_by_its_name_and_the_others_go_on() {
    let from = tempfile::tempdir().expect("a directory");
    let names = ["a", "big1", "big2", "z"].map(|name| from.path().join(name));
    for (path, len) in names.iter().zip([1_000, 400_000, 500_000, 2_000]) {
        fs::write(path, pattern(len)).expect("written");
    }
    let disk = MemoryDisk::new(1);
    // What was written of a file that failed stays to be taken up and takes its place.
    disk.fail(0, 0, Some(300_000));
    let (_client, sender, _server, receiver) = pair().await;
    let (found, _) = entries(&names, Links::Skip);
    let failures = Mutex::new(Vec::new());
    let note = |progress| {
        if let Progress::Failed { name, .. } = progress {
            failures.lock().expect("a lock").push(name);
        }
    };
    let (sent, received) = tokio::join!(
        send(&sender, &found, note),
        receive(&receiver, disk.clone(), from_a(), silent)
    );
    assert_eq!(sent.map(|o| (o.done, o.failed)).expect("an outcome"), (2, 2));
    assert_eq!(received.map(|o| (o.done, o.failed)).expect("an outcome"), (2, 2));
    assert_eq!(failures.into_inner().expect("a list"), ["big1", "big2"]);
    for (name, len) in [("a", Some(1_000)), ("big1", None), ("big2", None), ("z", Some(2_000))] {
        assert!(disk.bytes(Path::new(name)) == len.map(|len| pattern(len).to_vec()), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_file_any_more_fails_at_once_and_the_others_go_on() {
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let [from, to] = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
    let names = ["fifo", "link", "dir", "z"].map(|name| from.path().join(name));
    for path in &names {
        fs::write(path, pattern(10)).expect("written");
    }
    let (_client, sender, _server, receiver) = pair().await;
    let (found, _) = entries(&names, Links::Skip);
    for path in &names[..3] {
        fs::remove_file(path).expect("removed");
    }
    mknodat(CWD, &names[0], FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a FIFO");
    symlink("/etc/passwd", &names[1]).expect("linked");
    fs::create_dir(&names[2]).expect("made");
    let failures = Mutex::new(Vec::new());
    let note = |progress| {
        if let Progress::Failed { name, reason } = progress {
            failures.lock().expect("a lock").push((name, reason));
        }
    };
    let (sent, received) = tokio::join!(
        send(&sender, &found, note),
        receive(&receiver, Inbox::new(to.path()), from_a(), silent)
    );
    assert_eq!(sent.map(|o| (o.done, o.failed)).expect("an outcome"), (1, 3));
    received.expect("an outcome");
    let expected = ["fifo", "link", "dir"].map(|name| (name, "it is no file any more"));
    let failures = failures.into_inner().expect("a list");
    let said: Vec<_> = failures.iter().map(|(name, why)| (name.as_str(), why.as_str())).collect();
    assert_eq!(said, expected);
    assert_eq!(bytes_in(to.path()).into_keys().collect::<Vec<_>>(), [Path::new("z")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_changes_while_it_is_sent_fails_whatever_time_it_has_afterwards() {
    use std::os::unix::fs::MetadataExt;
    let [from, to] = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
    let path = from.path().join("file");
    fs::write(&path, vec![b'A'; 4_000_000]).expect("written");
    let before = fs::metadata(&path).expect("a file");
    let touched = |now: &fs::Metadata| (now.ctime(), now.ctime_nsec());
    let (_client, sender, _server, receiver) = pair().await;
    let (found, _) = entries(std::slice::from_ref(&path), Links::Skip);
    let changed = Mutex::new(false);
    let change = |progress| {
        let mut changed = changed.lock().expect("a lock");
        if matches!(progress, Progress::At { .. }) && !*changed {
            *changed = true;
            fs::write(&path, vec![b'B'; 4_000_000]).expect("written");
            let file = fs::File::open(&path).expect("a file");
            // The clock of the file system goes in steps.
            while touched(&file.metadata().expect("a file")) == touched(&before) {
                file.set_modified(before.modified().expect("a time")).expect("set");
            }
            file.set_modified(before.modified().expect("a time")).expect("set");
        }
    };
    let (sent, received) = tokio::join!(
        send(&sender, &found, change),
        receive(&receiver, Inbox::new(to.path()), from_a(), silent)
    );
    assert_eq!(sent.map(|o| (o.done, o.failed)).expect("an outcome"), (0, 1));
    received.expect("an outcome");
    assert!(!to.path().join("file").exists());
}
