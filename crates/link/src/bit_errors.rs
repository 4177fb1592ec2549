//! Independent bit errors.

use bentpipe_units::{ByteCount, Instant};

use crate::{Fate, Model, Passing, Stream};

/// The probability that a packet of `bytes` has at least one wrong bit when each bit is wrong with
/// probability `ber`, independently: 1 - (1 - ber)^(8 bytes).
///
/// `ber` outside 0..=1 counts as the nearer end.
pub fn packet_error_rate(ber: f64, bytes: ByteCount) -> f64 {
    error_rate(log_of_good_bit(ber), bytes)
}

/// The logarithm of the probability that a bit is right.
fn log_of_good_bit(ber: f64) -> f64 {
    libm::log1p(-ber.clamp(0.0, 1.0))
}

fn error_rate(log_of_good_bit: f64, bytes: ByteCount) -> f64 {
    if bytes == ByteCount::ZERO {
        return 0.0; // and not 0 times infinity
    }
    // The power itself would lose all digits of a small rate to the 1 before it.
    -libm::expm1(bytes.bits() as f64 * log_of_good_bit)
}

/// Packets arrive with bit errors at random, the longer the likelier.
///
/// A packet hit is not lost: it still takes its time on the links that follow.
#[derive(Clone, Debug)]
pub struct BitErrors {
    log_of_good_bit: f64,
    stream: Stream,
    /// The last two sizes and their error rates: most traffic has one size of data and one of
    /// acknowledgments.
    cache: [(ByteCount, f64); 2],
}

impl BitErrors {
    /// Bit errors at rate `ber`, drawn from `stream`. Sensible rates lie in 0..=1e-3; others are
    /// taken as [`packet_error_rate`] takes them.
    pub fn new(ber: f64, stream: Stream) -> Self {
        let cache = [(ByteCount::ZERO, 0.0); 2];
        Self { log_of_good_bit: log_of_good_bit(ber), stream, cache }
    }

    fn rate_for(&mut self, bytes: ByteCount) -> f64 {
        if self.cache[0].0 != bytes {
            self.cache.swap(0, 1);
            if self.cache[0].0 != bytes {
                self.cache[0] = (bytes, error_rate(self.log_of_good_bit, bytes));
            }
        }
        self.cache[0].1
    }
}

impl Model for BitErrors {
    fn pass(&mut self, at: Instant, packet: &Passing) -> Fate {
        let rate = self.rate_for(packet.bytes);
        if self.stream.chance(rate) { Fate::LeavesCorrupt(at) } else { Fate::Leaves(at) }
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_wire::Kind;

    use super::*;
    use crate::Streams;

    #[test]
    fn packet_error_rates_are_those_of_the_table() {
        let table = [
            (1024, [0.559, 0.0787, 8.16e-3, 8.19e-4, 8.19e-5]),
            (564, [0.363, 0.0441, 4.50e-3, 4.51e-4, 4.51e-5]),
            (552, [0.357, 0.0432, 4.41e-3, 4.42e-4, 4.42e-5]),
            (128, [0.0973, 0.0102, 1.02e-3, 1.02e-4, 1.02e-5]),
            (40, [0.0315, 3.20e-3, 3.20e-4, 3.20e-5, 3.2e-6]),
        ];
        for (bytes, row) in table {
            for (ber, expected) in [1e-4, 1e-5, 1e-6, 1e-7, 1e-8].into_iter().zip(row) {
                let rate = packet_error_rate(ber, ByteCount::new(bytes));
                // The table has three digits, of which the last is rounded.
                assert!((rate / expected - 1.0).abs() < 5e-3, "{bytes} B at {ber}: {rate}");
            }
        }
    }

    #[test]
    fn the_ends_of_the_range_are_defined() {
        let kilobyte = ByteCount::new(1000);
        assert_eq!(packet_error_rate(0.0, kilobyte), 0.0);
        assert_eq!(packet_error_rate(-1.0, kilobyte), 0.0);
        assert_eq!(packet_error_rate(1.0, kilobyte), 1.0);
        assert_eq!(packet_error_rate(2.0, kilobyte), 1.0);
        assert_eq!(packet_error_rate(1.0, ByteCount::ZERO), 0.0);
    }

    #[test]
    fn as_many_packets_are_hit_as_the_rate_says() {
        const PACKETS: u32 = 200_000;
        for (ber, sizes) in [(1e-5, [1024, 1024]), (1e-5, [1040, 40]), (1e-4, [552, 128])] {
            let mut model = BitErrors::new(ber, Streams::new(1).stream("bit errors"));
            let mut hit = [0u32; 2];
            for n in 0..2 * PACKETS {
                let which = n as usize % 2;
                let packet = Passing { bytes: ByteCount::new(sizes[which]), kind: Kind::DATA };
                let at = Instant::from_nanos(u64::from(n));
                match model.pass(at, &packet) {
                    Fate::LeavesCorrupt(left) => {
                        assert_eq!(left, at);
                        hit[which] += 1;
                    }
                    passed => assert_eq!(passed, Fate::Leaves(at)),
                }
            }
            for (bytes, hit) in sizes.into_iter().zip(hit) {
                let rate = packet_error_rate(ber, ByteCount::new(bytes));
                let n = f64::from(PACKETS);
                let sigma = (n * rate * (1.0 - rate)).sqrt();
                let off = (f64::from(hit) - n * rate) / sigma;
                assert!(off.abs() < 4.0, "{bytes} B at {ber}: {hit} hit, {off:.1} sigma off");
            }
        }
    }

    #[test]
    fn the_cache_never_changes_a_rate() {
        let mut model = BitErrors::new(1e-6, Streams::new(1).stream("cache"));
        for bytes in [1040, 40, 1040, 40, 552, 40, 1040, 1040, 0, 552, 40, 0] {
            let bytes = ByteCount::new(bytes);
            assert_eq!(model.rate_for(bytes), packet_error_rate(1e-6, bytes));
        }
    }
}
