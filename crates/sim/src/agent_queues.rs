//! Queues that must hold their packets because something may overtake them.

use std::borrow::Cow;

use bentpipe_link::mac::MacSpec;
use bentpipe_link::queue::{DisciplineSpec, QueueSpec};
use bentpipe_link::{Direction, ModelSpec};

use crate::agents::AgentPlace;
use crate::{LinkSpec, MacPlace, RunSpec};

/// The same run, but the packets before the link of each agent wait in a queue that holds them: a plain
/// one has settled when each of them leaves by the time a retransmission comes. Which are lost, and when the
/// others leave, stays the same.
pub fn hold_before_agents(spec: &RunSpec) -> Cow<'_, RunSpec> {
    let mut held = Cow::Borrowed(spec);
    for place in &spec.agents {
        let line = (place.link, out(place, &spec.links[place.link]));
        let Some(ModelSpec::Rate { rate, queue }) = models(spec, line).first() else { continue };
        if spec.macs.iter().any(|mac| mac.lines.contains(&line)) {
            continue;
        }
        let queue = QueueSpec { limit: *queue, discipline: DisciplineSpec::DropTail };
        let mac = MacSpec::Line { rate: *rate, queue };
        let held = held.to_mut();
        held.macs.push(MacPlace { mac, lines: vec![line] });
        let link = &mut held.links[line.0];
        match line.1 {
            Direction::Forward => link.forward_link.remove(0),
            Direction::Return => link.return_link.remove(0),
        };
    }
    held
}

/// The direction in which packets go out past an agent.
fn out(place: &AgentPlace, link: &LinkSpec) -> Direction {
    if link.ends[0] == place.node { Direction::Forward } else { Direction::Return }
}

fn models(spec: &RunSpec, (link, direction): (usize, Direction)) -> &[ModelSpec] {
    let link = &spec.links[link];
    match direction {
        Direction::Forward => &link.forward_link,
        Direction::Return => &link.return_link,
    }
}
