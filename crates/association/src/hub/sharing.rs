//! Connections over a way whose rate nobody knows: they share one window, in which short objects go ahead of
//! bulk.
//!
//! Each for itself, they would fill the queue of the link together and a new one would have to find out in many
//! round trips what the others know.

use bentpipe_transport::xstp::SharedPath;
use bentpipe_units::Instant;

use super::line::AHEAD;
use super::{AssociationId, Hub};

impl Hub {
    /// A connection takes its place among those over the same way: on the line of its link where there is one,
    /// and otherwise in the window that they share.
    pub(super) fn join_others(&mut self, now: Instant, id: usize) {
        let connection = &mut self.connections[id];
        let association = &mut self.associations[connection.association];
        if association.own_line(connection.way).is_some() {
            return self.join_line(now, id);
        }
        let session = &mut connection.stream.endpoint;
        let config = session.config();
        let Some(slot) = association.shared.get_mut(connection.way) else { return };
        if !SharedPath::is_for(config) {
            return;
        }
        let path = slot.get_or_insert_with(|| SharedPath::new(config.clone()));
        if path.suits(config) {
            session.share_path(now, path);
            connection.ahead = false;
            self.weigh(now, id);
        }
    }

    /// What an association found out of a way is forgotten: nobody takes it any more.
    pub(super) fn forget_path(&mut self, association: AssociationId, way: usize) {
        if let Some(slot) = self.associations[association].shared.get_mut(way) {
            *slot = None;
        }
    }

    /// A connection that sends a short object gets more of a shared window than bulk.
    pub(super) fn weigh(&mut self, now: Instant, id: usize) {
        let connection = &mut self.connections[id];
        let ahead = connection.object.is_short();
        if std::mem::replace(&mut connection.ahead, ahead) != ahead {
            connection.stream.endpoint.weigh(now, if ahead { AHEAD } else { 1 });
        }
    }
}
