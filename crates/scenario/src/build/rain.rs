//! Rain on a link.

use std::path::Path;

use bentpipe_link::rain::{
    Acm, Attenuation, Coding, DrawnRain, Modcod, RainError, RainSpec, SlantPath, rain_height,
};
use bentpipe_link::{ModelSpec, QueueLimit};
use bentpipe_trace::{AttenuationTrace, TraceOptions, read_regular};
use bentpipe_units::{BitRate, Km, Percent, Span};

use crate::error::did_you_mean;
use crate::problem::{Problem, problem};
use crate::schema::link::{LinkDirection, LinkTable};
use crate::schema::named::Named;
use crate::schema::quantity::Quantity;
use crate::schema::rain::{AcmTable, AttenuationTable, RainTable};

/// Part of the year in which it rains, where nothing else is said.
const RAINS: Percent = Percent(5.0);
/// Time from one value to the next, where nothing else is said.
const STEP: Span = Span::from_secs(1);

/// The rain of one direction of a link.
pub(super) struct Rain<'a> {
    table: RainTable,
    own: Option<&'a RainTable>,
    link: &'a str,
    /// Key of the direction's own table.
    direction: &'a str,
    round_trip: Span,
}

impl<'a> Rain<'a> {
    /// The rain of a direction, if there is any.
    pub(super) fn of(
        link: &'a str,
        direction: &'a str,
        both: &LinkTable,
        own: Option<&'a LinkDirection>,
    ) -> Option<Self> {
        let own = own.and_then(|own| own.rain.as_ref());
        let table = match (own, &both.rain) {
            (Some(own), Some(both)) => own.or(both),
            (table, both) => table.or(both.as_ref())?.clone(),
        };
        let ways = [&both.forward_link, &both.return_link];
        let delay = |way: &Option<LinkDirection>| way.as_ref().and_then(|way| way.delay);
        let delays = ways.into_iter().filter_map(|way| delay(way).or(both.delay));
        let round_trip = delays.fold(Span::ZERO, |sum, Quantity(delay)| sum + delay);
        Some(Self { table, own, link, direction, round_trip })
    }

    /// Whether there is rain anywhere on a link.
    pub(super) fn is_on(table: &LinkTable) -> bool {
        let ways = [&table.forward_link, &table.return_link];
        table.rain.is_some() || ways.into_iter().flatten().any(|own| own.rain.is_some())
    }

    /// Whether two directions of a link, both in rain that is drawn, stand in the same.
    pub(super) fn check_same(link: &'a str, both: &'a LinkTable) -> Result<(), Problem> {
        let ways = [("forward", &both.forward_link), ("return", &both.return_link)];
        let rains = ways.map(|(key, own)| Self::of(link, key, both, own.as_ref()));
        let [Some(one), Some(other)] = &rains else { return Ok(()) };
        let (a, b) = (&one.table, &other.table);
        if a.attenuation.is_some() || b.attenuation.is_some() {
            return Ok(());
        }
        let same = [
            ("elevation", a.elevation == b.elevation),
            ("latitude", a.latitude == b.latitude),
            ("station_height", a.station_height == b.station_height),
            ("rain_height", a.rain_height == b.rain_height),
            ("rain_rate", a.rain_rate == b.rain_rate),
            ("rain_probability", a.rain_probability == b.rain_probability),
            ("exceeded", a.exceeded == b.exceeded),
            ("step", a.step == b.step),
        ];
        match same.into_iter().find(|(_, same)| !same) {
            Some((key, _)) => {
                let own = if one.own.is_some_and(|own| own.has(key)) { one } else { other };
                own.wrong(&[key], "it is another one in the other direction: both are in one rain")
            }
            None => Ok(()),
        }
    }

    /// Something that does not fit, at a key of the table or at the table itself.
    pub(super) fn wrong<T>(&self, keys: &[&str], message: impl Into<String>) -> Result<T, Problem> {
        let own = self.own.filter(|own| keys.first().is_none_or(|key| own.has(key)));
        let direction = own.map(|_| self.direction);
        let path = [self.link].into_iter().chain(direction).chain(["rain"]);
        let path: Vec<_> = ["links"].into_iter().chain(path).chain(keys.iter().copied()).collect();
        problem(&path, message)
    }

    fn refused<T>(&self, error: &RainError) -> Result<T, Problem> {
        let keys: Vec<_> = error.field.split('.').collect();
        self.wrong(&keys, error.problem.clone())
    }

    /// The transmitter, for a scenario that came from `source`.
    pub(super) fn line(
        &self,
        rate: BitRate,
        queue: QueueLimit,
        source: &str,
    ) -> Result<ModelSpec, Problem> {
        let Some(Quantity(clear_sky)) = self.table.clear_sky else {
            return self.wrong(&[], "`clear_sky` is missing: the Es/N0 without rain, as \"15 dB\"");
        };
        let attenuation = match &self.table.attenuation {
            Some(Named(file)) => self.traced(file, source)?,
            None => Attenuation::Drawn(self.drawn()?),
        };
        let spec = RainSpec::new(rate, queue, clear_sky, &self.coding()?, attenuation);
        spec.map(|spec| ModelSpec::Rain(Box::new(spec))).or_else(|error| self.refused(&error))
    }

    fn traced(&self, table: &AttenuationTable, source: &str) -> Result<Attenuation, Problem> {
        if let Some(key) = self.table.climate() {
            return self.wrong(&[key], "the file says what the attenuation is: leave one out");
        }
        let file = &table.file;
        let beside = Path::new(source).parent().unwrap_or(Path::new("")).join(file);
        let text = read_regular(&beside).or_else(|error| {
            self.wrong(&["attenuation", "file"], format!("{}: {error}", beside.display()))
        })?;
        let usual = TraceOptions::default();
        let options = TraceOptions {
            start: table.start.map_or(usual.start, |start| start.0),
            repeats: table.repeats.unwrap_or(usual.repeats),
            scale: table.scale.unwrap_or(usual.scale),
            ..usual
        };
        let read = AttenuationTrace::read(file, &text).or_else(|error| {
            // The field is a column of the file, which the message names.
            self.wrong(&["attenuation", "file"], error.to_string())
        })?;
        let timeline = read.timeline(file, &options).or_else(|error| {
            self.wrong(&["attenuation", error.field.unwrap_or("file")], error.to_string())
        })?;
        Ok(Attenuation::Trace(timeline))
    }

    fn drawn(&self) -> Result<DrawnRain, Problem> {
        let RainTable { frequency, elevation, latitude, rain_rate, .. } = self.table;
        let (Some(frequency), Some(elevation), Some(latitude), Some(rain_rate)) =
            (frequency, elevation, latitude, rain_rate)
        else {
            let needed = ["frequency", "elevation", "latitude", "rain_rate"];
            let missing = needed.into_iter().find(|key| !self.table.has(key)).unwrap_or_default();
            let message = format!(
                "`{missing}` is missing: rain has a file of `attenuation`, or `{}`",
                needed.join("`, `")
            );
            return self.wrong(&[], message);
        };
        let path = SlantPath {
            frequency: frequency.0,
            elevation: elevation.0,
            polarization: self.table.polarization.unwrap_or_default().into(),
            latitude: latitude.0,
            station_height: self.table.station_height.map_or(Km(0.0), |height| height.0),
            rain_height: self.table.rain_height.map_or_else(|| rain_height(latitude.0), |it| it.0),
            rain_rate: rain_rate.0,
        };
        let rains = self.table.rain_probability.map_or(RAINS, |part| part.0);
        let exceeded = self.table.exceeded.map(|part| part.0);
        let step = self.table.step.map_or(STEP, |step| step.0);
        DrawnRain::new(&path, rains, exceeded, step).or_else(|error| self.refused(&error))
    }

    fn coding(&self) -> Result<Coding, Problem> {
        match (&self.table.modcod, &self.table.acm) {
            (Some(_), Some(_)) => {
                self.wrong(&["modcod"], "it never changes: leave it or `acm` out")
            }
            (Some(name), None) => Ok(Coding::Constant(self.modcod(&["modcod"], name)?)),
            (None, acm) => Ok(Coding::Adaptive(self.acm(acm.as_ref())?)),
        }
    }

    fn acm(&self, table: Option<&AcmTable>) -> Result<Acm, Problem> {
        let usual = Acm { delay: self.round_trip, ..Acm::default() };
        let Some(AcmTable { modcods, margin, hysteresis, delay }) = table else { return Ok(usual) };
        let modcods = match modcods {
            Some(names) => {
                let named = |name: &String| self.modcod(&["acm", "modcods"], name);
                names.iter().map(named).collect::<Result<_, _>>()?
            }
            None => usual.modcods,
        };
        Ok(Acm {
            modcods,
            margin: margin.map_or(usual.margin, |margin| margin.0),
            hysteresis: hysteresis.map_or(usual.hysteresis, |hysteresis| hysteresis.0),
            delay: delay.map_or(usual.delay, |delay| delay.0),
        })
    }

    fn modcod(&self, keys: &[&str], name: &str) -> Result<Modcod, Problem> {
        match Modcod::named(name) {
            Some(modcod) => Ok(modcod),
            None => {
                let hint = did_you_mean(name, Modcod::all().iter().map(Modcod::name));
                let message = format!("DVB-S2 has no `{name}`, but such as `8PSK 3/4`{hint}");
                self.wrong(keys, message)
            }
        }
    }
}
