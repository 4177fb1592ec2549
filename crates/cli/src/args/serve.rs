//! `bentpipe serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args as ClapArgs;

pub(super) const SERVE_EXAMPLES: &str = "Examples:
  bentpipe serve --open
  bentpipe serve scenarios/
  bentpipe serve --gateway 127.0.0.1:9100 --gateway 10.0.0.1:9100
  bentpipe serve --listen 192.0.2.7:8380 --token-file token

Scenarios of the page may name files below DIR: traces, attenuations, tracks, element sets. Without DIR they name none.
Anybody on this host may open the page at a loopback address; with a token only those who know it. A token is a line of 20
to 128 letters, digits, - and _ in a file that its owner alone may read. Traffic is not encrypted: over networks of others go
through SSH or a proxy with TLS.";

/// `bentpipe serve`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Serve {
    /// The folder with results of sweeps, whose files scenarios of the page may name
    #[arg(value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Where the page is; another address than one of this host alone needs a token
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8380")]
    pub(crate) listen: SocketAddr,
    /// Who asks must know the token in this file
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Where a gateway serves its status; may be given several times
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) gateway: Vec<String>,
    /// Open the page in a browser, if there is a desktop; with a token open the address that is printed, as other users of this host see
    /// what programs are told
    #[arg(long, conflicts_with = "token_file")]
    pub(crate) open: bool,
}
