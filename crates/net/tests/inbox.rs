//! The receiver of a transfer on a directory of this machine: permissions, links and locks of the system.
#![cfg(unix)]

use bentpipe_net::transfer::Inbox;
use bentpipe_transfer::frames::{Frame, Kind, Message, Offer};
use bentpipe_transfer::{Disk, Handled, Receiver, Rules};
use bytes::Bytes;

fn offer(name: &str, size: u64, changed: i128) -> Frame<Message> {
    offer_with(name, Kind::File { size }, 0o644, changed)
}

fn offer_with(name: &str, kind: Kind, mode: u32, changed: i128) -> Frame<Message> {
    Frame::Message(Message::Offer(Offer { name: name.to_owned(), kind, mode, changed }))
}

fn end(bytes: &[u8]) -> Frame<Message> {
    Frame::Message(Message::End { hash: *blake3::hash(bytes).as_bytes() })
}

fn data(bytes: &'static [u8]) -> Frame<Message> {
    Frame::Data(Bytes::from_static(bytes))
}

fn rules(sender: &str) -> Rules {
    Rules { sender: Some(sender.to_owned()), overwrite: false }
}

fn give<D: Disk>(machine: &mut Receiver<D>, frames: impl IntoIterator<Item = Frame<Message>>) {
    for frame in frames {
        let handled = machine.handle(frame, false).expect("a frame in turn");
        assert!(matches!(handled, Handled::Yes));
    }
}

#[test]
fn a_file_outside_is_not_written_to_by_a_name_of_it_inside() {
    let [outside, inside] = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
    let precious = outside.path().join("precious");
    std::fs::write(&precious, "precious").expect("written");
    std::fs::hard_link(&precious, inside.path().join(".f.bentpipe-part")).expect("linked");
    let mut machine = Receiver::new(Inbox::new(inside.path()), rules("a"));
    give(&mut machine, [offer("f", 3, 5), data(b"abc"), end(b"abc")]);
    assert_eq!(std::fs::read(&precious).expect("read"), b"precious");
    assert_eq!(std::fs::read(inside.path().join("f")).expect("read"), b"abc");
}

/// Runs something as a user whom permissions bind, whoever runs the tests.
#[expect(clippy::disallowed_methods, reason = "capabilities are those of a thread")]
fn bound_by_permissions(work: impl FnOnce() + Send + 'static) {
    use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
    let thread = std::thread::spawn(|| {
        let mut sets = capabilities(None).expect("capabilities");
        sets.effective -= CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
        set_capabilities(None, sets).expect("less of them");
        work();
    });
    thread.join().expect("work that went well");
}

#[test]
fn permissions_of_an_earlier_transfer_are_in_nobodys_way() {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    bound_by_permissions(|| {
        let dir = tempfile::tempdir().expect("a directory");
        let at = |name: &str| dir.path().join(name);
        let mode = |name: &str| fs::metadata(at(name)).expect("there").permissions().mode() & 0o700;
        let transfer = |frames: Vec<Frame<Message>>| {
            let mut machine = Receiver::new(Inbox::new(dir.path()), rules("a"));
            give(&mut machine, frames);
            give(&mut machine, [Frame::Message(Message::Bye)]);
            machine.result().map(|got| (got.done, got.failed))
        };
        let file = |name: &str, mode| offer_with(name, Kind::File { size: 3 }, mode, 5);
        // What was cut off at its last step, whatever its permissions.
        for (name, forbids) in [("f", 0o444), ("g", 0o200), ("h", 0)] {
            let partial = at(&format!(".{name}.bentpipe-part"));
            fs::write(&partial, "ab").expect("written");
            fs::set_permissions(&partial, Permissions::from_mode(forbids)).expect("set");
            let got = transfer(vec![file(name, 0o444), data(b"abc"), end(b"abc")]);
            assert_eq!((got, mode(name)), (Some((1, 0)), 0o400), "{forbids:o}");
        }
        // A file that forbids writing is still its sender's.
        let newer = offer_with("f", Kind::File { size: 3 }, 0o400, 6);
        assert_eq!(transfer(vec![newer, data(b"xyz"), end(b"xyz")]), Some((1, 0)));
        assert_eq!(fs::read(at("f")).expect("read"), b"xyz");
        // One that forbids reading is there when it is sent again.
        let secret = || vec![file("s", 0), data(b"abc"), end(b"abc")];
        assert_eq!((transfer(secret()), mode("s")), (Some((1, 0)), 0));
        assert_eq!((transfer(secret()), mode("s")), (Some((1, 0)), 0));
        // A file comes into a directory that forbids it.
        let closed = || offer_with("d", Kind::Directory, 0o555, 5);
        for name in ["d/a", "d/b"] {
            let got = transfer(vec![closed(), file(name, 0o644), data(b"abc"), end(b"abc")]);
            assert_eq!((got, mode("d")), (Some((2, 0)), 0o500), "{name}");
        }
    });
}

#[test]
fn permissions_of_a_file_that_another_transfer_has_stay() {
    use std::fs::{self, File, Permissions};
    use std::os::unix::fs::PermissionsExt;
    bound_by_permissions(|| {
        let dir = tempfile::tempdir().expect("a directory");
        let partial = dir.path().join(".f.bentpipe-part");
        fs::write(&partial, "abc").expect("written");
        for mode in [0o444, 0o644] {
            let other = File::open(&partial).expect("opened");
            other.lock().expect("locked");
            fs::set_permissions(&partial, Permissions::from_mode(mode)).expect("set");
            let mut machine = Receiver::new(Inbox::new(dir.path()), rules("a"));
            give(&mut machine, [offer("f", 3, 5)]);
            let handled = machine.handle(data(b"abc"), true).expect("a frame in turn");
            assert!(matches!(handled, Handled::Busy(_)));
            let now = fs::metadata(&partial).expect("there").permissions().mode() & 0o777;
            assert_eq!(now, mode);
        }
    });
}

#[test]
fn a_directory_is_its_receivers_alone_until_all_is_in_it() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().expect("a directory");
    let mode = || {
        let metadata = std::fs::metadata(dir.path().join("d")).expect("there");
        metadata.permissions().mode() & 0o777
    };
    let mut machine = Receiver::new(Inbox::new(dir.path()), rules("a"));
    give(&mut machine, [offer_with("d", Kind::Directory, 0o755, 5), offer("d/f", 3, 5)]);
    assert_eq!(mode(), 0o700);
    give(&mut machine, [data(b"abc"), end(b"abc"), Frame::Message(Message::Bye)]);
    assert_eq!(mode() & 0o700, 0o700);
}
