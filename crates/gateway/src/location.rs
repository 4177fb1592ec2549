//! Where a remote gateway is: at an address, or at a name that is looked up again whenever it does not answer.

use std::net::SocketAddr;

use tokio::sync::watch;

use crate::lookups::Lookups;
use crate::open::Destination;
use crate::{Config, Network};
use bentpipe_association::PublicKey;
use bentpipe_association::host::Host;
use bentpipe_units::Span;

/// Time for a name to be looked up.
const LOOKUP: Span = Span::from_secs(10);

/// Where a remote gateway is, over each link.
#[derive(Debug)]
pub(crate) struct Located {
    configured: Vec<Option<Destination>>,
    found: watch::Sender<Vec<Option<SocketAddr>>>,
}

impl Located {
    /// As the configuration says, the first link first.
    pub(crate) fn new(configured: Vec<Option<Destination>>) -> Self {
        let found = configured.iter().map(|configured| configured.as_ref()?.address()).collect();
        Self { configured, found: watch::Sender::new(found) }
    }

    /// Its address over the first link, if that is known.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.found.borrow().first().copied().flatten()
    }

    /// Whether it has an address over a further link.
    pub(crate) fn has_backup(&self) -> bool {
        self.configured.iter().skip(1).any(Option::is_some)
    }

    /// Whether it has to be looked up.
    pub(crate) fn by_name(&self) -> bool {
        self.configured.iter().flatten().any(|configured| configured.address().is_none())
    }

    /// Waits until its address is known; that of a terminal need not be.
    pub(crate) async fn known(&self) {
        if self.configured.first().is_some_and(Option::is_some) {
            let is_found =
                |found: &Vec<Option<SocketAddr>>| found.first().is_some_and(Option::is_some);
            // The sender is in `self`.
            let _ = self.found.subscribe().wait_for(is_found).await;
        }
    }

    /// Lets the host know the paths there, for an association that begins from now on.
    pub(crate) fn plan(&self, host: &Host, config: &Config, peer: PublicKey) {
        if let Some(plan) = config.plan(&self.found.borrow()) {
            host.plan(peer, plan);
        }
    }

    /// Looks up its names. A name of a further link that is not found now is where it was; one that never was found leaves that link out.
    ///
    /// # Errors
    /// The name of the first link that is not found.
    pub(crate) async fn look_up<N: Network>(
        &self,
        network: &N,
        owner: &str,
        lookups: &std::sync::Arc<Lookups>,
        listen: SocketAddr,
    ) -> Result<(), String> {
        let before = self.found.borrow().clone();
        let mut found = vec![None; self.configured.len()];
        for (link, configured) in self.configured.iter().enumerate() {
            let Some(configured) = configured else { continue };
            let addresses = match configured {
                Destination::Address(address) => Ok(vec![*address]),
                Destination::Name(name, port) => {
                    lookups.look_up(network, owner, name, *port, LOOKUP).await
                }
            };
            // An IPv6 socket reaches both.
            let reached = |address: &SocketAddr| listen.is_ipv6() || address.is_ipv4();
            found[link] = match addresses {
                Ok(addresses) => addresses.into_iter().find(reached),
                Err(error) if link == 0 => return Err(format!("{configured}: {error}")),
                // It may be there still.
                Err(_) => before[link],
            };
            if link == 0 && found[0].is_none() {
                return Err(format!("{configured}: it has no address that `listen` reaches"));
            }
        }
        self.found.send_replace(found);
        Ok(())
    }
}
