//! The way of a namespace out over the network in which this program runs.

use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::net::Ipv4Addr;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use bentpipe_system::programs::{ip, missing};

use crate::bridge::Device;
use crate::namespace::KERNEL_QUEUE;

/// Rules that give a client the address of this host, until the standard input ends, that is with us. Then the rules go, and
/// the host forwards no more than it did, unless another one of these is still there. Nothing but SIGKILL keeps it from that:
/// it takes no other signal, and what nobody reads any more is no reason to end. The table bears its number and that of this process, so
/// that no later one with the same number loses its own.
const HOLD: &str = "
trap '' HUP INT TERM PIPE
table=bentpipe_${1#bentpipe-}_$$
switch=/proc/sys/net/ipv4/ip_forward
# One at a time of this network begins or ends, or the one does not see what the other has turned on.
exec 9</proc/self/ns/net
flock 9
forwarded=$(cat $switch) || exit
# Another one of these has turned it on.
nft list tables ip | grep -q 'bentpipe_.*_off' && forwarded=0
[ $forwarded = 1 ] || table=${table}_off
undo() {
    nft delete table ip $table
    [ $forwarded = 1 ] || nft list tables ip | grep -q 'bentpipe_.*_off' || echo 0 > $switch
}
nft -f - <<RULES || exit
table ip $table {
    chain postrouting {
        type nat hook postrouting priority srcnat
        ip saddr $2 masquerade
    }
}
RULES
if echo 1 > $switch; then
    flock -u 9
    echo ready
    cat > /dev/null
    flock 9
fi
undo
";

/// The host's own network behind a link: what comes out at this end goes on over the routes of the host, under its address.
/// It ends with this value or this program, however that happens. IPv4 only.
#[derive(Debug)]
pub struct WayOut(Child);

impl WayOut {
    /// A new TUN device of this name in the network of this program, up and with this address, and behind it a
    /// network of 24 bits with this client.
    ///
    /// # Errors
    /// When the system refuses it, or `ip` (of iproute2) or `nft` (of nftables) is missing.
    pub fn open(
        name: &str,
        mtu: u16,
        address: Ipv4Addr,
        client: Ipv4Addr,
    ) -> io::Result<(Device, Self)> {
        let device = Device::open(name, Some(mtu))?;
        let batch = format!(
            "link set {name} txqueuelen {KERNEL_QUEUE} addrgenmode none\n\
             link set {name} up\n\
             address add {address}/24 dev {name}\n"
        );
        ip(&[], &batch)?;
        let mut command = Command::new("sh");
        command.args(["-c", HOLD, "sh", name, &client.to_string()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own: Ctrl-C is not for it.
        let child = command.process_group(0).spawn();
        let mut way_out = Self(child.map_err(|error| missing("sh", "dash", &error))?);
        let mut said = String::new();
        if let Some(output) = way_out.0.stdout.take() {
            BufReader::new(output).read_line(&mut said)?;
        }
        if said.is_empty() {
            if let Some(mut errors) = way_out.0.stderr.take() {
                errors.read_to_string(&mut said)?;
            }
            let why = said.trim();
            let why = format!("cannot masquerade behind {name}, with nft (of nftables): {why}");
            return Err(io::Error::other(why));
        }
        Ok((device, way_out))
    }
}

impl Drop for WayOut {
    fn drop(&mut self) {
        // This closes its standard input.
        let _ = self.0.wait();
    }
}

/// The names of the network devices in the network of this program.
///
/// # Errors
/// When the system does not tell.
pub fn devices() -> io::Result<Vec<String>> {
    let listed = fs::read_to_string("/proc/net/dev")?;
    let names = listed.lines().filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned()));
    Ok(names.collect())
}
