//! The twin of real programs: gateways at both ends of an emulated link, and hosts behind them.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Stdio;

use bentpipe_association::{Fec, PublicKey, SecretKey};
use bentpipe_emulator::{Addresses, Bridge, Namespace, Process};
use bentpipe_gateway::Status;
use bentpipe_link::Direction;
use bentpipe_net::key_file;
use bentpipe_sim::GatewaySpec;
use bentpipe_units::Span;

use super::host::Times;
use super::{Case, Measured};
use crate::commands::emulate::Links;
use crate::failure::Failure;

const DEVICE: &str = "bentpipe0";
const MTU: u16 = 1500;
const TERMINAL: Addresses = Addresses::of_host(1);
const HUB: Addresses = Addresses::of_host(2);
/// The networks of the hosts behind the terminal and the hub.
const NEAR: &str = "10.61.1";
const FAR: &str = "10.61.3";
const PORT: u16 = 25_300;
const SERVER_PORT: u16 = 8080;
const OPS_PORT: u16 = 9100;
/// Time that what is behind the hub has to be there.
const SERVER_START: Span = Span::from_secs(2);
const END: Span = Span::from_secs(2);
/// Seconds that gateways are up before the download, as in the simulator without a word.
const UP_BEFORE: u32 = 5;

/// Runs it.
pub(super) fn run(case: &Case) -> Result<Measured, Failure> {
    let failed = |error: io::Error| Failure::System(format!("real: {error}"));
    let folder = tempfile::tempdir().map_err(failed)?;
    let [out, seen] = ["times", "status"].map(|name| folder.path().join(name));
    let scripts = Scripts::write(case, folder.path(), [&out, &seen])?;
    let mut between = case.spec.clone();
    between.flows.truncate(1);
    (between.flows[0].from, between.flows[0].to) = (case.nodes[0], case.nodes[1]);
    let links = Links::of(&between)
        .ok_or_else(|| Failure::Input("no links lead from gateway to gateway".to_owned()))?;
    let (clients, servers) = (Namespace::new().map_err(failed)?, Namespace::new().map_err(failed)?);
    let client = clients.device(DEVICE, MTU, TERMINAL).map_err(failed)?;
    let server = servers.device(DEVICE, MTU, HUB).map_err(failed)?;
    let mut bridge = Bridge::new(client, server, links.packet_path(), false);
    let hub = start(&servers, &scripts.hub)?;
    servers.await_port(&hub, SERVER_START).map_err(failed)?;
    let mut terminal = start(&clients, &scripts.terminal)?;
    bridge.run(Some(terminal.ended()), |_| true).map_err(failed)?;
    let status = terminal.wait().map_err(failed)?;
    hub.terminate();
    hub.ended_within(END).map_err(failed)?;
    if !status.success() {
        return Err(Failure::System(format!("real: the client ended with {status}")));
    }
    let said = std::fs::read_to_string(&out).map_err(failed)?;
    let times: Times = serde_json::from_str(&said).map_err(|error| failed(error.into()))?;
    let said = std::fs::read_to_string(&seen).map_err(failed)?;
    let seen: Status = serde_json::from_str(&said).map_err(|error| failed(error.into()))?;
    let [peer] = &seen.peers[..] else {
        return Err(Failure::System("real: the hub knows another terminal".to_owned()));
    };
    let link_bytes = Direction::BOTH.map(|direction| bridge.path().counters(direction).bytes);
    Ok(Measured {
        first_byte: times.first_byte,
        last_byte: times.last_byte,
        link_bytes,
        retransmitted: peer.retransmitted_segments,
        parity: peer.parity_datagrams,
        srtt: peer.srtt.map_or(0.0, Span::as_secs_f64),
    })
}

/// What they say goes to the standard error: the standard output is the table.
fn start<'n>(namespace: &'n Namespace, script: &str) -> Result<Process<'n>, Failure> {
    let failed = |error: io::Error| Failure::System(format!("real: {error}"));
    let output = io::stderr().as_fd().try_clone_to_owned().map_err(failed)?;
    namespace
        .start(&["sh", "-ec", script], None, |command| {
            command.stdin(Stdio::null()).stdout(output);
        })
        .map_err(failed)
}

/// What shells do on both sides.
struct Scripts {
    terminal: String,
    hub: String,
}

impl Scripts {
    /// Writes keys and configurations into a folder.
    fn write(case: &Case, folder: &Path, [out, seen]: [&Path; 2]) -> Result<Self, Failure> {
        let failed = |error: io::Error| Failure::System(format!("real: {error}"));
        let program = std::env::current_exe().map_err(failed)?;
        let [terminal, hub] = ["terminal", "hub"].map(|name| {
            let (key, path) = (SecretKey::generate(), folder.join(format!("{name}.key")));
            key_file::save(&key, &path).map(|()| (key.public(), path))
        });
        let wrong = |error: key_file::KeyFileError| Failure::System(error.to_string());
        let (terminal, hub) = (terminal.map_err(wrong)?, hub.map_err(wrong)?);
        let own = |role: &str, key: &Path| {
            format!("role = \"{role}\"\nkey = \"{}\"\nlisten = \"0.0.0.0:{PORT}\"\n", key.display())
        };
        let peer = |name: &str, key: PublicKey| format!("[peers.{name}]\nkey = \"{key}\"\n");
        let gateways = &case.gateways;
        let configs = [
            (
                "terminal",
                format!(
                    "{}early_accept = {}\n{}[transparent]\nport = 25310\ninterfaces = [\"lan0\"]\n\
                     {}address = \"{}:{PORT}\"\n",
                    own("terminal", &terminal.1),
                    gateways.early_accept,
                    settings(case, &gateways.terminal),
                    peer("hub", hub.0),
                    HUB.v4,
                ),
            ),
            (
                "hub",
                format!(
                    "{}allow = [\"{FAR}.0/24\"]\n{}[ops]\nlisten = \"{}:{OPS_PORT}\"\nopen = true\n{}",
                    own("hub", &hub.1),
                    settings(case, &gateways.hub),
                    HUB.v4,
                    peer("terminal", terminal.0),
                ),
            ),
        ];
        let [mut near, mut far] = [behind(NEAR, FAR, HUB.v4), behind(FAR, NEAR, TERMINAL.v4)];
        let program = program.display();
        for (script, (name, text)) in [&mut near, &mut far].into_iter().zip(configs) {
            let path = folder.join(format!("{name}.toml"));
            std::fs::write(&path, text).map_err(failed)?;
            script.push_str(&format!(
                "RUST_LOG=error '{program}' gateway --setup-firewall --config '{}' & gateway=$!\n",
                path.display()
            ));
        }
        far.push_str(&format!(
            "exec nsenter -t $host -n '{program}' twin-host serve {FAR}.2:{SERVER_PORT} {}\n",
            case.control
        ));
        near.push_str(&format!(
            "sleep {UP_BEFORE}\nnsenter -t $host -n '{program}' twin-host fetch {FAR}.2:{SERVER_PORT} {} {} '{}'\n\
             '{program}' twin-host status {}:{OPS_PORT} '{}'\nkill $gateway $host\nwait $gateway || true\n",
            case.request.get(),
            case.size.get(),
            out.display(),
            HUB.v4,
            seen.display()
        ));
        Ok(Self { terminal: near, hub: far })
    }
}

/// The part of a configuration that the scenario says.
fn settings(case: &Case, of: &GatewaySpec) -> String {
    let mode = match of.rate {
        Some(rate) => format!("mode = \"dedicated\"\nrate = \"{rate}\"\n"),
        None => "mode = \"shared\"\n".to_owned(),
    };
    let fec = match case.gateways.fec {
        Fec::Auto => "\"auto\"".to_owned(),
        Fec::Off => "\"off\"".to_owned(),
        Fec::Ratio(ratio) => format!("{ratio:?}"),
    };
    let buffer = case.gateways.buffer.map(|buffer| format!("[limits]\nbuffer = \"{buffer}\"\n"));
    format!("[link]\n{mode}fec = {fec}\n{}", buffer.unwrap_or_default())
}

/// A host behind this side, whose first process is $host; the network of the other host is reached by the remote gateway.
fn behind(network: &str, other: &str, next: Ipv4Addr) -> String {
    format!(
        "unshare --net sleep infinity & host=$!
until [ \"$(readlink /proc/$host/ns/net)\" != \"$(readlink /proc/self/ns/net)\" ]; do sleep 0.01; done
ip link add lan0 type veth peer name eth0 netns $host
ip address add {network}.1/24 dev lan0
ip link set lan0 up
nsenter -t $host -n sh -ec 'ip address add {network}.2/24 dev eth0
ip link set lo up
ip link set eth0 up
ip route add default via {network}.1
echo 4096 1000000 64000000 >/proc/sys/net/ipv4/tcp_rmem
echo 4096 1000000 64000000 >/proc/sys/net/ipv4/tcp_wmem'
ip route add {other}.0/24 via {next}
echo 1 >/proc/sys/net/ipv4/ip_forward
"
    )
}
