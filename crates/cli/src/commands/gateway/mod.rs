//! `bentpipe gateway`: TCP over a satellite link.

mod privileges;

use std::io::Write;
use std::path::{Path, PathBuf};

use bentpipe_association::{PublicKey, SecretKey};
use bentpipe_gateway::{Config, Parsed};
use bentpipe_net::gateway::{
    Firewall, Gateway, Installed, KeptFiles, StartError, doubt, load, raise_descriptor_limit,
};
use bentpipe_net::key_file;
use bentpipe_units::BitRate;
use tokio::signal::unix::{SignalKind, signal};

use self::privileges::{Privileges, give_up_binding};
use crate::args;
use crate::commands::log;
use crate::commands::runtime::runtime_after;
use crate::commands::stop::Stop;
use crate::failure::Failure;
use crate::output::lines::Lines;

/// Runs a gateway until it is told to end, or only checks its configuration.
pub(crate) fn gateway(args: &args::Gateway) -> Result<(), Failure> {
    let file = args.config.as_ref().or(args.check.as_ref());
    let file = file.ok_or_else(|| Failure::Input("name a file with --config".to_owned()))?;
    let (config, warnings) = load(file).map_err(|error| Failure::Input(error.to_string()))?;
    let is_service = !args.print_firewall && !args.remove_firewall && args.check.is_none();
    if !is_service {
        for warning in &warnings {
            anstream::eprintln!("bentpipe: warning: {warning}");
        }
    }
    if args.print_firewall || args.remove_firewall {
        return firewall_only(args, &config);
    }
    if args.check.is_some() {
        return check(file, &config);
    }
    let privileges = Privileges::of(&config)
        .map_err(|message| Failure::Input(format!("{}, `user`: {message}", file.display())))?;
    let key = own_key(&config).map_err(|(key, message)| {
        Failure::Input(format!("{}, `{key}`: {message}", file.display()))
    })?;
    let limit = raise_descriptor_limit();
    // Threads have privileges of their own and take over those of the one that makes them.
    if let Some(privileges) = &privileges {
        privileges.become_user().map_err(Failure::System)?;
    }
    let lines = after(give_up_binding, Lines::new)?;
    log::start(lines.log(), "info", args.log_json);
    warn(&warnings);
    if let Err(doubts) = doubt(&config, file) {
        doubts.to_string().lines().for_each(|doubt| tracing::warn!("{doubt}"));
    }
    if let Err(error) = limit {
        tracing::warn!(%error, "cannot raise the limit of file descriptors");
    }
    if privileges.is_none() && nix::unistd::geteuid().is_root() {
        tracing::warn!("running as root: set `user` to drop privileges");
    }
    runtime_after(give_up_binding)?.block_on(async {
        let mut stop = Stop::listen()?;
        let mut hangups = signal(SignalKind::hangup())?;
        let owner = key.public();
        let files = KeptFiles {
            times: Some(kept(&config, "times")),
            paths: Some(kept(&config, "paths")),
            usage: Some(kept(&config, "usage")),
        };
        let mut gateway = Gateway::start(config.clone(), key, files)?;
        give_up_binding();
        let _rules = if args.setup_firewall { rules(&config, owner)? } else { None };
        tracing::info!(address = %gateway.local_addr(), "gateway started");
        if let Some(address) = gateway.ops_addr() {
            tracing::info!(%address, "serving metrics, health and status");
        }
        loop {
            tokio::select! {
                ended = gateway.run() => {
                    return ended.map_err(|error| Failure::System(error.to_string()));
                }
                _ = hangups.recv() => reload(&gateway, file),
                () = stop.wait() => break,
            }
        }
        gateway.stop().await;
        Ok(())
    })
}

/// What `make` gives in a thread that has done this first, as the threads that it starts have then.
#[expect(clippy::disallowed_methods, reason = "it ends before anything begins")]
fn after<T: Send + 'static>(
    first: impl FnOnce() + Send + 'static,
    make: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failure> {
    let made = std::thread::spawn(|| {
        first();
        make()
    });
    made.join().map_err(|_| Failure::System("cannot start".to_owned()))
}

/// Says all that is wrong with a configuration or most likely not meant.
fn check(file: &Path, config: &Config) -> Result<(), Failure> {
    let mut wrong = Vec::new();
    if let Err(message) = Privileges::of(config) {
        wrong.push(format!("{}, `user`: {message}", file.display()));
    }
    if let Err((key, message)) = own_key(config) {
        wrong.push(format!("{}, `{key}`: {message}", file.display()));
    }
    if let Err(doubts) = doubt(config, file) {
        wrong.push(doubts.to_string());
    }
    if !wrong.is_empty() {
        return Err(Failure::Input(wrong.join("\n")));
    }
    Ok(writeln!(std::io::stdout(), "{}: configuration OK", file.display())?)
}

/// Where something of this name is kept over restarts: where systemd says, or beside the key.
fn kept(config: &Config, name: &str) -> PathBuf {
    match std::env::var_os("STATE_DIRECTORY").filter(|directory| !directory.is_empty()) {
        Some(directory) => Path::new(&directory).join(name),
        None => {
            let mut path = config.key.clone().into_os_string();
            path.push(format!(".{name}"));
            path.into()
        }
    }
}

/// The key of this host, or the setting that is wrong and how.
fn own_key(config: &Config) -> Result<SecretKey, (String, String)> {
    let key = key_file::load(&config.key).map_err(|error| {
        let hint = match config.key.try_exists() {
            Ok(false) => format!("; `bentpipe keygen --key {}` makes it", config.key.display()),
            _ => String::new(),
        };
        ("key".to_owned(), format!("{error}{hint}"))
    })?;
    config.check_key(key.public())?;
    Ok(key)
}

/// Prints the rules of the firewall, or removes them.
fn firewall_only(args: &args::Gateway, config: &Config) -> Result<(), Failure> {
    if args.remove_firewall {
        return Firewall::remove().map_err(|error| Failure::System(error.to_string()));
    }
    let script = Firewall::of(config).map(|firewall| firewall.script()).unwrap_or_default();
    Ok(write!(std::io::stdout(), "{script}")?)
}

/// Installs the rules of the firewall until what is returned is dropped.
fn rules(config: &Config, owner: PublicKey) -> Result<Option<Installed>, Failure> {
    let installed = Firewall::of(config).map(|firewall| firewall.install(owner)).transpose();
    installed.map_err(|error| Failure::System(error.to_string()))
}

/// Says in the log what whoever wrote the configuration has to know.
fn warn(warnings: &[String]) {
    warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
}

/// A configuration that is read again is no longer.
const LONGEST: u64 = 1 << 20;

/// Reads the configuration again. What is wrong with it is told, and everything stays as it was.
fn reload(gateway: &Gateway, file: &Path) {
    // What has no end, or waits for somebody who writes it, would hold up all that the gateway is told.
    let is_file = std::fs::metadata(file).is_ok_and(|file| file.is_file() && file.len() <= LONGEST);
    let read = if is_file {
        load(file).map_err(|error| error.to_string())
    } else {
        Err(format!("{}: it is no file of {LONGEST} bytes at most", file.display()))
    };
    let reloaded = read.and_then(|(config, warnings)| {
        warn(&warnings);
        gateway.reload(&config).map_err(|error| error.to_string())?;
        Ok(rates_and_weights(&config))
    });
    match reloaded {
        Ok(now) => tracing::info!("{}: reloaded rates and weights: {now}", file.display()),
        Err(error) => tracing::error!("not reloaded, nothing changed: {error}"),
    }
}

/// What may change at run time, by its keys.
fn rates_and_weights(config: &Config) -> String {
    let rate = |key: String, rate: &Parsed<BitRate>| format!("{key} = \"{}\"", rate.0);
    let link = config.link.rate.iter().map(|of| rate("link.rate".to_owned(), of));
    let backups = config.backup.iter().enumerate().filter_map(|(n, backup)| {
        backup.rate.as_ref().map(|of| rate(format!("backup[{n}].rate"), of))
    });
    let peers = config.peers.iter().flat_map(|(name, peer)| {
        let own = peer.rate.as_ref().map(|of| rate(format!("peers.{name}.rate"), of));
        own.into_iter().chain([format!("peers.{name}.weight = {}", peer.weight)])
    });
    link.chain(backups).chain(peers).collect::<Vec<_>>().join(", ")
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        match error {
            StartError::System(error) => Self::System(error.to_string()),
            error @ (StartError::Times(_) | StartError::Usage(_)) => Self::Input(error.to_string()),
        }
    }
}
