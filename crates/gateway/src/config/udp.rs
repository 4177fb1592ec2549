//! The part of the configuration about UDP.

use bentpipe_units::Span;
use serde::{Deserialize, Deserializer};

use super::Parsed;

/// What becomes of UDP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UdpMode {
    /// It passes by.
    #[default]
    Pass,
    /// It travels between the gateways inside the association, protected against losses.
    Tunnel,
}

/// UDP: `udp = "tunnel"`, or a table with more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UdpConfig {
    /// What becomes of it.
    pub mode: UdpMode,
    /// How long a lost datagram is worth waiting for (default: one and a half round trips of the path; 0: it is never
    /// retransmitted).
    pub deadline: Option<Span>,
}

impl<'de> Deserialize<'de> for UdpConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Table {
            #[serde(default)]
            mode: UdpMode,
            deadline: Option<Parsed<Span>>,
        }

        #[derive(Deserialize)]
        #[serde(
            untagged,
            expecting = "it is \"pass\", \"tunnel\", or a table of `mode` and `deadline`"
        )]
        enum Written {
            Mode(UdpMode),
            Table(Table),
        }

        Ok(match Written::deserialize(deserializer)? {
            Written::Mode(mode) => Self { mode, deadline: None },
            Written::Table(table) => {
                Self { mode: table.mode, deadline: table.deadline.map(|deadline| deadline.0) }
            }
        })
    }
}
