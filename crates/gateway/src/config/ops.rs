//! The part of the configuration about operations.

use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::Deserialize;

/// The HTTP server with metrics, health and status.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ops {
    /// Its TCP address.
    pub listen: SocketAddr,
    /// Others than this host may reach it, although it asks nobody who they are.
    #[serde(default)]
    pub open: bool,
    /// Names by which it may be asked, besides addresses and `localhost`.
    #[serde(default)]
    pub names: Vec<String>,
}

impl Ops {
    /// Whether it is what its operator means; otherwise the key and what is wrong.
    pub(crate) fn check(&self) -> Result<(), (String, String)> {
        if self.open || self.listen.ip().to_canonical().is_loopback() {
            return Ok(());
        }
        let message = format!(
            "{} is reached from outside, and whoever asks is shown who talks to whom: \
             use 127.0.0.1, or set open = true",
            self.listen
        );
        Err(("ops.listen".to_owned(), message))
    }
}
