//! File descriptors: every TCP connection is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use bentpipe_gateway::{Config, Fallback, Role};

/// Those that are no connections of flows: files, listeners, who has said nothing yet.
const OTHERS: usize = 192;

/// Lets the process open as many files as it may, for the connections of a gateway.
///
/// # Errors
/// When the system refuses; everything stays as it was then.
pub fn raise() -> std::io::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    Ok(setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })?)
}

/// How many files this process may open.
pub(super) fn limit() -> usize {
    getrlimit(Resource::Nofile).current.map_or(usize::MAX, |most| most as usize)
}

/// Says so if the process may not open as many files as the limits promise.
pub(super) fn check(config: &Config) {
    let (most, needed) = (limit(), needed(config));
    if most < needed {
        let connections = config.limits.connections;
        tracing::warn!(
            "limits.connections = {connections} may need {needed} file descriptors, and this process may open {most}: \
             raise LimitNOFILE= of the unit or `ulimit -n`, or lower limits.connections"
        );
    }
}

/// What a configuration may need.
fn needed(config: &Config) -> usize {
    let connections = config.limits.connections;
    // One that goes directly is two.
    let each = if config.fallback == Fallback::Direct { 2 } else { 1 };
    let here =
        if config.entrances().next().is_some() { connections.saturating_mul(each) } else { 0 };
    let peers = if config.role == Role::Hub { config.peers.len() } else { 0 };
    here.saturating_add(connections.saturating_mul(peers)).saturating_add(OTHERS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_needs_one_for_each_flow_and_a_hub_for_each_flow_of_each_peer() {
        let needs = |text: &str, peers: &str| {
            let text = format!("key = \"key\"\nlisten = \"0.0.0.0:25300\"\n{text}\n{peers}");
            needed(&Config::parse("gateway.toml", &text).expect("a configuration"))
        };
        let peer = |name: &str, key: &str| {
            format!("[peers.{name}]\nkey = \"{key}\"\naddress = \"192.0.2.1:25300\"\n")
        };
        let one = peer("a", "g9GFFU8rGj+Q69zpXoj1ecxx/izHNwRWbH/BhgNl9w8=");
        let two = format!(
            "{one}{}",
            peer("b", &bentpipe_association::SecretKey::generate().public().to_string())
        );
        let socks = "socks5 = { listen = \"127.0.0.1:1080\" }";
        assert_eq!(needs(&format!("role = \"terminal\"\n{socks}"), &one), 10_000 + OTHERS);
        let direct = format!("role = \"terminal\"\nfallback = \"direct\"\n{socks}");
        assert_eq!(needs(&direct, &one), 20_000 + OTHERS);
        assert_eq!(needs("role = \"hub\"\nallow = [\"0.0.0.0/0\"]", &two), 20_000 + OTHERS);
    }
}
