//! Modulation and coding of DVB-S2: ETSI EN 302 307-1, table 13.

use bentpipe_units::Decibels;

/// Lost frames at the threshold: the table's quasi error free, a packet in ten million.
const QUASI_ERROR_FREE: f64 = 1e-7;
/// Below the threshold the share of lost frames rises tenfold with each so many dB, so that all are lost 0.35 dB below. The
/// standard gives the threshold only; codes of 64,800 bits are that steep.
const DECADE: f64 = 0.05;

/// A modulation and a code (MODCOD).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modcod {
    name: &'static str,
    efficiency: f64,
    threshold: f64,
}

const fn modcod(name: &'static str, efficiency: f64, threshold: f64) -> Modcod {
    Modcod { name, efficiency, threshold }
}

/// All of them with normal frames and without pilots, in the order of the table: the name, the spectral efficiency in bits
/// for each symbol, and the ideal Es/N0 in dB at which they are quasi error free in white Gaussian noise.
static MODCODS: [Modcod; 28] = [
    modcod("QPSK 1/4", 0.490243, -2.35),
    modcod("QPSK 1/3", 0.656448, -1.24),
    modcod("QPSK 2/5", 0.789412, -0.30),
    modcod("QPSK 1/2", 0.988858, 1.00),
    modcod("QPSK 3/5", 1.188304, 2.23),
    modcod("QPSK 2/3", 1.322253, 3.10),
    modcod("QPSK 3/4", 1.487473, 4.03),
    modcod("QPSK 4/5", 1.587196, 4.68),
    modcod("QPSK 5/6", 1.654663, 5.18),
    modcod("QPSK 8/9", 1.766451, 6.20),
    modcod("QPSK 9/10", 1.788612, 6.42),
    modcod("8PSK 3/5", 1.779991, 5.50),
    modcod("8PSK 2/3", 1.980636, 6.62),
    modcod("8PSK 3/4", 2.228124, 7.91),
    modcod("8PSK 5/6", 2.478562, 9.35),
    modcod("8PSK 8/9", 2.646012, 10.69),
    modcod("8PSK 9/10", 2.679207, 10.98),
    modcod("16APSK 2/3", 2.637201, 8.97),
    modcod("16APSK 3/4", 2.966728, 10.21),
    modcod("16APSK 4/5", 3.165623, 11.03),
    modcod("16APSK 5/6", 3.300184, 11.61),
    modcod("16APSK 8/9", 3.523143, 12.89),
    modcod("16APSK 9/10", 3.567342, 13.13),
    modcod("32APSK 3/4", 3.703295, 12.73),
    modcod("32APSK 4/5", 3.951571, 13.64),
    modcod("32APSK 5/6", 4.119540, 14.28),
    modcod("32APSK 8/9", 4.397854, 15.69),
    modcod("32APSK 9/10", 4.453027, 16.05),
];

impl Modcod {
    /// All of them, in the order of the table.
    pub fn all() -> &'static [Self] {
        &MODCODS
    }

    /// The one of this name, such as `8PSK 3/4`.
    pub fn named(name: &str) -> Option<Self> {
        MODCODS.iter().copied().find(|modcod| modcod.name == name)
    }

    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Bits for each symbol.
    pub const fn efficiency(&self) -> f64 {
        self.efficiency
    }

    /// The Es/N0 at which it is quasi error free.
    pub const fn threshold(&self) -> Decibels {
        Decibels(self.threshold)
    }

    /// The share of frames that are lost at this Es/N0.
    pub fn frame_error_rate(&self, es_n0: Decibels) -> f64 {
        let decades = (self.threshold - es_n0.0) / DECADE;
        (QUASI_ERROR_FREE * libm::exp10(decades)).min(1.0)
    }

    /// Those of some that are worth it, from the most robust one up: each is more efficient than all that need no more.
    pub(super) fn ladder(some: &[Self]) -> Vec<Self> {
        let mut sorted = some.to_vec();
        sorted.sort_by(|a, b| {
            a.threshold.total_cmp(&b.threshold).then(b.efficiency.total_cmp(&a.efficiency))
        });
        let mut best = 0.0;
        sorted.retain(|modcod| {
            modcod.efficiency > best && {
                best = modcod.efficiency;
                true
            }
        });
        sorted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ladder_leaves_out_what_needs_more_for_less() {
        let ladder = Modcod::ladder(Modcod::all());
        assert!(
            ladder.is_sorted_by(|a, b| a.threshold < b.threshold && a.efficiency < b.efficiency)
        );
        let names: Vec<_> = ladder.iter().map(Modcod::name).collect();
        assert_eq!((names[0], names[names.len() - 1]), ("QPSK 1/4", "32APSK 9/10"));
        for beaten in ["QPSK 8/9", "8PSK 8/9", "8PSK 9/10", "16APSK 8/9", "16APSK 9/10"] {
            assert!(!names.contains(&beaten), "{beaten}");
        }
        assert!(names.contains(&"8PSK 3/5") && names.contains(&"16APSK 2/3"));
    }

    #[test]
    fn frames_are_lost_below_the_threshold_and_not_above() {
        let modcod = Modcod::named("QPSK 3/4").expect("it is there");
        let at = |above: f64| modcod.frame_error_rate(Decibels(4.03 + above));
        assert!((at(0.0) / 1e-7 - 1.0).abs() < 1e-9);
        assert!((at(-0.2) / 1e-3 - 1.0).abs() < 1e-6);
        assert_eq!(at(-0.36), 1.0);
        assert!(at(1.0) < 1e-20);
    }
}
