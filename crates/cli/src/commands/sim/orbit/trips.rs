//! From where to where: each place of `--from` to each of `--to`.

use bentpipe_scenario::Spot;

use crate::args::sim::Orbit;
use crate::failure::Failure;

/// The places that are ends of routes, and the pairs of them.
pub(super) struct Trips<'a> {
    /// The places, in the order of the stations.
    pub(super) places: Vec<&'a Spot>,
    /// Stations at which routes begin and end.
    pub(super) pairs: Vec<(u32, u32)>,
}

impl<'a> Trips<'a> {
    pub(super) fn of(args: &'a Orbit) -> Result<Self, Failure> {
        if let ([from], [to]) = (&args.from[..], &args.to[..]) {
            return Ok(Self { places: vec![from, to], pairs: vec![(0, 1)] });
        }
        let mut places: Vec<&Spot> = Vec::new();
        let mut number = |spot: &'a Spot| {
            let known = places
                .iter()
                .position(|other| other.place == spot.place && other.track == spot.track);
            known.unwrap_or_else(|| {
                places.push(spot);
                places.len() - 1
            }) as u32
        };
        let mut ends = [Vec::new(), Vec::new()];
        for (flag, (spots, numbers)) in
            ["--from", "--to"].iter().zip([&args.from, &args.to].into_iter().zip(&mut ends))
        {
            for spot in spots {
                let station = number(spot);
                if numbers.contains(&station) {
                    let message = format!("{flag}: {} is given twice, once is enough", spot.name);
                    return Err(Failure::Input(message));
                }
                numbers.push(station);
            }
        }
        let [from, to] = ends;
        let to_all = |a: u32| to.iter().map(move |b| (a, *b)).filter(|(a, b)| a != b);
        let pairs = from.into_iter().flat_map(to_all).collect();
        Ok(Self { places, pairs })
    }

    /// Whether there are several pairs, which are told apart in all that is written.
    pub(super) const fn several(&self) -> bool {
        self.pairs.len() > 1
    }

    /// Whether routes end at a station, and none begins there.
    pub(super) fn ends_at(&self, station: usize) -> bool {
        let is = |other: u32| other as usize == station;
        self.pairs.iter().any(|(_, to)| is(*to)) && !self.pairs.iter().any(|(from, _)| is(*from))
    }

    /// Where a station is.
    pub(super) fn place(&self, station: u32) -> &'a Spot {
        self.places[station as usize]
    }

    /// The names of both ends.
    pub(super) fn names(&self, (from, to): (u32, u32)) -> [&'a str; 2] {
        [from, to].map(|station| self.place(station).name.as_str())
    }
}
