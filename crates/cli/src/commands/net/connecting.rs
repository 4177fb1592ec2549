//! Waiting for a peer: what is said meanwhile, and why it ends without one.

use std::io::{self, ErrorKind, IsTerminal as _, Write as _};
use std::time::Duration;

use bentpipe_association::endpoint::Streams;
use bentpipe_association::host::Connection;
use bentpipe_units::Span;

use crate::failure::Failure;
use crate::output::lines::Lines;

/// A peer that answers within this time is not waited for.
const AT_ONCE: Duration = Duration::from_secs(1);

/// How a peer is called and how long it is waited for.
pub(super) struct Wait<'a> {
    /// Its address as the user wrote it.
    pub(super) to: &'a str,
    /// It ends after this time.
    pub(super) idle_timeout: Span,
    /// What may be wrong when there is no answer.
    pub(super) silence: String,
    pub(super) lines: &'a Lines,
}

impl Wait<'_> {
    /// Waits for `connecting`, until the idle timeout ends or the network says by `refused` that nobody listens.
    pub(super) async fn connect<S: Streams>(
        &self,
        connecting: impl Future<Output = io::Result<Connection<S>>>,
        refused: impl Future<Output = io::Error>,
    ) -> Result<Connection<S>, Failure> {
        let failed = |why: &str| Failure::System(format!("{}: {why}", self.to));
        let idle_timeout = Duration::from_secs_f64(self.idle_timeout.as_secs_f64());
        let outcome = {
            let said = Said::default();
            tokio::select! {
                connected = connecting => connected,
                error = async {
                    // Not while it may still answer: an old refusal may be on its way.
                    tokio::time::sleep(AT_ONCE).await;
                    refused.await
                } => Err(error),
                () = tokio::time::sleep(idle_timeout) => Err(ErrorKind::TimedOut.into()),
                never = self.tell(&said) => match never {},
            }
        };
        outcome.map_err(|error| match error.kind() {
            ErrorKind::TimedOut => {
                failed(&format!("no answer for {}: {}", self.idle_timeout, self.silence))
            }
            ErrorKind::ConnectionRefused => {
                failed("connection refused: nobody listens at this address and port")
            }
            ErrorKind::ConnectionReset => {
                failed(&format!("the peer answers and refuses: it receives no files ({error})"))
            }
            _ => failed(&error.to_string()),
        })
    }

    /// Says how long there was no answer: in place on a terminal, otherwise now and then.
    async fn tell(&self, said: &Said) -> std::convert::Infallible {
        let mut waited = Duration::ZERO;
        let mut next = AT_ONCE * 2;
        loop {
            tokio::time::sleep(AT_ONCE).await;
            waited += AT_ONCE;
            let line =
                format!("connecting to {} ... no answer for {} s", self.to, waited.as_secs());
            if said.in_place {
                let _ = write!(io::stderr(), "\r{line}\u{1b}[K");
                said.something.set(true);
            } else if waited >= next {
                self.lines.remark(line);
                next *= 2;
            }
        }
    }
}

/// The line on the terminal, which goes when there is an answer or none is expected any more.
struct Said {
    in_place: bool,
    something: std::cell::Cell<bool>,
}

impl Default for Said {
    fn default() -> Self {
        Self { in_place: io::stderr().is_terminal(), something: std::cell::Cell::new(false) }
    }
}

impl Drop for Said {
    fn drop(&mut self) {
        if self.something.get() {
            let _ = write!(io::stderr(), "\r\u{1b}[K");
        }
    }
}
