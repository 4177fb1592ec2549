//! File transfer on this machine: its files, its clock, its threads. What is said is in `bentpipe-transfer`.

mod entries;
mod files;
mod inbox;

use bentpipe_association::host::Connection;
use bentpipe_association::stream::Streams;
use bentpipe_transfer::{Disk, Entry, Outcome, Progress, Received, Rules, TransferError};

use crate::runtime::Tokio;

pub use entries::{EntryError, Links, entries};
pub use files::{Files, OpenFile};
pub use inbox::{Inbox, InboxFile};

/// Sends files of this machine over a connection, see [`bentpipe_transfer::send`].
///
/// # Errors
/// When the connection fails or the peer does not keep to the protocol.
pub async fn send(
    connection: &Connection<impl Streams>,
    entries: &[Entry],
    progress: impl Fn(Progress),
) -> Result<Outcome, TransferError> {
    bentpipe_transfer::send(&Tokio, connection, &Files, entries, progress).await
}

/// Receives what a sender sends, see [`bentpipe_transfer::receive`].
///
/// # Errors
/// When the connection fails or the peer does not keep to the protocol.
pub async fn receive(
    connection: &Connection<impl Streams>,
    disk: impl Disk,
    rules: Rules,
    progress: impl Fn(Progress),
) -> Result<Received, TransferError> {
    bentpipe_transfer::receive(&Tokio, connection, disk, rules, progress).await
}
