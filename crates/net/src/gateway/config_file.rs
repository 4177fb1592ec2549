//! The file with a configuration, and what in it makes a gateway useless and does not keep it from starting.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rustix::net::{AddressFamily, SocketType, netdevice, socket};

use bentpipe_gateway::{Config, ConfigError, ConfigErrors, Role, old_keys};

/// What is doubtful, by key.
type Found = Vec<(String, String)>;

/// How the keys of the examples begin, that are to be replaced, and one of nobody.
const PLACEHOLDERS: [&str; 2] = ["ReplaceThis", "AAAAAAAAAAAAAAAA"];

/// Whether there is a network device of this name; what cannot be asked is taken for yes.
fn has_device(name: &str) -> bool {
    let Ok(any) = socket(AddressFamily::INET, SocketType::DGRAM, None) else { return true };
    netdevice::name_to_index(&any, name).is_ok()
}

/// Reads a file and checks it. Beside the configuration there are warnings of its old keys.
///
/// # Errors
/// When it cannot be read, or is not a configuration: file, line or key, what is wrong and what would
/// be right.
pub fn load(path: &Path) -> Result<(Config, Vec<String>), ConfigErrors> {
    let file = path.display().to_string();
    let text = fs::read_to_string(path).map_err(|error| ConfigError {
        file: file.clone(),
        line: None,
        key: None,
        message: error.to_string(),
    })?;
    let mut config = Config::parse(&file, &text)?;
    if let Some(dir) = path.parent() {
        // A path that begins at the root stays what it is.
        config.key = dir.join(&config.key);
    }
    Ok((config, old_keys(&file, &text)))
}

/// What is most likely not meant by whoever wrote this file.
///
/// # Errors
/// If there is anything of the kind: an example's key, a hub without `allow`, a terminal where nothing comes in, devices
/// that are not there, passwords that everybody on this host may read.
pub fn doubt(config: &Config, path: &Path) -> Result<(), ConfigErrors> {
    let mut found = Found::default();
    for (name, peer) in &config.peers {
        let key = peer.key.0.to_string();
        if PLACEHOLDERS.iter().any(|placeholder| key.starts_with(placeholder)) {
            let message = "it is the example's; the peer's is what `bentpipe keygen` prints there";
            found.push((format!("peers.{name}.key"), message.into()));
        }
    }
    let is_entered = config.entrances().next().is_some();
    if config.role == Role::Hub && config.allow.is_empty() && !is_entered {
        let message = "it is missing, and so every flow is refused: say where terminals may go, such as \
                       [\"0.0.0.0/0\", \"::/0\"]";
        found.push(("allow".into(), message.into()));
    }
    if config.role == Role::Terminal && !is_entered {
        let message =
            "nothing comes in: there is neither [socks5], [http], [[forward]] nor [transparent]";
        found.push(("role".into(), message.into()));
    }
    for name in config.transparent.iter().flat_map(|transparent| &transparent.interfaces) {
        if !has_device(name) {
            let message = format!("there is no network device `{name}` on this host");
            found.push(("transparent.interfaces".into(), message));
        }
    }
    doubt_mode(config, path, &mut found);
    if found.is_empty() {
        return Ok(());
    }
    Err(ConfigErrors::of(&path.display().to_string(), found))
}

/// Passwords are for those who run the gateway.
fn doubt_mode(config: &Config, path: &Path, found: &mut Found) {
    let Ok(metadata) = fs::metadata(path) else { return };
    let mode = metadata.permissions().mode() & 0o777;
    for (key, proxy) in config.proxies() {
        if !proxy.users.is_empty() && mode & 0o007 != 0 {
            let message = format!(
                "others may read the passwords (mode {mode:04o}): `chmod o= {}`",
                path.display()
            );
            found.push((format!("{key}.users"), message));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "g9GFFU8rGj+Q69zpXoj1ecxx/izHNwRWbH/BhgNl9w8=";

    /// What is doubtful about a file with this mode.
    fn doubts(text: &str, mode: u32) -> Vec<String> {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("gateway.toml");
        fs::write(&path, format!("key = \"key\"\nlisten = \"0.0.0.0:25300\"\n{text}"))
            .expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a mode");
        let doubt = doubt(&load(&path).expect("a configuration").0, &path);
        let said = doubt.map_err(|errors| errors.to_string()).err().unwrap_or_default();
        said.lines().map(str::to_owned).collect()
    }

    fn peer(key: &str) -> String {
        format!("[peers.far]\nkey = \"{key}\"\naddress = \"192.0.2.1:25300\"\n")
    }

    #[test]
    fn what_could_not_be_meant_is_named() {
        let placeholder = peer("ReplaceThisWithTheKeyThatTheOtherEndPrints0=");
        let terminal = format!("role = \"terminal\"\n{}", peer(KEY));
        for (text, keys) in [
            (format!("role = \"hub\"\n{placeholder}"), &["peers.far.key", "allow"][..]),
            (terminal.clone(), &["role"]),
            (
                format!("{terminal}[transparent]\nport = 1\ninterfaces = [\"lo\", \"nosuch0\"]"),
                &["transparent.interfaces"],
            ),
            (
                format!("{terminal}[http]\nlisten = \"127.0.0.1:1\"\nusers = {{ eve = \"x\" }}"),
                &["http.users"],
            ),
            (format!("{terminal}[http]\nlisten = \"127.0.0.1:1\""), &[]),
            (format!("role = \"hub\"\nallow = [\"0.0.0.0/0\"]\n{}", peer(KEY)), &[]),
        ] {
            let said = doubts(&text, 0o644);
            assert_eq!(said.len(), keys.len(), "{said:?}");
            for (said, key) in said.iter().zip(keys) {
                assert!(said.contains(&format!("gateway.toml, `{key}`: ")), "{said}");
            }
        }
    }

    #[test]
    fn passwords_that_only_the_gateway_and_its_group_read_are_no_reason_for_doubt() {
        let text = format!(
            "role = \"terminal\"\n{}[socks5]\nlisten = \"127.0.0.1:1\"\nusers = {{ eve = \"x\" }}",
            peer(KEY)
        );
        assert!(doubts(&text, 0o640).is_empty());
        assert!(doubts(&text, 0o604)[0].contains("mode 0604"));
    }
}
