//! The protocol of a flow in a scenario file.

use schemars::JsonSchema;
use serde::Deserialize;

/// What runs at both ends of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProtocolName {
    /// The extended Satellite Transport Protocol, set by the tables `xstp` and `receiver`.
    #[default]
    Xstp,
    /// TCP, set by the table `tcp`.
    Tcp,
    /// The Stream Control Transmission Protocol, set by the tables `sctp` and `sctp_receiver`.
    Sctp,
    /// Datagrams, which nobody acknowledges; each packet of `traffic` is one.
    Udp,
    /// What `bentpipe send` does where nothing is known of the link, set by the table `bentpipe`.
    Bentpipe,
    /// The same with `--rate`: it sends at the rate of the path, which nobody shares.
    #[serde(rename = "bentpipe-rate")]
    BentpipeRate,
}
