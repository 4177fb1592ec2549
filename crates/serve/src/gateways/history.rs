//! What was seen of a gateway within the last hour.

use std::collections::{BTreeMap, VecDeque};

use bentpipe_gateway::{PeerStatus, Status};
use bentpipe_units::Span;
use serde::Serialize;

/// Looks that are kept: those of an hour.
const KEPT: usize = 3600;
/// Peers of which something is kept; of a hub with more of them the first ones by name.
const PEERS: usize = 32;

/// What was seen, the oldest first.
#[derive(Debug, Default)]
pub(super) struct History(VecDeque<Look>);

/// One look; without a total if the gateway did not answer.
#[derive(Debug)]
struct Look {
    time_s: f64,
    total: Option<Total>,
    peers: Vec<(String, Peer)>,
}

#[derive(Clone, Copy, Debug)]
struct Total {
    sent: u64,
    received: u64,
    open: u64,
}

#[derive(Clone, Copy, Debug)]
struct Peer {
    up: bool,
    sent: u64,
    received: u64,
    retransmitted: u64,
    parity: u64,
    held: u64,
    srtt_s: Option<f64>,
    loss_ratio: Option<f64>,
}

/// The same in columns, with nulls where nothing was seen. Counts are since the start of the gateway.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Columns {
    time_s: Vec<f64>,
    sent_bytes: Vec<Option<u64>>,
    received_bytes: Vec<Option<u64>>,
    open: Vec<Option<u64>>,
    peers: BTreeMap<String, PeerColumns>,
}

#[derive(Debug, Default, Serialize)]
struct PeerColumns {
    up: Vec<Option<bool>>,
    sent_bytes: Vec<Option<u64>>,
    received_bytes: Vec<Option<u64>>,
    retransmitted_bytes: Vec<Option<u64>>,
    parity_bytes: Vec<Option<u64>>,
    held_bytes: Vec<Option<u64>>,
    srtt_s: Vec<Option<f64>>,
    loss_ratio: Vec<Option<f64>>,
}

impl History {
    /// Takes a look, and forgets those of more than an hour ago.
    pub(super) fn push(&mut self, time_s: f64, status: Option<&Status>) {
        if self.0.len() >= KEPT {
            self.0.pop_front();
        }
        let total = status.map(|Status { totals, .. }| Total {
            sent: totals.sent.get(),
            received: totals.received.get(),
            open: totals.open,
        });
        let peers = status.into_iter().flat_map(|status| &status.peers).take(PEERS);
        let peers = peers.map(|peer| (peer.name.clone(), Peer::of(peer))).collect();
        self.0.push_back(Look { time_s, total, peers });
    }

    /// The looks after this time.
    pub(super) fn columns(&self, since: f64) -> Columns {
        let mut columns = Columns::default();
        let first = self.0.partition_point(|look| look.time_s <= since);
        // However often a gateway's peers change, so many of them have columns.
        for (name, _) in self.0.iter().flat_map(|look| &look.peers) {
            if columns.peers.len() < PEERS && !columns.peers.contains_key(name) {
                columns.peers.insert(name.clone(), PeerColumns::default());
            }
        }
        for look in self.0.range(first..) {
            columns.time_s.push(look.time_s);
            columns.sent_bytes.push(look.total.map(|total| total.sent));
            columns.received_bytes.push(look.total.map(|total| total.received));
            columns.open.push(look.total.map(|total| total.open));
            for (name, of) in &mut columns.peers {
                let peer =
                    look.peers.iter().find(|(known, _)| known == name).map(|(_, peer)| *peer);
                of.push(peer);
            }
        }
        columns
    }
}

impl Peer {
    fn of(peer: &PeerStatus) -> Self {
        Self {
            up: peer.up,
            sent: peer.sent.get(),
            received: peer.received.get(),
            retransmitted: peer.retransmitted.get(),
            parity: peer.parity.get(),
            held: peer.held.get(),
            srtt_s: peer.srtt.map(Span::as_secs_f64),
            loss_ratio: peer.loss_ratio,
        }
    }
}

impl PeerColumns {
    fn push(&mut self, peer: Option<Peer>) {
        self.up.push(peer.map(|peer| peer.up));
        self.sent_bytes.push(peer.map(|peer| peer.sent));
        self.received_bytes.push(peer.map(|peer| peer.received));
        self.retransmitted_bytes.push(peer.map(|peer| peer.retransmitted));
        self.parity_bytes.push(peer.map(|peer| peer.parity));
        self.held_bytes.push(peer.map(|peer| peer.held));
        self.srtt_s.push(peer.and_then(|peer| peer.srtt_s));
        self.loss_ratio.push(peer.and_then(|peer| peer.loss_ratio));
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_gateway::Role;
    use bentpipe_gateway::testing::{peer, status};

    use super::*;

    #[test]
    fn an_hour_is_kept_and_who_did_not_answer_leaves_nulls() {
        let mut history = History::default();
        let seen = status(Role::Hub, vec![peer("sea", true)]);
        for second in 0..4000_u32 {
            history.push(f64::from(second), (second % 2 == 0).then_some(&seen));
        }
        let columns = history.columns(-1.0);
        assert_eq!((columns.time_s.len(), columns.time_s[0]), (3600, 400.0));
        let latest = history.columns(3997.0);
        assert_eq!((latest.time_s, latest.peers["sea"].up.len()), (vec![3998.0, 3999.0], 2));
        assert_eq!((columns.open[0], columns.open[1]), (Some(1), None));
        let sea = &columns.peers["sea"];
        assert_eq!((sea.up.len(), sea.up[0], sea.up[1]), (3600, Some(true), None));
    }

    #[test]
    fn a_gateway_whose_peers_change_takes_no_more_than_its_share() {
        let mut history = History::default();
        for second in 0..200_u32 {
            let seen = status(Role::Hub, vec![peer(&format!("peer-{second}"), true)]);
            history.push(f64::from(second), Some(&seen));
        }
        assert_eq!(history.columns(-1.0).peers.len(), PEERS);
    }
}
