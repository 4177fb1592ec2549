//! Nodes as people call them.

use crate::{Network, Node};

/// The names of the nodes of a network.
#[derive(Clone, Debug)]
pub struct Names {
    satellites: Vec<String>,
    stations: Vec<String>,
}

impl Names {
    /// Those of this network.
    pub fn of(network: &Network) -> Self {
        let constellation = network.constellation();
        let satellites = 0..constellation.satellites() as u32;
        Self {
            satellites: satellites.map(|number| constellation.satellite_name(number)).collect(),
            stations: network.stations().iter().map(|station| station.name.clone()).collect(),
        }
    }

    /// The name of a node; nothing for one that does not exist.
    pub fn node(&self, node: Node) -> &str {
        let name = match node {
            Node::Satellite(number) => self.satellites.get(number as usize),
            Node::Station(number) => self.stations.get(number as usize),
        };
        name.map_or("", String::as_str)
    }
}
