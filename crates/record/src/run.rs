//! What became of one run.

use serde::Serialize;

use crate::{AgentSummary, ConstellationSummary, FlowSummary, ProxySummary, Steady};

/// Everything about one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunSummary {
    /// Version of this schema.
    pub schema_version: u32,
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of the run.
    pub seed: u64,
    /// Simulated time at the end of the run, in seconds.
    pub simulated_seconds: f64,
    /// Events that the simulator handled.
    pub events: u64,
    /// Packets that crossed a link, counted once for each link.
    pub packet_hops: u64,
    /// The flows in the order of the scenario.
    pub flows: Vec<FlowSummary>,
    /// The directions of the links in the order of the scenario.
    pub links: Vec<LinkSummary>,
    /// What looked at packets on their way, where something did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentSummary>,
    /// What the proxies held, flow by flow and in the order of the way.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub proxies: Vec<ProxySummary>,
    /// What the gateways sent because of losses, where flows go through them: the terminal and the hub.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gateways: Vec<GatewaySummary>,
    /// What whoever watched a part of the run measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steady: Option<Steady>,
    /// What the satellites did, where a constellation carries the flows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constellation: Option<ConstellationSummary>,
}

/// What a gateway sent to the other one because of losses, and how long the path between them was.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GatewaySummary {
    /// Its node.
    pub node: String,
    /// Data segments retransmitted.
    pub retransmitted_segments: u64,
    /// Header and payload bytes of them.
    pub retransmitted_bytes: u64,
    /// Datagrams of parity.
    pub parity_datagrams: u64,
    /// Bytes of them, UDP payload.
    pub parity_bytes: u64,
    /// Smoothed round-trip time to the other gateway at the end, in seconds.
    pub srtt_seconds: Option<f64>,
}

/// What one direction of a link carried.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LinkSummary {
    /// Name of the link in the scenario.
    pub name: String,
    /// Node that the packets come from.
    pub from: String,
    /// Node that the packets go to.
    pub to: String,
    /// Packets offered.
    pub packets: u64,
    /// Bytes offered.
    pub bytes: u64,
    /// Packets that reached the other end, corrupt ones included.
    pub delivered: u64,
    /// Packets that arrived with bit errors.
    pub corrupted: u64,
    /// Packets lost because the queue was full.
    pub lost_queue_full: u64,
    /// Packets lost at random.
    pub lost_random: u64,
    /// Packets lost while the link was down.
    pub lost_blackout: u64,
    /// Packets dropped by the state of the channel.
    pub lost_channel: u64,
    /// Packets dropped by a script.
    pub lost_scripted: u64,
    /// Packets that a queue dropped before it was full.
    pub lost_early: u64,
    /// Packets lost because they met others on a shared channel too often.
    pub lost_collision: u64,
    /// Packets lost because they were longer than what the link carries; left out of the record if there are none.
    #[serde(skip_serializing_if = "is_zero")]
    pub lost_packet_too_big: u64,
    /// Acknowledgments that a queue removed because a later one says the same.
    pub acks_filtered: u64,
    /// Acknowledgments that a queue added between two others.
    pub acks_added: u64,
    /// Packets on which a queue set the congestion mark.
    pub marked: u64,
    /// Packets with user data among all the lost ones.
    pub lost_data: u64,
    /// When the first packet was lost, in nanoseconds of simulated time.
    pub first_loss_ns: Option<u64>,
}

const fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl LinkSummary {
    /// Adds what another link carried.
    pub fn add(&mut self, other: &Self) {
        // All fields by name, so that a new one is not forgotten.
        let Self {
            name: _,
            from: _,
            to: _,
            packets,
            bytes,
            delivered,
            corrupted,
            lost_queue_full,
            lost_random,
            lost_blackout,
            lost_channel,
            lost_scripted,
            lost_early,
            lost_collision,
            lost_packet_too_big,
            acks_filtered,
            acks_added,
            marked,
            lost_data,
            first_loss_ns,
        } = other;
        self.packets += packets;
        self.bytes += bytes;
        self.delivered += delivered;
        self.corrupted += corrupted;
        self.lost_queue_full += lost_queue_full;
        self.lost_random += lost_random;
        self.lost_blackout += lost_blackout;
        self.lost_channel += lost_channel;
        self.lost_scripted += lost_scripted;
        self.lost_early += lost_early;
        self.lost_collision += lost_collision;
        self.lost_packet_too_big += lost_packet_too_big;
        self.acks_filtered += acks_filtered;
        self.acks_added += acks_added;
        self.marked += marked;
        self.lost_data += lost_data;
        self.first_loss_ns = [self.first_loss_ns, *first_loss_ns].into_iter().flatten().min();
    }
}
