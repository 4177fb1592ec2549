//! Endpoint IDs: which node they belong to, and which of them a route is for.

use std::fmt;
use std::str::FromStr;

use bp7::EndpointID;

use crate::checked::is_well_formed;

/// An endpoint ID that is not one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{said}: {why}; write dtn://NODE/SERVICE or ipn:NODE.SERVICE")]
pub struct BadEndpoint {
    said: String,
    why: String,
}

/// Reads an endpoint ID, such as `dtn://relay/mail` or `ipn:23.1`.
///
/// # Errors
/// What is wrong with it and what would be right.
pub fn endpoint(text: &str) -> Result<EndpointID, BadEndpoint> {
    let bad = |why: &str| BadEndpoint { said: text.to_owned(), why: why.to_owned() };
    let parsed = EndpointID::try_from(text).map_err(|error| bad(&error.to_string()))?;
    if parsed == EndpointID::none() {
        return Err(bad("that is the endpoint of nobody"));
    }
    if !is_well_formed(&parsed) {
        return Err(bad("it is too long or has characters that no URI has"));
    }
    Ok(parsed)
}

/// A node: the endpoint ID of its administrative endpoint, such as `dtn://relay/` or `ipn:23.0`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NodeId(EndpointID);

impl NodeId {
    /// Its administrative endpoint.
    pub const fn endpoint(&self) -> &EndpointID {
        &self.0
    }

    /// Whether an endpoint is at this node.
    pub fn has(&self, endpoint: &EndpointID) -> bool {
        endpoint.scheme() == self.0.scheme()
            && self.0.node().is_some_and(|node| endpoint.node() == Some(node))
    }

    /// An endpoint of this node.
    ///
    /// # Errors
    /// When a service of the scheme `ipn` is no number, or of `dtn` is none of a URI's.
    pub fn service(&self, name: &str) -> Result<EndpointID, BadEndpoint> {
        let bad = |why: String| BadEndpoint { said: name.to_owned(), why };
        let made = self.0.new_endpoint(name).map_err(|error| bad(error.to_string()))?;
        if !is_well_formed(&made) {
            return Err(bad("it has characters that no URI has".to_owned()));
        }
        Ok(made)
    }
}

impl FromStr for NodeId {
    type Err = BadEndpoint;

    fn from_str(text: &str) -> Result<Self, BadEndpoint> {
        let parsed = endpoint(text)?;
        if !parsed.is_node_id() {
            let why = "it names a service, and a node has none".to_owned();
            return Err(BadEndpoint { said: text.to_owned(), why });
        }
        Ok(Self(parsed))
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Which endpoint IDs a route is for: one, all that begin like it (`dtn://mars/*`, `ipn:23.*`), or all (`*`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    begins: String,
    is_whole: bool,
}

impl Pattern {
    /// Whether it is for this endpoint.
    pub fn matches(&self, endpoint: &EndpointID) -> bool {
        let text = endpoint.to_string();
        if self.is_whole { text == self.begins } else { text.starts_with(&self.begins) }
    }
}

impl FromStr for Pattern {
    type Err = BadEndpoint;

    fn from_str(text: &str) -> Result<Self, BadEndpoint> {
        let bad = |why: &str| BadEndpoint { said: text.to_owned(), why: why.to_owned() };
        let begins = text.strip_suffix('*');
        let rest = begins.unwrap_or(text);
        if rest.contains('*') {
            return Err(bad("a star stands at the end or nowhere"));
        }
        if !rest.is_empty() && !rest.starts_with("dtn://") && !rest.starts_with("ipn:") {
            return Err(bad("it begins with neither scheme"));
        }
        if begins.is_none() {
            endpoint(text)?;
        }
        Ok(Self { begins: rest.to_owned(), is_whole: begins.is_none() })
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.begins, if self.is_whole { "" } else { "*" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_have_their_endpoints_and_nobody_elses() {
        for (node, own, other) in [
            ("dtn://mars/", "dtn://mars/mail/in", "dtn://marsh/mail"),
            ("ipn:23.0", "ipn:23.7", "ipn:2.37"),
            ("dtn://23/", "dtn://23/a", "ipn:23.1"),
        ] {
            let node: NodeId = node.parse().expect("a node");
            assert!(node.has(&endpoint(own).expect("an endpoint")));
            assert!(node.has(node.endpoint()));
            assert!(!node.has(&endpoint(other).expect("an endpoint")));
        }
        let mars: NodeId = "dtn://mars/".parse().expect("a node");
        assert_eq!(mars.service("mail").expect("a service").to_string(), "dtn://mars/mail");
        assert!(mars.service("a b").is_err());
    }

    #[test]
    fn patterns_are_one_a_beginning_or_all() {
        let matches = |pattern: &str, text: &str| {
            let pattern: Pattern = pattern.parse().expect("a pattern");
            pattern.matches(&endpoint(text).expect("an endpoint"))
        };
        assert!(matches("*", "ipn:1.1") && matches("dtn://mars/*", "dtn://mars/a"));
        assert!(matches("ipn:23.*", "ipn:23.4") && !matches("ipn:23.*", "ipn:230.4"));
        assert!(
            matches("dtn://mars/a", "dtn://mars/a") && !matches("dtn://mars/a", "dtn://mars/ab")
        );
        for bad in ["", "mars", "dtn://*/x", "http://mars/*", "dtn:none"] {
            assert!(bad.parse::<Pattern>().is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_no_endpoint_is_refused_with_what_would_be_right() {
        for bad in ["", "mars", "dtn:none", "dtn://a b/c", "ipn:0.5", "ipn:x.1", "dtn:///x"] {
            let said = endpoint(bad).expect_err(bad).to_string();
            assert!(said.contains("write dtn://NODE/SERVICE"), "{said}");
        }
        assert!("dtn://mars/mail".parse::<NodeId>().is_err());
    }
}
