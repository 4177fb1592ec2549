//! How the flows of a run went on, for a picture: as many points as can be seen, however long it lasts.

use bentpipe_experiments::compare::slowest_line;
use bentpipe_record::{FlowSummary, RunSummary, Sample};
use bentpipe_sim::RunSpec;
use bentpipe_units::{BitRate, ByteCount, Span};
use serde_json::json;

use super::figure::panels::{Panel, Panels, svg};

/// Most samples of a flow that are kept; then every other one goes.
const MOST: usize = 2_000;
/// Parts of a run whose goodput is drawn.
const PARTS: usize = 120;
/// So many flows are told with their protocols, and the others counted.
const TOLD: usize = 2;

/// What is drawn of a sample.
#[derive(Clone, Copy, Debug)]
struct Point {
    at: f64,
    delivered: u64,
    cwnd: Option<u64>,
    srtt: Option<f64>,
}

/// One flow.
#[derive(Clone, Debug)]
struct Course {
    points: Vec<Point>,
    /// One of so many samples is kept.
    every: u64,
    seen: u64,
}

/// All flows of a run.
#[derive(Clone, Debug)]
pub(crate) struct Courses(Vec<Course>);

impl Courses {
    /// Nothing yet, of so many flows.
    pub(crate) fn new(flows: usize) -> Self {
        Self(vec![Course { points: Vec::new(), every: 1, seen: 0 }; flows])
    }

    /// Takes a sample.
    pub(crate) fn take(&mut self, sample: &Sample) {
        let course = &mut self.0[sample.flow];
        course.seen += 1;
        if !(course.seen - 1).is_multiple_of(course.every) {
            return;
        }
        course.points.push(Point {
            at: sample.at.as_secs_f64(),
            delivered: sample.delivered.get(),
            cwnd: sample.cwnd.map(ByteCount::get),
            srtt: sample.srtt.map(Span::as_secs_f64),
        });
        if course.points.len() == MOST {
            let mut places = 0..;
            course
                .points
                .retain(|_| places.next().is_some_and(|place: u64| place.is_multiple_of(2)));
            course.every *= 2;
        }
    }

    /// Goodput, window and round trip of each flow over time.
    pub(crate) fn svg(
        &self,
        spec: &RunSpec,
        run: &RunSummary,
    ) -> Result<String, Box<dyn std::error::Error>> {
        let each = |line: &dyn Fn(&Course) -> Vec<(f64, f64)>| self.0.iter().map(line).collect();
        let panels = vec![
            Panel { label: "goodput, bit/s", lines: each(&Course::goodput) },
            Panel {
                label: "cwnd, B",
                lines: each(&|c| c.over(|p| p.cwnd.map(|cwnd| cwnd as f64))),
            },
            Panel { label: "srtt, s", lines: each(&|c| c.over(|p| p.srtt)) },
        ];
        let figure = Panels {
            title: run.scenario.clone(),
            subtitle: subtitle(spec, run),
            x_label: "time, s".to_owned(),
            names: run.flows.iter().map(|flow| flow.name.clone()).collect(),
            panels,
        };
        svg(&figure, json!({"scenario": run.scenario, "seeds": run.seed.to_string()}))
    }
}

/// What was run over what, such as "one run, seed 1: file by tcp (cubic); satellite carries 10 Mbit/s".
fn subtitle(spec: &RunSpec, run: &RunSummary) -> String {
    let flow = |flow: &FlowSummary| match flow.controller {
        "" => format!("{} by {}", flow.name, flow.protocol),
        controller => format!("{} by {} ({controller})", flow.name, flow.protocol),
    };
    let mut flows: Vec<String> = run.flows.iter().take(TOLD).map(flow).collect();
    let more = run.flows.len().saturating_sub(TOLD);
    flows.extend((more > 0).then(|| format!("{more} more")));
    let line = spec.flows.first().and_then(|flow| slowest_line(spec, flow));
    let line = line.map(|(link, _, bps)| {
        let rate = BitRate::from_bps(bps.round() as u64);
        format!("; {link} carries {rate}")
    });
    format!("one run, seed {}: {}{}", run.seed, flows.join(", "), line.unwrap_or_default())
}

impl Course {
    fn over(&self, value: impl Fn(&Point) -> Option<f64>) -> Vec<(f64, f64)> {
        self.points.iter().map(|point| (point.at, value(point).unwrap_or(f64::NAN))).collect()
    }

    /// What arrived in each part of the time: in parts of a round trip it would be all or nothing.
    fn goodput(&self) -> Vec<(f64, f64)> {
        let step = self.points.len().div_ceil(PARTS).max(1);
        let kept: Vec<&Point> = self.points.iter().step_by(step).collect();
        let part = |two: &[&Point]| {
            let bytes = two[1].delivered.saturating_sub(two[0].delivered) as f64;
            (two[1].at, 8.0 * bytes / (two[1].at - two[0].at))
        };
        kept.windows(2).map(part).collect()
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_record::Sample;
    use bentpipe_units::{ByteCount, Instant, Span};

    use super::*;

    fn sample(step: u64) -> Sample {
        Sample {
            at: Instant::ZERO + Span::from_millis(100 * step),
            flow: 0,
            cwnd: (step > 10).then(|| ByteCount::new(1_000 * step)),
            ssthresh: None,
            srtt: None,
            in_flight: ByteCount::ZERO,
            delivered: ByteCount::new(125_000 * step),
            phase: "open",
            activity: "idle",
            limit: None,
            route_delay: None,
        }
    }

    #[test]
    fn a_long_run_keeps_few_points_from_its_beginning_to_its_end() {
        let mut courses = Courses::new(1);
        (0..1_000_000).for_each(|step| courses.take(&sample(step)));
        let points = &courses.0[0].points;
        assert!(points.len() < MOST && points.len() >= MOST / 2, "{}", points.len());
        assert!(points[0].at == 0.0 && points[points.len() - 1].at > 99_800.0);
        let goodput = courses.0[0].goodput();
        assert!(goodput.len() <= PARTS);
        assert!(goodput.iter().all(|(_, rate)| (rate - 1e7).abs() < 1.0), "{goodput:?}");
    }

    #[test]
    fn what_is_not_known_interrupts_a_line() {
        let mut courses = Courses::new(1);
        (0..20).for_each(|step| courses.take(&sample(step)));
        let window = courses.0[0].over(|point| point.cwnd.map(|cwnd| cwnd as f64));
        assert!(window[10].1.is_nan() && window[11].1 == 11_000.0);
    }
}
