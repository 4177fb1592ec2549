//! Message queues as nodes have them: one to read from, and those of others to write to.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::mqueue::{
    MQ_OFlag, MqAttr, MqdT, mq_attr_member_t, mq_close, mq_getattr, mq_open, mq_receive, mq_send,
    mq_unlink,
};
use nix::sys::stat::Mode;
use rustix::fs::{FlockOperation, flock, fstat};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::NodeId;

/// Longest message: an XSTP segment of 1,000 bytes with a report of 200 gaps, and some to spare. Far
/// below the 8,192 bytes that systems permit, as all of a queue counts against the user's limit.
pub(super) const MESSAGE: usize = 2048;
/// Messages that a queue holds: the first of these that the system permits. The last is what every
/// user may have by default.
const DEPTHS: [mq_attr_member_t; 6] = [256, 128, 64, 32, 16, 10];
/// Bytes that a message takes of what all queues of a user may have, the kernel's own included.
const COST: u64 = MESSAGE as u64 + 104;
/// A queue takes no more than this part of that: whoever comes later wants one too.
const SHARE: u64 = 10;
/// How often a queue is tried to be made while others make and remove it too.
const ATTEMPTS: usize = 8;

/// A node that cannot have its queue.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A process that runs has it.
    #[error("node {0} is taken by a process that is running")]
    Taken(NodeId),
    /// The queues of this user have all that they may.
    #[error(
        "no message queue for node {0}: those of this user take all that `ulimit -q` allows; let fewer run at a time"
    )]
    NoRoom(NodeId),
    /// The system does not let it.
    #[error("no message queue for node {node}: {error}")]
    System {
        /// Which node.
        node: NodeId,
        /// Why.
        error: io::Error,
    },
}

/// The name of a node's queue.
fn name(node: NodeId) -> String {
    format!("/xstp_{node}")
}

/// An open queue, closed when it is dropped.
#[derive(Debug)]
struct Queue {
    /// Gone only while it is being dropped.
    descriptor: Option<MqdT>,
}

impl Queue {
    fn open(node: NodeId, flags: MQ_OFlag, depth: Option<mq_attr_member_t>) -> Result<Self, Errno> {
        let attributes = depth.map(|depth| MqAttr::new(0, depth, MESSAGE as mq_attr_member_t, 0));
        let flags = flags | MQ_OFlag::O_NONBLOCK | MQ_OFlag::O_CLOEXEC;
        let owner = Mode::S_IRUSR | Mode::S_IWUSR;
        let descriptor = mq_open(name(node).as_str(), flags, owner, attributes.as_ref())?;
        Ok(Self { descriptor: Some(descriptor) })
    }

    fn descriptor(&self) -> Result<&MqdT, Errno> {
        self.descriptor.as_ref().ok_or(Errno::EBADF)
    }

    /// Whether it still has its name: one that was removed is nobody's any more.
    fn is_named(&self) -> bool {
        self.descriptor().is_ok_and(|fd| fstat(fd).is_ok_and(|stat| stat.st_nlink > 0))
    }

    /// Takes it for this process, until it is closed. False if another process has it.
    fn lock(&self) -> Result<bool, Errno> {
        match flock(self.descriptor()?, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
            Err(error) => Err(Errno::from_raw(error.raw_os_error())),
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        if let Some(descriptor) = self.descriptor.take() {
            // There is nobody to tell.
            let _ = mq_close(descriptor);
        }
    }
}

/// The queue that a node reads, removed when it is dropped.
///
/// Its process holds a lock on it, which ends with the process however it ends: a queue without a lock
/// was left by one that was killed, and is replaced.
#[derive(Debug)]
pub(super) struct Inbox {
    node: NodeId,
    queue: Queue,
    depth: usize,
    message: Box<[u8]>,
}

impl Inbox {
    /// The queue of this node.
    pub(super) fn open(node: NodeId) -> Result<Self, OpenError> {
        let failed = |error: Errno| match error {
            Errno::EMFILE => OpenError::NoRoom(node),
            error => OpenError::System { node, error: error.into() },
        };
        let any = Rlimit { current: None, maximum: None };
        // Only an administrator may; others have what the system permits.
        let _ = setrlimit(Resource::Msgqueue, any);
        for _ in 0..ATTEMPTS {
            let Some(queue) = Self::create(node).map_err(failed)? else {
                remove_stale(node).map_err(failed)?.then_some(()).ok_or(OpenError::Taken(node))?;
                continue;
            };
            // Between the making and the lock another process may have taken it for a stale one.
            if queue.lock().map_err(failed)? && queue.is_named() {
                let attributes = queue.descriptor().and_then(mq_getattr).map_err(failed)?;
                let depth = attributes.maxmsg() as usize;
                let message = vec![0; MESSAGE].into_boxed_slice();
                return Ok(Self { node, queue, depth, message });
            }
        }
        Err(OpenError::Taken(node))
    }

    /// A new queue, as deep as the system permits; `None` when there is one of that name.
    fn create(node: NodeId) -> Result<Option<Queue>, Errno> {
        let flags = MQ_OFlag::O_CREAT | MQ_OFlag::O_EXCL | MQ_OFlag::O_RDONLY;
        let mut refused = Errno::EINVAL;
        let share = getrlimit(Resource::Msgqueue).current.map_or(u64::MAX, |all| all / SHARE);
        let [deeper @ .., least] = DEPTHS;
        let fits = |depth: &mq_attr_member_t| *depth as u64 * COST <= share;
        for depth in deeper.into_iter().filter(fits).chain([least]) {
            match Queue::open(node, flags, Some(depth)) {
                Ok(queue) => return Ok(Some(queue)),
                Err(Errno::EEXIST) => return Ok(None),
                // Deeper than the system or the user's limit permits.
                Err(error @ (Errno::EINVAL | Errno::EMFILE)) => refused = error,
                Err(error) => return Err(error),
            }
        }
        Err(refused)
    }

    /// Whose queue it is.
    pub(super) const fn node(&self) -> NodeId {
        self.node
    }

    /// Messages that it holds before it is full.
    pub(super) const fn depth(&self) -> usize {
        self.depth
    }

    /// Takes the next message; `None` when there is none.
    pub(super) fn receive(&mut self) -> Option<&[u8]> {
        let descriptor = self.queue.descriptor().ok()?;
        let mut priority = 0;
        let length = mq_receive(descriptor, &mut self.message, &mut priority).ok()?;
        self.message.get(..length)
    }

    /// A descriptor of its own for waiting.
    pub(super) fn watch(&self) -> io::Result<OwnedFd> {
        self.as_fd()?.try_clone_to_owned()
    }

    /// For waiting.
    pub(super) fn as_fd(&self) -> io::Result<BorrowedFd<'_>> {
        Ok(self.queue.descriptor()?.as_fd())
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        if self.queue.is_named() {
            // There is nobody to tell.
            let _ = mq_unlink(name(self.node).as_str());
        }
    }
}

/// Removes the queue of a node whose process is gone. False if the process is running.
fn remove_stale(node: NodeId) -> Result<bool, Errno> {
    let queue = match Queue::open(node, MQ_OFlag::O_RDONLY, None) {
        Ok(queue) => queue,
        Err(Errno::ENOENT) => return Ok(true),
        Err(error) => return Err(error),
    };
    if !queue.lock()? {
        return Ok(false);
    }
    if queue.is_named() {
        mq_unlink(name(node).as_str())?;
    }
    Ok(true)
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Put {
    /// It is in the queue.
    Taken,
    /// The queue is full.
    Full,
    /// There is no such queue, or none that takes it.
    Refused,
}

/// The queue of another node, opened when there is something to put into it.
#[derive(Debug)]
pub(super) struct Outlet {
    node: NodeId,
    queue: Option<Queue>,
}

impl Outlet {
    pub(super) const fn new(node: NodeId) -> Self {
        Self { node, queue: None }
    }

    /// Puts a message into the queue.
    pub(super) fn put(&mut self, message: &[u8]) -> Put {
        // The process behind a queue that was removed is gone; another may have come.
        if !self.queue.as_ref().is_some_and(Queue::is_named) {
            self.queue = Queue::open(self.node, MQ_OFlag::O_WRONLY, None).ok();
        }
        let Some(queue) = &self.queue else { return Put::Refused };
        match queue.descriptor().and_then(|descriptor| mq_send(descriptor, message, 0)) {
            Ok(()) => Put::Taken,
            Err(Errno::EAGAIN) => Put::Full,
            Err(_) => Put::Refused,
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
