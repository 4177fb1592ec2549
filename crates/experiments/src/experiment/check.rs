//! Whether an experiment means something as a whole.

use std::collections::BTreeSet;

use bentpipe_scenario::{ScenarioError, did_you_mean};

use super::metrics::{METRICS, TRACED, metric};
use super::spec::{Experiment, FigureSpec, SweepSpec};

impl Experiment {
    /// Checks that every name in the experiment means something, and nothing is there twice.
    ///
    /// # Errors
    /// When a scenario, a value, a sweep, a metric, a variant or a place on an axis does not exist, or there is nothing to
    /// run or to draw: the key, such as `sweeps[0].points[2]`, and what is wrong.
    pub fn check(&self) -> Result<(), ScenarioError> {
        if self.watch.is_some() && self.sample_every.is_some() {
            return self.wrong("watch", "`watch` and `sample_every` exclude each other");
        }
        if self.replications == 0 {
            return self.wrong("replications", "it is at least 1");
        }
        for (key, is_empty) in [
            ("variants", self.variants.is_empty()),
            ("sweeps", self.sweeps.is_empty()),
            ("figures", self.figures.is_empty()),
        ] {
            if is_empty {
                return self.wrong(key, "there is none");
            }
        }
        self.each_once("variants", self.variants.iter().map(|variant| &*variant.name))?;
        self.each_once("sweeps", self.sweeps.iter().map(|sweep| &*sweep.name))?;
        self.each_once("figures", self.figures.iter().map(|figure| &*figure.figure))?;
        for (number, sweep) in self.sweeps.iter().enumerate() {
            self.check_sweep(number, sweep)?;
        }
        for (number, figure) in self.figures.iter().enumerate() {
            self.check_figure(number, figure)?;
        }
        self.map()?;
        Ok(())
    }

    /// Checks that its metrics need a summary of each run only.
    ///
    /// # Errors
    /// When it watches runs or takes samples of them.
    pub(super) fn check_unwatched(&self) -> Result<(), ScenarioError> {
        let message = "only the simulator does that: this experiment runs nowhere else";
        if self.watch.is_some() {
            return self.wrong("watch", message);
        }
        if self.sample_every.is_some() {
            return self.wrong("sample_every", message);
        }
        Ok(())
    }

    /// The experiment at some of its places; at all of them if none is given. Claims are about all places, so that there are
    /// none where some are left out, and neither are sweeps of which nothing is left.
    ///
    /// # Errors
    /// When no sweep has one of the places.
    pub(super) fn at(&self, points: &[f64]) -> Result<Self, ScenarioError> {
        let mut some = self.clone();
        if points.is_empty() {
            return Ok(some);
        }
        let known = self.sweeps.iter().flat_map(|sweep| &sweep.points).map(|point| point.x);
        let known: Vec<f64> = known.collect();
        if let Some(missing) = points.iter().find(|point| !known.contains(point)) {
            let mut there = known.clone();
            there.sort_unstable_by(f64::total_cmp);
            there.dedup();
            let there: Vec<String> = there.iter().map(f64::to_string).collect();
            let message = format!("there is no {missing} among {}", there.join(", "));
            return self.wrong("points", message);
        }
        for sweep in &mut some.sweeps {
            sweep.points.retain(|point| points.contains(&point.x));
        }
        some.sweeps.retain(|sweep| !sweep.points.is_empty());
        let kept = |name: &str| some.sweeps.iter().any(|sweep| sweep.name == name);
        some.figures.retain(|figure| kept(&figure.sweep));
        for figure in &mut some.figures {
            figure.claims.clear();
        }
        Ok(some)
    }

    fn wrong<T>(&self, key: &str, message: impl Into<String>) -> Result<T, ScenarioError> {
        let (source, key) = (self.id.clone(), Some(key.to_owned()));
        Err(ScenarioError { source, line: None, key, message: message.into() })
    }

    fn each_once<'a>(
        &self,
        key: &str,
        names: impl Iterator<Item = &'a str>,
    ) -> Result<(), ScenarioError> {
        let mut seen = BTreeSet::new();
        for (number, name) in names.enumerate() {
            // Files are named after figures, on disks that know no capital letters too.
            if !seen.insert(name.to_lowercase()) {
                let message = format!("`{name}` is there already");
                return self.wrong(&format!("{key}[{number}]"), message);
            }
        }
        Ok(())
    }

    fn check_sweep(&self, number: usize, sweep: &SweepSpec) -> Result<(), ScenarioError> {
        let key = format!("sweeps[{number}]");
        if sweep.replications == Some(0) {
            return self.wrong(&format!("{key}.replications"), "it is at least 1");
        }
        if sweep.points.is_empty() {
            return self.wrong(&format!("{key}.points"), "there is none");
        }
        for (place, point) in sweep.points.iter().enumerate() {
            let key = format!("{key}.points[{place}]");
            if !point.x.is_finite() {
                return self.wrong(&format!("{key}.x"), "it is a number");
            }
            if sweep.points[..place].iter().any(|before| before.x == point.x) {
                return self.wrong(&format!("{key}.x"), format!("{} is there already", point.x));
            }
            for variant in &self.variants {
                if let Err(error) = self.scenario(sweep, point, variant) {
                    return self.wrong(&key, format!("as `{}`: {error}", variant.name));
                }
            }
        }
        Ok(())
    }

    fn check_figure(&self, number: usize, figure: &FigureSpec) -> Result<(), ScenarioError> {
        let key = format!("figures[{number}]");
        let Some(sweep) = self.sweeps.iter().find(|sweep| sweep.name == figure.sweep) else {
            let hint = did_you_mean(&figure.sweep, self.sweeps.iter().map(|s| &*s.name));
            let message = format!("there is no sweep `{}`{hint}", figure.sweep);
            return self.wrong(&format!("{key}.sweep"), message);
        };
        self.check_metric(&format!("{key}.metric"), &figure.metric)?;
        for (place, name) in figure.also.iter().enumerate() {
            self.check_metric(&format!("{key}.also[{place}]"), name)?;
        }
        for (place, claim) in figure.claims.iter().enumerate() {
            let key = format!("{key}.claims[{place}]");
            if let Some(name) = claim.metric() {
                self.check_metric(&key, name)?;
            }
            for name in claim.variants() {
                if !self.variants.iter().any(|variant| variant.name == *name) {
                    let hint = did_you_mean(name, self.variants.iter().map(|v| &*v.name));
                    return self.wrong(&key, format!("there is no variant `{name}`{hint}"));
                }
            }
            for x in claim.places() {
                if !sweep.points.iter().any(|point| point.x == x) {
                    let message = format!("{x} is no place of the sweep `{}`", sweep.name);
                    return self.wrong(&key, message);
                }
            }
        }
        Ok(())
    }

    fn check_metric(&self, key: &str, name: &str) -> Result<(), ScenarioError> {
        if metric(name).is_none() {
            let hint = did_you_mean(name, METRICS.iter().map(|metric| metric.name));
            return self.wrong(key, format!("there is no metric `{name}`{hint}"));
        }
        if self.sample_every.is_none() && TRACED.contains(&name) {
            return self.wrong(key, format!("the metric `{name}` needs `sample_every`"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = r#"
id = "loss"
title = "Loss"
scenario = "geo"
replications = 2
variants = [{ name = "cubic", is = "tcp-cubic" }, { name = "bentpipe", is = "bentpipe" }]

[[sweeps]]
name = "loss"
x_label = "loss, %"
points = [
  { x = 0, set = { "links.satellite.loss" = "0" } },
  { x = 1, set = { "links.satellite.loss" = "0.01" } },
]

[[figures]]
figure = "goodput"
title = "Goodput"
sweep = "loss"
metric = "goodput"

[[figures.claims]]
text = "bentpipe is faster"
better = { variant = "bentpipe", than = "cubic", at = [1] }
"#;

    fn check(changed: &str, to: &str) -> Result<(), String> {
        assert!(OWN.contains(changed), "{changed}");
        let experiment = Experiment::parse("own.toml", &OWN.replacen(changed, to, 1));
        experiment.and_then(|experiment| experiment.check()).map_err(|error| error.to_string())
    }

    #[test]
    fn an_experiment_of_one_s_own_needs_no_paper() {
        check("Loss", "Loss").expect("an experiment");
    }

    #[test]
    fn some_of_its_points_are_run_and_nothing_is_claimed_of_them() {
        let own = Experiment::parse("own.toml", OWN).expect("an experiment");
        let some = own.at(&[1.0]).expect("a point");
        assert_eq!(some.sweeps[0].points.iter().map(|point| point.x).collect::<Vec<_>>(), [1.0]);
        assert!(some.figures[0].claims.is_empty());
        assert_eq!(own.at(&[]).expect("all").figures[0].claims.len(), 1);
        let error = own.at(&[1.0, 4.0]).expect_err("no such point").to_string();
        assert!(error.contains("`points`: there is no 4 among 0, 1"), "{error}");
    }

    #[test]
    fn what_is_watched_runs_in_the_simulator_only() {
        for (key, value) in [
            ("sample_every", "sample_every = \"1 s\"\n"),
            ("watch", "watch = { from = \"1 s\", until = \"2 s\", every = \"1 s\" }\n"),
        ] {
            let text = format!("{value}{OWN}");
            let own = Experiment::parse("own.toml", &text).expect("an experiment");
            let error = own.check_unwatched().expect_err(key).to_string();
            assert!(error.contains(&format!("`{key}`: only the simulator")), "{error}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_by_its_key() {
        for (changed, to, said) in [
            ("replications = 2", "replications = 0", "`replications`: it is at least 1"),
            ("name = \"bentpipe\"", "name = \"CUBIC\"", "`variants[1]`: `CUBIC` is there already"),
            ("is = \"bentpipe\"", "is = \"bentpip\"", "`sweeps[0].points[0]`: as `bentpipe`: "),
            ("x = 1,", "x = 0,", "`sweeps[0].points[1].x`: 0 is there already"),
            ("x = 1,", "x = inf,", "`sweeps[0].points[1].x`: it is a number"),
            ("\"0.01\"", "\"2\"", "`sweeps[0].points[1]`: as `cubic`: "),
            (
                "sweep = \"loss\"",
                "sweep = \"los\"",
                "`figures[0].sweep`: there is no sweep `los`; did you mean `loss`?",
            ),
            ("metric = \"goodput\"", "metric = \"godput\"", "did you mean `goodput`?"),
            (
                "than = \"cubic\"",
                "than = \"reno\"",
                "`figures[0].claims[0]`: there is no variant `reno`",
            ),
            ("at = [1]", "at = [2]", "`figures[0].claims[0]`: 2 is no place of the sweep `loss`"),
            ("better = {", "beter = {", "own.toml, line "),
        ] {
            let error = check(changed, to).expect_err(said);
            assert!(error.contains(said), "{error}\n{said}");
        }
    }
}
