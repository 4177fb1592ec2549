//! The receiver's side.

use std::time::Duration;

use tokio::task::spawn_blocking;

use super::disk::Disk;
use super::frames::{Frames, Message};
use super::incoming::Rules;
use super::machine::{Handled, Machine};
use super::{Progress, TransferError};
use bentpipe_association::host::Connection;
use bentpipe_association::stream::Streams;

/// A transfer that was cut off may still hold its file while it writes what had arrived.
const MOST_WAIT: Duration = Duration::from_secs(10);
/// Time between two looks whether it still does.
const LOOK: Duration = Duration::from_millis(50);

/// What a receiver has got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Entries that are complete.
    pub done: u64,
    /// Those of them that were there before, files and links.
    pub kept: u64,
    /// Entries that are not complete.
    pub failed: u64,
    /// Links that were left out.
    pub skipped: u64,
    /// Bytes of files that arrived.
    pub received: u64,
}

/// Receives everything that a sender sends into a directory, by the rules for that sender.
///
/// # Errors
/// When the connection fails or the peer does not keep to the protocol. What was not finished stays
/// under a hidden name, to be taken up again.
pub async fn receive(
    connection: &Connection<impl Streams>,
    disk: impl Disk,
    rules: Rules,
    progress: impl Fn(Progress),
) -> Result<Received, TransferError> {
    let mut machine = Machine::new(disk, rules);
    let mut frames = Frames::default();
    loop {
        let frame = frames.next::<Message>(connection).await?.ok_or(TransferError::Cut)?;
        let mut next = Some(frame);
        let mut waited = Duration::ZERO;
        while let Some(frame) = next.take() {
            let patient = waited < MOST_WAIT;
            let work = move || {
                let handled = machine.handle(frame, patient);
                (machine, handled)
            };
            let (back, handled) = spawn_blocking(work).await.map_err(std::io::Error::other)?;
            machine = back;
            machine.news().into_iter().for_each(&progress);
            for reply in machine.replies() {
                connection.write_bytes(reply).await?;
            }
            if let Handled::Busy(frame) = handled? {
                tokio::time::sleep(LOOK).await;
                waited += LOOK;
                next = Some(frame);
            }
        }
        if let Some(received) = machine.result() {
            return Ok(received);
        }
    }
}
