//! What the window field counts by.

/// Bytes that the window field counts by: a power of two unless it counts segments, so that stating a window,
/// which every segment does, needs no division.
#[derive(Clone, Copy, Debug)]
pub(super) struct WindowUnit {
    bytes: u64,
    /// Places by which a number of units is shifted to bytes.
    shift: Option<u32>,
}

impl WindowUnit {
    /// A unit of so many bytes, at least 1.
    pub(super) const fn new(bytes: u64) -> Self {
        let bytes = if bytes == 0 { 1 } else { bytes };
        let shift = if bytes.is_power_of_two() { Some(bytes.trailing_zeros()) } else { None };
        Self { bytes, shift }
    }

    /// Bytes of the unit.
    pub(super) const fn bytes(self) -> u64 {
        self.bytes
    }

    /// The most whole units that fit, in bytes.
    #[inline]
    pub(super) const fn floor(self, bytes: u64) -> u64 {
        match self.shift {
            Some(shift) => bytes >> shift << shift,
            None => bytes / self.bytes * self.bytes,
        }
    }

    /// The least number of units that hold so many bytes.
    #[inline]
    pub(super) const fn fields(self, bytes: u64) -> u64 {
        match self.shift {
            Some(shift) => (bytes >> shift) + (bytes & (self.bytes - 1) != 0) as u64,
            None => bytes.div_ceil(self.bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_units_are_counted_with_and_without_a_division() {
        for unit in [1, 2, 64, 1 << 14, 1000, 1460] {
            let counted = WindowUnit::new(unit);
            for bytes in [0, 1, 63, 64, 65, 999, 1000, 1001, 65_535, 1 << 30, u64::MAX] {
                assert_eq!(counted.floor(bytes), bytes / unit * unit, "{bytes} by {unit}");
                assert_eq!(counted.fields(bytes), bytes.div_ceil(unit), "{bytes} by {unit}");
            }
        }
    }
}
