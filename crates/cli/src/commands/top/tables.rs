//! What is shown of a gateway: cells of two tables.

use std::collections::BTreeMap;

use bentpipe_association::Outer;
use bentpipe_gateway::{FlowStatus, LinkStatus, PeerStatus, Role, Status};
use bentpipe_units::{ByteCount, Span};
use comfy_table::{CellAlignment, Table, presets};

use super::quantities::{bytes, rate, round_trip, time};
use super::view::View;
use crate::output::columns::{Column, fitting};
use crate::output::harmless::harmless;

/// Columns of peers, and how much each would be missed.
pub(super) const PEERS: [(&str, u8); 9] = [
    ("peer", 10),
    ("address", 4),
    ("state", 9),
    ("RTT", 7),
    ("loss", 6),
    ("connections", 1),
    ("rate", 3),
    ("out", 8),
    ("in", 8),
];
/// Columns of flows.
pub(super) const FLOWS: [(&str, u8); 12] = [
    ("flow", 1),
    ("client", 7),
    ("destination", 10),
    ("peer", 4),
    ("age", 3),
    ("out", 8),
    ("in", 9),
    ("bytes", 6),
    ("RTT", 5),
    ("window", 2),
    ("in flight", 1),
    ("retrans.", 4),
];
/// Columns in front that are text.
const TEXTS: usize = 3;

/// What is shown of a gateway.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tables {
    /// What holds for all of it.
    pub(super) title: String,
    /// Bits per second of all flows since the look before, out and in.
    pub(super) rates: [f64; 2],
    pub(super) peers: Vec<Row<9>>,
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
    pub(super) fn new(now: &Status, before: Option<&Status>, view: &View) -> Self {
        // A gateway that was restarted has nothing to do with the one before.
        let before = before.filter(|before| before.uptime < now.uptime);
        let since = before.map_or(now.uptime, |before| now.uptime - before.uptime);
        let known: BTreeMap<u64, &FlowStatus> =
            before.into_iter().flat_map(|b| &b.flows).map(|flow| (flow.number, flow)).collect();
        let row = |flow: &FlowStatus| {
            let (rate, row) = flow_row(flow, known.get(&flow.number).copied(), since);
            (view.sort.place(flow, rate), row)
        };
        let wanted = view.filter.to_lowercase();
        let is_wanted = |(_, row): &(f64, Row<12>)| {
            row.cells.iter().any(|cell| cell.to_lowercase().contains(&wanted))
        };
        let mut flows: Vec<(f64, Row<12>)> = now.flows.iter().map(row).filter(is_wanted).collect();
        flows.sort_by(|a, b| b.0.total_cmp(&a.0));
        let peer = |peer: &PeerStatus| {
            let mut known = before.into_iter().flat_map(|before| &before.peers);
            peer_row(peer, known.find(|known| known.name == peer.name), since)
        };
        let carried = |of: fn(&Status) -> ByteCount| {
            per_second(of(now) - before.map_or(ByteCount::ZERO, of), since)
        };
        Self {
            title: title(now),
            rates: [carried(|status| status.totals.sent), carried(|status| status.totals.received)],
            peers: now.peers.iter().map(peer).collect(),
            flows: flows.into_iter().map(|(_, row)| row).collect(),
        }
    }

    /// Both tables as text, as wide as `room` lets them be.
    pub(super) fn text(&self, room: Option<usize>) -> String {
        let peers = plain(&PEERS, &self.peers, room);
        let flows = plain(&FLOWS, &self.flows, room);
        format!("{}\n{peers}\n{flows}", self.title)
    }
}

/// The columns that fit into `room` cells, of which each takes `gap` more than its widest cell: their places and widths.
pub(super) fn fit<const N: usize>(
    header: &[(&str, u8); N],
    rows: &[Row<N>],
    gap: usize,
    room: usize,
) -> Vec<(usize, usize)> {
    let column = |(at, (head, importance)): (usize, &(&str, u8))| {
        let cells = rows.iter().map(|row| row.cells[at].chars().count());
        let width = cells.fold(head.chars().count(), usize::max);
        Column { width, importance: *importance }
    };
    let columns: Vec<Column> = header.iter().enumerate().map(column).collect();
    fitting(&columns, gap, room).into_iter().map(|at| (at, columns[at].width)).collect()
}

fn title(status: &Status) -> String {
    let role = if status.role == Role::Hub { "hub" } else { "terminal" };
    let totals = &status.totals;
    let link = status.link_rate.map_or_else(|| "shared".to_owned(), |rate| rate.to_string());
    let capped = |link: &LinkStatus| {
        let closed = if link.closed { ", closed" } else { "" };
        format!("; link {}: {} of {}{closed}", link.link, bytes(link.carried), bytes(link.cap))
    };
    let capped: String = status.links.iter().map(capped).collect();
    format!(
        "{role}, up {}; link {link}; {} flows open, {} so far, {} refused, {} cut off; {} out, {} in{capped}",
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

/// Cells around what is in a column of a table that is printed.
const GAP: usize = 2;

fn plain<const N: usize>(header: &[(&str, u8); N], rows: &[Row<N>], room: Option<usize>) -> Table {
    let kept = fit(header, rows, GAP, room.unwrap_or(usize::MAX));
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(kept.iter().map(|(at, _)| header[*at].0));
    for row in rows {
        table.add_row(kept.iter().map(|(at, _)| &row.cells[*at]));
    }
    for (column, (at, _)) in table.column_iter_mut().zip(&kept) {
        if *at >= TEXTS {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

#[cfg(test)]
pub(super) mod tests {
    use bentpipe_gateway::{ConnectionStatus, Totals};

    use bentpipe_units::BitRate;

    use super::*;
    use crate::commands::top::view::Sort;

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
        let tables = Tables::new(&status(12), Some(&status(10)), &View::default());
        let rates = |n: usize| (&*tables.flows[n].cells[0], &*tables.flows[n].cells[6]);
        // 44 times 125 kB in two seconds; and always 250 kB.
        assert_eq!(rates(0), ("2", "22.0 Mbit/s"));
        assert_eq!(rates(1), ("1", "2.00 Mbit/s"));
        assert_eq!(tables.peers[0].cells[8], "8.00 Mbit/s");
    }

    #[test]
    fn without_a_look_before_rates_are_means_since_the_start() {
        let tables = Tables::new(&status(4), None, &View::default());
        assert_eq!(tables.flows[0].cells[6], "4.00 Mbit/s");
        assert_eq!(
            tables,
            Tables::new(&status(4), Some(&status(9)), &View::default()),
            "a restart"
        );
    }

    #[test]
    fn flows_are_sorted_and_filtered_as_the_view_says() {
        let mut now = status(12);
        now.flows[0].destination = "mail.example:25".into();
        let numbers = |sort: Sort, filter: &str| {
            let view = View { sort, filter: filter.to_owned() };
            let tables = Tables::new(&now, Some(&status(10)), &view);
            tables.flows.iter().map(|row| row.cells[0].clone()).collect::<Vec<_>>()
        };
        // The second flow is faster; up to now the first one has carried less as well.
        assert_eq!(numbers(Sort::Rate, ""), ["2", "1"]);
        assert_eq!(numbers(Sort::Bytes, ""), ["2", "1"]);
        assert_eq!(numbers(Sort::Rate, "MAIL"), ["1"]);
        assert_eq!(numbers(Sort::Rate, "nobody"), [""; 0]);
        now.flows[0].connection = None;
        let view = View { sort: Sort::RoundTrip, ..View::default() };
        assert_eq!(Tables::new(&now, None, &view).flows[1].cells[0], "1");
        let mut sort = Sort::default();
        let mut names = BTreeMap::new();
        for place in 0..5 {
            names.insert(sort.name(), place);
            sort = sort.next();
        }
        assert_eq!((names.len(), sort), (5, Sort::default()));
    }

    #[test]
    fn a_table_of_80_cells_has_whole_addresses_and_what_matters_most() {
        let text = Tables::new(&status(12), Some(&status(10)), &View::default()).text(Some(80));
        let lines = text.lines().skip(1);
        assert!(lines.clone().all(|line| line.trim_end().chars().count() <= 80), "{text}");
        for part in ["192.0.2.1:4000", "example.org:80", "22.0 Mbit/s", "612 ms", "1.23 %"] {
            assert!(lines.clone().any(|line| line.contains(part)), "{part}\n{text}");
        }
        assert!(!text.contains("connections"), "{text}");
    }

    #[test]
    fn a_peer_that_is_gone_is_alarming() {
        let rows = |seconds| Tables::new(&status(seconds), None, &View::default()).peers;
        assert!(!rows(5)[0].alarming && rows(100)[0].alarming);
        assert_eq!(rows(100)[0].cells[2], "down");
    }

    #[test]
    fn the_state_says_by_which_way_a_peer_is_reached() {
        let mut status = status(5);
        status.peers[0].link = 2;
        assert_eq!(Tables::new(&status, None, &View::default()).peers[0].cells[2], "up, link 2");
        status.peers[0].outer = Outer::Tcp;
        assert_eq!(
            Tables::new(&status, None, &View::default()).peers[0].cells[2],
            "up, link 2, TCP"
        );
    }

    #[test]
    fn the_title_says_what_is_left_of_a_cap() {
        let mut status = status(5);
        let (carried, cap) = (ByteCount::new(20_000_000_001), ByteCount::new(20_000_000_000));
        status.links = vec![LinkStatus { link: 2, carried, cap, closed: true }];
        let title = Tables::new(&status, None, &View::default()).title;
        assert!(title.ends_with("; link 2: 20.0 GB of 20.0 GB, closed"), "{title}");
    }

    #[test]
    fn a_rate_that_was_found_out_is_about_so_much() {
        let mut status = status(5);
        assert_eq!(Tables::new(&status, None, &View::default()).peers[0].cells[6], "~9.57 Mbit/s");
        status.peers[0].rate = Some(BitRate::from_bps(10_000_000));
        assert_eq!(Tables::new(&status, None, &View::default()).peers[0].cells[6], "10 Mbit/s");
    }

    #[test]
    fn names_that_others_chose_do_nothing_to_the_terminal() {
        let mut status = status(1);
        status.flows[0].destination = "\u{1b}[2Jevil\r\n:80".into();
        let text = Tables::new(&status, None, &View::default()).text(None);
        assert!(text.contains("\u{fffd}[2Jevil\u{fffd}\u{fffd}:80"), "{text:?}");
        assert!(!text.contains(['\u{1b}', '\r']), "{text:?}");
    }
}
