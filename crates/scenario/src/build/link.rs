//! The links of a run.

use bentpipe_link::{
    Action, Fade, ModelChoice, ModelSpec, QueueLimit, Registry, Rule, StateConfig, XDelDropConfig,
};
use bentpipe_sim::{LinkSpec, MtuSpec};
use bentpipe_units::{Instant, Span};
use bentpipe_wire::Kind;

use super::losses;
use super::node;
use super::queue::{product, unfit};
use super::rain::Rain;
use super::trace;
use crate::error::did_you_mean;
use crate::problem::{Problem, problem};
use crate::schema::file::ScenarioFile;
use crate::schema::link::{
    CustomTable, FadeTable, LinkDirection, LinkTable, RuleTable, StateTable, XDelDropTable,
};
use crate::schema::named::Named;
use crate::schema::quantity::Quantity;
use crate::schema::queue::QueueTable;

/// No link carries less: acknowledgements with all their options pass.
const LEAST_MTU: u16 = 128;

/// Where a scenario came from, and the models that the program brings.
#[derive(Clone, Copy)]
pub(super) struct Origin<'a> {
    pub(super) source: &'a str,
    pub(super) brought: &'a Registry,
}

/// A link; `held` says in which directions a queue before it holds its packets, `marks` whether one may mark them.
pub(super) fn link(
    file: &ScenarioFile,
    name: &str,
    table: &LinkTable,
    (held, marks): ([bool; 2], bool),
    origin: Origin<'_>,
) -> Result<LinkSpec, Problem> {
    let path = ["links", name, "between"];
    let [a, b] = &table.between;
    let ends = [node(file, &path, a)?, node(file, &path, b)?];
    if ends[0] == ends[1] {
        return problem(&path, format!("`{a}` cannot be linked to itself"));
    }
    if table.link_state {
        let message = match &file.constellation {
            Some(_) => "with a constellation no link tells",
            None if table.blackouts.is_empty() && table.blackout_every.is_none() => {
                "the link has no `blackouts` or `blackout_every` to tell of"
            }
            None => "",
        };
        if !message.is_empty() {
            return problem(&["links", name, "link_state"], message);
        }
    }
    let mtu = mtu(file, name, table)?;
    if table.becn {
        if file.constellation.is_some() {
            return problem(
                &["links", name, "becn"],
                "with a constellation no queue tells senders",
            );
        }
        if !marks {
            let message = "no queue of the link marks: give it a discipline like \"red\" or \"fuzzy\", with its \
                           `ecn` on";
            return problem(&["links", name, "becn"], message);
        }
    }
    let own = [&table.forward_link, &table.return_link];
    let fades = !table.fades.is_empty()
        || own.into_iter().flatten().any(|own| own.fades.as_ref().is_some_and(|f| !f.is_empty()));
    if fades && !file.agents.is_empty() {
        return problem(&["links", name, "fades"], "with agents no line fades");
    }
    if Rain::is_on(table) && (file.constellation.is_some() || !file.agents.is_empty()) {
        let message = "there is no rain on links of constellations and of agents";
        return problem(&["links", name, "rain"], message);
    }
    Rain::check_same(name, table)?;
    let [forward_link, return_link] = [
        direction(name, "forward", table, table.forward_link.as_ref(), held[0], origin)?,
        direction(name, "return", table, table.return_link.as_ref(), held[1], origin)?,
    ];
    let (name, tells_state, becn) = (name.to_owned(), table.link_state, table.becn);
    Ok(LinkSpec { name, ends, forward_link, return_link, mtu, tells_state, becn })
}

/// What a link carries at most.
fn mtu(file: &ScenarioFile, name: &str, table: &LinkTable) -> Result<Option<MtuSpec>, Problem> {
    let Some(Quantity(mtu)) = table.mtu else {
        return match table.icmp {
            Some(_) => problem(
                &["links", name, "icmp"],
                "a link without `mtu` drops no packet as too long",
            ),
            None => Ok(None),
        };
    };
    let path = ["links", name, "mtu"];
    if file.constellation.is_some() {
        return problem(&path, "with a constellation links carry packets of any length");
    }
    match u16::try_from(mtu.get()).ok().filter(|mtu| *mtu >= LEAST_MTU) {
        Some(bytes) => Ok(Some(MtuSpec { bytes, icmp: table.icmp.unwrap_or(true) })),
        None => problem(&path, format!("{mtu}: it must lie in {LEAST_MTU}..=65535 B")),
    }
}

pub(super) fn direction(
    link: &str,
    key: &str,
    both: &LinkTable,
    own: Option<&LinkDirection>,
    held: bool,
    origin: Origin<'_>,
) -> Result<Vec<ModelSpec>, Problem> {
    let mut models = Vec::new();
    let rate = own.and_then(|o| o.rate).or(both.rate);
    let queue = own.and_then(|o| o.queue.as_ref()).or(both.queue.as_ref());
    let own_fades = own.and_then(|o| o.fades.as_ref());
    let fades = own_fades.unwrap_or(&both.fades);
    let path = if own_fades.is_some() { vec!["links", link, key] } else { vec!["links", link] };
    let fades = fades_of(&path, fades)?;
    if !fades.is_empty() && (held || rate.is_none()) {
        let path = [&path[..], &["fades"]].concat();
        return problem(&path, "only a line with a `rate` and a drop-tail queue fades");
    }
    let rain = Rain::of(link, key, both, own);
    let traced = traced(link, key, both, own, held, origin.source)?;
    let sends = traced.first().is_some_and(is_transmitter);
    if let Some(rain) = &rain {
        let message = if sends {
            "the trace has a rate of its own: leave one of them out"
        } else if !fades.is_empty() {
            "the rate follows the rain: leave `fades` out"
        } else if held || rate.is_none() {
            "only a line with a `rate` and a drop-tail queue stands in rain"
        } else {
            ""
        };
        if !message.is_empty() {
            return rain.wrong(&[], message);
        }
    }
    match (rate, queue) {
        _ if held || sends => {}
        (Some(Quantity(rate)), _) => {
            let queue = drop_tail(link, key, both, own)?;
            models.push(match &rain {
                Some(rain) => rain.line(rate, queue, origin.source)?,
                None if fades.is_empty() => ModelSpec::Rate { rate, queue },
                None => ModelSpec::FadingRate { rate, queue, fades },
            });
        }
        (None, Some(_)) => {
            return problem(&queue_path(link, key, own), "a queue needs a `rate` to wait for");
        }
        (None, None) => {}
    }
    let delayed = traced.iter().any(|model| matches!(model, ModelSpec::SteppedDelay { .. }));
    models.extend(traced);
    models.extend(losses::losses(link, key, both, own)?);
    let start = |span: Span| Instant::ZERO + span;
    if !both.blackouts.is_empty() {
        let list = both.blackouts.iter().map(|b| (start(b.at.0), b.lasts.0)).collect();
        models.push(ModelSpec::Blackouts(list));
    }
    if let Some(periodic) = &both.blackout_every {
        if periodic.every.0.is_zero() {
            return problem(&["links", link, "blackout_every", "every"], "it must be above zero");
        }
        models.push(ModelSpec::PeriodicBlackout {
            first: start(periodic.first.0),
            every: periodic.every.0,
            lasts: periodic.lasts.0,
        });
    }
    let own_script = own.and_then(|o| o.script.as_ref());
    let script = own_script.unwrap_or(&both.script);
    if !script.is_empty() {
        let path =
            if own_script.is_some() { vec!["links", link, key] } else { vec!["links", link] };
        let rules = script.iter().enumerate().map(|(n, r)| rule(&path, n, r));
        let rules: Result<_, _> = rules.collect();
        models.push(ModelSpec::Script(rules?));
    }
    if let Some(delay) = own.and_then(|o| o.delay).or(both.delay) {
        if delayed {
            return problem(
                &["links", link, "delay"],
                "the trace has a delay: leave one of them out",
            );
        }
        models.push(ModelSpec::Delay(delay.0));
    }
    if let Some(table) = &both.xdeldrop {
        models.push(xdeldrop(link, table)?);
    }
    let own_custom = own.and_then(|o| o.custom.as_ref());
    let path = if own_custom.is_some() { vec!["links", link, key] } else { vec!["links", link] };
    for (number, table) in own_custom.unwrap_or(&both.custom).iter().enumerate() {
        models.push(ModelSpec::Custom(custom(&path, number, table, origin.brought)?));
    }
    Ok(models)
}

/// The models of the trace of a direction, if it has one.
fn traced(
    link: &str,
    key: &str,
    both: &LinkTable,
    own: Option<&LinkDirection>,
    held: bool,
    source: &str,
) -> Result<Vec<ModelSpec>, Problem> {
    let own_trace = own.and_then(|own| own.trace.as_ref());
    let Some(Named(table)) = own_trace.or(both.trace.as_ref()) else { return Ok(Vec::new()) };
    let path: &[&str] = if own_trace.is_some() {
        &["links", link, key, "trace"]
    } else {
        &["links", link, "trace"]
    };
    let queue = drop_tail(link, key, both, own)?;
    let models = trace::models(path, table, source, queue)?;
    if models.first().is_some_and(is_transmitter) && Rain::of(link, key, both, own).is_none() {
        let rate = own.and_then(|own| own.rate).or(both.rate);
        let fades = own.and_then(|own| own.fades.as_ref()).unwrap_or(&both.fades);
        if rate.is_some() || !fades.is_empty() {
            return problem(path, "it has a rate: leave `rate` and `fades` of the link out");
        }
        if held {
            return problem(
                path,
                "it has a rate: then the queue is drop-tail and the uplink its own",
            );
        }
    }
    Ok(models)
}

/// What may wait in a queue that loses what finds it full.
fn drop_tail(
    link: &str,
    key: &str,
    both: &LinkTable,
    own: Option<&LinkDirection>,
) -> Result<QueueLimit, Problem> {
    let queue = own.and_then(|own| own.queue.as_ref()).or(both.queue.as_ref());
    let Some(Named(QueueTable::Eager(room))) = queue else { return Ok(QueueLimit::Unlimited) };
    let rate = own.and_then(|own| own.rate).or(both.rate).map(|rate| rate.0);
    let limit = room.limit(product(both, rate));
    limit.or_else(|message| problem(&queue_path(link, key, own), message))
}

/// Path of the queue of a direction: its own one, or that of both directions.
fn queue_path<'a>(link: &'a str, key: &'a str, own: Option<&LinkDirection>) -> Vec<&'a str> {
    let is_own = own.is_some_and(|own| own.queue.is_some());
    if is_own { vec!["links", link, key, "queue"] } else { vec!["links", link, "queue"] }
}

/// The model has a queue before it.
const fn is_transmitter(model: &ModelSpec) -> bool {
    matches!(model, ModelSpec::SteppedRate { .. } | ModelSpec::Opportunities { .. })
}

/// The fades of a line, which come one after another.
fn fades_of(path: &[&str], tables: &[FadeTable]) -> Result<Vec<Fade>, Problem> {
    let mut fades: Vec<Fade> = Vec::new();
    for (number, table) in tables.iter().enumerate() {
        let number = number.to_string();
        let path = |key| [path, &["fades", &number, key]].concat();
        let at = Instant::ZERO + table.at.0;
        if table.lasts.0.is_zero() {
            return problem(&path("lasts"), "it must be above zero");
        }
        if fades.last().is_some_and(|last| last.at + last.lasts > at) {
            return problem(&path("at"), "the fade before it has not ended then");
        }
        fades.push(Fade { at, lasts: table.lasts.0, rate: table.rate.0 });
    }
    Ok(fades)
}

/// A model that the program brings.
fn custom(
    path: &[&str],
    number: usize,
    table: &CustomTable,
    brought: &Registry,
) -> Result<ModelChoice, Problem> {
    brought.model(&table.name, &table.parameters).or_else(|error| {
        let (key, message) = unfit(&error, brought.models().map(|row| row.name));
        problem(&[path, &["custom", &number.to_string(), key]].concat(), message)
    })
}

fn rule(path: &[&str], number: usize, table: &RuleTable) -> Result<Rule, Problem> {
    let number = number.to_string();
    let path = |key| [path, &["script", &number, key]].concat();
    let mut kind = Kind::NONE;
    for name in &table.kind {
        let Some((part, _)) = Kind::NAMES.iter().find(|(_, known)| known == name) else {
            let hint = did_you_mean(name, Kind::NAMES.iter().map(|(_, known)| *known));
            return problem(&path("kind"), format!("there is no kind of segment `{name}`{hint}"));
        };
        kind = kind.with(*part);
    }
    if table.nth == 0 {
        return problem(&path("nth"), "0: packets are counted from 1");
    }
    let action = table.late.map_or(Action::Drop, |late| Action::Delay(late.0));
    Ok(Rule { kind, nth: table.nth, count: table.count, action })
}

fn xdeldrop(link: &str, table: &XDelDropTable) -> Result<ModelSpec, Problem> {
    let state = |name: &str, state: &StateTable| {
        let path = |key| ["links", link, "xdeldrop", name, key];
        if state.mean.0 < Span::from_micros(1) {
            return problem(&path("mean"), format!("{} is too short: 1 us or more", state.mean.0));
        }
        if state.delay_max.0 < state.delay_min.0 {
            let message = format!("{} is below `delay_min`", state.delay_max.0);
            return problem(&path("delay_max"), message);
        }
        Ok(StateConfig {
            mean_sojourn: state.mean.0,
            drop_probability: state.drop.0,
            drop_at_min_delay: state.drop_at_min_delay.map(|p| p.0),
            delay_min: state.delay_min.0,
            delay_max: state.delay_max.0,
        })
    };
    let (good, bad) = (state("good", &table.good)?, state("bad", &table.bad)?);
    let config = XDelDropConfig { good, bad, fifo: table.fifo };
    Ok(ModelSpec::XDelDrop { config, independent: table.independent })
}
