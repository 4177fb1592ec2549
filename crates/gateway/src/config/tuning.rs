//! The settings of connections between gateways.

use bentpipe_association::Tuning;
use bentpipe_units::Span;

use super::Config;

/// A remote gateway that does not answer for so long is unreachable until it does.
const ANSWERS_WITHIN: Span = Span::from_secs(15);

/// What opens a flow or says what became of it, and the first bytes of the application behind that: they are written
/// one after the other, and leave like that.
const INITIAL_BURST: u32 = 4;

/// The settings of flows between gateways. They need few signs of life, because one connection, that with
/// the settings [`holding`], shows for all whether the remote gateway is there.
pub(crate) fn flows(config: &Config) -> Tuning {
    let tuning = settings(config);
    let keepalive = tuning.keepalive.max(tuning.idle_timeout / 3);
    Tuning { keepalive, initial_burst: INITIAL_BURST, ..tuning }
}

/// The settings of the connection that holds an association up. It ends soon after the remote gateway does not answer
/// any more, and is opened anew; the flows wait on, because a link that is down comes back.
pub(crate) fn holding(config: &Config) -> Tuning {
    let tuning = settings(config);
    let idle_timeout = tuning.idle_timeout.min(ANSWERS_WITHIN);
    Tuning { idle_timeout, keepalive: idle_timeout / 3, ..tuning }
}

/// What all connections between gateways have.
fn settings(config: &Config) -> Tuning {
    Tuning {
        rate: config.link.rate.map(|rate| rate.0),
        controller: config.link.controller.clone(),
        buffer: Some(config.limits.buffer.0),
        idle_timeout: config.limits.idle_timeout.0,
        ..Tuning::default()
    }
}
