//! XCP's congestion header: what routers are asked for, and what comes back of it
//! (draft-falk-xcp-spec-03, section 3).

use bentpipe_cc::{PathRequest, Signal};
use bentpipe_units::Instant;
use bentpipe_wire::tcp::PROTOCOL;
use bentpipe_wire::xcp::{Header, RateChange, Request};

use super::connection::{Connection, Stage};
use super::sender::Sender;

/// What routers left of the peer's requests and was not sent back yet.
#[derive(Debug, Default)]
pub(super) struct Feedback {
    /// The peer asks: acknowledgements tell it what was left.
    wanted: bool,
    /// Bytes per second, summed over its segments since the last acknowledgement.
    owed: i64,
    /// What goes before the segment that was written last.
    pub(super) header: Option<Header>,
}

impl Feedback {
    /// What is to be sent back now.
    fn take(&mut self) -> RateChange {
        RateChange::from_bytes_per_sec(clamp(std::mem::take(&mut self.owed)))
    }
}

impl Connection {
    /// Takes the congestion header of a segment that arrives.
    pub(super) fn take_feedback(&mut self, now: Instant, header: &Header) {
        if let Some(request) = header.request {
            self.feedback.wanted = true;
            self.feedback.owed += i64::from(request.delta_throughput.bytes_per_sec());
        }
        let change = i64::from(header.reverse_feedback.bytes_per_sec());
        if let Some(srtt) = self.tx.rtt.measured()
            && change != 0
            && self.stage == Stage::Open
        {
            let delta = (change as f64 * srtt.as_secs_f64()) as i64;
            self.tx.signal(now, &Signal::Explicit { delta });
            self.mark_dirty();
        }
    }

    /// Writes the congestion header of a segment that leaves, if it has one; only data ask for anything.
    #[inline(always)]
    pub(super) fn write_congestion_header(&mut self, now: Instant, data: bool) {
        if self.tx.explicit || self.feedback.wanted {
            self.feedback.header = self.congestion_header(now, data);
        }
    }

    #[inline(never)]
    fn congestion_header(&mut self, now: Instant, data: bool) -> Option<Header> {
        let request = if data { self.tx.request(now) } else { None };
        if request.is_none() && !self.feedback.wanted {
            return None;
        }
        let reverse_feedback = self.feedback.take();
        Some(Header { protocol: PROTOCOL, request, reverse_feedback })
    }
}

impl Sender {
    /// Whether the controller asks routers for anything at all.
    pub(super) fn asks(&self, now: Instant) -> bool {
        self.controller.path_request(&self.path_view(now)).is_some()
    }

    /// What a segment of data asks the routers for: its part of what the controller wants in a round
    /// trip.
    fn request(&self, now: Instant) -> Option<Request> {
        if !self.explicit {
            return None;
        }
        let PathRequest { cwnd, delta, .. } = self.controller.path_request(&self.path_view(now))?;
        let packets = (cwnd.get() as f64 / self.mss() as f64).max(1.0);
        let Some(srtt) = self.rtt.measured() else {
            return Some(Request::default());
        };
        let seconds = srtt.as_secs_f64().max(1e-6);
        let change = (delta as f64 / packets / seconds) as i64;
        Some(Request {
            rtt: Some(srtt),
            packet_interval: srtt.mul_f64(1.0 / packets),
            delta_throughput: RateChange::from_bytes_per_sec(clamp(change)),
        })
    }
}

fn clamp(change: i64) -> i32 {
    change.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
}
