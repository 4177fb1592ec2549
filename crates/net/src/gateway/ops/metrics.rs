//! The status in the text format of Prometheus (OpenMetrics 1.0).

use std::fmt;

use bentpipe_units::{BitRate, ByteCount, Span};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, EncodeMetric as _, MetricEncoder, text,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use bentpipe_association::endpoint::Outer;
use bentpipe_gateway::{LinkStatus, PeerStatus, Role, Status};

/// The content type of the text.
pub(super) const CONTENT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The metrics of a gateway whose status this is.
pub(super) fn text(status: Status) -> Result<String, fmt::Error> {
    let mut registry = Registry::with_prefix("bentpipe_gateway");
    registry.register_collector(Box::new(Metrics(status)));
    let mut out = String::new();
    text::encode(&mut out, &registry)?;
    Ok(out)
}

#[derive(Debug)]
struct Metrics(Status);

impl Collector for Metrics {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut out = Out(encoder);
        let Status { role, uptime, link_rate, totals, links, peers, flows: _ } = &self.0;
        let role = if *role == Role::Hub { "hub" } else { "terminal" };
        out.info(&[("role", role), ("version", env!("CARGO_PKG_VERSION"))])?;
        out.gauge("uptime_seconds", "Time since the start", uptime.as_secs_f64())?;
        out.gauge("flows_open", "Flows that are open", totals.open)?;
        out.counter("flows", "Flows that began", totals.flows)?;
        let refused = totals.refused_by.named();
        out.counters(
            "flows_refused",
            "Flows that could not be connected",
            refused.map(|(reason, count)| ([("reason", reason)], count)),
        )?;
        let help = "Flows that were cut off because the remote gateway was unreachable";
        out.counter("flows_cut", help, totals.cut)?;
        out.counters(
            "bytes",
            "Bytes of flows: sent was taken from TCP, received was given to TCP",
            [("sent", totals.sent), ("received", totals.received)]
                .map(|(direction, bytes)| ([("direction", direction)], bytes.get())),
        )?;
        out.counters(
            "compressed_bytes",
            "Bytes of flows that were compressed: what was taken from TCP, and what was sent in its place",
            [("from", totals.compressed_from), ("to", totals.compressed_to)]
                .map(|(side, bytes)| ([("side", side)], bytes.get())),
        )?;
        if let Some(rate) = link_rate {
            let help = "Rate of the dedicated link that this end sends on";
            out.gauge("link_rate_bits_per_second", help, rate.as_bps())?;
        }
        let help = "Bytes that a link with a cap has carried in this calendar month";
        out.links("link_month_bytes", help, links, |link| link.carried)?;
        let help = "Bytes that a link may carry in a calendar month";
        out.links("link_cap_bytes", help, links, |link| link.cap)?;
        out.peers("up", "The remote gateway answers", peers, |peer| Some(u32::from(peer.up)))?;
        out.peers("srtt_seconds", "Smoothed round-trip time", peers, |peer| {
            peer.srtt.map(Span::as_secs_f64)
        })?;
        let help = "Number of the link over which it is reached, from 1";
        out.peers("link", help, peers, |peer| Some(peer.link as u64))?;
        out.peers("on_tcp", "It is reached by TCP", peers, |peer| {
            Some(u32::from(peer.outer == Outer::Tcp))
        })?;
        let help = "Share of the datagrams to the remote gateway that got lost of late";
        out.peers("loss_ratio", help, peers, |peer| peer.loss_ratio)?;
        let help = "Connections inside the association";
        out.peers("connections", help, peers, |peer| Some(peer.connections as u64))?;
        let help = "Bytes of its connections that wait to be sent, acknowledged or read";
        out.peers("held_bytes", help, peers, |peer| Some(peer.held.get()))?;
        let help =
            "Rate that the path to the remote gateway was found to carry, all headers included";
        let capacity = |peer: &PeerStatus| peer.capacity.map(BitRate::as_bps);
        out.peers("capacity_bits_per_second", help, peers, capacity)?;
        let help = "Rate of the remote gateway's part of a dedicated link";
        out.peers("rate_bits_per_second", help, peers, |peer| peer.rate.map(BitRate::as_bps))?;
        out.counters(
            "peer_recovery_bytes",
            "Bytes sent to the remote gateway because of losses, since the association with it began",
            peers.iter().flat_map(|peer| {
                [("retransmitted", peer.retransmitted), ("parity", peer.parity)]
                    .map(|(kind, bytes)| ([("peer", peer.name.as_str()), ("kind", kind)], bytes.get()))
            }),
        )?;
        out.counters(
            "peer_tunnel_packets",
            "Packets of the tunnel for UDP since the association with the remote gateway began",
            peers.iter().flat_map(|peer| {
                let tunnel = peer.tunnel;
                [
                    ("sent", tunnel.packets),
                    ("retransmitted", tunnel.retransmitted),
                    ("parity", tunnel.parity),
                    ("recovered", tunnel.recovered),
                ]
                .map(|(kind, count)| ([("peer", peer.name.as_str()), ("kind", kind)], count))
            }),
        )?;
        out.counters(
            "peer_tunnel_queue_datagrams",
            "Datagrams that waited for too long in the queue of the tunnel for UDP",
            peers.iter().flat_map(|peer| {
                [("dropped", peer.tunnel.dropped), ("marked", peer.tunnel.marked)]
                    .map(|(fate, count)| ([("peer", peer.name.as_str()), ("fate", fate)], count))
            }),
        )?;
        out.counters(
            "peer_bytes",
            "Bytes of flows by remote gateway: sent was taken from TCP, received was given to TCP",
            peers.iter().flat_map(|peer| {
                [("sent", peer.sent), ("received", peer.received)].map(|(direction, bytes)| {
                    ([("peer", peer.name.as_str()), ("direction", direction)], bytes.get())
                })
            }),
        )
    }
}

/// Where metrics go.
struct Out<'a>(DescriptorEncoder<'a>);

impl Out<'_> {
    /// What never changes.
    fn info(&mut self, labels: &[(&str, &str)]) -> fmt::Result {
        let help = "What runs here";
        self.0.encode_descriptor("build", help, None, MetricType::Info)?.encode_info(&labels)
    }

    /// Begins a metric.
    fn begin<'s>(
        &'s mut self,
        name: &'s str,
        help: &str,
        kind: MetricType,
    ) -> Result<MetricEncoder<'s>, fmt::Error> {
        self.0.encode_descriptor(name, help, None, kind)
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl EncodeGaugeValue) -> fmt::Result {
        ConstGauge::new(value).encode(self.begin(name, help, MetricType::Gauge)?)
    }

    /// A count; its name gets `_total` behind.
    fn counter(&mut self, name: &str, help: &str, value: impl EncodeCounterValue) -> fmt::Result {
        ConstCounter::new(value).encode(self.begin(name, help, MetricType::Counter)?)
    }

    /// Counts with labels.
    fn counters<'l, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        counts: impl IntoIterator<Item = ([(&'l str, &'l str); N], u64)>,
    ) -> fmt::Result {
        let mut encoder = self.begin(name, help, MetricType::Counter)?;
        for (labels, count) in counts {
            ConstCounter::new(count).encode(encoder.encode_family(&labels)?)?;
        }
        Ok(())
    }

    /// What is known of each link.
    fn links(
        &mut self,
        name: &str,
        help: &str,
        links: &[LinkStatus],
        value: impl Fn(&LinkStatus) -> ByteCount,
    ) -> fmt::Result {
        let mut encoder = self.begin(name, help, MetricType::Gauge)?;
        for status in links {
            let labels = [("link", status.link.to_string())];
            ConstGauge::new(value(status).get()).encode(encoder.encode_family(&labels)?)?;
        }
        Ok(())
    }

    /// What is known of each peer.
    fn peers<V: EncodeGaugeValue>(
        &mut self,
        name: &str,
        help: &str,
        peers: &[PeerStatus],
        value: impl Fn(&PeerStatus) -> Option<V>,
    ) -> fmt::Result {
        let name = format!("peer_{name}");
        let mut encoder = self.begin(&name, help, MetricType::Gauge)?;
        for peer in peers {
            if let Some(value) = value(peer) {
                let labels = [("peer", peer.name.as_str())];
                ConstGauge::new(value).encode(encoder.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_gateway::testing::{peer, status};

    #[test]
    fn every_value_has_its_name_and_labels() {
        let known = PeerStatus {
            srtt: Some(Span::from_millis(600)),
            link: 2,
            outer: Outer::Tcp,
            loss_ratio: Some(0.25),
            connections: 7,
            held: ByteCount::new(12),
            capacity: Some(BitRate::from_bps(9_000_000)),
            rate: Some(BitRate::from_bps(10_000_000)),
            sent: ByteCount::new(30),
            received: ByteCount::new(40),
            ..peer("sea", true)
        };
        let mut status = status(Role::Terminal, vec![known, peer("air", false)]);
        status.link_rate = Some(BitRate::from_bps(20_000_000));
        status.totals.sent = ByteCount::new(5);
        status.totals.cut = 3;
        let (carried, cap) = (ByteCount::new(4), ByteCount::new(9));
        status.links = vec![LinkStatus { link: 2, carried, cap, closed: false }];
        status.totals.refused_by.denied_by_allow = 2;
        let text = text(status).expect("text");
        for line in [
            "bentpipe_gateway_flows_open 1",
            "bentpipe_gateway_flows_cut_total 3",
            "bentpipe_gateway_flows_refused_total{reason=\"denied_by_allow\"} 2",
            "bentpipe_gateway_flows_refused_total{reason=\"no_place\"} 0",
            "bentpipe_gateway_bytes_total{direction=\"sent\"} 5",
            "bentpipe_gateway_bytes_total{direction=\"received\"} 0",
            "bentpipe_gateway_link_rate_bits_per_second 20000000",
            "bentpipe_gateway_link_month_bytes{link=\"2\"} 4",
            "bentpipe_gateway_link_cap_bytes{link=\"2\"} 9",
            "bentpipe_gateway_peer_up{peer=\"sea\"} 1",
            "bentpipe_gateway_peer_up{peer=\"air\"} 0",
            "bentpipe_gateway_peer_srtt_seconds{peer=\"sea\"} 0.6",
            "bentpipe_gateway_peer_link{peer=\"sea\"} 2",
            "bentpipe_gateway_peer_link{peer=\"air\"} 1",
            "bentpipe_gateway_peer_on_tcp{peer=\"sea\"} 1",
            "bentpipe_gateway_peer_loss_ratio{peer=\"sea\"} 0.25",
            "bentpipe_gateway_peer_held_bytes{peer=\"sea\"} 12",
            "bentpipe_gateway_peer_connections{peer=\"sea\"} 7",
            "bentpipe_gateway_peer_capacity_bits_per_second{peer=\"sea\"} 9000000",
            "bentpipe_gateway_peer_rate_bits_per_second{peer=\"sea\"} 10000000",
            "bentpipe_gateway_peer_bytes_total{peer=\"sea\",direction=\"received\"} 40",
            "# TYPE bentpipe_gateway_peer_bytes counter",
            "# EOF",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\nis not in\n{text}");
        }
        assert!(!text.contains("srtt_seconds{peer=\"air\"}"), "{text}");
    }

    #[test]
    fn names_of_peers_can_not_break_the_text() {
        let text = text(status(Role::Hub, vec![peer("a\"b\\c\nd", true)])).expect("text");
        assert!(text.contains("peer_up{peer=\"a\\\"b\\\\c\\nd\"} 1"), "{text}");
    }
}
