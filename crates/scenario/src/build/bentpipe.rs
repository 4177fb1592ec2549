//! The product as the protocol of a flow.

use std::sync::Arc;

use bentpipe_association::{Fec, Tuning};
use bentpipe_link::Direction;
use bentpipe_sim::{LinkSpec, Protocol, passed};
use bentpipe_transport::xstp;
use bentpipe_units::{BitRate, Span};

use super::protocol::IdleTimeout;
use super::settings::unfit;
use crate::Extensions;
use crate::problem::{Problem, problem};
use crate::schema::bentpipe::BentpipeTable;
use crate::schema::constellation::{ConstellationTable, SatelliteLinkTable};
use crate::schema::file::ScenarioFile;
use crate::schema::flow::FlowTable;
use crate::schema::link::LinkDirection;
use crate::schema::protocol::ProtocolName;
use crate::schema::quantity::Quantity;

/// A flow over a constellation waits as long as any run lasts.
const ENDLESS: Span = Span::from_secs(366 * 86_400);

/// What a flow between two nodes is that uses the product.
pub(super) fn build(
    file: &ScenarioFile,
    name: &str,
    table: &FlowTable,
    links: &[LinkSpec],
    [from, to]: [usize; 2],
) -> Result<Protocol, Problem> {
    let own = &table.bentpipe;
    let knows = table.protocol == ProtocolName::BentpipeRate;
    if own.rate.is_some() && !knows {
        let message = "a rate is for `protocol = \"bentpipe-rate\"`; without one it is found out";
        return problem(&["flows", name, "bentpipe", "rate"], message);
    }
    let rate = |ends: [usize; 2]| match own.rate.map(|rate| rate.0) {
        _ if !knows => Ok(None),
        Some(rate) => Ok(Some(rate)),
        None => match least_rate(file, links, ends) {
            Some(rate) => Ok(Some(rate)),
            None => problem(
                &["flows", name, "bentpipe", "rate"],
                "no link on the path has a rate: give the rate to send at",
            ),
        },
    };
    let rates = [rate([from, to])?, rate([to, from])?];
    let config = |rate| config(own, name, IdleTimeout::of(file), rate);
    let fec = match own.fec {
        None => Fec::Auto,
        Some(value) => match value.fec() {
            Some(fec) => fec,
            None => {
                let message = "it is \"auto\", \"off\" or a ratio from 0 to 1";
                return problem(&["flows", name, "bentpipe", "fec"], message);
            }
        },
    };
    Ok(Protocol::Bentpipe { sender: config(rates[0])?, receiver: config(rates[1])?, fec, rates })
}

fn config(
    own: &BentpipeTable,
    name: &str,
    idle_timeout: IdleTimeout,
    rate: Option<BitRate>,
) -> Result<Arc<xstp::Config>, Problem> {
    let tuning = Tuning {
        rate,
        controller: own.controller.clone(),
        probing: own.probing,
        buffer: own.buffer.map(|buffer| buffer.0),
        ..Tuning::default()
    };
    let idle_timeout = match (own.idle_timeout, idle_timeout) {
        (Some(given), _) => given.0,
        (None, IdleTimeout::Protocol) => tuning.idle_timeout,
        (None, IdleTimeout::Endless) => ENDLESS,
    };
    let config = Tuning { idle_timeout, ..tuning }.persistent_config().map_err(|error| {
        let wrong = unfit(&error, Extensions::default().controllers());
        let path = ["flows", name, "bentpipe", &wrong.key].map(str::to_owned).to_vec();
        Problem { path, message: wrong.problem }
    })?;
    match config.validate() {
        Ok(()) => Ok(config),
        Err(error) => problem(&["flows", name, "bentpipe"], error.to_string()),
    }
}

/// The least rate on the path between two nodes, as the file has it.
fn least_rate(file: &ScenarioFile, links: &[LinkSpec], [from, to]: [usize; 2]) -> Option<BitRate> {
    let rates: Vec<_> = match &file.constellation {
        Some(constellation) => {
            let up = ground(constellation, &file.nodes[from], |table| table.up.as_ref());
            let down = ground(constellation, &file.nodes[to], |table| table.down.as_ref());
            vec![up, constellation.isl.rate, down]
        }
        None => {
            let ends: Vec<_> = links.iter().map(|link| link.ends).collect();
            let rate = |(link, direction): (usize, Direction)| {
                let (_, table) = file.links.get_index(link)?;
                let own = match direction {
                    Direction::Forward => table.forward_link.as_ref(),
                    Direction::Return => table.return_link.as_ref(),
                };
                own.and_then(|own| own.rate).or(table.rate)
            };
            passed(&ends, file.nodes.len(), [from, to]).into_iter().map(rate).collect()
        }
    };
    rates.into_iter().flatten().map(|rate| rate.0).min()
}

/// The rate of a station's link up or down.
fn ground(
    constellation: &ConstellationTable,
    station: &str,
    direction: impl Fn(&SatelliteLinkTable) -> Option<&LinkDirection>,
) -> Option<Quantity<BitRate>> {
    let own = constellation.stations.get(station).and_then(|station| station.ground.as_ref());
    let of = |table: &SatelliteLinkTable| direction(table).and_then(|own| own.rate).or(table.rate);
    own.and_then(of).or(of(&constellation.ground))
}
