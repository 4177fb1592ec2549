//! What the fuzz targets of file transfer do with their input.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;

use bytes::Bytes;

use crate::frames::{Frame, Frames, Kind, Message, Offer, Reply, data, message};
use crate::incoming::Rules;
use crate::memory_disk::MemoryDisk;
use crate::receiver::{Handled, Receiver};
use crate::{Progress, TransferError};

/// The file that somebody of the receiver's machine put there, and its bytes.
const OWN: (&str, &[u8]) = ("own", b"not from a peer");
const NAMES: [&str; 8] = ["a", "b", "d", "d/a", "own", "l/a", "../x", ".a.bentpipe-part"];
const TARGETS: [&str; 4] = ["a", "d", "../a", "/etc"];
const SENDERS: [Option<&str>; 3] = [Some("first"), Some("second"), None];
/// Records of the seeds, of the file `a` of 180 bytes in two pieces.
const OFFER: [u8; 4] = [0, 0, 1, 60];
const OTHER: [u8; 4] = [0, 0, 3, 60];
const DATA: [u8; 4] = [3, 0, 90, 0];
const SEEK: [u8; 4] = [4, 0, 1, 0];
const END: [u8; 4] = [5, 0, 0, 0];
const KEEP: [u8; 4] = [7, 0, 0, 0];
const BYE: [u8; 4] = [8, 0, 0, 0];
const CUT: [u8; 4] = [9, 0, 0, 0];
const POWER: [u8; 4] = [10, 0, 0, 0];
const FAULTS: [u8; 4] = [11, 40, 40, 0];
const MORE_FAULTS: [u8; 4] = [11, 127, 0, 0];
/// A symbolic link in the place of the file.
const LINK: [u8; 4] = [2, 0, 0, 1];
/// Machines that work on the disk at the same time.
const MACHINES: usize = 2;

/// Reads the input as frames of a sender and of a receiver, cut where the input says, and gives a receiver the frames
/// of a sender.
///
/// # Panics
///
/// If a message that was read is written to something that is read otherwise.
pub fn transfer_frames(input: &[u8]) {
    let Some((cut, bytes)) = input.split_first() else { return };
    let (first, second) = bytes.split_at(usize::from(*cut).min(bytes.len()));
    let mut machine = Receiver::new(MemoryDisk::new(0), Rules::default());
    let (mut frames, mut replies) = (Frames::default(), Frames::default());
    for part in [first, second] {
        frames.push(part);
        while let Ok(Some(frame)) = frames.take::<Message>() {
            if let Frame::Message(read) = &frame {
                let mut again = Frames::default();
                again.push(&message(read));
                assert_eq!(again.take().ok().flatten(), Some(Frame::Message(read.clone())));
            }
            if machine.handle(frame, false).is_err() {
                return;
            }
        }
        replies.push(part);
        while let Ok(Some(frame)) = replies.take::<Reply>() {
            if let Frame::Message(read) = frame {
                let mut again = Frames::default();
                again.push(&message(&read));
                assert_eq!(again.take().ok().flatten(), Some(Frame::Message(read)));
            }
        }
    }
}

/// Does with a receiver what the input says: any sequence of records of two senders on a disk that fails and loses
/// power.
///
/// # Panics
///
/// If a file has its final name and is not one that a sender said is complete, if what a receiver said is there is not,
/// also after a loss of power, or if a sender replaces what is not its own.
pub fn transfer_records(input: &[u8]) {
    let mut world = World::new();
    let mut input = input.iter().copied();
    while let Some(what) = input.next() {
        let mut next = || input.next().unwrap_or_default();
        world.step(what, [next(), next(), next()]);
        world.check();
    }
}

/// Inputs for the targets: a file that is sent, taken up, sent again, and frames.
pub fn transfer_seeds() -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let records: [&[[u8; 4]]; 10] = [
        // Sent as a whole.
        &[OFFER, DATA, DATA, END, BYE],
        // Cut off and taken up.
        &[OFFER, DATA, CUT, OFFER, SEEK, DATA, END, BYE],
        &[OFFER, DATA, CUT, OFFER, DATA, SEEK, DATA, END, BYE],
        // Sent again, and then another version of the same size and time.
        &[OFFER, DATA, DATA, END, OFFER, KEEP, OFFER, DATA, END, OFFER, DATA, KEEP, BYE],
        &[OFFER, DATA, DATA, END, OTHER, DATA, DATA, END, OFFER, DATA, DATA, END],
        // A directory and a link.
        &[[1, 0, 2, 0], [0, 3, 3, 60], DATA, DATA, END, [2, 0, 4, 0], BYE],
        // The power goes.
        &[OFFER, DATA, DATA, END, POWER, OTHER, DATA, DATA, POWER, OTHER, SEEK, DATA, END, POWER],
        // Two senders of one file, on a disk that fails.
        &[
            FAULTS,
            OFFER,
            DATA,
            [0, 128, 3, 60],
            [3, 128, 90, 0],
            DATA,
            END,
            [3, 128, 90, 0],
            [5, 128, 0, 0],
        ],
        // A link that replaces a file, on a disk that fails and when the power goes.
        &[OFFER, DATA, DATA, END, LINK, POWER, LINK, BYE],
        &[OFFER, DATA, DATA, END, MORE_FAULTS, LINK, LINK, LINK, POWER, LINK, LINK, POWER, LINK],
    ];
    let offer = |name: &str, kind| Offer { name: name.to_owned(), kind, mode: 0o644, changed: 7 };
    let messages = [
        message(&Message::Offer(offer("a", Kind::File { size: 5 }))),
        message(&Message::Offer(offer("d", Kind::Directory))),
        message(&Message::Offer(offer("d/l", Kind::Link { target: "../a".to_owned() }))),
        data(b"hello"),
        message(&Message::End { hash: *blake3::hash(b"hello").as_bytes() }),
        message(&Message::Seek { offset: 5 }),
        message(&Message::Skip { reason: "gone".to_owned() }),
        message(&Message::Keep),
        message(&Message::Bye),
        message(&Reply::Have { entry: 0, len: 3, hash: [7; 32], whole: true }),
        message(&Reply::Done { entry: 0 }),
        message(&Reply::Failed { entry: 1, reason: "full".to_owned() }),
        message(&Reply::Skipped { entry: 1, reason: "a link".to_owned() }),
    ];
    let mut frames: Vec<Vec<u8>> = messages.iter().map(|m| [&[9], &m[..]].concat()).collect();
    frames.push([&[30], &messages[..5].concat()[..], &messages[8]].concat());
    (records.map(<[[u8; 4]]>::concat).to_vec(), frames)
}

struct World {
    disk: MemoryDisk,
    peers: Vec<Peer>,
    /// Hashes that senders said complete files of a name have.
    said: BTreeMap<String, BTreeSet<[u8; 32]>>,
    /// Files of which a receiver said that they are there: that is so from then on.
    there: BTreeSet<String>,
    /// Who put what is there.
    owners: BTreeMap<String, Option<&'static str>>,
}

/// A sender and the receiver of its transfer.
struct Peer {
    sender: Option<&'static str>,
    machine: Receiver<MemoryDisk>,
    /// Files whose data are to come: name, version, size.
    files: VecDeque<(String, u8, u64)>,
    at: u64,
    haves: Vec<u64>,
}

impl Peer {
    fn new(disk: &MemoryDisk, sender: Option<&'static str>) -> Self {
        let rules = Rules { sender: sender.map(str::to_owned), overwrite: false };
        let machine = Receiver::new(disk.clone(), rules);
        Self { sender, machine, files: VecDeque::new(), at: 0, haves: Vec::new() }
    }
}

/// The bytes of a version of a file.
fn content(version: u8, size: u64) -> Vec<u8> {
    (0..size).map(|at| (at as u8).wrapping_mul(31).wrapping_add(version)).collect()
}

impl World {
    fn new() -> Self {
        let disk = MemoryDisk::new(1);
        disk.put(Path::new(OWN.0), OWN.1);
        let peers = (0..MACHINES).map(|n| Peer::new(&disk, SENDERS[n])).collect();
        Self { disk, peers, said: BTreeMap::new(), there: BTreeSet::new(), owners: BTreeMap::new() }
    }

    fn step(&mut self, what: u8, [a, b, c]: [u8; 3]) {
        let number = usize::from(a >> 7);
        let current = self.peers[number].files.front().cloned();
        let frame = match what % 12 {
            0 => {
                let (name, version, size) = (NAMES[usize::from(a % 8)], b, u64::from(c) * 3);
                self.peers[number].files.push_back((name.to_owned(), version, size));
                // The time does not tell versions apart.
                let offer = Offer {
                    name: name.to_owned(),
                    kind: Kind::File { size },
                    mode: 0o644,
                    changed: i128::from(b % 2),
                };
                Frame::Message(Message::Offer(offer))
            }
            1 | 2 => {
                let name = NAMES[usize::from(b % 8)].to_owned();
                let target = TARGETS[usize::from(c % 4)].to_owned();
                let kind = if what % 12 == 1 { Kind::Directory } else { Kind::Link { target } };
                Frame::Message(Message::Offer(Offer { name, kind, mode: 0o755, changed: 5 }))
            }
            3 => {
                let Some((_, version, size)) = current else { return };
                let peer = &mut self.peers[number];
                let end = (peer.at + u64::from(b)).min(size + u64::from(c == 77));
                let start = (peer.at as usize).min(end as usize);
                let mut bytes = content(version, end)[start..].to_vec();
                if c == 99 && !bytes.is_empty() {
                    bytes[0] ^= 1;
                }
                peer.at = end;
                Frame::Data(Bytes::from(bytes))
            }
            4 => {
                let peer = &mut self.peers[number];
                let offset =
                    if b == 0 { u64::from(c) } else { peer.haves.last().copied().unwrap_or(0) };
                peer.at = offset;
                Frame::Message(Message::Seek { offset })
            }
            5 => {
                let Some((name, version, size)) = current else { return };
                let mut hash = *blake3::hash(&content(version, size)).as_bytes();
                if c == 99 {
                    hash = [0; 32];
                }
                self.said.entry(name).or_default().insert(hash);
                Frame::Message(Message::End { hash })
            }
            6 => Frame::Message(Message::Skip { reason: "no more".to_owned() }),
            7 => Frame::Message(Message::Keep),
            8 if c < 200 => Frame::Message(Message::Bye),
            // The connection is cut, and perhaps somebody else comes.
            8 | 9 => {
                let sender = SENDERS[usize::from(b % 3)];
                self.peers[number] = Peer::new(&self.disk, sender);
                return;
            }
            10 => {
                let senders: Vec<_> = self.peers.iter().map(|peer| peer.sender).collect();
                self.peers.clear();
                self.disk.lose_power();
                self.peers = senders.into_iter().map(|s| Peer::new(&self.disk, s)).collect();
                return;
            }
            _ => {
                let room = (c > 128).then(|| u64::from(c) * 4);
                self.disk.fail(u64::from(a % 128), u64::from(b), room);
                return;
            }
        };
        self.give(number, frame);
    }

    fn give(&mut self, number: usize, frame: Frame<Message>) {
        let peer = &mut self.peers[number];
        let ends = matches!(
            frame,
            Frame::Message(Message::End { .. } | Message::Skip { .. } | Message::Keep)
        );
        let handled = peer.machine.handle(frame, false);
        for reply in peer.machine.replies() {
            let mut frames = Frames::default();
            frames.push(&reply);
            if let Ok(Some(Frame::Message(Reply::Have { len, .. }))) = frames.take() {
                peer.haves.push(len);
            }
        }
        for news in peer.machine.news() {
            if let Progress::Kept { name } = &news {
                self.there.insert(name.clone());
            }
            let Progress::Done { name } = news else { continue };
            self.there.insert(name.clone());
            let before = self.owners.insert(name.clone(), peer.sender);
            let own = before.is_none_or(|before| before.is_some() && before == peer.sender);
            assert!(own, "{name}: {:?} replaced what {before:?} sent", peer.sender);
        }
        match handled {
            Ok(Handled::Yes) => {}
            Ok(Handled::Busy(_)) => panic!("an impatient receiver waits"),
            // What breaks the protocol is cut off.
            Err(TransferError::Protocol(_) | TransferError::Connection(_) | TransferError::Cut) => {
                let sender = peer.sender;
                *peer = Peer::new(&self.disk, sender);
                return;
            }
        }
        if ends {
            peer.files.pop_front();
            peer.at = 0;
        }
    }

    fn check(&self) {
        assert_eq!(self.disk.bytes(Path::new(OWN.0)).as_deref(), Some(OWN.1), "{}", OWN.0);
        let paths = self.disk.paths();
        for name in &self.there {
            assert!(paths.iter().any(|path| path == Path::new(name)), "{name} is not there");
        }
        for path in paths {
            let name = path.to_string_lossy().into_owned();
            let Some(bytes) = self.disk.bytes(&path) else { continue };
            if name == OWN.0 || name.ends_with("-part") {
                continue;
            }
            let hash = *blake3::hash(&bytes).as_bytes();
            let said = self.said.get(&name).is_some_and(|said| said.contains(&hash));
            assert!(said, "{name}: {} bytes that nobody sent as a whole", bytes.len());
        }
    }
}
