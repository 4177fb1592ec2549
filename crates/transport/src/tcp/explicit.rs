//! XCP's congestion header: what routers are asked for, and what comes back of it
//! (draft-falk-xcp-spec-03, section 3). BA-TCP asks in the same header for the bandwidth that there is.

use bentpipe_wire::tcp::PROTOCOL;
use bentpipe_wire::xcp::{Header, RateChange, Request, Wish};

/// What routers left of the peer's requests and was not sent back yet.
#[derive(Debug, Default)]
pub(super) struct Feedback {
    /// The peer asks: acknowledgements tell it what was left.
    wanted: bool,
    /// Bytes per second, summed over its segments since the last acknowledgement.
    owed: i64,
    /// The bandwidth that routers stated last, if that is what the peer asks for: it is told with every
    /// acknowledgement, so that a lost one takes nothing.
    bandwidth: Option<RateChange>,
    /// What goes before the segment that was written last.
    header: Option<Header>,
}

impl Feedback {
    /// Takes what routers left of a request of the peer.
    pub(super) fn take_request(&mut self, request: &Request) {
        self.wanted = true;
        match request.wish {
            Wish::Change => self.owed += i64::from(request.delta_throughput.bytes_per_sec()),
            Wish::Bandwidth => self.bandwidth = Some(request.delta_throughput),
        }
    }

    /// The peer asks.
    #[inline]
    pub(super) const fn is_wanted(&self) -> bool {
        self.wanted
    }

    /// Writes the header of a segment that leaves with this request. What is owed goes with it.
    #[inline(never)]
    pub(super) fn write(&mut self, request: Option<Request>) {
        self.header = (request.is_some() || self.wanted).then(|| {
            let owed = std::mem::take(&mut self.owed);
            let sum = RateChange::from_bytes_per_sec(clamp(owed));
            let reverse_feedback = self.bandwidth.unwrap_or(sum);
            Header { protocol: PROTOCOL, request, reverse_feedback }
        });
    }

    /// What goes before the segment that was written last; once.
    #[inline]
    pub(super) const fn take_header(&mut self) -> Option<Header> {
        self.header.take()
    }
}

pub(super) fn clamp(change: i64) -> i32 {
    change.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_routers_left_goes_back_once_in_sum() {
        let left = |change| Request {
            delta_throughput: RateChange::from_bytes_per_sec(change),
            ..Request::default()
        };
        let mut feedback = Feedback::default();
        feedback.write(None);
        assert!(feedback.take_header().is_none() && !feedback.is_wanted());
        [3_000, -1_000].into_iter().for_each(|change| feedback.take_request(&left(change)));
        for expected in [2_000, 0] {
            feedback.write(None);
            let header = feedback.take_header().expect("the peer asks");
            assert_eq!(header.reverse_feedback.bytes_per_sec(), expected);
        }
    }

    #[test]
    fn the_bandwidth_that_was_stated_last_goes_back_again_and_again() {
        let mut feedback = Feedback::default();
        let stated = [9_000, 5_000].map(RateChange::from_bytes_per_sec);
        for delta_throughput in stated {
            let wish = Wish::Bandwidth;
            feedback.take_request(&Request { delta_throughput, wish, ..Request::default() });
        }
        for _ in 0..2 {
            feedback.write(None);
            let header = feedback.take_header().expect("the peer asks");
            assert_eq!(header.reverse_feedback, stated[1]);
        }
    }
}
