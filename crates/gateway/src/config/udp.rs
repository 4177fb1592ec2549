//! The part of the configuration about UDP.

use std::borrow::Cow;

use bentpipe_units::{ByteCount, Span};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer};

use super::Parsed;

/// What becomes of UDP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
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

/// The part of `limits.memory` that datagrams may take, and how much that is at least, where there is twice as much, and at most.
const PART: u64 = 16;
const LEAST: u64 = 1 << 20;
const MOST: u64 = 44 << 20;

impl UdpConfig {
    /// What the datagrams of a peer may take of so much memory; none where no tunnel carries them.
    pub(crate) fn memory(&self, all: ByteCount) -> Option<ByteCount> {
        let all = all.get();
        let part = (all / PART).max(LEAST.min(all / 2)).min(MOST);
        (self.mode == UdpMode::Tunnel).then(|| ByteCount::new(part))
    }
}

/// What a file says of UDP.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "it is \"pass\", \"tunnel\", or a table of `mode` and `deadline`")]
enum InFile {
    /// The mode alone.
    Mode(UdpMode),
    /// More than that.
    Table(Table),
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Table {
    /// What becomes of it.
    #[serde(default)]
    mode: UdpMode,
    /// How long a lost datagram is worth waiting for (default: one and a half round trips of the path; 0: it is never
    /// retransmitted).
    deadline: Option<Parsed<Span>>,
}

impl<'de> Deserialize<'de> for UdpConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match InFile::deserialize(deserializer)? {
            InFile::Mode(mode) => Self { mode, deadline: None },
            InFile::Table(table) => {
                Self { mode: table.mode, deadline: table.deadline.map(|deadline| deadline.0) }
            }
        })
    }
}

impl JsonSchema for UdpConfig {
    fn schema_name() -> Cow<'static, str> {
        "Udp".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        InFile::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_take_a_sixteenth_of_the_memory_within_bounds_where_a_tunnel_carries_them() {
        let of = |mode, all| UdpConfig { mode, deadline: None }.memory(ByteCount::new(all));
        for (all, part) in [
            (1_000_000_000, 44 << 20),
            (320_000_000, 20_000_000),
            (3_200_000, 1 << 20),
            (100_000, 50_000),
        ] {
            assert_eq!(of(UdpMode::Tunnel, all), Some(ByteCount::new(part)));
        }
        assert_eq!(of(UdpMode::Pass, 1_000_000_000), None);
    }
}
