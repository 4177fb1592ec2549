//! The flows that are compared, and what a variant changes in them.

use bentpipe_scenario::{Override, Scenario, ScenarioError, did_you_mean};
use bentpipe_sim::{Protocol, RunSpec};

use super::variant::Variant;

/// What makes all bulk transfers of a scenario the variant of this name.
pub(crate) fn changes(scenario: &Scenario, name: &str) -> Result<Vec<Override>, ScenarioError> {
    let spec = scenario.run_spec(None, false)?;
    let found = name.parse::<Variant>().and_then(|variant| {
        let flows = chosen(&spec, &[])?;
        variant.changes(&spec, &flows)
    });
    found.map_err(|message| ScenarioError {
        source: scenario.source().to_owned(),
        line: None,
        key: None,
        message,
    })
}

/// The flows that are compared: those that are named, or all bulk transfers.
pub(crate) fn chosen(spec: &RunSpec, names: &[String]) -> Result<Vec<usize>, String> {
    let known = || spec.flows.iter().map(|flow| flow.name.as_str());
    let mut chosen = Vec::new();
    for name in names {
        let found = known().position(|known| known == name);
        let hint = did_you_mean(name, known());
        let index = found.ok_or_else(|| format!("there is no flow `{name}`{hint}"))?;
        if matches!(spec.flows[index].protocol, Protocol::Udp) {
            return Err(format!("the flow `{name}` consists of datagrams: it has no variants"));
        }
        chosen.push(index);
    }
    if names.is_empty() {
        let bulk = spec.flows.iter().enumerate().filter(|(_, flow)| flow.traffic.is_none());
        chosen.extend(bulk.map(|(index, _)| index));
    }
    if chosen.is_empty() {
        return Err("no flow sends a file or without end: name those to compare by --flow".into());
    }
    chosen.sort_unstable();
    chosen.dedup();
    Ok(chosen)
}

/// Refuses flows whose variants would change a part of them only.
pub(crate) fn end_to_end(spec: &RunSpec, flows: &[usize]) -> Result<(), String> {
    let through = flows.iter().map(|flow| &spec.flows[*flow]).find(|flow| !flow.proxies.is_empty());
    let Some(flow) = through else { return Ok(()) };
    let name = &flow.name;
    Err(format!(
        "flow `{name}` goes through proxies: variants would change nothing but its first leg; set \
         flows.{name}.through=[] and compare variants with `+split`, or set protocols of the proxies"
    ))
}
