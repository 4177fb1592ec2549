//! The stations that a command line means, and those of an operator.

use bentpipe_orbit::{
    Cable, Constellation, Network, Operator, OrbitError, Policy, Site, Station, connect, operator,
};

use crate::args::sim::{GroundPolicy, OnTheGround, Spot};
use crate::failure::Failure;

/// What stands on the ground.
pub(super) struct Ground<'a> {
    /// The constellation as it was named.
    pub(super) name: &'a str,
    /// What was said of stations.
    pub(super) said: &'a OnTheGround,
    /// How ends choose satellites where neither the command line nor an operator says so.
    pub(super) usual: Policy,
    /// The ends of routes, and which of them are hosts that are reached by cable.
    pub(super) ends: Vec<(&'a Spot, bool)>,
    /// Stations that forward.
    pub(super) gateways: &'a [Spot],
}

impl Ground<'_> {
    /// The network of these stations at its first check: the ends come first.
    pub(super) fn network(&self, constellation: Constellation) -> Result<Network, Failure> {
        let wrong = |error: OrbitError| Failure::Input(format!("{}: {error}", self.name));
        let sites = self.sites()?;
        let policy = self.policy();
        if let Some((spot, _)) = self.ends.iter().find(|(spot, host)| *host && spot.track.is_some())
        {
            let message = format!("--to-host: {} moves: no cable reaches it", spot.written);
            return Err(Failure::Input(message));
        }
        let end = |(spot, host): &(&Spot, bool)| match host {
            true => Station::host(&spot.name, spot.place),
            false => {
                let kind = Station { policy, ..Station::terminal(&spot.name, spot.place) };
                spot.station(kind)
            }
        };
        let mut stations: Vec<_> = self.ends.iter().map(end).collect();
        let first = stations.len() as u32;
        let gateway = |spot: &Spot| spot.station(Station::gateway(&spot.name, spot.place));
        stations.extend(self.gateways.iter().map(gateway));
        let hosts = self.ends.iter().any(|(_, host)| *host);
        let cables = if sites.is_empty() && !hosts {
            joined(first..stations.len() as u32)
        } else {
            stations.extend(sites.iter().map(Site::station));
            connect(&stations)
        };
        Network::new(constellation, stations, &cables, self.said.update_interval).map_err(wrong)
    }

    fn operator(&self) -> Option<&'static Operator> {
        operator(self.name)
    }

    fn policy(&self) -> Policy {
        let usual = self.operator().map_or(self.usual, |operator| operator.policy);
        self.said.policy.map_or(usual, GroundPolicy::into)
    }

    /// The operator's stations. With gateways of one's own there are none unless they are asked for.
    fn sites(&self) -> Result<&'static [Site], Failure> {
        let sites = self.operator().map_or(&[][..], |operator| operator.sites);
        match self.said.ground_stations {
            Some(true) if sites.is_empty() => {
                let message = format!("--ground-stations: none are known of {}", self.name);
                Err(Failure::Input(message))
            }
            Some(false) => Ok(&[]),
            None if !self.gateways.is_empty() => Ok(&[]),
            Some(true) | None => Ok(sites),
        }
    }
}

/// A cable from each of these stations to each other one.
fn joined(stations: std::ops::Range<u32>) -> Vec<Cable> {
    let pairs = stations.clone().flat_map(|a| (a + 1..stations.end).map(move |b| (a, b)));
    pairs.map(|(a, b)| Cable { a, b, delay: None }).collect()
}
