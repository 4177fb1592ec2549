//! One page with all figures, what the papers say of them, and the verdicts.

use std::error::Error;

use bentpipe_experiments::experiment::metric;
use bentpipe_experiments::{Experiment, library};
use bentpipe_record::{Bound, Experiments, Figure, Tally};
use minijinja::{AutoEscape, Environment, Value, context};

use super::{Origin, source};
use crate::output::sim::figure::lines;

const TEMPLATE: &str = include_str!("report.html");

/// The page as text, of experiments and what they came to.
pub(super) fn html(
    experiments: &[Experiment],
    result: &Experiments,
    origin: &Origin<'_>,
) -> Result<String, Box<dyn Error>> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    let template = environment.template_from_str(TEMPLATE)?;
    let sections = experiments.iter().map(|experiment| section(experiment, result, origin));
    let all = Tally::of(result.experiments.iter().flat_map(|figure| &figure.claims));
    Ok(template.render(context! {
        experiments => sections.collect::<Result<Vec<_>, _>>()?,
        said => all.to_string(),
        reps => origin.options.reps,
        set => origin.changed(),
        place => origin.place(),
        simulated => !origin.in_real_time,
        version => env!("CARGO_PKG_VERSION"),
    })?)
}

/// What the template is told of an experiment.
fn section(
    experiment: &Experiment,
    result: &Experiments,
    origin: &Origin<'_>,
) -> Result<Value, Box<dyn Error>> {
    let figures = || result.experiments.iter().filter(|figure| figure.id == experiment.id);
    let said = Tally::of(figures().flat_map(|figure| &figure.claims)).to_string();
    let drawn: Result<Vec<_>, Box<dyn Error>> =
        figures().map(|figure| figure_of(figure, experiment, origin)).collect();
    Ok(context! {
        id => experiment.id.as_str(),
        title => experiment.title.as_str(),
        paper => paper(&experiment.group),
        scenario => experiment.scenario.as_str(),
        said,
        figures => drawn?,
        settings => settings(&experiment.id),
    })
}

fn figure_of(
    figure: &Figure,
    experiment: &Experiment,
    origin: &Origin<'_>,
) -> Result<Value, Box<dyn Error>> {
    let label = metric(&figure.metric).map_or("", |metric| metric.label);
    let svg = lines::svg(figure, label, source(figure, Some(experiment), origin))?;
    let rows = figure.claims.iter().map(|claim| {
        let verdict = match (claim.holds, claim.informative, claim.bound) {
            (None, ..) => "not judged",
            (_, true, _) => "reported",
            (Some(true), _, Bound::Paper) => "holds",
            (Some(true), _, Bound::Ours) => "holds (bound of our own)",
            (Some(false), _, Bound::Paper) => "does not hold",
            (Some(false), _, Bound::Ours) => "does not hold (bound of our own)",
        };
        context! {
            text => claim.text.as_str(),
            measured => claim.measured.as_str(),
            is_bad => claim.holds == Some(false) && !claim.informative,
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
