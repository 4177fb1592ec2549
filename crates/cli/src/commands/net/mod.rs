//! The commands that move files.

mod bar;
mod bundle;
mod conclude;
mod connecting;
mod identity;
mod keygen;
mod memory;
pub(super) mod mqueue;
mod radio;
mod recv;
mod sctp;
mod send;

use bentpipe_net::qlp::OpenError;
use bentpipe_net::radio::TncError;

use crate::args::net::Files;
use crate::failure::Failure;

/// Does what was asked.
pub(crate) fn execute(command: Files) -> Result<(), Failure> {
    match command {
        Files::Bundle(args) => bundle::bundle(&args),
        Files::Keygen(args) => keygen::keygen(&args),
        Files::Recv(args) => recv::recv(&args),
        Files::Send(args) => send::send(&args),
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        Self::System(error.to_string())
    }
}

impl From<TncError> for Failure {
    fn from(error: TncError) -> Self {
        Self::System(error.to_string())
    }
}

/// What carries datagrams has ended, which it never does by itself.
fn ended() -> Failure {
    Failure::System("the task that carries datagrams has ended".to_owned())
}
