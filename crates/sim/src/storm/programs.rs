//! What `bentpipe send` and `bentpipe recv` do, in a storm.

use std::net::SocketAddr;

use bentpipe_association::host::{Host, Runtime as _};
use bentpipe_association::{PublicKey, Tuning};
use bentpipe_transfer::memory_disk::MemoryDisk;
use bentpipe_transfer::{Entry, Outcome, PORT, Progress, Rules, TransferError, receive, send};
use bentpipe_units::Span;

use super::settings::Settings;
use crate::program::{Program, Virtual};

/// How long either side waits for the other one to take its leave.
const FAREWELL: Span = Span::from_secs(10);

/// What `bentpipe recv` does.
pub(super) fn serve(
    program: &Program,
    peers: &[PublicKey],
    disk: &MemoryDisk,
    settings: &Settings,
) {
    let (host, runtime, disk) = (program.host().clone(), program.runtime().clone(), disk.clone());
    host.limit_memory(settings.memory, settings.connections);
    host.set_fec(settings.fec);
    for peer in peers {
        host.allow(*peer);
    }
    let tuning = Tuning { buffer: settings.buffer, ..Tuning::default() };
    host.listen(tuning.config().expect("settings without a rate"));
    program.spawn(async move {
        loop {
            let connection = host.accept().await;
            let rules = Rules { sender: Some(connection.peer().to_string()), overwrite: false };
            let (disk, own) = (disk.clone(), runtime.clone());
            let served = async move {
                if receive(&own, &connection, disk, rules, |_| ()).await.is_ok() {
                    let _ = own.timeout(FAREWELL, connection.finish()).await;
                }
            };
            runtime.spawn(served).detach();
        }
    });
}

/// What `bentpipe send` does.
pub(super) async fn send_once(
    host: &Host,
    runtime: &Virtual,
    (to, peer): (SocketAddr, PublicKey),
    disk: &MemoryDisk,
    entries: &[Entry],
    tuning: Tuning,
    progress: impl Fn(Progress),
) -> Result<Outcome, TransferError> {
    let idle_timeout = tuning.idle_timeout;
    let config = tuning.persistent_config().expect("settings without a rate");
    let connecting = host.connect(to, peer, PORT, config);
    let late = || TransferError::Connection(std::io::ErrorKind::TimedOut.into());
    let connection = runtime.timeout(idle_timeout, connecting).await.ok_or_else(late)??;
    let sent = send(runtime, &connection, disk, entries, progress).await?;
    let _ = runtime.timeout(FAREWELL, connection.finish()).await;
    Ok(sent)
}
