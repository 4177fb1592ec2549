//! Whoever wants to watch a run while it happens.

use bentpipe_record::{ProxySample, Sample};
use bentpipe_units::{ByteCount, Instant, Span};

use crate::Envelope;

/// Watches a run. What it sees cannot change what happens.
pub trait Observer {
    /// Time between samples; `None` takes none.
    fn sample_every(&self) -> Option<Span> {
        None
    }

    /// A sample of one flow.
    fn sample(&mut self, _sample: &Sample) {}

    /// A sample of one proxy and flow.
    fn proxy(&mut self, _sample: &ProxySample) {}

    /// Whether [`Observer::queue`] wants to be told; to know takes time.
    fn wants_queues(&self) -> bool {
        false
    }

    /// The bytes that wait for a direction of a link at the time of samples, numbered as in [`RunSpec::directions`]; those of
    /// all the satellites' links of a kind together. Of queues that say nothing it is not called.
    ///
    /// [`RunSpec::directions`]: crate::RunSpec::directions
    fn queue(&mut self, _at: Instant, _direction: usize, _waiting: ByteCount) {}

    /// Whether the run is to go on, asked now and then. Whoever has seen enough ends it here: what the summary has is
    /// what happened until then.
    fn goes_on(&self) -> bool {
        true
    }

    /// Whether [`Observer::packet`] wants to see packets; encoding them takes time.
    fn wants_packets(&self) -> bool {
        false
    }

    /// A packet was handed to a direction of a link, numbered as in the summary. `bytes` is the
    /// segment as it is on the wire.
    fn packet(&mut self, _at: Instant, _channel: usize, _packet: &PacketSeen<'_>) {}

    /// A packet that had waited for a line of media access was sent: its last bit leaves at `at`. `bytes` is its length
    /// on the link.
    fn departs(&mut self, _at: Instant, _channel: usize, _bytes: ByteCount) {}
}

/// A packet as an observer sees it.
#[derive(Clone, Copy, Debug)]
pub struct PacketSeen<'a> {
    /// What the headers around the segment say.
    pub envelope: Envelope,
    /// The segment's bytes, and those of the congestion header before it.
    pub bytes: &'a [u8],
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}
