//! The store, and what is left of it after a loss of power at any moment.

use super::*;
use crate::endpoint;
use crate::making::{Reports, Request, request};
use bentpipe_units::Span;

const NOW: DtnTime = DtnTime::from_millis(800_000_000_000);

fn bundle(sequence: u64) -> (BundleId, Vec<u8>) {
    let asked = Request {
        to: endpoint("dtn://mars/mail").expect("an endpoint"),
        from: endpoint("dtn://earth/mail").expect("an endpoint"),
        report_to: endpoint("dtn://earth/mail").expect("an endpoint"),
        reports: Reports::default(),
        lifetime: Span::from_secs(3600),
        payload: vec![sequence as u8; 300],
    };
    let mut made = request(&asked, NOW, sequence).expect("a bundle");
    (made.id().clone(), made.to_bytes())
}

fn open(folder: &MemoryFolder) -> (Store<MemoryFolder>, Vec<Found>, Vec<Problem>) {
    let mut found = Vec::new();
    let opened = Store::open(folder.clone(), 100, |it| found.push(it));
    let (store, damaged) = opened.expect("a folder that works");
    (store, found, damaged)
}

#[test]
fn at_whatever_change_the_power_goes_what_was_taken_is_there_and_what_was_given_away_is_not() {
    let mut ends = 0;
    for seed in 0..20 {
        for dies in 0..40 {
            let folder = MemoryFolder::new(seed);
            let (mut store, _, _) = open(&folder);
            folder.die_after(dies);
            let (mut taken, mut gone, mut refused) = (Vec::new(), Vec::new(), Vec::new());
            for sequence in 0..4 {
                let (id, bytes) = bundle(sequence);
                match store.put(&id, (NOW, Origin::Known), &bytes) {
                    Ok(()) => taken.push((id, bytes)),
                    Err(_) => refused.push(id),
                }
                if sequence % 2 == 1
                    && let Some((id, _)) = taken.first().cloned()
                    && store.finish(&id, (DtnTime::NEVER, 0), NOW).is_ok()
                {
                    gone.push(taken.remove(0).0);
                }
            }
            ends += usize::from(refused.is_empty());
            let (mut store, found, damaged) = open(&folder.lose_power());
            let ids: Vec<&BundleId> = found.iter().map(|it| it.bundle.id()).collect();
            for (id, bytes) in &taken {
                // Of one that was about to go nobody was told, and it may have gone.
                if store.seen_hops(id).is_some() {
                    continue;
                }
                assert!(ids.contains(&id), "seed {seed}, {dies} changes: {id} is lost");
                let (_, mut loaded) = store.load(id).expect("it is there");
                assert_eq!(&loaded.to_bytes(), bytes);
            }
            for id in &gone {
                assert!(
                    !ids.contains(&id) && store.seen_hops(id).is_some(),
                    "seed {seed}, {dies} changes"
                );
            }
            for it in &found {
                let id = it.bundle.id();
                assert!(taken.iter().any(|(taken, _)| taken == id) || refused.contains(id));
            }
            // A file that was not finished was never one of a bundle.
            assert!(damaged.is_empty() || refused.len() == 1, "{damaged:?}");
        }
    }
    assert!(ends > 20, "no run came to its end");
}

#[test]
fn a_damaged_file_is_set_aside_and_named_and_the_others_are_there() {
    for at in [0, 20, 50, 60, 200] {
        let folder = MemoryFolder::new(1);
        let (mut store, _, _) = open(&folder);
        let all = [1, 2].map(bundle);
        for (id, bytes) in &all {
            store.put(id, (NOW, Origin::Known), bytes).expect("taken");
        }
        let bad = name(&all[0].0.hash());
        assert!(folder.damage(&bad, at));
        assert!(matches!(store.load(&all[0].0), Err(LoadError::Damaged)));
        let (mut store, found, damaged) = open(&folder);
        assert_eq!((found.len(), damaged.len()), (1, 0), "it was set aside when it was read");
        assert!(store.load(&all[1].0).is_ok());
        let names = folder.names().expect("names");
        assert!(names.contains(&format!("{bad}{DAMAGED}")), "{names:?}");
        let good = name(&all[1].0.hash());
        assert!(folder.damage(&good, at));
        assert_eq!(open(&folder).2, [Problem::Damaged(good)]);
    }
}

#[test]
fn a_torn_list_of_what_was_seen_is_read_up_to_there_and_mended() {
    let folder = MemoryFolder::new(1);
    let (mut store, _, _) = open(&folder);
    let ids: Vec<BundleId> = (0..5).map(|n| bundle(n).0).collect();
    for id in &ids {
        store.finish(id, (DtnTime::NEVER, 0), NOW).expect("noted");
    }
    let mut torn = folder.clone();
    torn.append(SEEN, b"not an entry").expect("appended");
    assert!(folder.damage(SEEN, record::ENTRY + 3));
    let (mut store, _, damaged) = open(&folder);
    assert_eq!(damaged, [Problem::Medium("seen: 1 entries are damaged".to_owned())]);
    assert!(
        store.seen_hops(&ids[0]).is_some()
            && store.seen_hops(&ids[1]).is_none()
            && store.seen_hops(&ids[4]).is_some()
    );
    store.finish(&ids[1], (DtnTime::NEVER, 0), NOW).expect("noted");
    let (store, _, damaged) = open(&folder);
    assert!(damaged.is_empty() && ids.iter().all(|id| store.seen_hops(id).is_some()));
}

#[test]
fn the_list_of_what_was_seen_stays_short() {
    let folder = MemoryFolder::new(1);
    let (mut store, _) = Store::open(folder.clone(), 10, |_| ()).expect("a folder");
    for sequence in 0..3000 {
        store
            .finish(&BundleId::named(format!("1-{sequence}@dtn://a/")), (DtnTime::NEVER, 0), NOW)
            .expect("noted");
        let len = folder.read(SEEN, u64::MAX).expect("a file").len() / record::ENTRY;
        assert!(len <= SLACK * 256 + 2, "{len} entries after {sequence}");
        assert!(store.seen() <= 10);
    }
}

#[test]
fn files_of_others_are_left_alone() {
    let mut folder = MemoryFolder::new(4);
    let others = ["notes.new", "repo.bundle", "x.bundle.new", "lock"];
    for name in others {
        folder.write(name, &[b"precious"]).expect("written");
    }
    let (_, found, damaged) = open(&folder);
    assert!(found.is_empty() && damaged.is_empty());
    let mut left = folder.names().expect("names");
    left.sort();
    let mut all = others.to_vec();
    all.sort_unstable();
    assert_eq!(left, all);
}

/// A folder whose medium has a fault.
#[derive(Debug)]
struct Faulty {
    folder: MemoryFolder,
    /// There is no room for anything more as long as a bundle is in it.
    is_tight: bool,
    /// The file that cannot be read.
    unreadable: Option<String>,
}

impl Faulty {
    fn tight(folder: &MemoryFolder) -> Self {
        Self { folder: folder.clone(), is_tight: true, unreadable: None }
    }

    fn unreadable(folder: &MemoryFolder, name: &str) -> Self {
        Self { folder: folder.clone(), is_tight: false, unreadable: Some(name.to_owned()) }
    }

    fn room(&self) -> io::Result<()> {
        let is_full = self.is_tight && self.folder.names()?.iter().any(|name| is_ours(name));
        if is_full { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}

impl Folder for Faulty {
    fn names(&self) -> io::Result<Vec<String>> {
        self.folder.names()
    }

    fn read(&self, name: &str, most: u64) -> io::Result<Vec<u8>> {
        if self.unreadable.as_deref() == Some(name) {
            return Err(io::Error::other("bad sector"));
        }
        self.folder.read(name, most)
    }

    fn write(&mut self, name: &str, parts: &[&[u8]]) -> io::Result<()> {
        self.room()?;
        self.folder.write(name, parts)
    }

    fn append(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.room()?;
        self.folder.append(name, bytes)
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        self.folder.rename(from, to)
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        self.folder.remove(name)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.folder.sync()
    }
}

#[test]
fn a_full_disk_becomes_free_by_what_is_given_away() {
    let folder = MemoryFolder::new(5);
    let (mut store, _) = Store::open(Faulty::tight(&folder), 100, |_| ()).expect("a folder");
    let (id, bytes) = bundle(1);
    store.put(&id, (NOW, Origin::Known), &bytes).expect("there is room for one");
    store.finish(&id, (DtnTime::NEVER, 0), NOW).expect("it is given away");
    let (store, found, _) = open(&folder.lose_power());
    assert!(found.is_empty() && store.seen_hops(&id).is_some());
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_left_and_the_others_are_there() {
    let folder = MemoryFolder::new(5);
    let (mut store, _, _) = open(&folder);
    let all = [1, 2].map(bundle);
    for (id, bytes) in &all {
        store.put(id, (NOW, Origin::Known), bytes).expect("taken");
    }
    let bad = name(&all[0].0.hash());
    let mut found = Vec::new();
    let unreadable = Faulty::unreadable(&folder, &bad);
    let (_, problems) = Store::open(unreadable, 100, |it| found.push(it)).expect("it begins");
    assert_eq!(problems, [Problem::Medium(format!("{bad}: bad sector"))]);
    assert_eq!((found.len(), found[0].bundle.id()), (1, &all[1].0));
    assert_eq!(open(&folder).1.len(), 2, "it is there when the medium gives it again");
    folder.clone().write(SEEN, &[]).expect("written");
    let unreadable = Faulty::unreadable(&folder, SEEN);
    let error = Store::open(unreadable, 100, |_| ()).expect_err("everything would be new");
    assert_eq!(error.to_string(), "seen: bad sector");
}
