//! The files of experiments.

use std::collections::BTreeMap;

use bentpipe_orbit::Network;
use bentpipe_scenario::{Override, Quantity, Scenario, ScenarioError};
use bentpipe_units::Span;
use serde::Deserialize;

use super::claims::ClaimSpec;
use super::watch::WatchSpec;
use crate::compare::changes as variant_changes;

/// An experiment as it stands in its file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Identity, such as `E1`; figures are named after it.
    pub id: String,
    /// What it belongs to: `xstp` for the XSTP paper. An experiment of one's own needs none.
    #[serde(default)]
    pub group: String,
    /// What it shows.
    pub title: String,
    /// Scenario that is varied: a name, or a file beside that of the experiment.
    pub scenario: String,
    /// Runs of each point and variant, with seeds 1 to n.
    pub replications: u64,
    /// Time between samples, for metrics over time; without it there are none.
    pub sample_every: Option<Quantity<Span>>,
    /// The part of each run that is watched, for metrics of what is steady.
    pub watch: Option<WatchSpec>,
    /// What is compared. All variants meet the same channel in a replication.
    pub variants: Vec<VariantSpec>,
    /// What is varied along the x axes.
    pub sweeps: Vec<SweepSpec>,
    /// What is drawn and claimed.
    pub figures: Vec<FigureSpec>,
    /// A map of the satellites.
    pub map: Option<MapSpec>,
}

/// A map of the satellites that carry a run, as they are at its start.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MapSpec {
    /// Number of the figure in the paper, or a name.
    pub figure: String,
    /// The variant whose first run is drawn.
    pub variant: String,
}

/// Something that is compared.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VariantSpec {
    /// Its name, such as `on`.
    pub name: String,
    /// What the flows are that send a file or without end, as `bentpipe compare` names it.
    pub is: Option<String>,
    /// The values that it changes.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
}

/// A way along an x axis.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepSpec {
    /// Its name.
    pub name: String,
    /// What the x axis counts.
    pub x_label: String,
    /// Scenario, if it is not the experiment's.
    pub scenario: Option<String>,
    /// Replications, if they are not the experiment's.
    pub replications: Option<u64>,
    /// The places on the axis.
    pub points: Vec<PointSpec>,
}

/// A place on an x axis.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PointSpec {
    /// Where it is.
    pub x: f64,
    /// The values that it changes.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
}

/// A figure and what is claimed of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureSpec {
    /// Number of the figure in the paper, or a name.
    pub figure: String,
    /// What it shows.
    pub title: String,
    /// The sweep that it draws.
    pub sweep: String,
    /// The metric that it draws.
    pub metric: String,
    /// Other metrics that are reported with it.
    #[serde(default)]
    pub also: Vec<String>,
    /// What is claimed.
    #[serde(default)]
    pub claims: Vec<ClaimSpec>,
}

impl Experiment {
    /// Reads an experiment from a text that came from `source`.
    ///
    /// # Errors
    /// When it is not a valid experiment.
    pub fn parse(source: &str, text: &str) -> Result<Self, ScenarioError> {
        toml::from_str(text).map_err(|error| ScenarioError::in_toml(source, text, &error))
    }

    /// The scenario of one point and variant.
    ///
    /// # Errors
    /// When a value cannot be.
    pub fn scenario(
        &self,
        sweep: &SweepSpec,
        point: &PointSpec,
        variant: &VariantSpec,
    ) -> Result<Scenario, ScenarioError> {
        let name = sweep.scenario.as_ref().unwrap_or(&self.scenario);
        let overrides = |set: &BTreeMap<String, String>| -> Vec<Override> {
            let change = |(key, value): (&String, &String)| Override {
                key: key.clone(),
                value: value.clone(),
            };
            set.iter().map(change).collect()
        };
        let (mut changes, own) = (overrides(&point.set), overrides(&variant.set));
        let mut scenario = Scenario::open(name)?;
        if let Some(is) = &variant.is {
            // What the flows become depends on what they are at this point.
            scenario = scenario.with(&changes)?;
            changes = variant_changes(&scenario, is)?;
        }
        changes.extend(own);
        scenario.with(&changes)
    }

    /// The satellites and stations of the experiment's map, with the name of its figure.
    ///
    /// # Errors
    /// When the scenario cannot be, or no satellites carry it.
    pub fn map(&self) -> Result<Option<(&str, Network)>, ScenarioError> {
        let Some(map) = &self.map else { return Ok(None) };
        let wrong = || ScenarioError {
            source: self.id.clone(),
            line: None,
            key: Some("map".to_owned()),
            message: "there is no such variant, or it has no satellites".to_owned(),
        };
        let variant = self.variants.iter().find(|variant| variant.name == map.variant);
        let first = self.sweeps.first().and_then(|sweep| Some((sweep, sweep.points.first()?)));
        let (Some(variant), Some((sweep, point))) = (variant, first) else { return Err(wrong()) };
        let spec = self.scenario(sweep, point, variant)?.run_spec(Some(1), false)?;
        let constellation = spec.constellation.ok_or_else(wrong)?;
        Ok(Some((&map.figure, constellation.network)))
    }
}
