//! For whom a request is meant.

use std::net::IpAddr;

use hyper::header::HeaderValue;
use hyper::http::uri::Authority;

/// Whether a request for this host is meant for the server. A page in a browser of somebody who reaches it may lead a
/// name of its own here, but that name is then what is asked for.
pub fn is_meant(host: &HeaderValue, names: &[String]) -> bool {
    let Ok(host) = Authority::try_from(host.as_bytes()) else { return false };
    let name = host.host();
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    let is = |known: &str| name.eq_ignore_ascii_case(known);
    bare.parse::<IpAddr>().is_ok() || is("localhost") || names.iter().any(|known| is(known))
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
