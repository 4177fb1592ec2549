//! Stations on the ground and the satellites that they use.

use bentpipe_units::{Degrees, Instant};

use crate::constellation::{Constellation, Shell};
use crate::earth::Sight;
use crate::network::LEAST_INTERVAL;
use crate::shell::check_mask;
use crate::{Earth, OrbitError, Place, Slots, Track};

/// A place on the ground with antennas.
#[derive(Clone, Debug, PartialEq)]
pub struct Station {
    /// Its name.
    pub name: String,
    /// Where it is, unless it moves.
    pub place: Place,
    /// Where it is as time goes by, if it moves. Then it has no cables.
    pub track: Option<Track>,
    /// Whether traffic of others passes through it.
    pub role: Role,
    /// How it chooses satellites.
    pub policy: Policy,
    /// How many satellites of each shell it uses at a time; at least 1. Of meaning for the policies that hold satellites
    /// only, as [`Policy::holds`] says.
    pub links: u8,
    /// Names of the shells whose satellites it uses; all of them if there are none.
    pub shells: Vec<String>,
    /// It uses satellites above this elevation; above that of their shell if there is none.
    pub mask: Option<Degrees>,
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
#[derive(Clone, Copy, Debug, PartialEq)]
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
    /// Is assigned satellites for slots of time.
    Slots(Slots),
    /// Uses none: it has cables only.
    CablesOnly,
}

impl Policy {
    /// Whether a station uses so many satellites at a time as it has links, so that taking another one is a handover of
    /// its traffic.
    pub const fn holds(&self) -> bool {
        match self {
            Self::LongestHold | Self::HighestElevation | Self::Second | Self::Slots(_) => true,
            Self::All | Self::ShortestPath | Self::CablesOnly => false,
        }
    }
}

impl Station {
    /// A terminal that holds one satellite of each shell.
    pub fn terminal(name: impl Into<String>, place: Place) -> Self {
        Self {
            name: name.into(),
            place,
            track: None,
            role: Role::Terminal,
            policy: Policy::LongestHold,
            links: 1,
            shells: Vec::new(),
            mask: None,
        }
    }

    /// A terminal that moves.
    pub fn moving(name: impl Into<String>, track: Track) -> Self {
        let place = track.at(Instant::ZERO).place;
        Self { track: Some(track), ..Self::terminal(name, place) }
    }

    /// Where it is at a time.
    pub fn place_at(&self, at: Instant) -> Place {
        self.track.as_ref().map_or(self.place, |track| track.at(at).place)
    }

    /// What it sees at a time.
    pub(crate) fn sight(&self, earth: &Earth, at: Instant) -> Sight {
        match &self.track {
            None => earth.sight(self.place, at),
            Some(track) => {
                let point = track.at(at);
                earth.sight(point.place, at).raised(point.altitude)
            }
        }
    }

    /// The places where it will be; of one that moves the points of its track.
    pub(crate) fn places(&self) -> impl Iterator<Item = Place> + '_ {
        let fixed = self.track.is_none().then_some(self.place);
        fixed.into_iter().chain(self.track.iter().flat_map(Track::places))
    }

    /// Whether there can be such a station.
    pub(crate) fn check(&self, constellation: &Constellation) -> Result<(), OrbitError> {
        if self.policy == Policy::CablesOnly {
            return Ok(());
        }
        if let Policy::Slots(slots) = self.policy
            && slots.period < LEAST_INTERVAL
        {
            let field = format!("station {}", self.name);
            let message =
                format!("slots of {} are too short: 1 ms or more, such as 15 s", slots.period);
            return Err(OrbitError::invalid(field, message));
        }
        if self.links == 0 {
            return Err(OrbitError::invalid(
                format!("station {}", self.name),
                "0 links: it needs at least 1",
            ));
        }
        let known =
            |name: &&String| constellation.shells().iter().all(|shell| shell.name != **name);
        if let Some(unknown) = self.shells.iter().find(known) {
            let names: Vec<_> = constellation.shells().iter().map(|s| s.name.as_str()).collect();
            let problem = format!("there is no shell `{unknown}`; there is {}", names.join(", "));
            return Err(OrbitError::invalid(format!("station {}", self.name), problem));
        }
        if let Some(mask) = self.mask {
            check_mask(mask).map_err(|error| {
                OrbitError::invalid(format!("station {}", self.name), error.to_string())
            })?;
        }
        if !constellation.covers(self) {
            let masks = constellation.shells().iter().map(|shell| self.mask(shell).0);
            let mask = masks.fold(f64::INFINITY, f64::min);
            return Err(OrbitError::NoCoverage {
                station: self.name.clone(),
                place: self.place,
                constellation: constellation.name().to_owned(),
                mask: Degrees(mask),
            });
        }
        Ok(())
    }

    /// Whether it uses the satellites of a shell.
    pub(crate) fn uses(&self, shell: &Shell) -> bool {
        self.shells.is_empty() || self.shells.contains(&shell.name)
    }

    /// The elevation above which it uses satellites of a shell.
    pub(crate) fn mask(&self, shell: &Shell) -> Degrees {
        self.mask.unwrap_or(shell.mask)
    }

    /// A gateway that uses every satellite it sees.
    pub fn gateway(name: impl Into<String>, place: Place) -> Self {
        Self { role: Role::Gateway, policy: Policy::All, ..Self::terminal(name, place) }
    }

    /// A point of presence: cables meet there, and satellites are not seen from it.
    pub fn point_of_presence(name: impl Into<String>, place: Place) -> Self {
        Self { policy: Policy::CablesOnly, ..Self::gateway(name, place) }
    }

    /// A host on the ground that is reached by cable.
    pub fn host(name: impl Into<String>, place: Place) -> Self {
        Self { policy: Policy::CablesOnly, ..Self::terminal(name, place) }
    }
}
