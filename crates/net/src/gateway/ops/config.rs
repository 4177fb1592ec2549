//! The part of the configuration about operations.

use std::net::{IpAddr, SocketAddr};

use hyper::header::HeaderValue;
use hyper::http::uri::Authority;
use serde::Deserialize;

/// The HTTP server with metrics, health and status.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
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

/// Whether a request for this host is meant for the server. A page in a browser of somebody who reaches it may lead a
/// name of its own here, but that name is then what is asked for.
pub(super) fn is_meant(host: &HeaderValue, names: &[String]) -> bool {
    let Ok(host) = Authority::try_from(host.as_bytes()) else { return false };
    let name = host.host();
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    let is = |known: &str| name.eq_ignore_ascii_case(known);
    bare.parse::<IpAddr>().is_ok() || is("localhost") || names.iter().any(|known| is(known))
}

impl Ops {
    /// Whether it is what its operator means; otherwise the key and what is wrong.
    pub(in crate::gateway) fn check(&self) -> Result<(), (String, String)> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_the_operator_gave_is_meant_and_no_other_one() {
        let names = ["gateway.example".to_owned()];
        let is_meant = |host| is_meant(&HeaderValue::from_static(host), &names);
        assert!(is_meant("Gateway.Example:9100") && is_meant("[2001:db8::1]:9100"));
        assert!(!is_meant("gateway.example.evil.example") && !is_meant("x gateway.example"));
    }
}
