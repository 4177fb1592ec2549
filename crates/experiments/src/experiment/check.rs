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
