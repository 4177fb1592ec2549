//! The cables of an operator's ground network.

use crate::{Cable, Place, Policy, Role, Station};

/// The cables that join gateways, points of presence and hosts of a network.
///
/// Two points of presence have a cable where no third one is nearer to both of them (a relative neighbourhood graph,
/// Toussaint 1980), which looks like the maps of real networks: long ways lead through what lies between. Each gateway
/// and each host has a cable to the nearest point of presence. Where there is none, gateways take their place.
pub fn connect(stations: &[Station]) -> Vec<Cable> {
    let of = |wanted: fn(&Station) -> bool| -> Vec<usize> {
        (0..stations.len()).filter(|number| wanted(&stations[*number])).collect()
    };
    let gateways = of(|station| station.role == Role::Gateway && !by_cable(station));
    let presences = of(|station| station.role == Role::Gateway && by_cable(station));
    let hosts = of(|station| station.role == Role::Terminal && by_cable(station));
    let (core, leaves) = match presences.is_empty() {
        true => (gateways, hosts),
        false => (presences, [gateways, hosts].concat()),
    };
    let place = |number: usize| stations[number].place;
    let cable = |a: usize, b: usize| Cable { a: a as u32, b: b as u32, delay: None };
    let mut cables = Vec::new();
    for (place_in_core, a) in core.iter().enumerate() {
        for b in &core[place_in_core + 1..] {
            let apart = arc(place(*a), place(*b));
            let between =
                |c: &&usize| arc(place(*a), place(**c)).max(arc(place(*b), place(**c))) < apart;
            if core.iter().find(between).is_none() {
                cables.push(cable(*a, *b));
            }
        }
    }
    for leaf in leaves {
        let far = |number: &&usize| arc(place(leaf), place(**number));
        let nearest = core.iter().min_by(|a, b| far(a).total_cmp(&far(b)));
        cables.extend(nearest.map(|nearest| cable(leaf, *nearest)));
    }
    cables
}

fn by_cable(station: &Station) -> bool {
    station.policy == Policy::CablesOnly
}

fn arc(a: Place, b: Place) -> f64 {
    a.arc_to(b).0
}

#[cfg(test)]
mod tests {
    use super::super::{ONEWEB, STARLINK};
    use super::*;

    fn named(stations: &[Station], cables: &[Cable]) -> Vec<(String, String)> {
        let name = |number: u32| stations[number as usize].name.clone();
        cables.iter().map(|cable| (name(cable.a), name(cable.b))).collect()
    }

    /// Stations that some station reaches by cable.
    fn reached(stations: &[Station], cables: &[Cable], from: u32) -> usize {
        let mut reached = vec![from];
        let mut next = 0;
        while let Some(here) = reached.get(next).copied() {
            next += 1;
            for Cable { a, b, .. } in cables {
                for (one, other) in [(*a, *b), (*b, *a)] {
                    if one == here && !reached.contains(&other) {
                        reached.push(other);
                    }
                }
            }
        }
        assert!(reached.len() <= stations.len());
        reached.len()
    }

    #[test]
    fn long_cables_lead_through_what_lies_between() {
        let stations: Vec<_> = STARLINK.iter().map(super::super::Site::station).collect();
        let cables = named(&stations, &connect(&stations));
        let has = |a: &str, b: &str| {
            let pair = |(one, other): &(String, String)| one == a && other == b;
            cables.iter().any(pair)
        };
        assert!(has("PoP New York", "PoP London") && has("gateway Goonhilly", "PoP London"));
        assert!(!has("PoP New York", "PoP Madrid") && !has("PoP Seattle", "PoP London"));
    }

    #[test]
    fn every_site_is_reached_from_every_other_and_hosts_are_ends() {
        let host = Station::host("server", Place::known(48.0, 11.0));
        for sites in [STARLINK, ONEWEB] {
            let mut stations: Vec<_> = sites.iter().map(super::super::Site::station).collect();
            stations.push(host.clone());
            stations.push(Station::terminal("dish", Place::known(48.0, 11.0)));
            let cables = connect(&stations);
            assert_eq!(reached(&stations, &cables, 0), stations.len() - 1, "all but the dish");
            let server = stations.len() as u32 - 2;
            let ends = cables.iter().filter(|cable| cable.a == server || cable.b == server);
            assert_eq!(ends.count(), 1);
        }
    }
}
