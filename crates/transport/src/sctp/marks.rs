//! What marks of routers do to the sender (RFC 4960, appendix A).

use bentpipe_cc::Signal;
use bentpipe_units::{Instant, Seq32};

use super::sender::Sender;

impl Sender {
    /// The peer tells of a mark on the packet with this lowest TSN. Gives the TSN that the answer, CWR,
    /// names; `None` when it was not sent.
    pub(super) fn handle_ecne(&mut self, now: Instant, tsn: Seq32) -> Option<Seq32> {
        if !self.ecn || !tsn.is_before(self.flight.next()) {
            return None;
        }
        let path = self.flight.of(tsn).map_or(self.data_path(), |chunk| chunk.path);
        let highest = self.flight.next().plus(u32::MAX);
        let reduced = self.paths[path].marked_up_to;
        self.paths[path].marked_at = Some(now);
        let in_recovery = self.paths[path].recovery.is_some();
        if reduced.is_none_or(|edge| tsn.is_after(edge)) && !in_recovery {
            self.paths[path].marked_up_to = Some(highest);
            let view = self.view(now, path, true);
            self.paths[path].controller.on_signal(&view, &Signal::EcnCe);
            self.reductions += 1;
        }
        Some(tsn)
    }
}
