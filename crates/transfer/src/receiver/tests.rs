//! Records in any order.

use super::*;
use crate::memory_disk::MemoryDisk;

fn offer(name: &str, size: u64, changed: i128) -> Frame<Message> {
    offer_with(name, Kind::File { size }, 0o644, changed)
}

fn offer_with(name: &str, kind: Kind, mode: u32, changed: i128) -> Frame<Message> {
    Frame::Message(Message::Offer(Offer { name: name.to_owned(), kind, mode, changed }))
}

fn link(name: &str, target: &str) -> Frame<Message> {
    let kind = Kind::Link { target: target.to_owned() };
    Frame::Message(Message::Offer(Offer { name: name.to_owned(), kind, mode: 0o777, changed: 5 }))
}

fn end(bytes: &[u8]) -> Frame<Message> {
    Frame::Message(Message::End { hash: *blake3::hash(bytes).as_bytes() })
}

fn data(bytes: &'static [u8]) -> Frame<Message> {
    Frame::Data(Bytes::from_static(bytes))
}

/// The receiver of a sender's transfer.
fn machine(disk: &MemoryDisk, sender: &str) -> Receiver<MemoryDisk> {
    Receiver::new(disk.clone(), rules(sender))
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

fn breaks(frames: impl IntoIterator<Item = Frame<Message>>) -> bool {
    let disk = MemoryDisk::new(0);
    let mut machine = machine(&disk, "a");
    let broken = frames.into_iter().any(|frame| machine.handle(frame, false).is_err());
    assert_eq!(disk.bytes(Path::new("f")), None);
    broken
}

#[test]
fn what_is_there_is_not_written_again_whatever_comes_before_the_word_to_keep_it() {
    let disk = MemoryDisk::new(0);
    let mut first = machine(&disk, "a");
    give(&mut first, [offer("f", 6, 5), data(b"abcdef"), end(b"abcdef")]);
    let before = disk.look(Path::new("f")).expect("a look");
    for frames in [
        vec![Frame::Message(Message::Keep)],
        vec![data(b"abc"), Frame::Message(Message::Keep)],
        vec![data(b"abcdef"), end(b"abcdef")],
        vec![data(b"abX"), Frame::Message(Message::Keep)],
    ] {
        let mut again = machine(&disk, "a");
        give(&mut again, [offer("f", 6, 5)]);
        give(&mut again, frames);
        give(&mut again, [Frame::Message(Message::Bye)]);
        assert_eq!(again.result().map(|got| (got.done, got.kept, got.failed)), Some((1, 1, 0)));
        assert_eq!(disk.look(Path::new("f")).expect("a look"), before);
        assert_eq!(disk.paths(), [Path::new("f")]);
    }
}

#[test]
fn records_out_of_turn_break_the_transfer_and_leave_no_file() {
    let seek = |offset| Frame::Message(Message::Seek { offset });
    assert!(breaks([data(b"abc")]), "data before an offer");
    assert!(breaks([offer("f", 3, 5), data(b"abcd")]), "more than was announced");
    assert!(breaks([offer("f", 3, 5), data(b"abc"), seek(9)]), "a jump beyond the end");
    assert!(breaks([offer("f", 3, 5), data(b"ab"), seek(1)]), "a jump back");
    assert!(breaks([offer("f", 3, 5), seek(0), seek(0)]), "two jumps");
    assert!(breaks([offer("f", 3, 5), Frame::Message(Message::Keep)]), "nothing to be kept");
    assert!(breaks([offer("f", 3, 5), Frame::Message(Message::Bye)]), "no end of the file");
    let many = (0..=MOST_AHEAD).map(|n| offer(&n.to_string(), 1, 5));
    assert!(breaks(many), "too many offers");
}

#[test]
fn an_end_without_data_gives_no_name() {
    let disk = MemoryDisk::new(0);
    let mut machine = machine(&disk, "a");
    give(&mut machine, [offer("f", 3, 5), end(b"abc"), Frame::Message(Message::Bye)]);
    assert_eq!(machine.result().map(|got| (got.done, got.failed)), Some((0, 1)));
    assert!(disk.paths().is_empty());
}

#[test]
fn a_disk_that_keeps_something_else_gives_no_name() {
    let disk = MemoryDisk::new(0);
    disk.fail(0, 1000, None);
    let mut machine = machine(&disk, "a");
    give(&mut machine, [offer("f", 3, 5), data(b"abc"), end(b"abc")]);
    assert!(disk.paths().is_empty());
}

#[test]
fn what_was_renamed_before_it_was_locked_is_not_written_to() {
    let disk = MemoryDisk::new(0);
    let (partial, path) = (Path::new(".f.bentpipe-part"), Path::new("f"));
    disk.put(partial, b"of another");
    let mut machine = machine(&disk, "a");
    give(&mut machine, [offer("f", 3, 5)]);
    disk.rename_before_lock(partial, path);
    give(&mut machine, [data(b"abc")]);
    assert_eq!(disk.bytes(path).as_deref(), Some(&b"of another"[..]));
    give(&mut machine, [end(b"abc")]);
    assert_eq!(disk.bytes(path).as_deref(), Some(&b"of another"[..]));
}

#[test]
fn the_beginning_that_one_sender_left_is_nothing_to_another() {
    let disk = MemoryDisk::new(0);
    give(&mut machine(&disk, "a"), [offer("f", 6, 5), data(b"abc")]);
    let mut other = machine(&disk, "b");
    give(&mut other, [offer("f", 6, 5)]);
    let nothing =
        Reply::Have { entry: 0, len: 0, hash: *blake3::hash(b"").as_bytes(), whole: false };
    assert_eq!(other.replies(), [message(&nothing)]);
    give(&mut other, [data(b"x")]);
    // Both can be taken up.
    for (sender, begun) in [("a", &b"abc"[..]), ("b", b"x")] {
        let mut again = machine(&disk, sender);
        give(&mut again, [offer("f", 6, 5)]);
        let (len, hash) = (begun.len() as u64, *blake3::hash(begun).as_bytes());
        assert_eq!(again.replies(), [message(&Reply::Have { entry: 0, len, hash, whole: false })]);
    }
    give(&mut other, [data(b"yzabc"), end(b"xyzabc")]);
    assert_eq!(disk.bytes(Path::new("f")).as_deref(), Some(&b"xyzabc"[..]));
    assert_eq!(disk.bytes(Path::new(".f.bentpipe-part")).as_deref(), Some(&b"abc"[..]));
    assert_eq!(disk.paths().len(), 2);
}

#[test]
fn offers_of_directories_take_no_memory_without_end() {
    let disk = MemoryDisk::new(0);
    let mut machine = machine(&disk, "a");
    give(&mut machine, [offer("f", 3, 5)]);
    for n in 0..3 * MOST_TASKS {
        let (name, kind) = (format!("d{n}"), Kind::Directory);
        let offer = Offer { name, kind, mode: 0o755, changed: 5 };
        give(&mut machine, [Frame::Message(Message::Offer(offer))]);
    }
    assert!(machine.tasks.len() <= MOST_TASKS && machine.dirs.len() <= MOST_DEPTH);
    assert!(machine.synced.len() <= 1);
}

#[test]
fn a_link_that_cannot_be_made_leaves_what_was_there() {
    let disk = MemoryDisk::new(0);
    let mut machine = machine(&disk, "a");
    give(&mut machine, [offer("f", 3, 5), data(b"abc"), end(b"abc")]);
    disk.refuse_links();
    give(&mut machine, [link("f", "g"), Frame::Message(Message::Bye)]);
    assert_eq!(machine.result().map(|got| (got.done, got.failed)), Some((1, 1)));
    assert_eq!(disk.bytes(Path::new("f")).as_deref(), Some(&b"abc"[..]));
}

#[test]
fn at_every_moment_the_file_or_the_link_that_replaces_it_is_there() {
    // The power goes after each step of making the link, and each other way round.
    for seed in 0..200 {
        let mut disk = MemoryDisk::new(seed);
        give(&mut machine(&disk, "a"), [offer("f", 3, 5), data(b"abc"), end(b"abc")]);
        disk.fail(300, 0, None);
        give(&mut machine(&disk, "a"), [link("f", "g")]);
        disk.lose_power();
        disk.fail(0, 0, None);
        let kind = disk.look(Path::new("f")).expect("a look").map(|found| found.kind);
        assert!(
            matches!(&kind, Some(FoundKind::File)) || kind == Some(FoundKind::Link("g".to_owned())),
            "seed {seed}: {kind:?}"
        );
        // What was left of it is in nobody's way.
        give(&mut machine(&disk, "a"), [link("f", "g")]);
        let kind = disk.look(Path::new("f")).expect("a look").map(|found| found.kind);
        assert_eq!(kind, Some(FoundKind::Link("g".to_owned())), "seed {seed}");
        assert_eq!(disk.paths(), [Path::new("f")], "seed {seed}");
    }
}

#[test]
fn what_was_put_in_the_place_of_what_arrived_gets_no_name() {
    let (disk, partial) = (MemoryDisk::new(0), Path::new(".f.bentpipe-part"));
    let mut machine = machine(&disk, "a");
    give(&mut machine, [offer("f", 3, 5), data(b"abc")]);
    disk.remove(partial).expect("removed");
    disk.put(partial, b"xyz");
    give(&mut machine, [end(b"abc"), Frame::Message(Message::Bye)]);
    assert_eq!(machine.result().map(|got| (got.done, got.failed)), Some((0, 1)));
    assert_eq!(disk.bytes(Path::new("f")), None);
}

#[test]
fn nobody_is_told_that_what_was_exchanged_at_the_last_moment_arrived() {
    let disk = MemoryDisk::new(0);
    let mut machine = machine(&disk, "a");
    give(&mut machine, [offer("f", 3, 5), data(b"abc")]);
    disk.exchange_before_rename(b"xyz");
    give(&mut machine, [end(b"abc"), Frame::Message(Message::Bye)]);
    assert_eq!(machine.result().map(|got| (got.done, got.failed)), Some((0, 1)));
}

#[test]
fn a_partial_file_with_another_name_is_not_written_to() {
    let (disk, partial) = (MemoryDisk::new(0), Path::new(".f.bentpipe-part"));
    give(&mut machine(&disk, "a"), [offer("f", 6, 5), data(b"abc")]);
    disk.link_file(partial, Path::new("snapshot"));
    let mut again = machine(&disk, "a");
    give(&mut again, [offer("f", 6, 5)]);
    let nothing =
        Reply::Have { entry: 0, len: 0, hash: *blake3::hash(b"").as_bytes(), whole: false };
    assert_eq!(again.replies(), [message(&nothing)]);
    give(&mut again, [data(b"ABCDEF"), end(b"ABCDEF")]);
    assert_eq!(disk.bytes(Path::new("f")).as_deref(), Some(&b"ABCDEF"[..]));
    assert_eq!(disk.bytes(Path::new("snapshot")).as_deref(), Some(&b"abc"[..]));
}

#[test]
fn a_change_of_permissions_alone_arrives_at_the_senders_own_file() {
    let (disk, path) = (MemoryDisk::new(0), Path::new("f"));
    give(&mut machine(&disk, "a"), [offer("f", 3, 5), data(b"abc"), end(b"abc")]);
    let file = |mode| offer_with("f", Kind::File { size: 3 }, mode, 5);
    let keep = || Frame::Message(Message::Keep);
    give(&mut machine(&disk, "a"), [file(0o755), keep()]);
    assert_eq!(disk.mode(path), Some(0o755));
    // Also when all of it was sent before it was known to be there.
    give(&mut machine(&disk, "a"), [file(0o700), data(b"abc"), end(b"abc")]);
    assert_eq!(disk.mode(path), Some(0o700));
    // Another sender has no say in it.
    give(&mut machine(&disk, "b"), [file(0o777), keep()]);
    assert_eq!(disk.mode(path), Some(0o700));
}

#[test]
fn a_link_that_leads_elsewhere_now_is_said_to_need_overwrite() {
    let disk = MemoryDisk::new(0);
    let mut again = machine(&disk, "a");
    give(&mut again, [link("l", "x"), link("l", "y")]);
    let news = again.news();
    let said = |progress: &Progress| {
        matches!(progress, Progress::Failed { reason, .. }
            if reason.contains("a link does not tell who made it") && reason.contains("--overwrite"))
    };
    assert!(news.last().is_some_and(said), "{news:?}");
    let rules = Rules { overwrite: true, ..rules("a") };
    let mut over = Receiver::new(disk.clone(), rules);
    give(&mut over, [link("l", "y"), Frame::Message(Message::Bye)]);
    assert_eq!(over.result().map(|got| (got.done, got.failed)), Some((1, 0)));
    let kind = disk.look(Path::new("l")).expect("a look").map(|found| found.kind);
    assert_eq!(kind, Some(FoundKind::Link("y".to_owned())));
}

#[test]
fn what_another_sender_begins_meanwhile_stays_his() {
    let disk = MemoryDisk::new(0);
    let [mut a, mut b] = ["a", "b"].map(|sender| machine(&disk, sender));
    give(&mut b, [offer("f", 3, 5)]);
    give(&mut a, [offer("f", 3, 5), data(b"ab")]);
    give(&mut b, [data(b"xy")]);
    // Nor does he keep the other one from beginning.
    assert_eq!(disk.paths().len(), 2);
    drop(b);
    give(&mut a, [data(b"c"), end(b"abc")]);
    assert_eq!(disk.bytes(Path::new("f")).as_deref(), Some(&b"abc"[..]));
}

#[test]
fn what_could_not_be_synchronised_is_written_again() {
    let mut disk = MemoryDisk::new(0);
    let mut first = machine(&disk, "a");
    give(&mut first, [offer("f", 6, 5), data(b"abcdef")]);
    disk.lose_next();
    give(&mut first, [end(b"abcdef"), Frame::Message(Message::Bye)]);
    assert_eq!(first.result().map(|got| (got.done, got.failed)), Some((0, 1)));
    let mut again = machine(&disk, "a");
    give(&mut again, [offer("f", 6, 5)]);
    let nothing =
        Reply::Have { entry: 0, len: 0, hash: *blake3::hash(b"").as_bytes(), whole: false };
    assert_eq!(again.replies(), [message(&nothing)]);
    give(&mut again, [data(b"abcdef"), end(b"abcdef"), Frame::Message(Message::Bye)]);
    disk.lose_power();
    assert_eq!(disk.bytes(Path::new("f")).as_deref(), Some(&b"abcdef"[..]));
}

#[test]
fn what_could_not_be_synchronised_nor_removed_is_copied() {
    let mut disk = MemoryDisk::new(0);
    let mut first = machine(&disk, "a");
    give(&mut first, [offer("f", 6, 5), data(b"abcdef")]);
    disk.lose_next_and_stop();
    give(&mut first, [end(b"abcdef"), Frame::Message(Message::Bye)]);
    assert_eq!(first.result().map(|got| (got.done, got.failed)), Some((0, 1)));
    drop(first);
    disk.fail(0, 0, None);
    let mut again = machine(&disk, "a");
    give(&mut again, [offer("f", 6, 5)]);
    let all =
        Reply::Have { entry: 0, len: 6, hash: *blake3::hash(b"abcdef").as_bytes(), whole: false };
    assert_eq!(again.replies(), [message(&all)]);
    let seek = Frame::Message(Message::Seek { offset: 6 });
    give(&mut again, [seek, end(b"abcdef"), Frame::Message(Message::Bye)]);
    assert_eq!(again.result().map(|got| (got.done, got.failed)), Some((1, 0)));
    for _ in 0..4 {
        disk.lose_power();
        assert_eq!(disk.bytes(Path::new("f")).as_deref(), Some(&b"abcdef"[..]));
    }
}

#[test]
fn what_is_said_to_be_there_outlasts_a_loss_of_power() {
    for seed in 0..20 {
        let mut disk = MemoryDisk::new(seed);
        let mut first = machine(&disk, "a");
        give(&mut first, [offer("f", 3, 5), data(b"abc")]);
        // The last step, the synchronisation of the directory, may be missing.
        disk.fail(300, 0, None);
        let _ = first.handle(end(b"abc"), false);
        disk.fail(0, 0, None);
        let mut again = machine(&disk, "a");
        give(&mut again, [offer("f", 3, 5)]);
        if disk.bytes(Path::new("f")).is_some() {
            disk.lose_power();
            assert_eq!(disk.bytes(Path::new("f")).as_deref(), Some(&b"abc"[..]), "seed {seed}");
        }
    }
}

#[test]
fn permissions_of_somebody_elses_file_stay_whoever_sends_the_same_bytes() {
    let (disk, path) = (MemoryDisk::new(0), Path::new("f"));
    disk.put(path, b"abc");
    let over = Rules { overwrite: true, ..rules("a") };
    let mut machine = Receiver::new(disk.clone(), over);
    let keep = Frame::Message(Message::Keep);
    give(&mut machine, [offer_with("f", Kind::File { size: 3 }, 0o666, 1), keep]);
    assert_eq!(disk.mode(path), Some(0o600));
}
