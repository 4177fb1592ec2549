//! Which satellites can be seen, whether a station uses them or not.

use bentpipe_units::Instant;

use crate::{Constellation, OrbitError, Station};

impl Constellation {
    /// For each satellite whether it is above the mask at one of these stations, which uses
    /// that shell.
    ///
    /// # Errors
    /// When a satellite is not in orbit at that time.
    pub fn in_view(&self, stations: &[Station], at: Instant) -> Result<Vec<bool>, OrbitError> {
        let mut positions = Vec::new();
        self.positions(at, &mut positions)?;
        let mut seen = vec![false; positions.len()];
        for station in stations {
            let sight = station.sight(self.earth(), at);
            for shell in self.shells().iter().filter(|shell| station.uses(shell)) {
                let sin_mask = libm::sin(station.mask(shell).radians());
                for satellite in (shell.first..shell.first + shell.count).map(|n| n as usize) {
                    seen[satellite] |= sight.sin_elevation(positions[satellite]) > sin_mask;
                }
            }
        }
        Ok(seen)
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::Span;

    use super::*;
    use crate::{Network, known};

    #[test]
    fn a_station_that_uses_all_it_sees_uses_those_in_view() {
        let spec = known("starlink").expect("known").expect("a constellation");
        let constellation = Constellation::new(&spec).expect("a constellation");
        let station = |city: &str| Station::gateway(city, city.parse().expect("a city"));
        let stations = vec![station("London"), station("Singapore")];
        let mut network =
            Network::new(constellation, stations, &[], Span::from_secs(10)).expect("a network");
        let at = Instant::ZERO + Span::from_secs(100);
        network.advance(at, |_, _| {}).expect("in orbit");
        let seen = network.constellation().in_view(network.stations(), at).expect("in orbit");
        let seen: Vec<u32> = (0..).zip(seen).filter(|(_, seen)| *seen).map(|(n, _)| n).collect();
        let mut used: Vec<u32> = network.satellites_of(0).chain(network.satellites_of(1)).collect();
        used.sort_unstable();
        assert!(used.len() > 10, "{used:?}");
        assert_eq!(seen, used);
    }
}
