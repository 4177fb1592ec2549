//! Who this host is, and the socket that it has on the network.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use bentpipe_association::{SecretKey, Security};
use bentpipe_net::Host;
use bentpipe_net::key_file::{self, KeyFileError};

use crate::args::net::Identity;
use crate::failure::Failure;

/// The host of this identity, at this address. Says loudly when nothing is encrypted.
pub(super) fn host(identity: &Identity, address: SocketAddr) -> Result<Host, Failure> {
    let key = load(identity.key.as_deref())?;
    if identity.security == Security::None {
        warn("Everybody on the path can read all names and contents.");
    }
    let host = Host::bind(address, key, identity.security)
        .map_err(|error| Failure::System(format!("cannot bind {address}: {error}")))?;
    host.set_fec(identity.fec);
    let mut times = key_path(identity.key.as_deref())?.into_os_string();
    times.push(".times");
    host.keep_times(times.into()).map_err(|error| Failure::Input(error.to_string()))?;
    Ok(host)
}

/// Says loudly that nothing is encrypted, and what that means.
pub(super) fn warn(meaning: &str) {
    let (bold, reset) = ("\u{1b}[1;31m", "\u{1b}[0m");
    anstream::eprintln!("{bold}WARNING: --security none: NOTHING IS ENCRYPTED. {meaning}{reset}");
}

/// The key of this host.
pub(super) fn load(path: Option<&Path>) -> Result<SecretKey, Failure> {
    let path = key_path(path)?;
    key_file::load(&path).map_err(|error| match &error {
        KeyFileError::File { error: io, .. } if io.kind() == std::io::ErrorKind::NotFound => {
            Failure::Input(format!("{error}; `bentpipe keygen` makes one"))
        }
        _ => Failure::Input(error.to_string()),
    })
}

/// Where the key is: as told, or in the user's configuration.
pub(super) fn key_path(told: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(path) = told {
        return Ok(path.to_owned());
    }
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let config = set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config")));
    let config = config.ok_or_else(|| {
        Failure::Input("neither XDG_CONFIG_HOME nor HOME is set: name the key file by --key".into())
    })?;
    Ok(config.join("bentpipe/key"))
}
