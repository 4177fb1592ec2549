//! `bentpipe keygen`: the key of this host.

use std::io::Write;

use bentpipe_association::SecretKey;
use bentpipe_net::key_file::{self, KeyFileError};

use super::identity::{key_path, load};
use crate::args::net::Keygen;
use crate::failure::Failure;

/// Makes a key, or shows the public part of one that is there.
pub(crate) fn keygen(args: &Keygen) -> Result<(), Failure> {
    let path = key_path(args.key.as_deref())?;
    let key = if args.show {
        load(Some(&path))?
    } else {
        let key = SecretKey::generate();
        key_file::save(&key, &path).map_err(|error| match error {
            KeyFileError::File { path, error }
                if error.kind() == std::io::ErrorKind::AlreadyExists =>
            {
                let path = path.display();
                Failure::Input(format!(
                    "{path} exists; `bentpipe keygen --show --key {path}` prints its public key"
                ))
            }
            error => Failure::System(error.to_string()),
        })?;
        anstream::eprintln!("wrote {}", path.display());
        key
    };
    Ok(writeln!(std::io::stdout(), "{}", key.public())?)
}
