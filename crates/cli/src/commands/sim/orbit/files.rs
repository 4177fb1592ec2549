//! The files that a run fills.

use std::fmt::Display;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use bentpipe_orbit::{Names, Network, Sample};
use bentpipe_scenario::Spot;
use bentpipe_scenes::czml::{Scene, Window};
use bentpipe_scenes::geojson;

use super::Run;
use super::handovers;
use super::trips::Trips;
use crate::args::sim::Orbit;
use crate::failure::Failure;
use crate::output::sim::file::Reserved;
use crate::output::sim::map;
use crate::output::sim::map::Delays;

/// Files that were asked for, and what is kept for them while the run goes on.
pub(super) struct Files<'a> {
    window: Window,
    samples: Option<Samples<'a>>,
    handovers: Option<Reserved<'a>>,
    svg: Option<(Reserved<'a>, Vec<Delays>)>,
    czml: Option<(Reserved<'a>, Scene)>,
    geojson: Option<Reserved<'a>>,
}

impl<'a> Files<'a> {
    /// Opens the files, none of which is the one with the constellation or another of them. All but the samples keep what
    /// is in them until there is a result.
    pub(super) fn create(
        args: &'a Orbit,
        window: Window,
        network: &Network,
        trips: &Trips<'_>,
    ) -> Result<Self, Failure> {
        // A scene that is too large leaves no file behind.
        let scene = args
            .czml
            .is_some()
            .then(|| Scene::new(window, network.constellation().satellites(), &trips.pairs));
        let too_large = |error| Failure::Input(format!("--czml: {error}"));
        let scene = scene.transpose().map_err(too_large)?;
        let mut used = vec![Path::new(&args.constellation)];
        used.extend(args.from.iter().chain(&args.to).chain(&args.gateway).filter_map(Spot::file));
        let mut reserve = |path: &'a Option<std::path::PathBuf>| {
            path.as_deref()
                .map(|path| {
                    let reserved = Reserved::new(path, used.iter().copied())?;
                    used.push(path);
                    Ok::<_, Failure>(reserved)
                })
                .transpose()
        };
        let samples = reserve(&args.csv)?.map(|target| Samples::new(target, trips)).transpose()?;
        let delays = |pair: &(u32, u32)| {
            let [from, to] = trips.names(*pair);
            Delays { name: format!("{from} to {to}"), samples: Vec::new() }
        };
        let delays = trips.pairs.iter().map(delays).collect();
        Ok(Self {
            window,
            samples,
            handovers: reserve(&args.handovers)?,
            svg: reserve(&args.svg)?.map(|target| (target, delays)),
            czml: reserve(&args.czml)?.zip(scene),
            geojson: reserve(&args.geojson)?,
        })
    }

    /// Takes the samples of all pairs at one time.
    pub(super) fn see(&mut self, trips: &Trips<'_>, names: &Names, samples: &[Sample]) {
        if let Some(csv) = &mut self.samples {
            for (pair, sample) in trips.pairs.iter().zip(samples) {
                csv.write(trips, names, *pair, sample);
            }
        }
        if let Some((_, delays)) = &mut self.svg {
            for (delays, sample) in delays.iter_mut().zip(samples) {
                let delay = sample.route.as_ref().map(|route| route.delay);
                delays.samples.push((sample.at, delay));
            }
        }
        if let Some((_, scene)) = &mut self.czml {
            scene.see(samples);
        }
    }

    /// Fills the files, of which some show the network as it was when it was `new`, and names them.
    pub(super) fn finish(self, run: &Run<'_>, new: &Network) -> Result<Vec<&'a Path>, Failure> {
        let (pairs, at) = (&run.trips.pairs, self.window.first);
        let mut written = Vec::new();
        if let Some(samples) = self.samples {
            written.push(samples.finish()?);
        }
        if let Some(file) = self.handovers {
            let (path, out) = emptied(file)?;
            let done = handovers::write(out, run.names, run.trips, run.reports);
            written.push(named(path, done)?);
        }
        if let Some((file, delays)) = self.svg {
            let drawn = named_by(file.path(), map::svg(new.clone(), pairs, at, &delays))?;
            let (path, mut out) = emptied(file)?;
            let done = out.write_all(drawn.as_bytes()).and_then(|()| out.flush());
            written.push(named(path, done)?);
        }
        if let Some((file, scene)) = self.czml {
            let (path, mut out) = emptied(file)?;
            written.push(named(path, scene.write(&mut out, run.network, &|| true))?);
        }
        if let Some(file) = self.geojson {
            let (path, mut out) = emptied(file)?;
            written.push(named(path, geojson::write(&mut out, new.clone(), pairs, at))?);
        }
        Ok(written)
    }
}

/// A file that is filled now.
fn emptied(file: Reserved<'_>) -> Result<(&Path, BufWriter<File>), Failure> {
    let path = file.path();
    Ok((path, BufWriter::new(file.empty()?)))
}

fn named_by<T>(path: &Path, done: Result<T, impl Display>) -> Result<T, Failure> {
    done.map_err(|error| Failure::writing(path, error))
}

fn named(path: &Path, done: Result<(), impl Display>) -> Result<&Path, Failure> {
    named_by(path, done).map(|()| path)
}

/// The samples on their way into a file.
struct Samples<'a> {
    path: &'a Path,
    writer: csv::Writer<BufWriter<File>>,
    failed: Option<csv::Error>,
}

impl<'a> Samples<'a> {
    fn new(file: Reserved<'a>, trips: &Trips<'_>) -> Result<Self, Failure> {
        let (path, out) = emptied(file)?;
        let mut writer = csv::Writer::from_writer(out);
        let pair = ["from", "to"].into_iter().filter(|_| trips.several());
        let header = pair.chain(["time_s", "delay_ms", "hops", "route"]);
        named_by(path, writer.write_record(header))?;
        Ok(Self { path, writer, failed: None })
    }

    fn write(&mut self, trips: &Trips<'_>, names: &Names, pair: (u32, u32), sample: &Sample) {
        let time = format!("{}", sample.at.as_secs_f64());
        let [delay, hops, route] = match &sample.route {
            None => [const { String::new() }; 3],
            Some(route) => {
                let nodes: Vec<_> = route.nodes.iter().map(|node| names.node(*node)).collect();
                let delay = format!("{:.6}", route.delay.as_secs_f64() * 1e3);
                [delay, route.hops().to_string(), nodes.join(" > ")]
            }
        };
        let pair = trips.names(pair).into_iter().filter(|_| trips.several());
        let record = [&time, &delay, &hops, &route].map(String::as_str);
        if let Err(error) = self.writer.write_record(pair.chain(record)) {
            self.failed.get_or_insert(error);
        }
    }

    fn finish(mut self) -> Result<&'a Path, Failure> {
        if let Some(error) = self.failed {
            return Err(Failure::writing(self.path, error));
        }
        named(self.path, self.writer.flush())
    }
}
