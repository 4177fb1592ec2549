//! Traffic for the tests of shared uplinks.

use std::collections::BTreeMap;

use bentpipe_units::{ByteCount, Instant, Span};

use super::Mac;
use crate::queue::testing::{Watched, data};
use crate::queue::{Discipline, DropTail, Held};
use crate::{QueueLimit, Streams};

/// Queues without a limit.
pub(super) fn drop_tail(terminals: u16) -> impl Iterator<Item = Box<dyn Discipline>> {
    (0..terminals)
        .map(|_| -> Box<dyn Discipline> { Box::new(DropTail::new(QueueLimit::Packets(2000))) })
}

/// Offers packets of this size at random times, `rate` bytes a second over all terminals, for 100 s.
/// Returns the mean delay in seconds and what got through in bytes per second, both from the 20th
/// second on.
pub(super) fn load(mac: &mut impl Mac, terminals: u16, bytes: u64, rate: f64) -> (f64, f64) {
    let (begin, end) = (Instant::ZERO + Span::from_secs(20), Instant::ZERO + Span::from_secs(100));
    let mut stream = Streams::new(3).stream("traffic");
    let mut seen = Watched::default();
    let mut came = BTreeMap::new();
    let mut next = Instant::ZERO;
    let mut id = 0;
    while next < end {
        while let Some(at) = mac.poll_timeout()
            && at < next
        {
            mac.handle_timeout(at, &mut seen);
        }
        let line = stream.below(u64::from(terminals)) as u16;
        came.insert(id, next);
        let packet = Held { line, bytes: ByteCount::new(bytes), ..data(id) };
        mac.enqueue(next, packet, &mut seen);
        id += 1;
        next += Span::from_secs_f64(stream.exponential(bytes as f64 / rate));
    }
    let measured: Vec<_> =
        seen.departed.iter().filter(|(_, at)| (begin..end).contains(at)).collect();
    let delays = measured.iter().map(|(id, at)| at.since(came[id]).as_secs_f64());
    let mean = delays.sum::<f64>() / measured.len() as f64;
    (mean, measured.len() as f64 * bytes as f64 / end.since(begin).as_secs_f64())
}
