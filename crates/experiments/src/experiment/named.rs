//! Experiments by their names, and those of one's own in files.

use std::path::Path;

use bentpipe_scenario::{ScenarioError, nearest};

use super::spec::Experiment;
use crate::library;

/// The experiments of these identities or groups and those in these files, each once, in order: the program's first; all of
/// the program's for `all` or nothing. A name that ends in `.toml` is a file.
///
/// # Errors
/// When there is no such experiment, a file is none, or two of them have one identity.
pub fn find(names: &[String]) -> Result<Vec<Experiment>, ScenarioError> {
    let (files, names): (Vec<_>, Vec<_>) = names.iter().partition(|name| is_file(name));
    let all: Result<Vec<_>, _> =
        library::experiments().map(|(source, text)| Experiment::parse(source, text)).collect();
    let all = all?;
    let is = |experiment: &Experiment, name: &str| {
        name.eq_ignore_ascii_case("all")
            || experiment.id.eq_ignore_ascii_case(name)
            || experiment.group.eq_ignore_ascii_case(name)
    };
    for name in &names {
        if !all.iter().any(|experiment| is(experiment, name)) {
            let known = all.iter().flat_map(|e| [e.id.as_str(), e.group.as_str()]);
            let hint = nearest(name, known).map(|n| format!("; did you mean `{n}`?"));
            let message = "there is no such experiment".to_owned()
                + &hint.unwrap_or_else(|| {
                    "; `bentpipe list experiments` names them, and a file ends in .toml".into()
                });
            return Err(wrong(name, message));
        }
    }
    let is_wanted = |e: &Experiment| names.iter().any(|name| is(e, name));
    let wants_all = names.is_empty() && files.is_empty();
    let mut found: Vec<_> = all.into_iter().filter(|e| wants_all || is_wanted(e)).collect();
    for file in files {
        let own = Experiment::open(file)?;
        if found.iter().any(|other| other.id.eq_ignore_ascii_case(&own.id)) {
            let message = format!("another experiment is called {} too: change its `id`", own.id);
            return Err(wrong(file, message));
        }
        found.push(own);
    }
    Ok(found)
}

fn is_file(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"))
}

fn wrong(source: &str, message: String) -> ScenarioError {
    ScenarioError { source: source.to_owned(), line: None, key: None, message }
}

impl Experiment {
    /// Reads an experiment of one's own. Its scenarios are files beside it, or those of the program.
    ///
    /// # Errors
    /// When the file cannot be read, or is no valid experiment: see [`Experiment::check`].
    pub fn open(file: &str) -> Result<Self, ScenarioError> {
        let text = std::fs::read_to_string(file).map_err(|error| wrong(file, error.to_string()))?;
        let mut experiment = Self::parse(file, &text)?;
        let own = experiment.sweeps.iter_mut().filter_map(|sweep| sweep.scenario.as_mut());
        for scenario in own.chain([&mut experiment.scenario]) {
            let beside = Path::new(file).with_file_name(&*scenario);
            if let Some(beside) = beside.to_str().filter(|_| beside.is_file()) {
                beside.clone_into(scenario);
            }
        }
        experiment.check().map_err(|error| ScenarioError { source: file.to_owned(), ..error })?;
        Ok(experiment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(names: &[&str]) -> Vec<String> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        find(&names).expect("experiments").into_iter().map(|experiment| experiment.id).collect()
    }

    #[test]
    fn all_is_every_experiment_and_so_is_nothing() {
        assert_eq!(ids(&["all"]), ids(&[]));
        assert_eq!(ids(&[]).len(), library::experiments().count());
    }

    #[test]
    fn a_paper_is_all_of_its_experiments() {
        assert_eq!(ids(&["s2"]), ["E19", "E20", "E21", "E22", "E23"]);
        assert_eq!(ids(&["S3"]), ["E24", "E25", "E26", "E27", "E28", "E29", "E30"]);
        assert_eq!(ids(&["p1", "e24"]), ["E24", "P1"]);
    }
}
