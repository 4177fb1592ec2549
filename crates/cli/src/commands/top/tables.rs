//! What is shown of a gateway: cells of two tables.

use std::collections::BTreeMap;
use std::fmt;

use bentpipe_association::Outer;
use bentpipe_gateway::{FlowStatus, PeerStatus, Role, Status};
use bentpipe_units::{ByteCount, Span};
use comfy_table::{CellAlignment, Table, presets};

use crate::output::harmless::harmless;

/// Columns of peers.
pub(super) const PEERS: [&str; 9] =
    ["peer", "address", "state", "RTT", "loss", "connections", "rate", "out", "in"];
/// Columns of flows.
pub(super) const FLOWS: [&str; 12] = [
    "flow",
    "client",
    "destination",
    "peer",
    "age",
    "out",
    "in",
    "bytes",
    "RTT",
    "window",
    "in flight",
    "resent",
];
/// Columns in front that are text.
const TEXTS: usize = 3;

/// What is shown of a gateway.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tables {
    /// What holds for all of it.
    pub(super) title: String,
    pub(super) peers: Vec<Row<9>>,
    /// Those that carry most first.
    pub(super) flows: Vec<Row<12>>,
}

/// A row of a table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row<const N: usize> {
    pub(super) cells: [String; N],
    /// Something is wrong with it.
    pub(super) alarming: bool,
}

impl Tables {
    /// The tables of a status; rates are those since `before`, or without it since the start.
    pub(super) fn new(now: &Status, before: Option<&Status>) -> Self {
        // A gateway that was restarted has nothing to do with the one before.
        let before = before.filter(|before| before.uptime < now.uptime);
        let since = before.map_or(now.uptime, |before| now.uptime - before.uptime);
        let known: BTreeMap<u64, &FlowStatus> =
            before.into_iter().flat_map(|b| &b.flows).map(|flow| (flow.number, flow)).collect();
        let mut flows: Vec<(f64, Row<12>)> = now
            .flows
            .iter()
            .map(|flow| flow_row(flow, known.get(&flow.number).copied(), since))
            .collect();
        flows.sort_by(|a, b| b.0.total_cmp(&a.0));
        let peer = |peer: &PeerStatus| {
            let mut known = before.into_iter().flat_map(|before| &before.peers);
            peer_row(peer, known.find(|known| known.name == peer.name), since)
        };
        Self {
            title: title(now),
            peers: now.peers.iter().map(peer).collect(),
            flows: flows.into_iter().map(|(_, row)| row).collect(),
        }
    }
}

fn title(status: &Status) -> String {
    let role = if status.role == Role::Hub { "hub" } else { "terminal" };
    let totals = &status.totals;
    let link = status.link_rate.map_or_else(|| "shared".to_owned(), |rate| rate.to_string());
    format!(
        "{role}, up {}; link {link}; {} flows open, {} so far, {} refused, {} cut off; {} out, {} in",
        time(status.uptime),
        totals.open,
        totals.flows,
        totals.refused,
        totals.cut,
        bytes(totals.sent),
        bytes(totals.received),
    )
}

fn peer_row(peer: &PeerStatus, before: Option<&PeerStatus>, since: Span) -> Row<9> {
    let sent = before.map_or(ByteCount::ZERO, |before| before.sent);
    let received = before.map_or(ByteCount::ZERO, |before| before.received);
    let cells = [
        harmless(&peer.name),
        or_dash(peer.address, |address| address.to_string()),
        state(peer),
        or_dash(peer.srtt, round_trip),
        or_dash(peer.loss_ratio, |share| format!("{:.2} %", share * 100.0)),
        peer.connections.to_string(),
        or_dash(link_rate(peer), std::convert::identity),
        rate(per_second(peer.sent - sent, since)),
        rate(per_second(peer.received - received, since)),
    ];
    Row { cells, alarming: !peer.up }
}

/// Its part of a dedicated link, or about what a shared one was found to carry.
fn link_rate(peer: &PeerStatus) -> Option<String> {
    let found = || peer.capacity.map(|found| format!("~{}", rate(found.as_bps() as f64)));
    peer.rate.map(|rate| rate.to_string()).or_else(found)
}

/// Whether it answers, and over which path if that is not the usual one.
fn state(peer: &PeerStatus) -> String {
    let mut state = vec![if peer.up { "up" } else { "down" }.to_owned()];
    if peer.link > 1 {
        state.push(format!("link {}", peer.link));
    }
    if peer.outer == Outer::Tcp {
        state.push("TCP".to_owned());
    }
    state.join(", ")
}

/// A row, and the rate by which it has its place.
fn flow_row(flow: &FlowStatus, before: Option<&FlowStatus>, since: Span) -> (f64, Row<12>) {
    let since = if before.is_some() { since } else { flow.age };
    let sent = before.map_or(ByteCount::ZERO, |before| before.sent);
    let received = before.map_or(ByteCount::ZERO, |before| before.received);
    let out = per_second(flow.sent - sent, since);
    let into = per_second(flow.received - received, since);
    let sender = flow.connection;
    let cells = [
        flow.number.to_string(),
        flow.client.to_string(),
        harmless(&flow.destination),
        if flow.direct { "direct".to_owned() } else { harmless(&flow.peer) },
        time(flow.age),
        rate(out),
        rate(into),
        bytes(flow.sent + flow.received),
        or_dash(sender.and_then(|sender| sender.srtt), round_trip),
        or_dash(sender.and_then(|sender| sender.cwnd), bytes),
        or_dash(sender, |sender| bytes(sender.in_flight)),
        or_dash(sender, |sender| sender.retransmitted_segments.to_string()),
    ];
    (out + into, Row { cells, alarming: false })
}

/// Bits per second.
fn per_second(bytes: ByteCount, since: Span) -> f64 {
    if since.is_zero() { 0.0 } else { bytes.bits() as f64 / since.as_secs_f64() }
}

fn or_dash<T>(value: Option<T>, text: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), text)
}

fn rate(bits: f64) -> String {
    scaled(bits, "bit/s")
}

fn bytes(count: ByteCount) -> String {
    scaled(count.get() as f64, "B")
}

/// A quantity with three digits.
fn scaled(value: f64, unit: &str) -> String {
    let (factor, prefix) = match value {
        v if v >= 999.5e6 => (1e-9, "G"),
        v if v >= 999.5e3 => (1e-6, "M"),
        v if v >= 999.5 => (1e-3, "k"),
        v => return format!("{v:.0} {unit}"),
    };
    let value = value * factor;
    let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.digits$} {prefix}{unit}")
}

fn round_trip(span: Span) -> String {
    let millis = span.as_secs_f64() * 1e3;
    if millis < 10.0 { format!("{millis:.2} ms") } else { format!("{millis:.0} ms") }
}

fn time(span: Span) -> String {
    let seconds = span.as_nanos() / 1_000_000_000;
    match (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0, s) => format!("{s} s"),
        (0, 0, m, s) => format!("{m}:{s:02} min"),
        (0, h, m, _) => format!("{h}:{m:02} h"),
        (d, h, ..) => format!("{d} d {h} h"),
    }
}

impl fmt::Display for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.title)?;
        writeln!(f, "{}", plain(&PEERS, &self.peers))?;
        write!(f, "{}", plain(&FLOWS, &self.flows))
    }
}

fn plain<const N: usize>(header: &[&str; N], rows: &[Row<N>]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header);
    for row in rows {
        table.add_row(&row.cells);
    }
    for column in table.column_iter_mut().skip(TEXTS) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

#[cfg(test)]
pub(super) mod tests {
    use bentpipe_gateway::{ConnectionStatus, Totals};

    use bentpipe_units::BitRate;

    use super::*;

    /// A gateway with two flows, after so many seconds.
    pub(in crate::commands::top) fn status(seconds: u64) -> Status {
        let flow = |number, bytes| FlowStatus {
            number,
            client: "192.0.2.1:4000".parse().expect("an address"),
            destination: "example.org:80".into(),
            peer: "land".into(),
            direct: false,
            age: Span::from_secs(seconds),
            sent: ByteCount::ZERO,
            received: ByteCount::new(bytes),
            connection: Some(ConnectionStatus {
                srtt: Some(Span::from_millis(612)),
                cwnd: Some(ByteCount::new(120_000)),
                in_flight: ByteCount::new(80_000),
                retransmitted_segments: 17,
                retransmitted: ByteCount::new(20_000),
            }),
        };
        let peer = PeerStatus {
            name: "land".into(),
            address: Some("192.0.2.9:25300".parse().expect("an address")),
            up: seconds < 100,
            link: 1,
            outer: Outer::Udp,
            srtt: Some(Span::from_micros(4_500)),
            loss_ratio: Some(0.0123),
            connections: 3,
            held: ByteCount::ZERO,
            capacity: Some(BitRate::from_bps(9_570_000)),
            rate: None,
            weight: None,
            retransmitted_segments: 0,
            retransmitted: ByteCount::ZERO,
            parity_datagrams: 0,
            parity: ByteCount::ZERO,
            tunnel: Default::default(),
            sent: ByteCount::ZERO,
            received: ByteCount::new(seconds * 1_000_000),
        };
        Status {
            role: Role::Terminal,
            uptime: Span::from_secs(seconds),
            link_rate: None,
            totals: Totals::default(),
            links: Vec::new(),
            peers: vec![peer],
            flows: vec![flow(1, seconds * 250_000), flow(2, seconds * seconds * 125_000)],
        }
    }

    #[test]
    fn rates_are_those_since_the_last_look() {
        let tables = Tables::new(&status(12), Some(&status(10)));
        let rates = |n: usize| (&*tables.flows[n].cells[0], &*tables.flows[n].cells[6]);
        // 44 times 125 kB in two seconds; and always 250 kB.
        assert_eq!(rates(0), ("2", "22.0 Mbit/s"));
        assert_eq!(rates(1), ("1", "2.00 Mbit/s"));
        assert_eq!(tables.peers[0].cells[8], "8.00 Mbit/s");
    }

    #[test]
    fn without_a_look_before_rates_are_means_since_the_start() {
        let tables = Tables::new(&status(4), None);
        assert_eq!(tables.flows[0].cells[6], "4.00 Mbit/s");
        assert_eq!(tables, Tables::new(&status(4), Some(&status(9))), "a restart");
    }

    #[test]
    fn a_peer_that_is_gone_is_alarming() {
        let rows = |seconds| Tables::new(&status(seconds), None).peers;
        assert!(!rows(5)[0].alarming && rows(100)[0].alarming);
        assert_eq!(rows(100)[0].cells[2], "down");
    }

    #[test]
    fn the_state_says_by_which_way_a_peer_is_reached() {
        let mut status = status(5);
        status.peers[0].link = 2;
        assert_eq!(Tables::new(&status, None).peers[0].cells[2], "up, link 2");
        status.peers[0].outer = Outer::Tcp;
        assert_eq!(Tables::new(&status, None).peers[0].cells[2], "up, link 2, TCP");
    }

    #[test]
    fn a_rate_that_was_found_out_is_about_so_much() {
        let mut status = status(5);
        assert_eq!(Tables::new(&status, None).peers[0].cells[6], "~9.57 Mbit/s");
        status.peers[0].rate = Some(BitRate::from_bps(10_000_000));
        assert_eq!(Tables::new(&status, None).peers[0].cells[6], "10 Mbit/s");
    }

    #[test]
    fn names_that_others_chose_do_nothing_to_the_terminal() {
        let mut status = status(1);
        status.flows[0].destination = "\u{1b}[2Jevil\r\n:80".into();
        let text = Tables::new(&status, None).to_string();
        assert!(text.contains("\u{fffd}[2Jevil\u{fffd}\u{fffd}:80"), "{text:?}");
        assert!(!text.contains(['\u{1b}', '\r']), "{text:?}");
    }

    #[test]
    fn quantities_have_three_digits() {
        for (value, text) in [
            (0.0, "0 B"),
            (999.0, "999 B"),
            (1000.0, "1.00 kB"),
            (9_996.0, "10.0 kB"),
            (99_960.0, "100 kB"),
            (999_600.0, "1.00 MB"),
            (123_456_789.0, "123 MB"),
            (5e12, "5000 GB"),
        ] {
            assert_eq!(scaled(value, "B"), text);
        }
        for (seconds, text) in
            [(59, "59 s"), (61, "1:01 min"), (3_700, "1:01 h"), (90_000, "1 d 1 h")]
        {
            assert_eq!(time(Span::from_secs(seconds)), text);
        }
    }
}
