//! How a transfer goes on, for pictures.

use bentpipe_record::Sample;
use bentpipe_scenario::{Scenario, ScenarioError};
use bentpipe_sim::{Observer, run};
use bentpipe_units::Span;
use rayon::prelude::*;

use super::flows::{changes, chosen};
use super::variant::Variant;
use crate::experiment::in_pool;

/// The bytes that a flow has delivered: seconds of the run and bytes, in order.
pub type Course = Vec<(f64, u64)>;

/// The courses of the first compared flow as each of these variants, with seed 1, looked at so often.
///
/// # Errors
/// When a variant cannot be, or a run fails.
pub fn courses(
    scenario: &Scenario,
    variants: &[Variant],
    every: Span,
) -> Result<Vec<Course>, ScenarioError> {
    let course = |variant: &Variant| course(scenario, variant, every);
    in_pool(None, || variants.par_iter().map(course).collect())
}

fn course(scenario: &Scenario, variant: &Variant, every: Span) -> Result<Course, ScenarioError> {
    let wrong = |message: String| ScenarioError {
        source: scenario.source().to_owned(),
        line: None,
        key: None,
        message,
    };
    let spec = scenario.with(&changes(scenario, &variant.name)?)?.run_spec(Some(1), false)?;
    let flow = chosen(&spec, &[]).map_err(wrong)?[0];
    let mut watch = Watch { every, flow, course: vec![(0.0, 0)] };
    run(&spec, &mut watch).map_err(|error| wrong(error.to_string()))?;
    Ok(watch.course)
}

/// Looks at one flow.
struct Watch {
    every: Span,
    flow: usize,
    course: Course,
}

impl Observer for Watch {
    fn sample_every(&self) -> Option<Span> {
        Some(self.every)
    }

    fn sample(&mut self, sample: &Sample) {
        if sample.flow == self.flow {
            self.course.push((sample.at.as_secs_f64(), sample.delivered.get()));
        }
    }
}
