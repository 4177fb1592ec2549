//! The satellites that a station uses, and how it chooses them at each check.

use bentpipe_units::{Degrees, Instant, Span};

use crate::constellation::{Constellation, Shell};
use crate::earth::Sight;
use crate::slots::Candidate;
use crate::{OrbitError, Policy, Slots, Station, Vector};

/// The satellites that a station uses, as they were at the last check.
#[derive(Clone, Debug)]
pub(crate) struct Antennas {
    policy: Policy,
    /// What tells the station from others where something is drawn.
    number: u64,
    shells: Vec<Used>,
}

/// The satellites of one shell.
#[derive(Clone, Debug)]
struct Used {
    candidates: Candidates,
    satellites: Vec<Option<u32>>,
    /// The slot of time for which they were assigned.
    slot: Option<u64>,
}

/// What stands in the sky at a check.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sky<'a> {
    pub(crate) at: Instant,
    /// Time of day at the start of the run.
    pub(crate) clock: Span,
    pub(crate) constellation: &'a Constellation,
    pub(crate) positions: &'a [Vector],
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
    fn new(shell: &Shell, mask: Degrees) -> Self {
        Self {
            first: shell.first,
            count: shell.count,
            per_plane: shell.planes.as_ref().map_or(0, |planes| u32::from(planes.per_plane)),
            sin_mask: sine(mask),
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
    pub(crate) fn new(number: u64, station: &Station, constellation: &Constellation) -> Self {
        let places = if station.policy.holds() { usize::from(station.links) } else { 0 };
        let has_some = station.policy != Policy::CablesOnly;
        let used = constellation.shells().iter().filter(|shell| has_some && station.uses(shell));
        let used = used.map(|shell| Used {
            candidates: Candidates::new(shell, station.mask(shell)),
            satellites: vec![None; places],
            slot: None,
        });
        Self { policy: station.policy, number, shells: used.collect() }
    }

    /// The satellites in use.
    pub(crate) fn satellites(&self) -> impl Iterator<Item = u32> + '_ {
        self.shells.iter().flat_map(|shell| shell.satellites.iter().copied().flatten())
    }

    /// When satellites are assigned anew after `at`, if they are.
    pub(crate) fn next_slot(&self, at: Instant, clock: Span) -> Option<Instant> {
        match &self.policy {
            Policy::Slots(slots) => Some(slots.next(at, clock)),
            _ => None,
        }
    }

    /// Chooses anew and tells `see` each satellite that was given up and the one in its place.
    pub(crate) fn check(
        &mut self,
        station: &Station,
        sight: &Sight,
        sky: &Sky<'_>,
        see: &mut impl FnMut(Option<u32>, Option<u32>),
    ) -> Result<(), OrbitError> {
        let mut above = Vec::new();
        for used in &mut self.shells {
            let Used { candidates, satellites, .. } = used;
            if self.policy == Policy::LongestHold {
                hold(*candidates, satellites, sight, sky.positions, see);
                continue;
            }
            candidates.above(sight, sky.positions, &mut above);
            match &self.policy {
                Policy::All | Policy::ShortestPath => all(satellites, &above, see),
                Policy::Second => best(satellites, &mut above, 1, see),
                Policy::HighestElevation => best(satellites, &mut above, 0, see),
                Policy::Slots(slots) => {
                    used.assign(slots, self.number, station, sight, sky, &above, see)?;
                }
                Policy::LongestHold | Policy::CablesOnly => {}
            }
        }
        Ok(())
    }
}

impl Used {
    /// When another slot has begun, takes what is assigned for it; gives up what has set.
    #[expect(clippy::too_many_arguments, reason = "what is assigned depends on all of them")]
    fn assign(
        &mut self,
        slots: &Slots,
        terminal: u64,
        station: &Station,
        sight: &Sight,
        sky: &Sky<'_>,
        above: &[(f64, u32)],
        see: &mut impl FnMut(Option<u32>, Option<u32>),
    ) -> Result<(), OrbitError> {
        let slot = slots.number(sky.at, sky.clock);
        if self.slot == Some(slot) {
            for used in &mut self.satellites {
                let set = used.filter(|used| above.iter().all(|(_, satellite)| satellite != used));
                if let Some(set) = set {
                    *used = None;
                    see(Some(set), None);
                }
            }
            return Ok(());
        }
        self.slot = Some(slot);
        let end = slots.next(sky.at, sky.clock);
        let at_end = |satellite: u32| sky.constellation.position(satellite, end);
        let mut candidates = Vec::new();
        for (_, satellite) in above {
            let position = sky.positions[*satellite as usize];
            let at_end = at_end(*satellite)?.unwrap_or(position);
            candidates.push(Candidate { satellite: *satellite, position, at_end });
        }
        let earth = sky.constellation.earth();
        let sights = [sight, &station.sight(earth, end)];
        let sin_mask = self.candidates.sin_mask;
        let mut chosen = Vec::new();
        for place in 0..self.satellites.len() as u64 {
            let draw = terminal << 8 | place;
            let new = slots.assign(slot, draw, sights, sin_mask, earth, &candidates);
            candidates.retain(|candidate| Some(candidate.satellite) != new);
            chosen.extend(new);
        }
        take(&mut self.satellites, &chosen, see);
        Ok(())
    }
}

fn hold(
    candidates: Candidates,
    used: &mut [Option<u32>],
    sight: &Sight,
    positions: &[Vector],
    see: &mut impl FnMut(Option<u32>, Option<u32>),
) {
    let visible =
        |satellite: u32| sight.sin_elevation(positions[satellite as usize]) > candidates.sin_mask;
    for number in 0..used.len() {
        let old = used[number];
        if old.is_some_and(visible) {
            continue;
        }
        used[number] = None;
        let free = |satellite: u32| !used.contains(&Some(satellite));
        let follower = old.and_then(|old| candidates.behind(old));
        let new = follower.filter(|next| visible(*next) && free(*next)).or_else(|| {
            let mut above = Vec::new();
            candidates.above(sight, positions, &mut above);
            above.retain(|(_, satellite)| free(*satellite));
            above.sort_by(higher);
            above.first().map(|(_, satellite)| *satellite)
        });
        used[number] = new;
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
    used: &mut [Option<u32>],
    above: &mut [(f64, u32)],
    skip: usize,
    see: &mut impl FnMut(Option<u32>, Option<u32>),
) {
    above.sort_by(higher);
    let highest = above.iter().skip(skip).take(used.len());
    let highest: Vec<u32> = highest.map(|(_, satellite)| *satellite).collect();
    take(used, &highest, see);
}

/// Uses these satellites, at most as many as before; those in use already stay where they are.
fn take(used: &mut [Option<u32>], chosen: &[u32], see: &mut impl FnMut(Option<u32>, Option<u32>)) {
    let fresh = chosen.iter().filter(|satellite| !used.contains(&Some(**satellite)));
    let mut fresh = fresh.copied().collect::<Vec<_>>().into_iter();
    for place in used.iter_mut() {
        if place.is_some_and(|old| chosen.contains(&old)) {
            continue;
        }
        let (old, new) = (*place, fresh.next());
        *place = new;
        if old != new {
            see(old, new);
        }
    }
}

fn all(
    used: &mut Vec<Option<u32>>,
    above: &[(f64, u32)],
    see: &mut impl FnMut(Option<u32>, Option<u32>),
) {
    let seen = |satellite: u32| above.binary_search_by_key(&satellite, |(_, s)| *s).is_ok();
    for gone in used.iter().flatten().filter(|old| !seen(**old)) {
        see(Some(*gone), None);
    }
    for (_, satellite) in above {
        if !used.contains(&Some(*satellite)) {
            see(None, Some(*satellite));
        }
    }
    used.clear();
    used.extend(above.iter().map(|(_, satellite)| Some(*satellite)));
}
