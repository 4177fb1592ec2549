//! The page: figures and tables in one file that needs nothing else.

use std::error::Error;

use bentpipe_experiments::compare::Course;
use bentpipe_record::{Estimate, Figure, Point};
use minijinja::{AutoEscape, Environment, Value, context};
use serde_json::json;

use super::{Link, PROTOCOLS};
use crate::output::sim::figure::{bars, lines};

const TEMPLATE: &str = include_str!("page.html");
/// Points of a curve at most: more cannot be seen.
const POINTS: usize = 300;
/// A picture ends at so many times the time at which the first file was there.
const AS_LONG: f64 = 4.0;

/// The page as text.
pub(super) fn html(links: &[Link]) -> Result<String, Box<dyn Error>> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    let template = environment.template_from_str(TEMPLATE)?;
    let links = links.iter().map(section).collect::<Result<Vec<_>, _>>()?;
    let protocols = PROTOCOLS.map(|(name, what)| context! { name, what }).to_vec();
    let variants = PROTOCOLS.map(|(name, _)| name).join(",");
    let version = env!("CARGO_PKG_VERSION");
    Ok(template.render(context! { links, protocols, variants, version })?)
}

/// What the template is told of one link.
fn section(link: &Link) -> Result<Value, Box<dyn Error>> {
    let rows = link.compared.rows.iter().map(|row| {
        context! {
            protocol => row.variant.as_str(),
            goodput => with_interval(&row.goodput, 1e6, 2),
            share => format!("{:.0} %", 100.0 * link.share(row)),
            time => row.connection_time.as_ref().map(|time| with_interval(time, 1.0, 1)),
            queueing => row.queueing_delay.as_ref().map(|delay| with_interval(delay, 1e-3, 0)),
            complete => row.complete,
        }
    });
    let source = json!({"scenario": link.scenario, "seeds": bars::seeds(1)});
    Ok(context! {
        name => link.name,
        scenario => link.scenario,
        description => link.description.as_str(),
        megabytes => link.size.map(|size| size / 1_000_000),
        runs => link.compared.replications,
        rows => rows.collect::<Vec<_>>(),
        bars => Value::from_safe_string(bars::svg(&link.compared)?),
        curves => Value::from_safe_string(lines::svg(&curves(link), "user data that has arrived, MB", source)?),
    })
}

/// A mean in units of `unit`, and the interval around it.
fn with_interval(estimate: &Estimate, unit: f64, digits: usize) -> String {
    let ci95 = estimate.ci95.filter(|ci95| *ci95 > 0.0);
    let ci95 = ci95.map(|ci95| format!(" ± {:.digits$}", ci95 / unit)).unwrap_or_default();
    format!("{:.digits$}{ci95}", estimate.mean / unit)
}

/// When the first of the files had arrived, if there are files.
fn first_end(link: &Link) -> Option<f64> {
    let whole = |course: &Course| {
        course.iter().find(|(_, bytes)| Some(*bytes) == link.size).map(|(at, _)| *at)
    };
    link.courses.iter().filter_map(whole).min_by(f64::total_cmp)
}

/// How the transfers with seed 1 went on.
fn curves(link: &Link) -> Figure {
    let end = AS_LONG * first_end(link).unwrap_or(f64::INFINITY);
    let points = PROTOCOLS.iter().zip(&link.courses).flat_map(|((protocol, _), course)| {
        let seen = course.iter().filter(|(at, _)| *at <= end).count();
        let step = seen.div_ceil(POINTS).max(1);
        let kept = course.iter().take(seen).step_by(step);
        kept.map(|(at, bytes)| point(protocol, *at, *bytes as f64 / 1e6))
    });
    Figure {
        id: link.scenario.to_owned(),
        figure: String::new(),
        title: format!("{}: what has arrived", link.scenario),
        x_label: "time, s".to_owned(),
        metric: METRIC.to_owned(),
        points: points.collect(),
        claims: Vec::new(),
    }
}

/// The name of what the curves show.
const METRIC: &str = "delivered";

fn point(protocol: &str, x: f64, mean: f64) -> Point {
    let (variant, metric) = (protocol.to_owned(), METRIC.to_owned());
    Point { x, variant, metric, mean, sd: 0.0, ci95: 0.0, n: 1 }
}
