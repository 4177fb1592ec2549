//! Who sends when on a shared uplink.

use bentpipe_link::mac::{Access, AlohaConfig, CfDamaConfig, Demand, Requests, TdmaConfig};
use bentpipe_units::{BitRate, ByteCount};

use crate::schema::uplink::{AccessTable, DemandName, RequestsName};

impl AccessTable {
    /// The protocol for so many terminals.
    ///
    /// # Errors
    /// The key that cannot be, and why.
    pub(crate) fn spec(
        &self,
        rate: BitRate,
        terminals: usize,
    ) -> Result<Access, (&'static str, String)> {
        match *self {
            Self::Aloha { header, echo, timeout, mean_backoff, retries } => {
                let default = AlohaConfig::default();
                let config = AlohaConfig {
                    header: header.map_or(default.header, |size| size.0),
                    echo: echo.map_or(default.echo, |span| span.0),
                    timeout: timeout.map_or(default.timeout, |span| span.0),
                    mean_backoff: mean_backoff.map_or(default.mean_backoff, |span| span.0),
                    retries: retries.unwrap_or(default.retries),
                };
                if config.timeout < config.echo {
                    let (timeout, echo) = (config.timeout, config.echo);
                    return Err(("timeout", format!("{timeout} is below `echo`, {echo}")));
                }
                Ok(Access::Aloha(config))
            }
            Self::TdmaDama { frame, slots, grant_delay, demand } => {
                let default = TdmaConfig::default();
                let config = TdmaConfig {
                    frame: frame.map_or(default.frame, |span| span.0),
                    slots: slots.unwrap_or(default.slots),
                    grant_delay: grant_delay.map_or(default.grant_delay, |span| span.0),
                    demand: match demand {
                        Some(DemandName::Volume) | None => Demand::Volume,
                        Some(DemandName::RateAndVolume) => Demand::RateAndVolume,
                    },
                };
                let least = terminals.div_ceil(8) + 1;
                if (config.slots as usize) < least {
                    let message = format!(
                        "{}: {terminals} terminals need {least} or more, one slot for requests \
                         for each 8 of them and one for data",
                        config.slots
                    );
                    return Err(("slots", message));
                }
                let slot = config.frame / u64::from(config.slots);
                if rate.bytes_in(slot) == ByteCount::ZERO {
                    let message = format!("{}: a slot has no room for a byte", config.frame);
                    return Err(("frame", message));
                }
                Ok(Access::Tdma(config))
            }
            Self::CfDama {
                payload,
                overhead,
                slots,
                minislot,
                minislots,
                backoff,
                grant_delay,
                requests,
                free,
            } => {
                let default = CfDamaConfig::default();
                let config = CfDamaConfig {
                    payload: payload.map_or(default.payload, |size| size.0),
                    overhead: overhead.map_or(default.overhead, |size| size.0),
                    slots: slots.unwrap_or(default.slots),
                    minislot: minislot.map_or(default.minislot, |size| size.0),
                    minislots: minislots.unwrap_or(default.minislots),
                    backoff: backoff.unwrap_or(default.backoff),
                    grant_delay: grant_delay.map_or(default.grant_delay, |span| span.0),
                    requests: match requests {
                        Some(RequestsName::Minislot) => Requests::Minislot,
                        Some(RequestsName::Piggyback) => Requests::Piggyback,
                        Some(RequestsName::Both) | None => Requests::Both,
                        Some(RequestsName::Random) => Requests::Random,
                        Some(RequestsName::RandomAndPiggyback) => Requests::RandomAndPiggyback,
                    },
                    free: free.unwrap_or(default.free),
                };
                if config.payload == ByteCount::ZERO {
                    return Err(("payload", "0 B: it must be above zero".to_owned()));
                }
                if config.slots == 0 {
                    return Err(("slots", "0: it must be 1 or more".to_owned()));
                }
                for (key, value) in [("minislots", minislots), ("backoff", backoff)] {
                    if value.is_some() && !config.requests.are_random() {
                        return Err((key, "it needs `requests = \"random\"`".to_owned()));
                    }
                    if value == Some(0) {
                        return Err((key, "0: it must be 1 or more".to_owned()));
                    }
                }
                if !config.free && config.requests == Requests::Piggyback {
                    let message = "without free slots nobody could ever ask by `piggyback`";
                    return Err(("requests", message.to_owned()));
                }
                Ok(Access::CfDama(config))
            }
        }
    }
}
