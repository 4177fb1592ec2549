//! File transfer over one connection: files and directories, verified, resumed where it was cut off.
//!
//! The sender starts at once, without waiting for what the receiver may have already; when the
//! receiver says that it has the beginning of a file, the sender checks that and jumps. A transfer
//! that was never interrupted therefore costs no round trip more than its data.

mod entries;
mod frames;
mod place;
mod receive;
mod send;

pub use entries::{Entry, EntryError, entries};
pub use receive::{Receiver, receive};
pub use send::{Outcome, send};

/// The service number of file transfer.
pub const PORT: u16 = 1;

/// What a transfer reports while it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// A file begins.
    Begins {
        /// Its name, relative to the receiver's directory.
        name: String,
        /// Its size in bytes.
        size: u64,
    },
    /// So many bytes of it are done, sent or found to be there already.
    At {
        /// From its beginning.
        offset: u64,
    },
    /// It is complete and has its final name.
    Done {
        /// Its name.
        name: String,
    },
    /// It could not be transferred; the others go on.
    Failed {
        /// Its name.
        name: String,
        /// Why.
        reason: String,
    },
}

/// A transfer that could not go on.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// The connection failed.
    #[error("the connection failed: {0}")]
    Connection(#[from] std::io::Error),
    /// The peer sent what the protocol does not have.
    #[error("the peer does not speak this protocol: {0}")]
    Protocol(&'static str),
    /// The peer closed before everything was done.
    #[error("the peer closed before everything was transferred")]
    Cut,
}
