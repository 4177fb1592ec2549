//! `bentpipe demo`: what the program is for, on one screen and one page.

mod page;
mod screen;

use std::io::Write as _;
use std::panic::resume_unwind;

use bentpipe_experiments::compare::{
    CompareOptions, Course, Variant, compare, courses, slowest_line,
};
use bentpipe_record::{Comparison, ComparisonRow};
use bentpipe_scenario::{Scenario, ScenarioError, library};
use bentpipe_units::{ByteCount, Span};

use crate::args::sim::Demo;
use crate::commands::sim::show;
use crate::failure::Failure;
use crate::output::sim::file::Reserved;
use crate::output::sim::progress::Bar;

/// The links: a scenario that comes with the program, and what the columns call it.
const LINKS: [(&str, &str); 3] =
    [("geo", "GEO"), ("leo-handovers", "LEO, handovers"), ("starlink-trace", "Starlink, replayed")];
/// The protocols, as `compare` calls them, and what they are.
const PROTOCOLS: [(&str, &str); 4] = [
    ("bentpipe", "what bentpipe send does"),
    ("tcp-bbr", "TCP of Linux with BBR"),
    ("xstp-probing", "XSTP, as its paper has it"),
    ("tcp-cubic", "TCP of Linux with CUBIC"),
];
/// Time between two points of a curve.
const EVERY: Span = Span::from_millis(200);

/// What was found out about one link.
struct Link {
    name: &'static str,
    scenario: &'static str,
    description: String,
    /// The rate of the satellite link in bit/s; its mean if it changes.
    rate: f64,
    /// The size of the file in bytes; none where a server sends without end.
    size: Option<u64>,
    compared: Comparison,
    /// A course for each of the protocols.
    courses: Vec<Course>,
}

impl Link {
    /// What a protocol came to.
    fn row(&self, protocol: &str) -> Option<&ComparisonRow> {
        self.compared.rows.iter().find(|row| row.variant == protocol)
    }

    /// The mean goodput of a protocol as a share of the rate of the link.
    fn share(&self, row: &ComparisonRow) -> f64 {
        row.goodput.mean / self.rate
    }
}

/// Runs everything, prints the screen, writes the page and opens it where there is a display.
pub(crate) fn demo(args: &Demo) -> Result<(), Failure> {
    let page = Reserved::new(&args.out, [])?;
    let bar = Bar::new();
    let links = all_links(args.reps, &bar)?;
    bar.finish();
    let html = page::html(&links).map_err(|error| Failure::writing(&args.out, error))?;
    let written = page.empty()?.write_all(html.as_bytes());
    written.map_err(|error| Failure::writing(&args.out, error))?;
    let path = std::path::absolute(&args.out).unwrap_or_else(|_| args.out.clone());
    screen::print(&links, &path, &mut anstream::stdout().lock())?;
    if !args.no_open {
        show::show(path.as_os_str());
    }
    Ok(())
}

/// Compares the protocols over each link, side by side: each has a long run that the others need not wait for.
fn all_links(reps: u64, bar: &Bar) -> Result<Vec<Link>, ScenarioError> {
    std::thread::scope(|scope| {
        let compares =
            LINKS.map(|(scenario, name)| scope.spawn(move || link(scenario, name, reps, bar)));
        let joined = compares.map(|link| link.join().unwrap_or_else(|panic| resume_unwind(panic)));
        joined.into_iter().collect()
    })
}

/// Compares the protocols over one link.
fn link(
    scenario: &'static str,
    name: &'static str,
    reps: u64,
    bar: &Bar,
) -> Result<Link, ScenarioError> {
    // Not what somebody may have in a file of that name.
    let opened = Scenario::parse(scenario, library::scenario(scenario).unwrap_or_default())?;
    let wrong = |message: &str| ScenarioError {
        source: scenario.to_owned(),
        line: None,
        key: None,
        message: message.to_owned(),
    };
    let variants = PROTOCOLS.iter().map(|(protocol, _)| protocol.parse::<Variant>());
    let variants = variants.collect::<Result<Vec<_>, _>>().map_err(|error| wrong(&error))?;
    let options = CompareOptions { seeds: (1..=reps).collect(), ..CompareOptions::default() };
    let compared = compare(&opened, &variants, &options, bar)?.into_ranking();
    let courses = courses(&opened, &variants, EVERY)?;
    let spec = opened.run_spec(None, false)?;
    let flow = spec.flows.first().ok_or_else(|| wrong("there is no flow"))?;
    let (_, _, rate) = slowest_line(&spec, flow).ok_or_else(|| wrong("there is no rate"))?;
    let size = flow.source.size.map(ByteCount::get);
    let description = opened.file().description.clone();
    Ok(Link { name, scenario, description, rate, size, compared, courses })
}
