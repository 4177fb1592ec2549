//! Media access in a scenario: links whose queue holds packets, shared uplinks and radio channels.

use bentpipe_link::Direction;
use bentpipe_link::mac::MacSpec;
use bentpipe_link::queue::{DisciplineSpec, QueueSpec};
use bentpipe_link::{QueueLimit, Registry};
use bentpipe_sim::MacPlace;
use bentpipe_units::BitRate;

use super::node;
use super::queue::product;
use super::radio::radio;
use crate::error::did_you_mean;
use crate::problem::{Problem, problem};
use crate::schema::file::ScenarioFile;
use crate::schema::link::{LinkDirection, LinkTable};
use crate::schema::named::Named;
use crate::schema::queue::QueueTable;
use crate::schema::uplink::UplinkTable;

/// The queue of a terminal on a shared uplink or of a station on a radio channel when its link has none.
pub(super) const TERMINAL_QUEUE: QueueSpec =
    QueueSpec { limit: QueueLimit::Packets(50), discipline: DisciplineSpec::DropTail };

/// One direction of a link as the file has it.
pub(super) struct OneWay<'a> {
    link: &'a str,
    direction: Direction,
    both: &'a LinkTable,
    own: Option<&'a LinkDirection>,
}

impl<'a> OneWay<'a> {
    pub(super) fn new(link: &'a str, both: &'a LinkTable, direction: Direction) -> Self {
        let own = match direction {
            Direction::Forward => both.forward_link.as_ref(),
            Direction::Return => both.return_link.as_ref(),
        };
        Self { link, direction, both, own }
    }

    pub(super) fn queue(&self) -> Option<&'a QueueTable> {
        let own = self.own.and_then(|own| own.queue.as_ref());
        own.or(self.both.queue.as_ref()).map(|Named(queue)| queue)
    }

    pub(super) fn rate(&self) -> Option<BitRate> {
        self.own.and_then(|own| own.rate).or(self.both.rate).map(|rate| rate.0)
    }

    /// Path of a key of the direction: its own one, or that of both directions.
    fn path(&self, own: bool, key: &'a str) -> Vec<&'a str> {
        if own {
            vec!["links", self.link, self.direction.name(), key]
        } else {
            vec!["links", self.link, key]
        }
    }

    pub(super) fn rate_path(&self) -> Vec<&'a str> {
        self.path(self.own.is_some_and(|own| own.rate.is_some()), "rate")
    }

    fn queue_path(&self) -> Vec<&'a str> {
        self.path(self.own.is_some_and(|own| own.queue.is_some()), "queue")
    }

    pub(super) fn queue_spec(
        &self,
        queue: &QueueTable,
        brought: &Registry,
    ) -> Result<QueueSpec, Problem> {
        queue
            .spec(product(self.both, self.rate()), brought)
            .or_else(|(key, message)| problem(&[&self.queue_path()[..], &[key]].concat(), message))
    }
}

/// The queues with a discipline, the shared uplinks and the radio channels of a scenario.
pub(crate) fn macs(file: &ScenarioFile, brought: &Registry) -> Result<Vec<MacPlace>, Problem> {
    let mut macs = Vec::new();
    for (name, table) in &file.uplinks {
        let mac = uplink(file, name, table, brought)?;
        alone(file, &macs, &mac, ["uplinks", name, "links"])?;
        macs.push(mac);
    }
    for (name, table) in &file.radios {
        let mac = radio(file, name, table, brought)?;
        alone(file, &macs, &mac, ["radios", name, "links"])?;
        macs.push(mac);
    }
    for (index, (name, table)) in file.links.iter().enumerate() {
        for direction in Direction::BOTH {
            let one = OneWay::new(name, table, direction);
            let Some(queue) = one.queue() else { continue };
            let eager = matches!(queue, QueueTable::Eager(_));
            if eager || holds(&macs, index, direction) {
                continue;
            }
            let Some(rate) = one.rate() else {
                return problem(&one.queue_path(), "a queue needs a `rate` to wait for");
            };
            let queue = one.queue_spec(queue, brought)?;
            let mac = MacSpec::Line { rate, queue };
            macs.push(MacPlace { mac, lines: vec![(index, direction)] });
        }
    }
    Ok(macs)
}

/// No line of `mac` is one of another uplink or radio channel.
fn alone(
    file: &ScenarioFile,
    macs: &[MacPlace],
    mac: &MacPlace,
    path: [&str; 3],
) -> Result<(), Problem> {
    let mut taken = macs.iter().flat_map(|other| &other.lines);
    let Some(twice) = taken.find(|line| mac.lines.contains(line)) else { return Ok(()) };
    let link = file.links.get_index(twice.0).map_or("", |(link, _)| link.as_str());
    problem(&path, format!("`{link}` is on another uplink or radio channel already"))
}

/// True when packets of this direction are held before the link.
pub(crate) fn holds(macs: &[MacPlace], link: usize, direction: Direction) -> bool {
    macs.iter().any(|mac| mac.lines.contains(&(link, direction)))
}

/// True when a queue before the link may mark packets.
pub(super) fn marks(macs: &[MacPlace], link: usize) -> bool {
    macs.iter().any(|place| {
        let lines = place.lines.iter().enumerate().filter(|(_, (of, _))| *of == link);
        let mut queues = lines.filter_map(|(line, _)| place.mac.queue(line));
        queues.any(|queue| queue.discipline.may_mark())
    })
}

fn uplink(
    file: &ScenarioFile,
    name: &str,
    table: &UplinkTable,
    brought: &Registry,
) -> Result<MacPlace, Problem> {
    let to = node(file, &["uplinks", name, "to"], &table.to)?;
    if table.links.is_empty() {
        return problem(&["uplinks", name, "links"], "there is no link: nobody would send");
    }
    let (mut lines, mut queues) = (Vec::new(), Vec::new());
    for (number, link) in table.links.iter().enumerate() {
        let number = number.to_string();
        let path = ["uplinks", name, "links", &number];
        let Some((index, link, both)) = file.links.get_full(link) else {
            let hint = did_you_mean(link, file.links.keys().map(String::as_str));
            return problem(&path, format!("there is no link `{link}`{hint}"));
        };
        let direction = match both.between.iter().position(|end| *end == file.nodes[to]) {
            Some(1) => Direction::Forward,
            Some(_) => Direction::Return,
            None => {
                return problem(&path, format!("`{link}` does not lead to `{}`", table.to));
            }
        };
        if lines.contains(&(index, direction)) {
            return problem(&path, format!("duplicate link `{link}`"));
        }
        let one = OneWay::new(link, both, direction);
        if one.rate().is_some() {
            let message = format!(
                "`{}` sends at the rate of the uplink `{name}`; give a rate to `{}` alone",
                direction.name(),
                direction.other().name()
            );
            return problem(&one.rate_path(), message);
        }
        let queue = one.queue();
        queues.push(queue.map_or(Ok(TERMINAL_QUEUE), |queue| one.queue_spec(queue, brought))?);
        lines.push((index, direction));
    }
    let rate = table.rate.0;
    let access = table
        .access
        .0
        .spec(rate, lines.len())
        .or_else(|(key, message)| problem(&["uplinks", name, "access", key], message))?;
    Ok(MacPlace { mac: MacSpec::Uplink { rate, access, queues }, lines })
}
