//! What a server is told.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::{Limits, Token};

/// What a server is told.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it listens. Another address than a loopback one needs a token.
    pub listen: SocketAddr,
    /// Who asks must know it.
    pub token: Option<Token>,
    /// The one folder with files that it reads, for scenarios that name some.
    pub folder: Option<PathBuf>,
    /// Where gateways serve their status, as HOST:PORT.
    pub gateways: Vec<String>,
    /// What users may take.
    pub limits: Limits,
}

impl Options {
    /// A server on this address, with nothing else.
    pub fn new(listen: SocketAddr) -> Self {
        let limits = Limits::default();
        Self { listen, token: None, folder: None, gateways: Vec::new(), limits }
    }
}
