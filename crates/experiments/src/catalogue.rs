//! What there is to name: scenarios, protocols, controllers, models, constellations, places.

use bentpipe_scenario::{Scenario, ScenarioError, library};
use serde::Serialize;

use crate::experiment::{METRICS, find};
use crate::{Experiment, compare};

/// What is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Experiments that `reproduce` knows.
    Experiments,
    /// Protocols that a flow can use.
    Protocols,
    /// Congestion controllers.
    Controllers,
    /// Link models.
    Links,
    /// Scenarios that come with the program.
    Scenarios,
    /// Constellations that are known by name.
    Constellations,
    /// Cities that stations can be in.
    Places,
    /// Traces that come with the program.
    Traces,
    /// What figures of experiments can show.
    Metrics,
    /// What `compare` can put into a flow.
    Variants,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Experiments,
        Self::Protocols,
        Self::Controllers,
        Self::Links,
        Self::Scenarios,
        Self::Constellations,
        Self::Places,
        Self::Traces,
        Self::Metrics,
        Self::Variants,
    ];

    /// Its name in documents.
    pub const fn name(self) -> &'static str {
        self.told().0
    }

    /// What it is, in a line.
    pub const fn summary(self) -> &'static str {
        self.told().1
    }

    const fn told(self) -> (&'static str, &'static str) {
        match self {
            Self::Experiments => ("experiments", "Experiments that `reproduce` knows"),
            Self::Protocols => ("protocols", "Protocols that a flow can use"),
            Self::Controllers => ("controllers", "Congestion controllers and their parameters"),
            Self::Links => ("links", "Link models and their parameters"),
            Self::Scenarios => ("scenarios", "Scenarios that come with the program"),
            Self::Constellations => ("constellations", "Constellations that are known by name"),
            Self::Places => ("places", "Cities that stations can be in"),
            Self::Traces => ("traces", "Traces that a link can replay"),
            Self::Metrics => ("metrics", "What figures of experiments can show"),
            Self::Variants => ("variants", "What `compare` can put into a flow"),
        }
    }
}

/// One thing that can be named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// What it is.
    pub summary: String,
    /// What can be set.
    pub parameters: Vec<Parameter>,
}

/// What can be set of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it is, its default, range and unit.
    pub summary: String,
}

/// The entries of a kind.
///
/// # Errors
/// When something that comes with the program cannot be read.
pub fn entries(kind: Kind) -> Result<Vec<Entry>, ScenarioError> {
    let plain = |name: &str, summary: String| Entry {
        name: name.to_owned(),
        summary,
        parameters: Vec::new(),
    };
    Ok(match kind {
        Kind::Experiments => {
            let entry = |e: &Experiment| {
                let figures: Vec<_> = e.figures.iter().map(|f| f.figure.as_str()).collect();
                plain(&e.id, format!("{} ({}; figures {})", e.title, e.group, figures.join(", ")))
            };
            find(&[])?.iter().map(entry).collect()
        }
        Kind::Protocols => vec![
            plain(
                "xstp",
                "the extended Satellite Transport Protocol; STP with `probing = false`".to_owned(),
            ),
            plain("tcp", "TCP with nine modes of recovery and every controller".to_owned()),
            plain("sctp", "SCTP with streams and several paths, and every controller".to_owned()),
            plain("udp", "datagrams, which nobody acknowledges: background traffic".to_owned()),
        ],
        Kind::Controllers => {
            let parameter = |p: &bentpipe_cc::Parameter| {
                let (low, high) = p.range;
                let text = format!("{}, {} ({low} to {high}), {}", p.summary, p.default, p.unit);
                Parameter { name: p.name, summary: text }
            };
            let entry = |row: &bentpipe_cc::Row| Entry {
                name: row.name.to_owned(),
                summary: format!("{} [{}]", row.summary, row.citation),
                parameters: row.parameters.iter().map(parameter).collect(),
            };
            bentpipe_cc::rows().iter().map(entry).collect()
        }
        Kind::Links => {
            let parameter = |p: &bentpipe_link::Parameter| Parameter {
                name: p.name,
                summary: format!("{} ({})", p.summary, p.unit),
            };
            let entry = |row: &bentpipe_link::ModelRow| Entry {
                name: row.name.to_owned(),
                summary: format!("{} [{}]", row.summary, row.source),
                parameters: row.parameters.iter().map(parameter).collect(),
            };
            let queues = bentpipe_link::queue::QUEUES;
            let uplinks = bentpipe_link::mac::UPLINKS;
            let radio = bentpipe_link::mac::RADIO;
            let more = queues.iter().chain(uplinks).chain(radio);
            bentpipe_link::MODELS.iter().chain(more).map(entry).collect()
        }
        Kind::Scenarios => {
            let mut named = Vec::new();
            for (name, text) in library::scenarios() {
                let scenario = Scenario::parse(name, text)?;
                named.push(plain(name, scenario.file().description.clone()));
            }
            named
        }
        Kind::Constellations => {
            let entry = |known: &bentpipe_orbit::Known| {
                plain(known.name, format!("{} [{}]", known.summary, known.source))
            };
            bentpipe_orbit::KNOWN.iter().map(entry).collect()
        }
        Kind::Places => {
            bentpipe_orbit::cities().map(|(name, place)| plain(name, place.to_string())).collect()
        }
        Kind::Traces => bentpipe_trace::known()
            .map(|known| plain(known.name, known.summary.to_owned()))
            .collect(),
        Kind::Metrics => {
            METRICS.iter().map(|metric| plain(metric.name, metric.label.to_owned())).collect()
        }
        Kind::Variants => {
            let entry = |variant: compare::NamedVariant| plain(&variant.name, variant.summary);
            compare::named().into_iter().map(entry).collect()
        }
    })
}
