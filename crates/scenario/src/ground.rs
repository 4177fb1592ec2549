//! The stations that somebody names, and those of an operator.

use std::fmt;

use bentpipe_orbit::{
    Cable, Constellation, Network, Operator, OrbitError, Policy, Site, Station, connect, operator,
};
use bentpipe_units::Span;

use crate::Spot;

/// What stands on the ground below a constellation.
#[derive(Debug)]
pub struct Ground<'a> {
    /// The constellation as it was named.
    pub name: &'a str,
    /// How the ends choose satellites, if it is said.
    pub policy: Option<Policy>,
    /// How they do where neither that nor an operator says so.
    pub usual: Policy,
    /// Whether the stations of the operator are there; none for where they are known and there is no gateway of one's own.
    pub ground_stations: Option<bool>,
    /// Time from one check of the links to the next; more than zero.
    pub update_interval: Span,
    /// The ends of routes, and which of them are hosts that are reached by cable.
    pub ends: Vec<(&'a Spot, bool)>,
    /// Stations that forward.
    pub gateways: &'a [Spot],
}

/// Stations that cannot be.
#[derive(Clone, Debug, PartialEq)]
pub enum GroundError {
    /// An option that cannot be so.
    Option {
        /// Its name, such as `to_host`.
        option: &'static str,
        /// What is wrong and what would be right.
        message: String,
    },
    /// The constellation of this name and these stations do not go together.
    Constellation(String, OrbitError),
}

impl fmt::Display for GroundError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Option { option, message } => write!(f, "{option}: {message}"),
            Self::Constellation(name, error) => write!(f, "{name}: {error}"),
        }
    }
}

impl std::error::Error for GroundError {}

impl Ground<'_> {
    /// The network of these stations at its first check: the ends come first.
    ///
    /// # Errors
    /// When a host moves, there are no stations of an operator to be had, or a station sees no satellite.
    pub fn network(&self, constellation: Constellation) -> Result<Network, GroundError> {
        let wrong = |error| GroundError::Constellation(self.name.to_owned(), error);
        let sites = self.sites()?;
        let policy = self.policy();
        if let Some((spot, _)) = self.ends.iter().find(|(spot, host)| *host && spot.track.is_some())
        {
            let message = format!("{} moves: no cable reaches it", spot.written);
            return Err(GroundError::Option { option: "to_host", message });
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
        Network::new(constellation, stations, &cables, self.update_interval).map_err(wrong)
    }

    fn operator(&self) -> Option<&'static Operator> {
        operator(self.name)
    }

    fn policy(&self) -> Policy {
        let usual = self.operator().map_or(self.usual, |operator| operator.policy);
        self.policy.unwrap_or(usual)
    }

    /// The operator's stations. With gateways of one's own there are none unless they are asked for.
    fn sites(&self) -> Result<&'static [Site], GroundError> {
        let sites = self.operator().map_or(&[][..], |operator| operator.sites);
        match self.ground_stations {
            Some(true) if sites.is_empty() => {
                let message = format!("none are known of {}", self.name);
                Err(GroundError::Option { option: "ground_stations", message })
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
