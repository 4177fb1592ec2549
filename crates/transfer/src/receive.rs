//! The receiver's side.

use bentpipe_association::host::{Connection, Runtime};
use bentpipe_association::stream::Streams;
use bentpipe_units::Span;

use crate::disk::Disk;
use crate::frames::{Frames, Message};
use crate::incoming::Rules;
use crate::receiver::{Handled, Receiver};
use crate::{Progress, TransferError};

/// A transfer that was cut off may still hold its file while it writes what had arrived.
const MOST_WAIT: Span = Span::from_secs(10);
/// Time between two looks whether it still does.
const LOOK: Span = Span::from_millis(50);

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
    runtime: &impl Runtime,
    connection: &Connection<impl Streams>,
    disk: impl Disk,
    rules: Rules,
    progress: impl Fn(Progress),
) -> Result<Received, TransferError> {
    let mut machine = Receiver::new(disk, rules);
    let mut frames = Frames::default();
    loop {
        let frame = frames.next::<Message>(connection).await?.ok_or(TransferError::Cut)?;
        let mut next = Some(frame);
        let mut waited = Span::ZERO;
        while let Some(frame) = next.take() {
            let patient = waited < MOST_WAIT;
            let work = move || {
                let handled = machine.handle(frame, patient);
                (machine, handled)
            };
            let (back, handled) = runtime.blocking(work).await?;
            machine = back;
            machine.news().into_iter().for_each(&progress);
            for reply in machine.replies() {
                connection.write_bytes(reply).await?;
            }
            if let Handled::Busy(frame) = handled? {
                runtime.sleep(LOOK).await;
                waited = waited + LOOK;
                next = Some(frame);
            }
        }
        if let Some(received) = machine.result() {
            return Ok(received);
        }
    }
}
