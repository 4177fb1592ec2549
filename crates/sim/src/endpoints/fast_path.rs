//! A short way for plain TCP: a packet that arrives is answered in its place.

use bentpipe_transport::tcp::FastPath;
use bentpipe_transport::{Endpoint, NetworkFeedback, PathId};
use bentpipe_units::Instant;
use bentpipe_wire::Segment;

use super::Endpoints;
use crate::Protocol;
use crate::app::App;
use crate::connection::Connection;
use crate::network::Network;
use crate::packet::PacketId;

impl Endpoints {
    /// Takes a plain segment of TCP at the sink or the source of a bulk transfer, and sends what it makes leave in the
    /// packet that brought it. False, and nothing changed, when it is to be taken as any other.
    ///
    /// It does what [`Endpoints::arrive_any`] does with such a segment and leaves out what finds nothing to do there:
    /// nobody follows the application, it has no timer, there is one path and nothing from routers on the packet.
    #[inline(always)]
    pub(super) fn take_fast_path(
        &mut self,
        now: Instant,
        network: &mut Network<'_>,
        id: PacketId,
    ) -> bool {
        let packet = network.packet(id);
        let (node, from) = (packet.to, packet.from);
        let Segment::Tcp(segment) = &mut packet.segment else { return false };
        let demux = &self.demux[node as usize][Protocol::TCP];
        let path = PathId(u32::from(from));
        let session = demux.session(path, segment.destination_port, segment.source_port);
        let Some(index) = session.filter(|_| !packet.asks) else { return false };
        let end = &mut self.ends[index as usize];
        let Some(Connection::Tcp(connection)) = &mut end.endpoint else { return false };
        let path = PathId(0);
        let outcome = match &mut end.app {
            App::Sink(sink) if end.paths.len() == 1 => {
                connection.fast_data(now, path, segment, |bytes| sink.take(now, bytes))
            }
            app @ App::Source(_)
                if end.paths.len() == 1
                    && end.generator.is_none()
                    && app.next_timer().is_none() =>
            {
                connection.fast_ack(now, path, segment)
            }
            App::Sink(_) | App::Source(_) | App::Followed(_) | App::Relay | App::Socket(_) => {
                FastPath::NotTaken
            }
        };
        match outcome {
            FastPath::NotTaken => return false,
            FastPath::Taken => network.release(id),
            FastPath::Answered => {
                let measured = segment.measure();
                if let Some(header) = connection.take_congestion() {
                    network.set_congestion(header);
                }
                network.answer(now, id, measured);
            }
        }
        if !connection.readiness().is_quiet {
            self.settle(now, network, index);
        }
        true
    }
}
