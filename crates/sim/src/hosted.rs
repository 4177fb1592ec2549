//! What the hosts of the product do with the ends of flows.

use bentpipe_record::TransportCounters;
use bentpipe_units::Instant;

use crate::Protocol;
use crate::app::App;
use crate::connection::Connection;
use crate::endpoints::{End, Endpoints};
use crate::network::Network;
use crate::product::Incoming;

impl Endpoints {
    /// Whether a host has a connection that is not over.
    pub(crate) fn are_in_use(&self) -> bool {
        !self.products.is_empty()
            && (self.ends.iter().any(|end| is_hosted(end) && !end.is_closed())
                || self.products.gateways_are_in_use(&self.ends))
    }

    /// Hosts do what they can do, and the ends of flows hear of it, until nobody has anything for anybody.
    pub(crate) fn run_products(&mut self, now: Instant, network: &mut Network<'_>) {
        while self.products.wait() {
            for index in self.products.take_woken() {
                let end = &mut self.ends[index as usize];
                if let App::Socket(_) = end.app {
                    self.products.serve_client(end, index);
                    end.feed(now);
                }
                self.drain(now, network, index);
            }
            let Some(node) = self.products.run_next(now, network) else { continue };
            for index in self.products.dial(&mut self.ends) {
                let end = &mut self.ends[index as usize];
                let (protocol, place) = end.place();
                end.endpoint = Connection::open(protocol, now, place);
                end.notify_if_down(now, network);
                self.ends.enter(index as usize);
                self.drain(now, network, index);
            }
            while let Some(incoming) = self.products.accept(node) {
                self.take_in(now, network, node, incoming);
            }
            self.follow_up(now, network);
        }
    }

    /// A connection was opened to a node: the end that listens at its port has it.
    fn take_in(&mut self, now: Instant, network: &mut Network<'_>, node: u16, new: Incoming) {
        let Some(index) = self.ends.listener(node, Protocol::BENTPIPE, new.port()) else {
            return new.refuse(now);
        };
        let hosted = new.give(&self.products, index);
        self.ends[index as usize].endpoint = Some(Connection::Bentpipe(Box::new(hosted)));
        self.drain(now, network, index);
    }

    /// What a flow's two ends sent, as it was on the links: what its hosts sent, keys, parity and reports of the association
    /// included, in the proportion of what its connections handed over.
    pub(crate) fn count_datagrams(&self, flow: usize, ends: [&mut TransportCounters; 2]) {
        let (first, count) = self.pairs[flow];
        if count == 0 || !is_hosted(&self.ends[2 * first]) {
            return;
        }
        for (side, counters) in ends.into_iter().enumerate() {
            let [node, _] = self.ends[2 * first + side].paths[0];
            let at_node = self.ends.iter().filter(|end| end.paths[0][0] == node && is_hosted(end));
            let of = |end: &End| end.endpoint.as_ref().map(|e| e.endpoint().counters().bytes_sent);
            let all: u64 = at_node.filter_map(of).sum();
            if let Some(share) = self.products.share_of(node, counters.bytes_sent, all) {
                counters.bytes_sent = share;
            }
        }
    }
}

fn is_hosted(end: &End) -> bool {
    matches!(end.endpoint, Some(Connection::Bentpipe(_)))
}
