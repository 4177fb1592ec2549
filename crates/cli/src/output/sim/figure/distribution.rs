//! Empirical distributions of the goodputs of a comparison's runs.

use std::error::Error;

use bentpipe_experiments::compare::Compared;
use serde_json::json;

use super::bars::seeds;
use super::panels::{Panel, Panels, svg as panels};

/// Draws for each variant which share of its runs had a goodput up to x.
pub(crate) fn svg(compared: &Compared) -> Result<String, Box<dyn Error>> {
    let result = compared.ranking();
    let names: Vec<String> = result.rows.iter().map(|row| row.variant.clone()).collect();
    let lines = names.iter().map(|name| {
        let runs = compared.runs().iter().filter(|run| run.variant == *name);
        steps(runs.map(|run| run.measured.goodput).collect())
    });
    let panel = Panel { label: "share of the runs", lines: lines.collect() };
    let figure = Panels {
        title: format!("{}: distribution of the goodput", result.scenario),
        subtitle: match result.replications {
            1 => "one run".to_owned(),
            n => format!("{n} runs of each variant"),
        },
        x_label: "goodput, bit/s".to_owned(),
        names,
        panels: vec![panel],
    };
    panels(
        &figure,
        json!({"scenario": result.scenario, "flows": result.flows, "seeds": seeds(result.replications)}),
    )
}

/// The empirical distribution function: a step up at each value.
fn steps(mut values: Vec<f64>) -> Vec<(f64, f64)> {
    values.sort_by(f64::total_cmp);
    let count = values.len() as f64;
    let step = |(place, value): (usize, f64)| {
        [(value, place as f64 / count), (value, (place + 1) as f64 / count)]
    };
    values.into_iter().enumerate().flat_map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_steps_up_at_each_value_and_ends_at_one() {
        let expected = [(1.0, 0.0), (1.0, 0.5), (3.0, 0.5), (3.0, 1.0)];
        assert_eq!(steps(vec![3.0, 1.0]), expected);
        assert_eq!(steps(Vec::new()), []);
    }
}
