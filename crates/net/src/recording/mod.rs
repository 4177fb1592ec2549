//! Recordings of links over real sockets: ICMP for any host, UDP for a responder.

mod echo;
mod udp;

pub use echo::Echo;
pub use udp::{Respond, Udp};

use std::io;

use bentpipe_system::Clock;
use bentpipe_trace::record::Recorder;

/// Room for any datagram: all that comes counts, whoever sent it.
const LONGEST: usize = 65_536;

/// What a recorder's datagrams go through.
pub trait Probes {
    /// Sends one.
    fn send(&self, datagram: &[u8]) -> impl Future<Output = io::Result<()>>;

    /// Waits for one from the far end.
    fn receive(&self, buffer: &mut Vec<u8>) -> impl Future<Output = io::Result<()>>;
}

/// Runs a recorder until it ends, or is told to by `stop`; `begins` is called when somebody has answered.
///
/// # Errors
/// Those of the socket until somebody has answered: later ones are those of a link that is down for a while.
pub async fn record(
    recorder: &mut Recorder,
    probes: &impl Probes,
    clock: &Clock,
    begins: impl FnOnce(),
    mut stop: impl AsyncFnMut(),
) -> io::Result<()> {
    let mut begins = Some(begins);
    let (mut out, mut buffer) = (Vec::new(), Vec::new());
    while !recorder.is_done() {
        while recorder.poll(clock.now(), &mut out) {
            let sent = probes.send(&out).await;
            fail_while_opening(recorder, sent)?;
        }
        if let Some(begins) = begins.take_if(|_| recorder.is_measuring()) {
            begins();
        }
        tokio::select! {
            received = probes.receive(&mut buffer) => match received {
                Ok(()) => recorder.handle(clock.now(), &buffer),
                error => fail_while_opening(recorder, error)?,
            },
            () = clock.sleep_until(Some(recorder.timeout().unwrap_or(clock.now()))) => {}
            () = stop() => recorder.stop(clock.now()),
        }
    }
    Ok(())
}

fn fail_while_opening(recorder: &Recorder, done: io::Result<()>) -> io::Result<()> {
    if recorder.is_opening() { done } else { Ok(()) }
}

/// A number that nobody guesses.
///
/// # Errors
/// When the system gives none.
pub fn session() -> io::Result<u64> {
    getrandom::u64().map_err(io::Error::other)
}
