//! Routes over satellites, as tables.

use bentpipe_orbit::{
    Epoch, Handover, Names, Node, Policy, Report, Sample, Slots, Spread, Surveys,
};
use bentpipe_scenario::{ConstellationOptions, Ground, Spot, did_you_mean, open_constellation};
use bentpipe_units::{Degrees, Instant, Span};
use pyo3::prelude::*;

use crate::error::{error, of_argument};
use crate::table::{Columns, Table};

/// The policies of the ends by their names on the command line.
const POLICIES: [(&str, Policy); 4] = [
    ("longest-hold", Policy::LongestHold),
    ("highest-elevation", Policy::HighestElevation),
    ("shortest-path", Policy::ShortestPath),
    ("slots", Policy::Slots(Slots::STARLINK)),
];

/// A route that was sampled.
#[pyclass(frozen, module = "bentpipe._native")]
pub(crate) struct Survey {
    satellites: usize,
    start: Option<String>,
    great_circle_km: f64,
    fibre_delay: Span,
    names: Names,
    ends: [u32; 2],
    report: Report,
    samples: Vec<Sample>,
}

#[pymethods]
impl Survey {
    #[getter]
    const fn satellites(&self) -> usize {
        self.satellites
    }

    /// When it starts, in UTC, for the satellites of element sets.
    #[getter]
    fn start(&self) -> Option<&str> {
        self.start.as_deref()
    }

    #[getter]
    const fn great_circle_km(&self) -> f64 {
        self.great_circle_km
    }

    #[getter]
    fn fibre_delay_s(&self) -> f64 {
        self.fibre_delay.as_secs_f64()
    }

    /// Number of samples, those of them with a route, and changes of the route.
    #[getter]
    const fn counts(&self) -> (u64, u64, u64) {
        (self.report.samples, self.report.connected, self.report.route_changes)
    }

    /// Minimum, mean, median and maximum of the one-way delay in seconds; none without any route.
    #[getter]
    fn delay_s(&self) -> Option<(f64, f64, f64, f64)> {
        let Spread { min, mean, median, max } = self.report.delay?;
        let [min, mean, median, max] = [min, mean, median, max].map(Span::as_secs_f64);
        Some((min, mean, median, max))
    }

    /// Handovers at both ends.
    #[getter]
    fn handover_counts(&self) -> (usize, usize) {
        let [from, to] = self.ends.map(|end| self.report.handovers_of(end));
        (from, to)
    }

    /// A row for each sample.
    fn samples(&self) -> PyResult<Table> {
        let routes: Vec<Option<String>> = self
            .samples
            .iter()
            .map(|sample| {
                let nodes = sample.route.as_ref()?.nodes.iter();
                Some(nodes.map(|node| self.names.node(*node)).collect::<Vec<_>>().join(" > "))
            })
            .collect();
        let rows: Vec<(&Sample, &Option<String>)> = self.samples.iter().zip(&routes).collect();
        Columns::of(&rows)
            .number("time_s", |row| row.0.at.as_secs_f64())
            .number("delay_s", |row| row.0.route.as_ref().map(|route| route.delay.as_secs_f64()))
            .count("hops", |row| row.0.route.as_ref().map(|route| route.hops() as u64))
            .text("route", |row| row.1.as_deref())
            .table()
    }

    /// A row for each handover of both ends.
    fn handovers(&self) -> PyResult<Table> {
        let satellite =
            |number: Option<u32>| number.map(|number| self.names.node(Node::Satellite(number)));
        Columns::of(&self.report.handovers)
            .number("time_s", |handover: &Handover| handover.at.as_secs_f64())
            .text("station", |handover| self.names.node(Node::Station(handover.station)))
            .text("from", |handover| satellite(handover.from))
            .text("to", |handover| satellite(handover.to))
            .table()
    }
}

fn place(argument: &str, text: &str) -> PyResult<Spot> {
    text.parse().map_err(of_argument(argument))
}

fn time(argument: &str, text: &str) -> PyResult<Span> {
    text.parse::<Span>().map_err(|error| of_argument(argument)(error.to_string()))
}

fn policy(name: &str) -> PyResult<Policy> {
    let found = POLICIES.iter().find(|(known, _)| *known == name);
    found.map(|(_, policy)| *policy).ok_or_else(|| {
        let hint = did_you_mean(name, POLICIES.map(|(known, _)| known));
        let names = POLICIES.map(|(known, _)| known).join(", ");
        error(format!("policy: `{name}` is none of {names}{hint}"))
    })
}

/// Samples the route between two places.
#[pyfunction]
#[pyo3(signature = (
    constellation, from, to, *, gateways, duration, step, first, update_interval, policy=None,
    ground_stations=None, to_host=false, mask=None, isl=None, start=None
))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub(crate) fn survey(
    py: Python<'_>,
    constellation: &str,
    from: &str,
    to: &str,
    gateways: Vec<String>,
    duration: &str,
    step: &str,
    first: &str,
    update_interval: &str,
    policy: Option<&str>,
    ground_stations: Option<bool>,
    to_host: bool,
    mask: Option<f64>,
    isl: Option<u8>,
    start: Option<&str>,
) -> PyResult<Survey> {
    let [from, to] = [place("from_", from)?, place("to", to)?];
    let gateways: Vec<Spot> =
        gateways.iter().map(|text| place("gateways", text)).collect::<PyResult<_>>()?;
    let [duration, step] = [time("duration", duration)?, time("step", step)?];
    let [first, update_interval] =
        [time("first", first)?, time("update_interval", update_interval)?];
    if duration.is_zero() || update_interval.is_zero() {
        let which = if duration.is_zero() { "duration" } else { "update_interval" };
        return Err(error(format!("{which}: it must be more than 0 s")));
    }
    if let Some(mask) = mask.filter(|mask| !(0.0..90.0).contains(mask)) {
        return Err(error(format!("mask: {mask} is not an elevation in 0..90 degrees")));
    }
    let start = start.map(str::parse::<Epoch>).transpose();
    let options = ConstellationOptions {
        mask: mask.map(Degrees),
        nearest: isl,
        start: start.map_err(|error| of_argument("start")(error.to_string()))?,
    };
    let ground = Ground {
        name: constellation,
        policy: policy.map(self::policy).transpose()?,
        usual: Policy::LongestHold,
        ground_stations,
        update_interval,
        ends: vec![(&from, false), (&to, to_host)],
        gateways: &gateways,
    };
    py.detach(|| {
        let satellites = open_constellation(constellation, &options).map_err(error)?;
        let mut network = ground.network(satellites).map_err(error)?;
        let names = Names::of(&network);
        let (mut samples, first) = (Vec::new(), Instant::ZERO + first);
        let surveys = Surveys { pairs: vec![(0, 1)], first, end: first + duration, step };
        let reports = surveys.run(&mut network, |seen| samples.extend_from_slice(seen));
        let reports = reports.map_err(|wrong| error(format!("{constellation}: {wrong}")))?;
        let satellites = network.constellation();
        let circle = satellites.earth().great_circle(from.place, to.place);
        Ok(Survey {
            satellites: satellites.satellites(),
            start: satellites.start().map(|start| start.to_string()),
            great_circle_km: circle.0,
            fibre_delay: satellites.earth().fibre_delay(circle),
            names,
            ends: [0, 1],
            report: reports.into_iter().next().unwrap_or_default(),
            samples,
        })
    })
}
