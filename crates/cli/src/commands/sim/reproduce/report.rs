//! One page with all figures, what the papers say of them, and the verdicts.

use std::error::Error;

use bentpipe_experiments::experiment::metric;
use bentpipe_experiments::{Experiment, library};
use bentpipe_record::{Claim, Experiments, Figure};
use minijinja::{AutoEscape, Environment, Value, context};

use super::source;
use crate::output::sim::figure::lines;

const TEMPLATE: &str = include_str!("report.html");

/// The page as text, of experiments and what they came to.
pub(super) fn html(
    experiments: &[Experiment],
    result: &Experiments,
    reps: Option<u64>,
) -> Result<String, Box<dyn Error>> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    let template = environment.template_from_str(TEMPLATE)?;
    let sections = experiments.iter().map(|experiment| section(experiment, result));
    let all = counted(result.experiments.iter().flat_map(|figure| &figure.claims));
    Ok(template.render(context! {
        experiments => sections.collect::<Result<Vec<_>, _>>()?,
        holding => all.0,
        claims => all.1,
        reps,
        version => env!("CARGO_PKG_VERSION"),
    })?)
}

/// How many claims hold, of how many that can fail.
fn counted<'c>(claims: impl Iterator<Item = &'c Claim>) -> (usize, usize) {
    claims
        .filter(|claim| !claim.informative)
        .fold((0, 0), |(holding, all), claim| (holding + usize::from(claim.holds), all + 1))
}

/// What the template is told of an experiment.
fn section(experiment: &Experiment, result: &Experiments) -> Result<Value, Box<dyn Error>> {
    let figures = || result.experiments.iter().filter(|figure| figure.id == experiment.id);
    let (holding, claims) = counted(figures().flat_map(|figure| &figure.claims));
    let drawn: Result<Vec<_>, Box<dyn Error>> =
        figures().map(|figure| figure_of(figure, experiment)).collect();
    Ok(context! {
        id => experiment.id.as_str(),
        title => experiment.title.as_str(),
        paper => paper(&experiment.group),
        scenario => experiment.scenario.as_str(),
        holding,
        claims,
        figures => drawn?,
        settings => settings(&experiment.id),
    })
}

fn figure_of(figure: &Figure, experiment: &Experiment) -> Result<Value, Box<dyn Error>> {
    let label = metric(&figure.metric).map_or("", |metric| metric.label);
    let svg = lines::svg(figure, label, source(figure, Some(experiment)))?;
    let rows = figure.claims.iter().map(|claim| {
        let verdict = match (claim.informative, claim.holds) {
            (true, _) => "reported",
            (false, true) => "holds",
            (false, false) => "does not hold",
        };
        context! {
            text => claim.text.as_str(),
            measured => claim.measured.as_str(),
            holds => claim.holds,
            informative => claim.informative,
            verdict,
        }
    });
    Ok(context! {
        title => lines::title(figure),
        svg => Value::from_safe_string(svg),
        rows => rows.collect::<Vec<_>>(),
    })
}

/// The text of an experiment that comes with the program: all of its settings.
fn settings(id: &str) -> Option<&'static str> {
    let is = |text: &str| Experiment::parse(id, text).is_ok_and(|experiment| experiment.id == id);
    library::experiments().map(|(_, text)| text).find(|text| is(text))
}

/// The paper of a group of experiments.
fn paper(group: &str) -> &str {
    match group {
        "xstp" => "XSTP: Elaasar, Li, Barbeau, Kranakis, 2003",
        "s1" => "S1: TCP over GEO and LEO, with Snoop",
        "s2" => "S2: AeroTCP",
        "s3" => "S3: the satellite gateway",
        "s4" => "S4: SCTP for space networks",
        "pep" => "Proxies beyond the papers",
        "starlink" => "Over Starlink, beyond the papers",
        other => other,
    }
}
