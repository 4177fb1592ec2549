//! `bentpipe run`: one scenario, once.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use bentpipe_record::{RunSummary, Sample};
#[cfg(feature = "net")]
use bentpipe_scenario::Scenario;
use bentpipe_scenario::did_you_mean;
use bentpipe_sim::{Capture, Observer, PacketSeen, RunSpec};
use bentpipe_units::{Instant, Span};

use crate::args::sim::Run;
#[cfg(feature = "net")]
use crate::commands::processes;
use crate::commands::sim::changed;
use crate::commands::sim::json::print_json;
use crate::failure::Failure;
use crate::output::sim::course::Courses;
use crate::output::sim::file::{self, Reserved};
use crate::output::sim::summary;
use bentpipe_experiments::limited::{Seen, lines};

/// Time between samples when the scenario does not say.
const SAMPLE_EVERY: Span = Span::from_millis(100);

/// Runs a scenario and prints what became of it.
pub(crate) fn run(args: &Run) -> Result<(), Failure> {
    let scenario = changed(&args.source.open()?, &args.overrides)?;
    #[cfg(feature = "net")]
    if args.via.is_some() {
        return in_real_time(args, &scenario);
    }
    let spec = scenario.run_spec(args.seed, args.wire)?;
    let every = scenario.file().sample_every.map_or(SAMPLE_EVERY, |every| every.0);
    let mut files = Files::create(args, &spec, every, &scenario.reads())?;
    let summary = bentpipe_sim::run(&spec, &mut files)
        .map_err(|error| Failure::Input(format!("{}: {error}", scenario.source())))?;
    let seen = std::mem::take(&mut files.seen);
    let written = files.finish(&spec, &summary)?;
    if args.json {
        return print_json(&summary);
    }
    summary::print(&summary, &lines(&spec, &seen), &mut std::io::stdout().lock())?;
    for path in written {
        writeln!(std::io::stdout(), "wrote {}", path.display())?;
    }
    Ok(())
}

/// Lets it happen in three processes.
#[cfg(feature = "net")]
fn in_real_time(args: &Run, scenario: &Scenario) -> Result<(), Failure> {
    let seed = args.seed.unwrap_or(scenario.file().seed);
    let summary = processes::run(scenario, seed)?;
    if args.json {
        return print_json(&summary);
    }
    Ok(summary::print_real(&summary, &mut std::io::stdout().lock())?)
}

/// Samples and packets on their way into files.
struct Files<'a> {
    every: Span,
    flows: Vec<String>,
    seen: Vec<Seen>,
    samples: Option<(PathBuf, csv::Writer<File>)>,
    samples_failed: Option<String>,
    capture: Option<(PathBuf, Capture<BufWriter<File>>)>,
    picture: Option<(Reserved<'a>, Courses)>,
}

impl<'a> Files<'a> {
    fn create(
        args: &'a Run,
        spec: &RunSpec,
        every: Span,
        named: &[PathBuf],
    ) -> Result<Self, Failure> {
        let directions = spec.directions();
        // The capture is checked first: a link that does not exist must leave no file behind.
        if let Some(unknown) =
            args.pcap_link.iter().find(|name| !directions.iter().any(|[link, ..]| link == name))
        {
            let hint = did_you_mean(unknown, directions.iter().map(|[link, ..]| *link));
            return Err(Failure::Input(format!("--pcap-link: there is no link `{unknown}`{hint}")));
        }
        let named = named.iter().map(PathBuf::as_path);
        let read: Vec<&Path> = args.source.files().chain(named).collect();
        let mut samples = None;
        if let Some(path) = &args.samples {
            let mut writer = csv::Writer::from_writer(file::create(path, read.iter().copied())?);
            writer.write_record(Sample::COLUMNS).map_err(|e| Failure::writing(path, e))?;
            samples = Some((path.clone(), writer));
        }
        let mut capture = None;
        if let Some(path) = &args.pcap {
            let used = read.iter().copied().chain(args.samples.as_deref());
            let out = BufWriter::new(file::create(path, used)?);
            let writer = Capture::new(out, spec, &args.pcap_link)
                .map_err(|error| Failure::writing(path, error))?;
            capture = Some((path.clone(), writer));
        }
        let mut picture = None;
        if let Some(path) = &args.svg {
            let used =
                read.iter().copied().chain(args.samples.as_deref()).chain(args.pcap.as_deref());
            picture = Some((Reserved::new(path, used)?, Courses::new(spec.flows.len())));
        }
        let flows: Vec<String> = spec.flows.iter().map(|flow| flow.name.clone()).collect();
        let seen = vec![Seen::default(); flows.len()];
        Ok(Self { every, flows, seen, samples, samples_failed: None, capture, picture })
    }

    /// Flushes the files and names them.
    fn finish(self, spec: &RunSpec, summary: &RunSummary) -> Result<Vec<PathBuf>, Failure> {
        let mut written = Vec::new();
        if let Some((path, mut writer)) = self.samples {
            if let Some(error) = self.samples_failed {
                return Err(Failure::writing(&path, error));
            }
            writer.flush().map_err(|error| Failure::writing(&path, error))?;
            written.push(path);
        }
        if let Some((path, capture)) = self.capture {
            let mut out = capture.finish().map_err(|error| Failure::writing(&path, error))?;
            out.flush().map_err(|error| Failure::writing(&path, error))?;
            written.push(path);
        }
        if let Some((file, courses)) = self.picture {
            let path = file.path();
            let drawn =
                courses.svg(spec, summary).map_err(|error| Failure::writing(path, error))?;
            let out = file.empty()?.write_all(drawn.as_bytes());
            out.map_err(|error| Failure::writing(path, error))?;
            written.push(path.to_owned());
        }
        Ok(written)
    }
}

impl Observer for Files<'_> {
    fn sample_every(&self) -> Option<Span> {
        Some(self.every)
    }

    fn sample(&mut self, sample: &Sample) {
        self.seen[sample.flow].take(sample);
        if let Some((_, courses)) = &mut self.picture {
            courses.take(sample);
        }
        let Some((_, writer)) = &mut self.samples else { return };
        if let Err(error) = writer.write_record(sample.fields(&self.flows[sample.flow])) {
            self.samples_failed.get_or_insert(error.to_string());
        }
    }

    fn wants_packets(&self) -> bool {
        self.capture.is_some()
    }

    fn packet(&mut self, at: Instant, channel: usize, packet: &PacketSeen<'_>) {
        if let Some((_, capture)) = &mut self.capture {
            capture.packet(at, channel, packet);
        }
    }
}
