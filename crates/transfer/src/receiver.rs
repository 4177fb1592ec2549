//! The receiver as a state machine: records go in, replies and what there is to tell come out, and files change only
//! by way of a [`Disk`].
//!
//! A file that was offered is one of these, and files end in the order of their offers:
//!
//! | state | until | then |
//! |---|---|---|
//! | offered | data, or a seek to the end of what is here | open: it has its partial file, and locks it |
//! | offered, and all of it is here | data | the same, compared with what is here: nothing is written as long as they are equal |
//! | offered, and all of it is here | *keep* | done, with the permissions of the offer |
//! | offered | another transfer has it open | offered: the frame waits, ten seconds at most |
//! | the same | *end* | done: it is what was sent |
//! | open | *end* | done, if the hash is right: synced, then renamed |
//! | offered, the same, open | *skip* | skipped; what has come stays for the next transfer |
//! | any | the disk or a name forbids it | failed: the sender is told, and what still comes is thrown away |
//!
//! A directory gets its permissions and time when all in it has ended. *Bye* ends the transfer if nothing is left.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use crate::disk::{Disk, FoundKind};
use crate::frames::{Frame, Kind, Message, Offer, Reply, message, reason};
use crate::incoming::{Incoming, PlaceError, Rules, exists};
use crate::names::{new_link_of, parent_of, path_of, stays_inside};
use crate::{Progress, Received, TransferError};

/// Most entries that a sender offers ahead of their data.
pub(crate) const MOST_AHEAD: usize = 256;
/// Most bytes of names that it offers ahead.
pub(crate) const MOST_NAMES_AHEAD: usize = 256 * 1024;
/// Most things to be done. Directories beyond keep the time that they have.
const MOST_TASKS: usize = 1024;
/// Directories within each other whose times are kept until their files are there.
const MOST_DEPTH: usize = 256;

/// What a frame came to.
#[derive(Debug)]
pub enum Handled {
    /// It was worked off.
    Yes,
    /// Another transfer has locked the file; the frame may be tried again.
    Busy(Frame<Message>),
}

/// What has to happen to what was offered, in this order.
enum Task<F> {
    /// The data of a file come.
    File(File<F>),
    /// All in a directory is there, which gets its permissions and time.
    Directory(PathBuf, u32, i128),
}

struct File<F> {
    entry: u64,
    name: String,
    /// Data have come or it has ended: it was told that it begins.
    begun: bool,
    /// The sender may go on behind what was here, once.
    may_seek: bool,
    /// `None` once it has failed: what still comes of it is thrown away.
    incoming: Option<Incoming<F>>,
}

/// The receiver of one transfer.
pub struct Receiver<D: Disk> {
    disk: D,
    rules: Rules,
    tasks: VecDeque<Task<D::File>>,
    /// Files and bytes of names among them.
    ahead: (usize, usize),
    /// Directories that the next entries may be in, the innermost last.
    dirs: Vec<(PathBuf, u32, i128)>,
    /// Directories on the way to the last entry whose names are known to be on the medium.
    synced: Vec<PathBuf>,
    /// The directory whose names were put on the medium for the last file that was there already.
    kept_in: Option<PathBuf>,
    entries: u64,
    got: Received,
    ended: bool,
    replies: Vec<Bytes>,
    news: Vec<Progress>,
}

impl<D: Disk> Receiver<D> {
    /// Nothing has come yet; what comes is put on this disk, by these rules.
    pub fn new(disk: D, rules: Rules) -> Self {
        Self {
            disk,
            rules,
            tasks: VecDeque::new(),
            ahead: (0, 0),
            dirs: Vec::new(),
            synced: Vec::new(),
            kept_in: None,
            entries: 0,
            got: Received::default(),
            ended: false,
            replies: Vec::new(),
            news: Vec::new(),
        }
    }

    /// Everything was received, if the sender has said so.
    pub fn result(&self) -> Option<Received> {
        self.ended.then_some(self.got)
    }

    /// Frames to be sent.
    pub fn replies(&mut self) -> Vec<Bytes> {
        std::mem::take(&mut self.replies)
    }

    /// What there is to tell.
    pub fn news(&mut self) -> Vec<Progress> {
        std::mem::take(&mut self.news)
    }

    /// Works off a frame. When another transfer has locked the file and `patient` is set, nothing changes.
    ///
    /// # Errors
    /// When the sender does not keep to the protocol.
    pub fn handle(
        &mut self,
        frame: Frame<Message>,
        patient: bool,
    ) -> Result<Handled, TransferError> {
        match frame {
            _ if self.ended => return Err(TransferError::Protocol("a frame after the last one")),
            Frame::Message(Message::Offer(offer)) => self.offer(offer)?,
            Frame::Message(Message::Bye) => {
                while self.close_dir() {}
                self.dress_dirs();
                if !self.tasks.is_empty() {
                    return Err(TransferError::Protocol("an end before the last file ended"));
                }
                self.ended = true;
            }
            frame => return self.handle_current(frame, patient),
        }
        Ok(Handled::Yes)
    }

    /// A frame about the first file that was offered and has not ended.
    fn handle_current(
        &mut self,
        frame: Frame<Message>,
        patient: bool,
    ) -> Result<Handled, TransferError> {
        self.dress_dirs();
        let Some(Task::File(mut file)) = self.tasks.pop_front() else {
            return Err(TransferError::Protocol("a word on a file that was not offered"));
        };
        if let Some(incoming) = &file.incoming
            && !std::mem::replace(&mut file.begun, true)
        {
            let size = incoming.size();
            self.news.push(Progress::Begins { name: file.name.clone(), size });
        }
        let done = match self.act(&mut file, &frame) {
            Err(Stop::Place(PlaceError::Busy)) if patient => {
                self.tasks.push_front(Task::File(file));
                return Ok(Handled::Busy(frame));
            }
            Err(Stop::Place(error)) => {
                file.incoming = None;
                self.failed(file.entry, &file.name, &error.to_string());
                matches!(frame, Frame::Message(Message::End { .. } | Message::Keep))
            }
            Err(Stop::Broken(error)) => return Err(error),
            Ok(done) => done,
        };
        if done {
            self.ahead.0 -= 1;
            self.ahead.1 -= file.name.len();
            // The lock goes with it.
            drop(file);
            self.dress_dirs();
        } else {
            self.tasks.push_front(Task::File(file));
        }
        Ok(Handled::Yes)
    }

    /// Does what a frame says to a file. True when that was its last one.
    fn act(&mut self, file: &mut File<D::File>, frame: &Frame<Message>) -> Result<bool, Stop> {
        let ends = matches!(
            frame,
            Frame::Message(Message::End { .. } | Message::Skip { .. } | Message::Keep)
        );
        let Some(incoming) = &mut file.incoming else { return Ok(ends) };
        let (disk, rules) = (&self.disk, &self.rules);
        match frame {
            Frame::Data(bytes) => {
                if bytes.len() as u64 > incoming.size() - incoming.at() {
                    return Err(broken("more data than the file has"));
                }
                incoming.write(disk, rules, bytes)?;
                self.got.received += bytes.len() as u64;
                self.news.push(Progress::At { offset: incoming.at() });
            }
            Frame::Message(Message::Seek { offset }) => {
                let known = incoming.known();
                let there = !known.whole && known.len == *offset && *offset >= incoming.at();
                if !there || !file.may_seek {
                    return Err(broken("a jump to where nothing is"));
                }
                incoming.seek(disk, rules, *offset)?;
                file.may_seek = false;
                self.news.push(Progress::Resumed { offset: *offset });
            }
            Frame::Message(Message::End { hash }) => {
                let (entry, name) = (file.entry, file.name.clone());
                if incoming.finish(disk, rules, hash)? {
                    self.got.kept += 1;
                    self.news.push(Progress::Kept { name });
                } else {
                    self.news.push(Progress::Done { name });
                }
                self.done(entry);
            }
            Frame::Message(Message::Keep) => {
                if !incoming.known().whole {
                    return Err(broken("a file to be kept that is not here"));
                }
                incoming.keep(disk, rules);
                self.got.done += 1;
                self.got.kept += 1;
                self.news.push(Progress::Kept { name: file.name.clone() });
            }
            Frame::Message(Message::Skip { reason }) => {
                self.failed(file.entry, &file.name, reason);
            }
            Frame::Message(Message::Offer(_) | Message::Bye) => {
                return Err(broken("a message out of turn"));
            }
        }
        Ok(ends)
    }

    fn offer(&mut self, offer: Offer) -> Result<(), TransferError> {
        let entry = self.entries;
        self.entries += 1;
        let name = offer.name.clone();
        let path = match self.path_to(&name) {
            Ok(path) => path,
            Err(error) => return self.refused(entry, offer, &error.to_string()),
        };
        while let Some((dir, ..)) = self.dirs.last()
            && !path.starts_with(dir)
        {
            self.close_dir();
        }
        self.dress_dirs();
        match &offer.kind {
            Kind::File { size } => {
                let (disk, rules) = (&self.disk, &self.rules);
                match Incoming::look(disk, rules, path, *size, offer.mode, offer.changed) {
                    Ok(incoming) => {
                        let known = incoming.known();
                        let (len, hash, whole) = (known.len, known.hash, known.whole);
                        self.reply(&Reply::Have { entry, len, hash, whole });
                        self.expect(entry, name, Some(incoming))
                    }
                    Err(error) => self.refused(entry, offer, &error.to_string()),
                }
            }
            Kind::Directory => {
                match self.directory(&path) {
                    Ok(own) => {
                        if own && self.dirs.len() < MOST_DEPTH {
                            // It has the permissions that it gets in the end, from an earlier transfer. What cannot
                            // be made in it fails by itself.
                            let _ = self.disk.open_up(&path);
                            self.dirs.push((path, offer.mode, offer.changed));
                        }
                        self.done(entry);
                    }
                    Err(error) => self.failed(entry, &name, &error.to_string()),
                }
                Ok(())
            }
            Kind::Link { target } => {
                if !stays_inside(&path, target) {
                    let reason = "the symbolic link leads out of the directory".to_owned();
                    self.got.skipped += 1;
                    self.reply(&Reply::Skipped { entry, reason: reason.clone() });
                    self.news.push(Progress::Skipped { name, reason });
                    return Ok(());
                }
                match self.link(&path, target) {
                    Ok(true) => {
                        self.news.push(Progress::Done { name });
                        self.done(entry);
                    }
                    Ok(false) => {
                        self.got.kept += 1;
                        self.news.push(Progress::Kept { name });
                        self.done(entry);
                    }
                    Err(error) => self.failed(entry, &name, &error.to_string()),
                }
                Ok(())
            }
        }
    }

    /// An entry that cannot be received. The data of a file may be on their way already.
    fn refused(&mut self, entry: u64, offer: Offer, reason: &str) -> Result<(), TransferError> {
        self.failed(entry, &offer.name, reason);
        match offer.kind {
            Kind::File { .. } => self.expect(entry, offer.name, None),
            Kind::Directory | Kind::Link { .. } => Ok(()),
        }
    }

    /// The data of a file come when those of the files before it have come.
    fn expect(
        &mut self,
        entry: u64,
        name: String,
        incoming: Option<Incoming<D::File>>,
    ) -> Result<(), TransferError> {
        self.ahead.0 += 1;
        self.ahead.1 += name.len();
        if self.ahead.0 > MOST_AHEAD || self.ahead.1 > MOST_NAMES_AHEAD {
            return Err(TransferError::Protocol("too many files offered ahead"));
        }
        let file = File { entry, name, begun: false, may_seek: true, incoming };
        self.tasks.push_back(Task::File(file));
        Ok(())
    }

    /// The path of a name. The directories on the way are made; nothing there may be a link.
    fn path_to(&mut self, name: &str) -> Result<PathBuf, PlaceError> {
        let path = path_of(name)?;
        self.synced.retain(|dir| path.starts_with(dir));
        let mut directory = PathBuf::new();
        for part in parent_of(&path) {
            directory.push(part);
            self.directory(&directory)?;
        }
        Ok(path)
    }

    /// Makes a directory or finds it there. True when it is the sender's own.
    fn directory(&mut self, path: &Path) -> Result<bool, PlaceError> {
        let own = match self.disk.look(path)? {
            Some(found) if found.kind == FoundKind::Directory => {
                found.mark.is_some() && !self.rules.foreign(&found)
            }
            Some(_) => return Err(PlaceError::NotADirectory),
            None => {
                match self.disk.create_dir(path, self.rules.mark()) {
                    Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                    made => made?,
                }
                true
            }
        };
        // Also when it was there: what made it may have failed at this.
        if !self.synced.iter().any(|dir| dir == path) {
            self.disk.sync_dir(parent_of(path))?;
            self.synced.push(path.to_owned());
        }
        Ok(own)
    }

    /// A file that is there already may have its name since a transfer that failed at the last step.
    fn keep(&mut self, path: &Path) -> Result<(), PlaceError> {
        let parent = parent_of(path);
        if self.kept_in.as_deref() != Some(parent) {
            self.disk.sync_dir(parent)?;
            self.kept_in = Some(parent.to_owned());
        }
        Ok(())
    }

    /// Makes a link. False when it was there.
    fn link(&mut self, path: &Path, target: &str) -> Result<bool, PlaceError> {
        let there = self.disk.look(path)?;
        match &there {
            Some(found) if found.kind == FoundKind::Link(target.to_owned()) => {
                self.keep(path)?;
                return Ok(false);
            }
            Some(found) if found.kind == FoundKind::Directory => return Err(PlaceError::Directory),
            Some(found) if !self.rules.may_replace(found) => return Err(exists(found)),
            _ => {}
        }
        // It takes its name in one step: what is there stays when the link cannot be made.
        let new = new_link_of(path, self.rules.mark());
        if self.disk.look(&new)?.is_some() {
            self.disk.remove(&new)?;
        }
        self.disk.link(target, &new)?;
        if let Err(error) = self.disk.rename(&new, path, there.is_some()) {
            let _ = self.disk.remove(&new);
            return Err(error.into());
        }
        self.disk.sync_dir(parent_of(path))?;
        Ok(true)
    }

    /// Nothing more is offered in the innermost directory. False when there is none.
    fn close_dir(&mut self) -> bool {
        let Some((path, mode, changed)) = self.dirs.pop() else { return false };
        if self.tasks.len() < MOST_TASKS {
            self.tasks.push_back(Task::Directory(path, mode, changed));
        }
        true
    }

    /// Directories at the front have all their files.
    fn dress_dirs(&mut self) {
        while let Some(Task::Directory(..)) = self.tasks.front()
            && let Some(Task::Directory(path, mode, changed)) = self.tasks.pop_front()
        {
            // Its files are there; that its time is not right is no reason to fail.
            let _ = self.disk.dress_dir(&path, mode, changed);
        }
    }

    fn reply(&mut self, reply: &Reply) {
        self.replies.push(message(reply));
    }

    fn done(&mut self, entry: u64) {
        self.got.done += 1;
        self.reply(&Reply::Done { entry });
    }

    fn failed(&mut self, entry: u64, name: &str, why: &str) {
        self.got.failed += 1;
        let (name, reason) = (name.to_owned(), reason(why));
        self.reply(&Reply::Failed { entry, reason: reason.clone() });
        self.news.push(Progress::Failed { name, reason });
    }
}

/// Why a frame was not worked off.
enum Stop {
    /// The entry fails.
    Place(PlaceError),
    /// The peer does not keep to the protocol.
    Broken(TransferError),
}

fn broken(what: &'static str) -> Stop {
    Stop::Broken(TransferError::Protocol(what))
}

impl From<PlaceError> for Stop {
    fn from(error: PlaceError) -> Self {
        Self::Place(error)
    }
}

#[cfg(test)]
mod tests;
