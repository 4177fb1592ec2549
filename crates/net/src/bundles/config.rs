//! The file of a bundle node.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use bentpipe_association::PublicKey;
use bentpipe_bundle::{Limits, NodeId, Pattern, Route};
use bentpipe_gateway::{ConfigError, ConfigErrors, Parsed};
use bentpipe_units::{ByteCount, Span};
use serde::Deserialize;

/// A convergence layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// XSTP between hosts that know each other's keys, encrypted.
    Xstp,
    /// TCPCL version 4 (RFC 9174), without TLS.
    Tcpcl,
    /// MTCP, one way, without custody and without TLS.
    Mtcp,
}

/// What a file says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    node: Parsed<NodeId>,
    store: PathBuf,
    socket: Option<PathBuf>,
    key: Option<PathBuf>,
    #[serde(default)]
    limits: SaidLimits,
    #[serde(default)]
    listen: Vec<Listener>,
    #[serde(default)]
    neighbours: BTreeMap<String, SaidNeighbour>,
    #[serde(default)]
    routes: Vec<SaidRoute>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct SaidLimits {
    bytes: Option<Parsed<ByteCount>>,
    bundles: Option<usize>,
    strangers: Option<Parsed<ByteCount>>,
    largest: Option<Parsed<ByteCount>>,
    seen: Option<usize>,
    lifetime: Option<Parsed<Span>>,
    require_crc: Option<bool>,
    retry: Option<Parsed<Span>>,
    idle_timeout: Option<Parsed<Span>>,
}

/// Where a node listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listener {
    /// What is spoken there.
    pub layer: Layer,
    /// The address.
    pub address: SocketAddr,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SaidNeighbour {
    node: Parsed<NodeId>,
    layer: Layer,
    address: Option<String>,
    key: Option<Parsed<PublicKey>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SaidRoute {
    to: Parsed<Pattern>,
    via: String,
}

/// A neighbour of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// How the file calls it.
    pub name: String,
    /// What is spoken with it.
    pub layer: Layer,
    /// Where it is, HOST:PORT; without an address it calls.
    pub address: Option<String>,
    /// Its public key, where there are keys.
    pub key: Option<PublicKey>,
}

/// What the file of a node says, in which everything fits together.
#[derive(Clone, Debug)]
pub struct NodeConfig {
    /// What the node itself is told.
    pub core: bentpipe_bundle::Config,
    /// The folder with its bundles.
    pub store: PathBuf,
    /// The socket for applications.
    pub socket: PathBuf,
    /// The file with its secret key, if it has one.
    pub key: Option<PathBuf>,
    /// Where it listens.
    pub listen: Vec<Listener>,
    /// Its neighbours, as the node numbers them.
    pub neighbours: Vec<Neighbour>,
    /// After so long without a word a connection is given up on which something is to be answered.
    pub idle_timeout: Span,
}

/// Reads the file of a node and checks it. Paths in it are relative to it.
///
/// # Errors
/// Everything that is wrong: file, line or key, what is wrong and what would be right.
pub fn load(path: &Path) -> Result<NodeConfig, ConfigErrors> {
    let file = path.display().to_string();
    let text = fs::read_to_string(path).map_err(|error| ConfigError {
        file: file.clone(),
        line: None,
        key: None,
        message: error.to_string(),
    })?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let said = read(&file, &text)?;
    check(said, folder).map_err(|found| ConfigErrors::of(&file, found))
}

fn read(file: &str, text: &str) -> Result<Said, ConfigError> {
    let wrong = |error: &toml::de::Error, key: Option<String>| {
        let line = error
            .span()
            .map(|span| text.bytes().take(span.start).filter(|byte| *byte == b'\n').count() + 1);
        ConfigError { file: file.to_owned(), line, key, message: error.message().to_owned() }
    };
    let toml = toml::Deserializer::parse(text).map_err(|error| wrong(&error, None))?;
    serde_path_to_error::deserialize(toml).map_err(|error| {
        let path = error.path().to_string();
        wrong(error.inner(), Some(path).filter(|path| path != "."))
    })
}

/// The shortest time that a node waits, or keeps a bundle.
const SHORTEST: Span = Span::from_millis(100);

/// What is wrong, by key.
type Found = Vec<(String, String)>;

fn check(said: Said, folder: &Path) -> Result<NodeConfig, Found> {
    let mut found = Found::default();
    let names: Vec<&String> = said.neighbours.keys().collect();
    let mut routes = Vec::new();
    for (number, route) in said.routes.iter().enumerate() {
        match names.iter().position(|name| **name == route.via) {
            Some(via) => routes.push(Route { to: route.to.0.clone(), via }),
            None => {
                let all: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
                let message =
                    format!("there is no neighbour `{}`; there is {}", route.via, all.join(", "));
                found.push((format!("routes[{number}].via"), message));
            }
        }
    }
    let limits = limits(&said.limits, &mut found);
    check_keys(&said, &mut found);
    if !found.is_empty() {
        return Err(found);
    }
    let default = Span::from_secs(30);
    let span = |said: &Option<Parsed<Span>>, default| said.as_ref().map_or(default, |it| it.0);
    let neighbours = said.neighbours.iter().map(|(name, it)| Neighbour {
        name: name.clone(),
        layer: it.layer,
        address: it.address.clone(),
        key: it.key.map(|key| key.0),
    });
    let store = folder.join(&said.store);
    let socket = said.socket.map_or_else(|| store.join("socket"), |socket| folder.join(socket));
    Ok(NodeConfig {
        core: bentpipe_bundle::Config {
            node: said.node.0.clone(),
            neighbours: said.neighbours.values().map(|it| it.node.0.clone()).collect(),
            routes,
            limits,
            retry: span(&said.limits.retry, default),
        },
        store,
        socket,
        key: said.key.map(|key| folder.join(key)),
        listen: said.listen,
        neighbours: neighbours.collect(),
        idle_timeout: span(&said.limits.idle_timeout, Span::from_secs(120)),
    })
}

fn limits(said: &SaidLimits, found: &mut Found) -> Limits {
    let default = Limits::default();
    let bytes = |said: &Option<Parsed<ByteCount>>, default| said.map_or(default, |it| it.0.get());
    let most = bytes(&said.bytes, default.bytes);
    let limits = Limits {
        bytes: most,
        strangers: bytes(&said.strangers, most / 2),
        bundles: said.bundles.unwrap_or(default.bundles),
        largest: bytes(&said.largest, default.largest),
        seen: said.seen.unwrap_or(default.seen),
        lifetime: said.lifetime.as_ref().map(|it| it.0),
        requires_crc: said.require_crc.unwrap_or(default.requires_crc),
    };
    if limits.largest > limits.bytes {
        let message = format!(
            "a bundle of {} bytes would not fit into `limits.bytes`, which is {}",
            limits.largest, limits.bytes
        );
        found.push(("limits.largest".to_owned(), message));
    }
    if limits.strangers > limits.bytes {
        let message = format!(
            "{} bytes of strangers are more than all, `limits.bytes`, which is {}",
            limits.strangers, limits.bytes
        );
        found.push(("limits.strangers".to_owned(), message));
    }
    let spans = [("lifetime", &said.lifetime), ("retry", &said.retry)];
    for (key, _) in spans.iter().filter(|(_, it)| it.is_some_and(|it| it.0 < SHORTEST)) {
        found.push((format!("limits.{key}"), "it is at least 100 ms".to_owned()));
    }
    for (key, value) in [("bundles", limits.bundles), ("seen", limits.seen)] {
        if value == 0 {
            found.push((format!("limits.{key}"), "0 lets nothing in: it is at least 1".to_owned()));
        }
    }
    limits
}

/// Whether there are keys where they are needed, and addresses that somebody can call.
fn check_keys(said: &Said, found: &mut Found) {
    let is_xstp = |layer| layer == Layer::Xstp;
    let listeners = said.listen.iter().filter(|it| is_xstp(it.layer)).count();
    if listeners > 1 {
        let message = "two listeners of XSTP: a node has one socket for it".to_owned();
        found.push(("listen".to_owned(), message));
    }
    let needs = listeners > 0 || said.neighbours.values().any(|it| is_xstp(it.layer));
    if needs && said.key.is_none() {
        let message = "XSTP needs the secret key of this node: the file that `bentpipe keygen --key FILE` makes";
        found.push(("key".to_owned(), message.to_owned()));
    }
    for (name, it) in &said.neighbours {
        let mut wrong = |key: &str, message: &str| {
            found.push((format!("neighbours.{name}.{key}"), message.to_owned()));
        };
        if is_xstp(it.layer) && it.key.is_none() {
            wrong(
                "key",
                "with XSTP a neighbour has the public key that `bentpipe keygen` prints there",
            );
        }
        if !is_xstp(it.layer) && it.key.is_some() {
            wrong("key", "only XSTP has keys");
        }
        if it.layer == Layer::Mtcp && it.address.is_none() {
            wrong("address", "MTCP goes one way: where this node is to call, HOST:PORT");
        }
        if it.node.0 == said.node.0 {
            wrong("node", "that is this node itself");
        }
        let is_taken =
            |(other, of): (&String, &SaidNeighbour)| other < name && of.node.0 == it.node.0;
        if said.neighbours.iter().any(is_taken) {
            wrong("node", "another neighbour has this node ID: a node is a neighbour by one layer");
        }
        if it.address.is_none() && !said.listen.iter().any(|listen| listen.layer == it.layer) {
            wrong(
                "address",
                "it has none, and this node listens nowhere for this layer: HOST:PORT, or a [[listen]]",
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "g9GFFU8rGj+Q69zpXoj1ecxx/izHNwRWbH/BhgNl9w8=";

    fn parse(text: &str) -> Result<NodeConfig, String> {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("node.toml");
        fs::write(&path, text).expect("a file");
        load(&path).map_err(|errors| errors.to_string())
    }

    #[test]
    fn a_file_becomes_a_node_with_its_neighbours() {
        let config = parse(&format!(
            "node = \"dtn://relay/\"\nstore = \"bundles\"\nkey = \"key\"\n\
             [limits]\nbytes = \"2 MB\"\nlargest = \"100 kB\"\nrequire_crc = false\n\
             [[listen]]\nlayer = \"xstp\"\naddress = \"0.0.0.0:25301\"\n\
             [neighbours.mars]\nnode = \"dtn://mars/\"\nlayer = \"xstp\"\nkey = \"{KEY}\"\n\
             [neighbours.earth]\nnode = \"ipn:3.0\"\nlayer = \"mtcp\"\naddress = \"earth:4224\"\n\
             [[routes]]\nto = \"ipn:*\"\nvia = \"earth\"\n"
        ))
        .expect("a node");
        assert_eq!(config.core.node.to_string(), "dtn://relay/");
        assert_eq!((config.core.limits.bytes, config.core.limits.largest), (2_000_000, 100_000));
        assert!(!config.core.limits.requires_crc && config.store.ends_with("bundles"));
        assert!(config.socket.ends_with("bundles/socket"));
        let names: Vec<&str> = config.neighbours.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["earth", "mars"]);
        assert_eq!(config.core.neighbours[1].to_string(), "dtn://mars/");
        assert_eq!(config.core.routes[0].via, 0);
    }

    #[test]
    fn what_is_wrong_is_named_with_what_would_be_right() {
        let node = "node = \"dtn://relay/\"\nstore = \"s\"\n";
        let listen = "[[listen]]\nlayer = \"mtcp\"\naddress = \"127.0.0.1:1\"\n";
        for (text, said) in [
            ("store = \"s\"", "missing field `node`"),
            (
                "node = \"mars\"\nstore = \"s\"",
                "line 1, `node`: mars: malformed address url; write dtn://",
            ),
            ("node = \"dtn://relay/x\"\nstore = \"s\"", "it names a service"),
            (&format!("{node}stor = 1"), "unknown field `stor`, expected one of `node`"),
            (
                &format!("{node}[limits]\nbytes = \"1 kB\""),
                "`limits.largest`: a bundle of 16000000",
            ),
            (&format!("{node}[limits]\nbundles = 0"), "`limits.bundles`: 0 lets nothing in"),
            (&format!("{node}[limits]\nretry = \"0 s\""), "`limits.retry`: it is at least 100 ms"),
            (
                &format!(
                    "{node}[neighbours.a]\nnode = \"dtn://a/\"\nlayer = \"mtcp\"\naddress = \"a:1\"\n\
                     [neighbours.b]\nnode = \"dtn://a/\"\nlayer = \"mtcp\"\naddress = \"b:1\""
                ),
                "`neighbours.b.node`: another neighbour has this node ID",
            ),
            (
                &format!("{node}[limits]\nstrangers = \"2 GB\""),
                "`limits.strangers`: 2000000000 bytes of strangers are more than all",
            ),
            (
                &format!("{node}[[routes]]\nto = \"*\"\nvia = \"x\""),
                "`routes[0].via`: there is no neighbour `x`",
            ),
            (
                &format!("{node}[[listen]]\nlayer = \"xstp\"\naddress = \"127.0.0.1:1\""),
                "`key`: XSTP needs",
            ),
            (
                &format!("{node}{listen}[neighbours.a]\nnode = \"dtn://a/\"\nlayer = \"mtcp\""),
                "`neighbours.a.address`: MTCP goes one way",
            ),
            (
                &format!("{node}[neighbours.a]\nnode = \"dtn://a/\"\nlayer = \"tcpcl\""),
                "`neighbours.a.address`: it has none, and this node listens nowhere",
            ),
            (
                &format!(
                    "{node}[neighbours.a]\nnode = \"dtn://relay/\"\nlayer = \"tcpcl\"\naddress = \"a:1\""
                ),
                "`neighbours.a.node`: that is this node itself",
            ),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.contains(said), "{error}\nand not: {said}");
        }
    }
}
