//! A fast path for plain TCP: a packet that arrives is answered in its place.

use bentpipe_transport::PathId;
use bentpipe_transport::tcp::{Connection, FastPath};
use bentpipe_units::Instant;
use bentpipe_wire::tcp::Segment;

use super::End;
use crate::app::App;
use crate::connection;

impl End {
    /// Takes a plain segment of TCP at the sink or the source of a bulk transfer, and writes what it makes leave in the
    /// place of the segment. Nothing changes when it is to be taken as any other.
    ///
    /// It does what [`End::handle_segment`] does with such a segment and leaves out what finds nothing to do there:
    /// nobody follows the application, it has no timer, there is one path and nothing from routers on the packet.
    #[inline(always)]
    pub(super) fn take_plain(
        &mut self,
        now: Instant,
        segment: &mut Segment,
    ) -> Option<(FastPath, &mut Connection)> {
        let Some(connection::Connection::Tcp(connection)) = &mut self.endpoint else { return None };
        let path = PathId(0);
        let outcome = match &mut self.app {
            App::Sink(sink) if self.paths.len() == 1 => {
                connection.fast_data(now, path, segment, |bytes| sink.take(now, bytes))
            }
            app @ App::Source(_)
                if self.paths.len() == 1
                    && self.generator.is_none()
                    && app.next_timer().is_none() =>
            {
                connection.fast_ack(now, path, segment)
            }
            App::Sink(_) | App::Source(_) | App::Followed(_) | App::Relay | App::Socket(_) => {
                return None;
            }
        };
        Some((outcome, connection))
    }
}
