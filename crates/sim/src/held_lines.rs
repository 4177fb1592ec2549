//! Queues that must hold their packets because something may overtake them.

use std::borrow::Cow;

use bentpipe_link::ModelSpec;
use bentpipe_link::queue::{DisciplineSpec, QueueSpec};
use bentpipe_link::station::StationSpec;

use crate::agents::AgentPlace;
use crate::{LinkSpec, RunSpec, StationPlace, Way};

/// The same run, but the packets before the link of each agent wait in a queue that holds them: a plain
/// one has settled when each of them leaves by the time a repair comes. Which are lost, and when the
/// others leave, stays the same.
pub(crate) fn hold_before_agents(spec: &RunSpec) -> Cow<'_, RunSpec> {
    let mut held = Cow::Borrowed(spec);
    for place in &spec.agents {
        let line = (place.link, out(place, &spec.links[place.link]));
        let Some(ModelSpec::Rate { rate, queue }) = models(spec, line).first() else { continue };
        if spec.stations.iter().any(|station| station.lines.contains(&line)) {
            continue;
        }
        let queue = QueueSpec { limit: *queue, discipline: DisciplineSpec::DropTail };
        let station = StationSpec::Line { rate: *rate, queue };
        let held = held.to_mut();
        held.stations.push(StationPlace { station, lines: vec![line] });
        let link = &mut held.links[line.0];
        match line.1 {
            Way::Forth => link.forth.remove(0),
            Way::Back => link.back.remove(0),
        };
    }
    held
}

/// The direction in which packets go out past an agent.
fn out(place: &AgentPlace, link: &LinkSpec) -> Way {
    if link.ends[0] == place.node { Way::Forth } else { Way::Back }
}

fn models(spec: &RunSpec, (link, way): (usize, Way)) -> &[ModelSpec] {
    let link = &spec.links[link];
    match way {
        Way::Forth => &link.forth,
        Way::Back => &link.back,
    }
}
