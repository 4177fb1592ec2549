//! Satellites that send to all stations below them by one transmitter.

use std::collections::BTreeMap;

use bentpipe_link::{ModelSpec, Series, Streams};

use crate::GroundSpec;

/// The transmitters of satellites. Stations with the same rate and queue share one.
#[derive(Debug, Default)]
pub(crate) struct Downlinks {
    /// Of each station the first one that is sent to in the same way; `None` where it shares nothing.
    kinds: Vec<Option<usize>>,
    /// By satellite and kind.
    numbers: BTreeMap<(u32, usize), usize>,
    transmitters: Vec<Series>,
}

impl Downlinks {
    /// What satellites send to stations by; nothing is shared by those that no transmitter comes first for.
    pub(crate) fn new(ground: &[GroundSpec]) -> Self {
        let first = |station: &GroundSpec| match station.down.first() {
            Some(line @ ModelSpec::Rate { .. }) => {
                ground.iter().position(|other| other.down.first() == Some(line))
            }
            _ => None,
        };
        Self { kinds: ground.iter().map(first).collect(), ..Self::default() }
    }

    /// The number of the transmitter by which a satellite sends to a station, and the models behind it. `None` where the
    /// station has one of its own.
    pub(crate) fn split<'a>(
        &mut self,
        satellite: u32,
        station: u32,
        models: &'a [ModelSpec],
        streams: &Streams,
    ) -> Option<(usize, &'a [ModelSpec])> {
        let kind = (*self.kinds.get(station as usize)?)?;
        let (line, behind) = models.split_first()?;
        let next = self.transmitters.len();
        let number = *self.numbers.entry((satellite, kind)).or_insert(next);
        if number == next {
            let name = format!("sky/{satellite}/{kind}");
            let line = std::slice::from_ref(line);
            self.transmitters.push(ModelSpec::build_series(line, streams, &name, "down"));
        }
        Some((number, behind))
    }

    /// A transmitter by its number.
    pub(crate) fn get(&mut self, number: usize) -> Option<&mut Series> {
        self.transmitters.get_mut(number)
    }
}
