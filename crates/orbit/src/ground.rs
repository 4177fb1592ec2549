//! Stations on the ground and the satellites that they use.

use crate::constellation::{Constellation, Shell};
use crate::earth::Sight;
use crate::{Degrees, Place, Vector};

/// A place on the ground with antennas.
#[derive(Clone, Debug, PartialEq)]
pub struct Station {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub place: Place,
    /// Whether traffic of others passes through it.
    pub role: Role,
    /// How it chooses satellites.
    pub policy: Policy,
    /// How many satellites of each shell it uses at a time; at least 1. Of no meaning for
    /// [`Policy::All`] and [`Policy::ShortestPath`].
    pub links: u8,
    /// Names of the shells whose satellites it uses; all of them if there are none.
    pub shells: Vec<String>,
}

/// Whether traffic of others passes through a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It does not: a terminal forwards nothing between its own links.
    Terminal,
    /// It does.
    Gateway,
}

/// How a station chooses satellites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Keeps a satellite while it is above the mask; then takes the one that comes behind it in its
    /// plane, or else the highest one.
    LongestHold,
    /// Takes the highest one at every check.
    HighestElevation,
    /// Takes the highest but one at every check: the other antenna of a place where [`Policy::HighestElevation`]
    /// takes the highest.
    Second,
    /// Uses all that are above the mask.
    All,
    /// Packets take the satellite above the mask over which they arrive first, as routes are computed: what the best
    /// choice at both ends would give.
    ShortestPath,
}

impl Station {
    /// A terminal that holds one satellite of each shell.
    pub fn terminal(name: impl Into<String>, place: Place) -> Self {
        Self {
            name: name.into(),
            place,
            role: Role::Terminal,
            policy: Policy::LongestHold,
            links: 1,
            shells: Vec::new(),
        }
    }

    /// Whether it uses the satellites of a shell.
    pub(crate) fn uses(&self, shell: &Shell) -> bool {
        self.shells.is_empty() || self.shells.contains(&shell.name)
    }

    /// A gateway that uses every satellite it sees.
    pub fn gateway(name: impl Into<String>, place: Place) -> Self {
        Self { role: Role::Gateway, policy: Policy::All, ..Self::terminal(name, place) }
    }
}

/// The satellites that a station uses, as they were at the last check.
#[derive(Clone, Debug)]
pub(crate) struct Antennas {
    policy: Policy,
    shells: Vec<Slots>,
}

/// The satellites of one shell.
#[derive(Clone, Debug)]
struct Slots {
    candidates: Candidates,
    slots: Vec<Option<u32>>,
}

/// The satellites of a shell that a station chooses from.
#[derive(Clone, Copy, Debug)]
struct Candidates {
    first: u32,
    count: u32,
    /// Satellites of a plane; 0 when there are no planes.
    per_plane: u32,
    sin_mask: f64,
}

impl Candidates {
    fn new(shell: &Shell) -> Self {
        Self {
            first: shell.first,
            count: shell.count,
            per_plane: shell.planes.as_ref().map_or(0, |planes| u32::from(planes.per_plane)),
            sin_mask: sine(shell.mask),
        }
    }

    fn behind(&self, satellite: u32) -> Option<u32> {
        let index = satellite - self.first;
        let slot = index.checked_rem(self.per_plane)?;
        Some(satellite - slot + (slot + self.per_plane - 1) % self.per_plane)
    }

    /// The satellites above the mask with the sine of their elevation.
    fn above(&self, sight: &Sight, positions: &[Vector], out: &mut Vec<(f64, u32)>) {
        out.clear();
        for satellite in self.first..self.first + self.count {
            let range = positions[satellite as usize] - sight.position;
            let height = range.dot(sight.up);
            // Below the horizon, and with it below every mask: most of them.
            if height > 0.0 {
                let sine = height / range.length();
                if sine > self.sin_mask {
                    out.push((sine, satellite));
                }
            }
        }
    }
}

fn sine(mask: Degrees) -> f64 {
    libm::sin(mask.radians())
}

impl Antennas {
    pub(crate) fn new(station: &Station, constellation: &Constellation) -> Self {
        let slots = match station.policy {
            Policy::All | Policy::ShortestPath => Vec::new(),
            _ => vec![None; usize::from(station.links)],
        };
        let used = constellation.shells().iter().filter(|shell| station.uses(shell));
        let shells =
            used.map(|shell| Slots { candidates: Candidates::new(shell), slots: slots.clone() });
        let shells = shells.collect();
        Self { policy: station.policy, shells }
    }

    /// The satellites in use.
    pub(crate) fn satellites(&self) -> impl Iterator<Item = u32> + '_ {
        self.shells.iter().flat_map(|shell| shell.slots.iter().copied().flatten())
    }

    /// Chooses anew and tells `see` each satellite that was given up and the one in its place.
    pub(crate) fn check(
        &mut self,
        sight: &Sight,
        positions: &[Vector],
        see: &mut impl FnMut(Option<u32>, Option<u32>),
    ) {
        let mut above = Vec::new();
        for Slots { candidates, slots } in &mut self.shells {
            if self.policy == Policy::LongestHold {
                hold(*candidates, slots, sight, positions, see);
                continue;
            }
            candidates.above(sight, positions, &mut above);
            match self.policy {
                Policy::All | Policy::ShortestPath => all(slots, &above, see),
                Policy::Second => best(slots, &mut above, 1, see),
                Policy::HighestElevation | Policy::LongestHold => best(slots, &mut above, 0, see),
            }
        }
    }
}

fn hold(
    candidates: Candidates,
    slots: &mut [Option<u32>],
    sight: &Sight,
    positions: &[Vector],
    see: &mut impl FnMut(Option<u32>, Option<u32>),
) {
    let visible =
        |satellite: u32| sight.sin_elevation(positions[satellite as usize]) > candidates.sin_mask;
    for number in 0..slots.len() {
        let old = slots[number];
        if old.is_some_and(visible) {
            continue;
        }
        slots[number] = None;
        let free = |satellite: u32| !slots.contains(&Some(satellite));
        let follower = old.and_then(|old| candidates.behind(old));
        let new = follower.filter(|next| visible(*next) && free(*next)).or_else(|| {
            let mut above = Vec::new();
            candidates.above(sight, positions, &mut above);
            above.retain(|(_, satellite)| free(*satellite));
            above.sort_by(higher);
            above.first().map(|(_, satellite)| *satellite)
        });
        slots[number] = new;
        if old != new {
            see(old, new);
        }
    }
}

/// The highest first; of two that are equally high the one with the lower number.
fn higher(a: &(f64, u32), b: &(f64, u32)) -> std::cmp::Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}

/// Takes the highest satellites but for the first `skip` ones.
fn best(
    slots: &mut [Option<u32>],
    above: &mut Vec<(f64, u32)>,
    skip: usize,
    see: &mut impl FnMut(Option<u32>, Option<u32>),
) {
    above.sort_by(higher);
    above.drain(..skip.min(above.len()));
    above.truncate(slots.len());
    let mut fresh = above
        .iter()
        .map(|(_, satellite)| *satellite)
        .filter(|satellite| !slots.contains(&Some(*satellite)))
        .collect::<Vec<_>>()
        .into_iter();
    for slot in slots.iter_mut() {
        let stays = slot.is_some_and(|old| above.iter().any(|(_, satellite)| *satellite == old));
        if stays {
            continue;
        }
        let (old, new) = (*slot, fresh.next());
        *slot = new;
        if old != new {
            see(old, new);
        }
    }
}

fn all(
    slots: &mut Vec<Option<u32>>,
    above: &[(f64, u32)],
    see: &mut impl FnMut(Option<u32>, Option<u32>),
) {
    let seen = |satellite: u32| above.binary_search_by_key(&satellite, |(_, s)| *s).is_ok();
    for gone in slots.iter().flatten().filter(|old| !seen(**old)) {
        see(Some(*gone), None);
    }
    for (_, satellite) in above {
        if !slots.contains(&Some(*satellite)) {
            see(None, Some(*satellite));
        }
    }
    slots.clear();
    slots.extend(above.iter().map(|(_, satellite)| Some(*satellite)));
}
