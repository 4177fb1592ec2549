//! What routers say by ICMP: that a packet is bigger than what a link carries, or that it met congestion (BECN).

use bentpipe_link::LossCause;
use bentpipe_units::Instant;
use bentpipe_wire::Segment;
use bentpipe_wire::icmp::{Message, News};

use super::Network;
use crate::held::Quench;
use crate::packet::Label;
use crate::quoted::quote;

impl Network<'_> {
    /// What the link carries at most that packets from a node to another one leave by.
    pub(crate) fn first_mtu(&self, [node, peer]: [u16; 2]) -> Option<u16> {
        let channel = self.routes.next(node, peer)?;
        Some(self.routers.narrow.get(channel as usize).copied().flatten()?.bytes)
    }

    /// Drops a packet that is too big for the link by which it would leave `node`, and tells its sender if the link
    /// wants that. False when it is small enough, or may be fragmented: then it goes on in one piece, as the loss of any
    /// fragment loses all.
    #[inline(never)]
    pub(super) fn drops_too_big(&mut self, now: Instant, node: u16, label: Label) -> bool {
        let Label { packet, len, to, kind } = label;
        let channel = self.routes.next(node, to);
        let narrow =
            channel.and_then(|channel| Some((channel, self.routers.narrow[channel as usize]?)));
        let Some((channel, mtu)) = narrow.filter(|(_, mtu)| len > u32::from(mtu.bytes)) else {
            return false;
        };
        if let Segment::Sctp(packet) = &self.arena.get_mut(packet).segment
            && packet.may_fragment
        {
            return false;
        }
        if self.watched {
            self.show_later(now, channel, packet);
        }
        let of = &mut self.channels[channel as usize];
        of.offer(now, u64::from(len));
        of.count_loss(now, LossCause::PacketTooBig, kind);
        let dropped = self.arena.get_mut(packet);
        let from = dropped.from;
        // Damaged headers name nobody. About a host's own link there is no way for a message.
        let tells = mtu.icmp && !dropped.corrupt;
        let quoted = quote(&dropped.segment, from, to, len).filter(|_| tells);
        self.arena.release(packet);
        if let Some(packet) = quoted {
            *self.place() =
                Segment::Icmp(Message { news: News::TooBig { mtu: mtu.bytes }, packet });
            let _ = self.launch(now, node, node, from);
        }
        true
    }

    /// Sends what queues had to tell.
    #[inline]
    pub(super) fn send_quenches(&mut self, now: Instant) {
        while let Some(Quench { nodes: [teller, sender], packet }) = self.routers.quenches.pop() {
            *self.place() = Segment::Icmp(Message { news: News::Congestion, packet });
            let _ = self.launch(now, teller, teller, sender);
        }
    }
}
