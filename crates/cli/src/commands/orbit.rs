//! `bentpipe orbit`: a route over satellites, over time.

use std::io::Write;
use std::path::Path;

use bentpipe_orbit::{
    Cable, Constellation, Handover, Network, Node, OrbitError, Report, Sample, Spread, Station,
    Survey,
};
use bentpipe_scenario::{ConstellationOptions, open_constellation};
use bentpipe_units::{Instant, Span};
use serde_json::{Value, json};

use crate::args::{Orbit, Spot};
use crate::commands::print_json;
use crate::failure::Failure;
use crate::output::map;
use crate::output::table::thousands;

/// Handovers that the summary shows.
const SHOWN: usize = 10;
/// Places of the two ends in the list of stations.
const ENDS: (u32, u32) = (0, 1);

/// Samples a route and prints what became of it.
pub(crate) fn orbit(args: &Orbit) -> Result<(), Failure> {
    let wrong = |error: OrbitError| Failure::Input(format!("{}: {error}", args.constellation));
    let mut network = network(args, constellation(args)?).map_err(wrong)?;
    let picture = network.clone();
    let mut samples = Vec::new();
    let mut csv = args.csv.as_deref().map(Samples::create).transpose()?;
    let first = Instant::ZERO + args.first;
    let survey =
        Survey { from: ENDS.0, to: ENDS.1, first, end: first + args.duration, step: args.step };
    let names = network.clone();
    let report = survey
        .run(&mut network, |sample| {
            if let Some(csv) = &mut csv {
                csv.write(&names, sample);
            }
            if args.svg.is_some() {
                samples.push((sample.at, sample.route.as_ref().map(|route| route.delay)));
            }
        })
        .map_err(wrong)?;
    let Some(delay) = report.delay else { return Err(no_route(args, &network, &report)) };
    let mut written = Vec::new();
    if let Some(csv) = csv {
        written.push(csv.finish()?);
    }
    if let Some(path) = &args.handovers {
        write_handovers(path, &network, &report).map_err(|e| Failure::writing(path, e))?;
        written.push(path);
    }
    if let Some(path) = &args.svg {
        map::write_svg(path, picture, ENDS, first, &samples)
            .map_err(|e| Failure::writing(path, e))?;
        written.push(path);
    }
    if args.json {
        return print_json(&document(args, &network, &report, delay));
    }
    print(args, &network, &report, delay)?;
    for path in written {
        writeln!(std::io::stdout(), "wrote {}", path.display())?;
    }
    Ok(())
}

/// The constellation that a name or a file means.
fn constellation(args: &Orbit) -> Result<Constellation, Failure> {
    let options = ConstellationOptions { mask: args.mask, nearest: args.isl, start: args.start };
    Ok(open_constellation(&args.constellation, &options)?)
}

fn network(args: &Orbit, constellation: Constellation) -> Result<Network, OrbitError> {
    let policy = args.policy.into();
    let end = |spot: &Spot| Station { policy, ..Station::terminal(&spot.name, spot.place) };
    let mut stations = vec![end(&args.ends.from), end(&args.ends.to)];
    stations.extend(args.gateway.iter().map(|spot| Station::gateway(&spot.name, spot.place)));
    let gateways = 2..stations.len() as u32;
    let cables = gateways.clone().flat_map(|a| (a + 1..gateways.end).map(move |b| (a, b)));
    let cables: Vec<Cable> = cables.map(|(a, b)| Cable { a, b, delay: None }).collect();
    Network::new(constellation, stations, &cables, args.update_interval)
}

/// Why there is no figure to show.
fn no_route(args: &Orbit, network: &Network, report: &Report) -> Failure {
    let samples = report.samples;
    if samples == 0 {
        let message = "--duration: 0 s leaves no time to sample; it must be more, such as 1 h";
        return Failure::Input(message.to_owned());
    }
    let satellite = |node| matches!(node, Node::Satellite(_));
    let linked = network.links().any(|(a, b)| satellite(a) && satellite(b));
    let blind = |(number, spot): &(u32, &Spot)| {
        report.handovers_of(*number) == 0
            && network.satellites_of(*number).next().is_none()
            && !spot.name.is_empty()
    };
    let ends = [(ENDS.0, &args.ends.from), (ENDS.1, &args.ends.to)];
    let name = &args.constellation;
    let message = match ends.iter().find(|end| blind(end)) {
        Some((_, spot)) => format!(
            "{name}: no satellite was above its mask at {} ({}) at any time: no coverage",
            spot.name, spot.place
        ),
        None => {
            let (from, to) = (&args.ends.from.name, &args.ends.to.name);
            let why = if linked {
                "at none of them did both ends have satellites above the mask that links join; a lower \
                 --mask or a longer --duration may help"
            } else {
                "satellites without links between them need a --gateway, or a satellite that both ends \
                 use"
            };
            format!("{name}: no route from {from} to {to} at any of {samples} samples; {why}")
        }
    };
    Failure::Input(message)
}

/// A node as people call it.
fn node_name(network: &Network, node: Node) -> String {
    match node {
        Node::Satellite(number) => network.constellation().satellite_name(number),
        Node::Station(number) => {
            let station = network.stations().get(number as usize);
            station.map_or_else(|| number.to_string(), |station| station.name.clone())
        }
    }
}

fn milliseconds(span: Span) -> String {
    thousands(span.as_secs_f64() * 1e3, 3)
}

/// The samples on their way into a file.
struct Samples<'a> {
    path: &'a Path,
    writer: csv::Writer<std::fs::File>,
    failed: Option<csv::Error>,
}

impl<'a> Samples<'a> {
    fn create(path: &'a Path) -> Result<Self, Failure> {
        let writing = |error| Failure::writing(path, error);
        let mut writer = csv::Writer::from_path(path).map_err(writing)?;
        writer.write_record(["time_s", "delay_ms", "hops", "route"]).map_err(writing)?;
        Ok(Self { path, writer, failed: None })
    }

    fn write(&mut self, network: &Network, sample: &Sample) {
        let time = format!("{}", sample.at.as_secs_f64());
        let [delay, hops, route] = match &sample.route {
            None => [const { String::new() }; 3],
            Some(route) => {
                let names: Vec<_> = route.nodes.iter().map(|n| node_name(network, *n)).collect();
                let delay = format!("{:.6}", route.delay.as_secs_f64() * 1e3);
                [delay, route.hops().to_string(), names.join(" > ")]
            }
        };
        if let Err(error) = self.writer.write_record([time, delay, hops, route]) {
            self.failed.get_or_insert(error);
        }
    }

    fn finish(mut self) -> Result<&'a Path, Failure> {
        if let Some(error) = self.failed {
            return Err(Failure::writing(self.path, error));
        }
        self.writer.flush().map_err(|error| Failure::writing(self.path, error))?;
        Ok(self.path)
    }
}

/// Time, station, satellite given up and satellite taken.
fn fields(network: &Network, handover: &Handover) -> [String; 4] {
    let satellite = |number: Option<u32>| {
        number.map_or_else(String::new, |number| node_name(network, Node::Satellite(number)))
    };
    [
        format!("{}", handover.at.as_secs_f64()),
        node_name(network, Node::Station(handover.station)),
        satellite(handover.from),
        satellite(handover.to),
    ]
}

fn write_handovers(path: &Path, network: &Network, report: &Report) -> Result<(), csv::Error> {
    let mut writer = csv::Writer::from_path(path)?;
    writer.write_record(["time_s", "station", "from", "to"])?;
    for handover in &report.handovers {
        writer.write_record(fields(network, handover))?;
    }
    writer.flush()?;
    Ok(())
}

fn document(args: &Orbit, network: &Network, report: &Report, delay: Spread) -> Value {
    let ms = |span: Span| span.as_nanos() as f64 / 1e6;
    let spot = |spot: &Spot| {
        json!({
            "name": spot.name,
            "latitude": spot.place.latitude().0,
            "longitude": spot.place.longitude().0,
        })
    };
    let handover = |handover: &Handover| {
        let [_, station, from, to] = fields(network, handover);
        let some = |name: String| if name.is_empty() { Value::Null } else { Value::from(name) };
        json!({
            "time_s": handover.at.as_secs_f64(), "station": station,
            "from": some(from), "to": some(to),
        })
    };
    let (min, max) = report.hops.unwrap_or_default();
    json!({
        "constellation": args.constellation,
        "satellites": network.constellation().satellites(),
        "start": network.constellation().start().map(|start| start.to_string()),
        "from": spot(&args.ends.from),
        "to": spot(&args.ends.to),
        "step_s": args.step.as_secs_f64(),
        "check_s": args.update_interval.as_secs_f64(),
        "samples": report.samples,
        "connected": report.connected,
        "delay_ms": {
            "min": ms(delay.min), "mean": ms(delay.mean),
            "median": ms(delay.median), "max": ms(delay.max),
        },
        "hops": {"min": min, "max": max},
        "route_changes": report.route_changes,
        "handover_count": {
            "from": report.handovers_of(ENDS.0), "to": report.handovers_of(ENDS.1),
        },
        "handovers_seen": {"from": report.seen[0], "to": report.seen[1]},
        "handovers": report.handovers.iter().map(handover).collect::<Vec<_>>(),
    })
}

fn print(args: &Orbit, network: &Network, report: &Report, delay: Spread) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let count = |number: u64| thousands(number as f64, 0);
    writeln!(
        out,
        "{} to {} over {} ({} satellites): {} samples, {} s apart\n",
        args.ends.from.name,
        args.ends.to.name,
        args.constellation,
        count(network.constellation().satellites() as u64),
        count(report.samples),
        args.step.as_secs_f64(),
    )?;
    if let Some(start) = network.constellation().start() {
        writeln!(out, "  {:32} {start}", "start of the run")?;
    }
    let mut row = |name: &str, value: String| writeln!(out, "  {name:32} {value:>16}");
    row("one-way delay, min, ms", milliseconds(delay.min))?;
    row("  mean, ms", milliseconds(delay.mean))?;
    row("  median, ms", milliseconds(delay.median))?;
    row("  max, ms", milliseconds(delay.max))?;
    let (min, max) = report.hops.unwrap_or_default();
    row("hops", if min == max { format!("{max}") } else { format!("{min} to {max}") })?;
    let share = report.connected as f64 / report.samples.max(1) as f64;
    row("time with a route, %", format!("{:.3}", 100.0 * share))?;
    row("changes of the route", count(report.route_changes))?;
    for (number, spot, seen) in
        [(ENDS.0, &args.ends.from, report.seen[0]), (ENDS.1, &args.ends.to, report.seen[1])]
    {
        let handovers = report.handovers_of(number) as u64;
        row(&format!("handovers at {}", spot.name), count(handovers))?;
        row("  as seen by the samples", count(seen))?;
    }
    print_handovers(&mut out, network, report)
}

fn print_handovers(
    out: &mut impl Write,
    network: &Network,
    report: &Report,
) -> Result<(), Failure> {
    if report.handovers.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n  {:>12}  {:20} {:24} to", "time, s", "station", "from")?;
    for handover in report.handovers.iter().take(SHOWN) {
        let [time, station, from, to] = fields(network, handover);
        let none = |name: String| if name.is_empty() { "none".to_owned() } else { name };
        writeln!(out, "  {time:>12}  {station:20} {:24} {}", none(from), none(to))?;
    }
    let more = report.handovers.len().saturating_sub(SHOWN);
    if more > 0 {
        writeln!(out, "  and {} more: --handovers FILE.csv or --json", thousands(more as f64, 0))?;
    }
    Ok(())
}
