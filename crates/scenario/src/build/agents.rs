//! The agents of a run.

use bentpipe_pep::snoop;
use bentpipe_sim::{AgentPlace, AgentSpec};

use super::node;
use crate::error::did_you_mean;
use crate::problem::{Problem, problem};
use crate::schema::agent::{AgentKind, AgentTable};
use crate::schema::file::ScenarioFile;

impl AgentKind {
    /// The agent, or the key that cannot be, and why.
    fn spec(&self) -> Result<AgentSpec, (&'static str, String)> {
        let Self::Snoop { cache, drop_oldest, threshold, srtt, rttvar, min_timeout, most_repairs } =
            *self;
        let default = snoop::Config::default();
        for (key, number) in [("cache", cache), ("most_repairs", most_repairs)] {
            if number == Some(0) {
                return Err((key, "0: it must be 1 or more".to_owned()));
            }
        }
        if min_timeout.is_some_and(|span| span.0.is_zero()) {
            return Err(("min_timeout", "it must be above zero".to_owned()));
        }
        Ok(AgentSpec::Snoop(snoop::Config {
            cache: cache.map_or(default.cache, |segments| segments as usize),
            drop_oldest: drop_oldest.unwrap_or(default.drop_oldest),
            threshold: threshold.unwrap_or(default.threshold),
            srtt: srtt.map_or(default.srtt, |span| span.0),
            rttvar: rttvar.map_or(default.rttvar, |span| span.0),
            min_timeout: min_timeout.map_or(default.min_timeout, |span| span.0),
            most_repairs: most_repairs.unwrap_or(default.most_repairs),
        }))
    }
}

/// All agents of a scenario.
pub(crate) fn agents(file: &ScenarioFile) -> Result<Vec<AgentPlace>, Problem> {
    let mut places: Vec<AgentPlace> = Vec::new();
    for (name, table) in &file.agents {
        let place = agent(file, name, table)?;
        let twice = |other: &&AgentPlace| (other.node, other.link) == (place.node, place.link);
        if let Some(other) = places.iter().find(twice) {
            let message = format!("`{}` watches this link at `{}` already", other.name, table.at);
            return problem(&["agents", name, "link"], message);
        }
        places.push(place);
    }
    if file.constellation.is_some() && !places.is_empty() {
        return problem(&["agents"], "agents need links that stay where they are");
    }
    Ok(places)
}

fn agent(file: &ScenarioFile, name: &str, table: &AgentTable) -> Result<AgentPlace, Problem> {
    let at = node(file, &["agents", name, "at"], &table.at)?;
    let path = ["agents", name, "link"];
    let Some((link, _, ends)) = file.links.get_full(&table.link) else {
        let hint = did_you_mean(&table.link, file.links.keys().map(String::as_str));
        return problem(&path, format!("there is no link `{}`{hint}", table.link));
    };
    if !ends.between.contains(&table.at) {
        let [a, b] = &ends.between;
        let message = format!("`{}` joins `{a}` and `{b}`, not `{}`", table.link, table.at);
        return problem(&path, message);
    }
    let agent = table
        .agent
        .0
        .spec()
        .or_else(|(key, message)| problem(&["agents", name, "agent", key], message))?;
    Ok(AgentPlace { name: name.to_owned(), agent, node: at, link })
}
