//! `bentpipe keygen`: the key of this host.

use std::io::Write;
use std::path::{Path, PathBuf};

use bentpipe_net::{KeyFileError, SecretKey};

use crate::args::Keygen;
use crate::failure::Failure;

/// Makes a key, or shows the public part of one that is there.
pub(crate) fn keygen(args: &Keygen) -> Result<(), Failure> {
    let path = key_path(args.key.as_deref())?;
    let key = if args.show {
        load(Some(&path))?
    } else {
        let key = SecretKey::generate();
        key.save(&path).map_err(|error| match error {
            KeyFileError::File { path, error }
                if error.kind() == std::io::ErrorKind::AlreadyExists =>
            {
                let path = path.display();
                Failure::Input(format!(
                    "{path} exists; `bentpipe keygen --show` prints its public key"
                ))
            }
            error => Failure::System(error.to_string()),
        })?;
        anstream::eprintln!("wrote {}", path.display());
        key
    };
    Ok(writeln!(std::io::stdout(), "{}", key.public())?)
}

/// The key of this host.
pub(crate) fn load(path: Option<&Path>) -> Result<SecretKey, Failure> {
    let path = key_path(path)?;
    SecretKey::load(&path).map_err(|error| match &error {
        KeyFileError::File { error: io, .. } if io.kind() == std::io::ErrorKind::NotFound => {
            Failure::Input(format!("{error}; `bentpipe keygen` makes one"))
        }
        _ => Failure::Input(error.to_string()),
    })
}

/// Where the key is: as told, or in the user's configuration.
fn key_path(told: Option<&Path>) -> Result<PathBuf, Failure> {
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
