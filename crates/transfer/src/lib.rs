//! File transfer over one connection: files and directories, verified, resumed where it was cut off.
//!
//! The sender offers entries ahead and sends data at once, without waiting for what the receiver may
//! have already; when the receiver says that it has the beginning of a file, the sender checks that and
//! jumps, and a file that is there as a whole is left alone. A transfer that was never interrupted
//! therefore costs no round trip more than its data, and one that was done before costs one.
//!
//! [`send`] and [`receive`] are futures over a connection of an association. Files are behind [`Source`] and [`Disk`],
//! time is that of a [`Runtime`](bentpipe_association::host::Runtime).
//!
//! ```no_run
//! use bentpipe_association::host::{Connection, Runtime};
//! use bentpipe_association::stream::Streams;
//! use bentpipe_transfer::{Disk, Progress, Received, Rules, TransferError, receive};
//!
//! async fn inbox<S: Streams>(
//!     runtime: &impl Runtime,
//!     connection: &Connection<S>,
//!     disk: impl Disk,
//! ) -> Result<Received, TransferError> {
//!     let told = |progress: Progress| println!("{progress:?}");
//!     receive(runtime, connection, disk, Rules::default(), told).await
//! }
//! ```

mod disk;
pub mod frames;
#[doc(hidden)]
pub mod fuzz;
mod incoming;
pub mod memory_disk;
mod names;
mod pieces;
mod receive;
mod receiver;
mod send;
mod source;

pub use disk::{Disk, DiskFile, Found, FoundKind};
pub use incoming::Rules;
pub use receive::{Received, receive};
pub use receiver::{Handled, Receiver};
pub use send::{Outcome, send};
pub use source::{Entry, Source, SourceFile, Stamp, What};

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
    /// So many bytes of it are done.
    At {
        /// From its beginning.
        offset: u64,
    },
    /// It goes on from here: what is before it was there already.
    Resumed {
        /// From its beginning.
        offset: u64,
    },
    /// It is complete and has its final name.
    Done {
        /// Its name.
        name: String,
    },
    /// It was there already as a whole.
    Kept {
        /// Its name.
        name: String,
    },
    /// It was left out, which is no failure.
    Skipped {
        /// Its name.
        name: String,
        /// Why.
        reason: String,
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
