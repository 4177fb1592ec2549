//! Active queue management: what the keys of a queue say that looks at the sojourn time.

use bentpipe_link::queue::{CodelConfig, DualPi2Config, FqCodelConfig, FuzzyConfig, PieConfig};
use bentpipe_units::{ByteCount, Span};

use crate::schema::quantity::{Probability, Quantity};

/// The key that cannot be, and why.
type Unfit = (&'static str, String);

/// Least `quantum`: the header of a packet.
const LEAST_QUANTUM: ByteCount = ByteCount::new(64);
/// Most `flows`: more queues than that are none.
const MOST_FLOWS: u32 = 65_536;

/// CoDel's settings, also those of each queue of FQ-CoDel.
pub(super) fn codel(
    target: Option<Quantity<Span>>,
    interval: Option<Quantity<Span>>,
    ecn: Option<bool>,
) -> Result<CodelConfig, Unfit> {
    let default = CodelConfig::default();
    let config = CodelConfig {
        target: above_zero("target", target, default.target)?,
        interval: interval.map_or(default.interval, |time| time.0),
        ecn: ecn.unwrap_or(default.ecn),
    };
    if config.interval <= config.target {
        let CodelConfig { target, interval, .. } = config;
        return Err(("interval", format!("{interval}: it must be longer than `target`, {target}")));
    }
    Ok(config)
}

/// FQ-CoDel's settings.
pub(super) fn fq_codel(
    flows: Option<u32>,
    quantum: Option<Quantity<ByteCount>>,
    codel: CodelConfig,
) -> Result<FqCodelConfig, Unfit> {
    let default = FqCodelConfig::default();
    let flows = flows.unwrap_or(default.flows);
    if !(1..=MOST_FLOWS).contains(&flows) {
        return Err(("flows", format!("{flows}: it must be 1 to {MOST_FLOWS}")));
    }
    let quantum = quantum.map_or(default.quantum, |size| size.0);
    if quantum < LEAST_QUANTUM {
        return Err(("quantum", format!("{quantum}: it must be {LEAST_QUANTUM} or more")));
    }
    Ok(FqCodelConfig { flows, quantum, codel })
}

/// What says how a probability follows the delay.
#[derive(Clone, Copy)]
pub(super) struct Pi {
    pub(super) target: Option<Quantity<Span>>,
    pub(super) update: Option<Quantity<Span>>,
    pub(super) alpha: Option<f64>,
    pub(super) beta: Option<f64>,
}

/// PIE's settings.
pub(super) fn pie(
    pi: Pi,
    max_burst: Option<Quantity<Span>>,
    ecn: Option<bool>,
    mark_threshold: Option<Probability>,
) -> Result<PieConfig, Unfit> {
    let default = PieConfig::default();
    Ok(PieConfig {
        target: above_zero("target", pi.target, default.target)?,
        update: above_zero("update", pi.update, default.update)?,
        alpha: not_negative("alpha", pi.alpha, default.alpha)?,
        beta: not_negative("beta", pi.beta, default.beta)?,
        max_burst: max_burst.map_or(default.max_burst, |time| time.0),
        ecn: ecn.unwrap_or(default.ecn),
        mark_threshold: mark_threshold.map_or(default.mark_threshold, |p| p.0),
    })
}

/// The settings of fuzzy control.
pub(super) fn fuzzy(
    target: Option<Quantity<Span>>,
    update: Option<Quantity<Span>>,
    gain: Option<f64>,
    ecn: Option<bool>,
) -> Result<FuzzyConfig, Unfit> {
    let default = FuzzyConfig::default();
    let gain = gain.unwrap_or(default.gain);
    if !(gain > 0.0 && gain <= 1.0) {
        return Err(("gain", format!("{gain}: it must be above 0 and at most 1")));
    }
    Ok(FuzzyConfig {
        target: above_zero("target", target, default.target)?,
        update: above_zero("update", update, default.update)?,
        gain,
        ecn: ecn.unwrap_or(default.ecn),
    })
}

/// DualPI2's settings.
pub(super) fn dualpi2(
    pi: Pi,
    coupling: Option<f64>,
    step: Option<Quantity<Span>>,
) -> Result<DualPi2Config, Unfit> {
    let default = DualPi2Config::default();
    let coupling = coupling.unwrap_or(default.coupling);
    if !(coupling > 0.0 && coupling.is_finite()) {
        return Err(("coupling", format!("{coupling}: it must be above 0, 2 as a rule")));
    }
    Ok(DualPi2Config {
        target: above_zero("target", pi.target, default.target)?,
        update: above_zero("update", pi.update, default.update)?,
        alpha: not_negative("alpha", pi.alpha, default.alpha)?,
        beta: not_negative("beta", pi.beta, default.beta)?,
        coupling,
        step: step.map_or(default.step, |time| time.0),
    })
}

fn above_zero(
    key: &'static str,
    time: Option<Quantity<Span>>,
    default: Span,
) -> Result<Span, Unfit> {
    match time.map_or(default, |time| time.0) {
        Span::ZERO => Err((key, format!("0 s: it must be above zero, {default} as a rule"))),
        time => Ok(time),
    }
}

fn not_negative(key: &'static str, value: Option<f64>, default: f64) -> Result<f64, Unfit> {
    let value = value.unwrap_or(default);
    if value >= 0.0 && value.is_finite() {
        return Ok(value);
    }
    Err((key, format!("{value}: it must be 0 or more, {default} as a rule")))
}
