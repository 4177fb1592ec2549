//! Openings that wait for the remote gateway, so that their clients are answered by what becomes of them.
//!
//! Without an early accept the firewall redirects the request of a client to a TUN device. It is kept until the remote
//! gateway has connected, and is then sent on its way again, which leads to the port of transparent connections: not
//! before then does the kernel answer it. A refusal is answered by what the server or a router would have said.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tun_rs::{AsyncDevice, DeviceBuilder};

use super::Inner;
use super::syn::Syn;
use crate::gateway::Begun;
use crate::gateway::firewall::{HELD_DEVICE, HELD_TABLE, has_ipv6};
use bentpipe_association::host::lock;
use bentpipe_gateway::Reach;
use bentpipe_gateway::Verdict;
use bentpipe_gateway::places::{Kind, Place, Places, Rule, Stay};
use bentpipe_system::programs;

/// The longest packet of the device, so that no request is too long for it.
const MTU: u16 = 65_535;
/// Time for a client that was answered to answer in turn.
const CLAIM: Duration = Duration::from_secs(15);
/// Where the kernel has its switches for IPv4.
const SWITCHES: &str = "/proc/sys/net/ipv4";

/// A client and where it wants to go.
type Ends = (SocketAddr, SocketAddr);

/// The openings that wait.
pub(super) struct Held {
    inner: Arc<Inner>,
    peer: String,
    device: AsyncDevice,
    /// Places for those that wait. Anybody may send requests in the name of others.
    places: Arc<Places>,
    /// By client and destination.
    openings: Mutex<HashMap<Ends, Opening>>,
}

/// How far one is.
enum Opening {
    /// The remote gateway has been asked; the latest request of the client.
    Asked { syn: Syn, _place: Place },
    /// The remote gateway has connected, and the client is about to be. Whoever waits for that sees the end of `_claimed`.
    Connected { begun: Begun, _claimed: oneshot::Sender<()> },
}

/// Makes the device, the way to it, and serves it.
///
/// # Errors
/// When the process may not do that.
pub(super) fn start(
    inner: &Arc<Inner>,
    tasks: &mut JoinSet<io::Result<()>>,
    peer: String,
) -> io::Result<Arc<Held>> {
    let named = |error: io::Error| {
        io::Error::new(error.kind(), format!("{HELD_DEVICE}, for early_accept = false: {error}"))
    };
    let waiting = (inner.config().limits.connections / 4).max(1);
    let held = Held {
        inner: inner.clone(),
        peer,
        device: open().map_err(named)?,
        places: Places::new(waiting, Rule::Newest { each: (waiting / 4).max(1) }),
        openings: Mutex::default(),
    };
    let held = Arc::new(held);
    let serving = held.clone();
    tasks.spawn(async move { serving.serve().await.map_err(named) });
    Ok(held)
}

/// A device of which no packet is refused because of where it comes from, and the way to it.
fn open() -> io::Result<AsyncDevice> {
    let device = DeviceBuilder::new().name(HELD_DEVICE).mtu(MTU).build_async()?;
    // What cannot be read is taken for on.
    let on = |switch: &str| {
        fs::read_to_string(format!("{SWITCHES}/{switch}")).map_or(true, |value| value.trim() != "0")
    };
    // Clients are not behind it: where all devices are looked at, at least not strictly (RFC 3704, section 2.4).
    let filter = if on("conf/all/rp_filter") { "2" } else { "0" };
    if let Err(error) = fs::write(format!("{SWITCHES}/conf/{HELD_DEVICE}/rp_filter"), filter) {
        tracing::warn!(%error, "cannot set the reverse path filter of {HELD_DEVICE}: if it is strict, no connection gets through");
    }
    if !on("ip_forward") {
        tracing::warn!(
            "net.ipv4.ip_forward is 0: without early_accept no connection gets through; set it to 1"
        );
    }
    let route = format!("route replace default dev {HELD_DEVICE} table {HELD_TABLE}\n");
    programs::ip(&["-4"], &route)?;
    if has_ipv6()
        && let Err(error) = programs::ip(&["-6"], &route)
    {
        tracing::warn!(%error, "cannot hold connections over IPv6");
    }
    Ok(device)
}

impl Held {
    /// Serves the device for ever.
    async fn serve(self: Arc<Self>) -> io::Result<()> {
        // With this future end all of them.
        let mut asked = JoinSet::new();
        let mut packet = vec![0; usize::from(MTU)];
        loop {
            let len = tokio::select! {
                read = self.device.recv(&mut packet) => read?,
                Some(_) = asked.join_next() => continue,
            };
            if let Some(syn) = Syn::parse(&packet[..len])
                && let Some(((from, to), stay)) = self.take(syn)
            {
                asked.spawn(self.clone().ask(from, to, stay));
            }
        }
    }

    fn openings(&self) -> MutexGuard<'_, HashMap<Ends, Opening>> {
        lock(&self.openings)
    }

    /// Takes a request. Gives whose it is and where it leads if the remote gateway is to be asked, and how long it may wait.
    fn take(&self, syn: Syn) -> Option<(Ends, Stay)> {
        let ends = (syn.from, syn.to);
        match self.openings().entry(ends) {
            Entry::Vacant(vacant) => {
                let place = self.places.take(ends.0.ip(), Kind::Connection, 0)?;
                let stay = place.stay();
                vacant.insert(Opening::Asked { syn, _place: place });
                return Some((ends, stay));
            }
            Entry::Occupied(mut opening) => match opening.get_mut() {
                Opening::Asked { syn: latest, .. } => *latest = syn,
                // The one that was sent on was lost.
                Opening::Connected { .. } => self.send(syn.packet()),
            },
        }
        None
    }

    /// Asks the remote gateway, lets the client know what became of it, and waits for it to be there.
    async fn ask(self: Arc<Self>, from: SocketAddr, to: SocketAddr, stay: Stay) {
        let asked = tokio::select! {
            asked = self.inner.begin(&self.peer, from, to.into(), Reach::Everywhere, None) => asked,
            () = stay.over() => Err(Verdict::Busy),
        };
        let Some(claimed) = self.answer((from, to), asked) else { return };
        if tokio::time::timeout(CLAIM, claimed).await.is_err()
            && let Some(begun) = self.claim(from, to)
        {
            tracing::debug!(%from, %to, "the client has gone");
            begun.give_up();
        }
    }

    /// Lets a client know what became of its request. If it is to be connected, what is returned ends when it is there.
    fn answer(&self, ends: Ends, asked: Result<Begun, Verdict>) -> Option<oneshot::Receiver<()>> {
        let mut openings = self.openings();
        let Some(Opening::Asked { syn, .. }) = openings.remove(&ends) else { return None };
        match asked {
            Ok(begun) => {
                let (claimed, waits) = oneshot::channel();
                openings.insert(ends, Opening::Connected { begun, _claimed: claimed });
                self.send(syn.packet());
                Some(waits)
            }
            Err(verdict) => {
                tracing::debug!(from = %ends.0, to = %ends.1, %verdict, "a flow was not connected");
                if let Some(answer) = syn.answer(verdict) {
                    self.send(&answer);
                }
                None
            }
        }
    }

    /// The flow of a client that is there now.
    pub(super) fn claim(&self, from: SocketAddr, to: SocketAddr) -> Option<Begun> {
        let [from, to] = [from, to].map(|address| SocketAddr::new(address.ip(), address.port()));
        let mut openings = self.openings();
        match openings.remove(&(from, to))? {
            Opening::Connected { mut begun, .. } => {
                begun.prove();
                Some(begun)
            }
            asked => {
                // A request after this connection, by the same port.
                openings.insert((from, to), asked);
                None
            }
        }
    }

    /// Hands a packet to the kernel. One that it does not take is lost, as on any link.
    fn send(&self, packet: &[u8]) {
        if let Err(error) = self.device.try_send(packet) {
            tracing::debug!(%error, "a packet was lost");
        }
    }
}
