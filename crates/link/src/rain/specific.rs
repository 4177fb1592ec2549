//! What rain takes of a wave on each kilometre: Recommendation ITU-R P.838-3.

use bentpipe_units::{Decibels, Degrees, Gigahertz, RainRate};

/// How the field of a wave lies to the horizon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Polarization {
    /// Along the horizon.
    Horizontal,
    /// Across it.
    Vertical,
    /// It turns.
    Circular,
}

impl Polarization {
    /// The tilt against the horizon that the recommendation takes for it.
    const fn tilt(self) -> Degrees {
        Degrees(match self {
            Self::Horizontal => 0.0,
            Self::Vertical => 90.0,
            Self::Circular => 45.0,
        })
    }
}

/// A bell over the logarithm of the frequency: its height, its middle and its width.
type Bell = (f64, f64, f64);

/// A sum of bells and a straight line over the logarithm of the frequency: equations (2) and (3).
struct Curve<const N: usize> {
    bells: [Bell; N],
    slope: f64,
    constant: f64,
}

impl<const N: usize> Curve<N> {
    fn at(&self, log_of_frequency: f64) -> f64 {
        let bell = |(height, middle, width): &Bell| {
            let from_middle = (log_of_frequency - middle) / width;
            height * libm::exp(-from_middle * from_middle)
        };
        let bells: f64 = self.bells.iter().map(bell).sum();
        bells + self.slope * log_of_frequency + self.constant
    }
}

/// Table 1: the logarithm of k, horizontal.
const LOG_K_HORIZONTAL: Curve<4> = Curve {
    bells: [
        (-5.33980, -0.10008, 1.13098),
        (-0.35351, 1.26970, 0.45400),
        (-0.23789, 0.86036, 0.15354),
        (-0.94158, 0.64552, 0.16817),
    ],
    slope: -0.18961,
    constant: 0.71147,
};
/// Table 2: the logarithm of k, vertical.
const LOG_K_VERTICAL: Curve<4> = Curve {
    bells: [
        (-3.80595, 0.56934, 0.81061),
        (-3.44965, -0.22911, 0.51059),
        (-0.39902, 0.73042, 0.11899),
        (0.50167, 1.07319, 0.27195),
    ],
    slope: -0.16398,
    constant: 0.63297,
};
/// Table 3: alpha, horizontal.
const ALPHA_HORIZONTAL: Curve<5> = Curve {
    bells: [
        (-0.14318, 1.82442, -0.55187),
        (0.29591, 0.77564, 0.19822),
        (0.32177, 0.63773, 0.13164),
        (-5.37610, -0.96230, 1.47828),
        (16.1721, -3.29980, 3.43990),
    ],
    slope: 0.67849,
    constant: -1.95537,
};
/// Table 4: alpha, vertical.
const ALPHA_VERTICAL: Curve<5> = Curve {
    bells: [
        (-0.07771, 2.33840, -0.76284),
        (0.56727, 0.95545, 0.54039),
        (-0.20238, 1.14520, 0.26809),
        (-48.2991, 0.791669, 0.116226),
        (48.5833, 0.791459, 0.116479),
    ],
    slope: -0.053739,
    constant: 0.83433,
};

/// The law of a wave in rain: k R^alpha dB on each kilometre, with the rain rate R in mm/h.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SpecificAttenuation {
    k: f64,
    alpha: f64,
}

impl SpecificAttenuation {
    /// That of a wave of 1 to 1,000 GHz: equations (4) and (5).
    pub(super) fn new(
        frequency: Gigahertz,
        elevation: Degrees,
        polarization: Polarization,
    ) -> Self {
        let log = libm::log10(frequency.0);
        let (k_h, alpha_h) = (libm::exp10(LOG_K_HORIZONTAL.at(log)), ALPHA_HORIZONTAL.at(log));
        let (k_v, alpha_v) = (libm::exp10(LOG_K_VERTICAL.at(log)), ALPHA_VERTICAL.at(log));
        let along = libm::cos(elevation.radians());
        let part = along * along * libm::cos(2.0 * polarization.tilt().radians());
        let mix = |h: f64, v: f64| f64::midpoint(h + v, (h - v) * part);
        let k = mix(k_h, k_v);
        Self { k, alpha: mix(k_h * alpha_h, k_v * alpha_v) / k }
    }

    /// What a kilometre in rain of this rate takes.
    pub(super) fn per_km(&self, rain: RainRate) -> Decibels {
        Decibels(self.k * libm::pow(rain.0, self.alpha))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k_and_alpha_are_those_of_the_recommendations_table() {
        // Table 5 of ITU-R P.838-3, with its four digits: GHz, kH, alphaH, kV, alphaV.
        for (ghz, k_h, alpha_h, k_v, alpha_v) in [
            (1.0, 0.0000259, 0.9691, 0.0000308, 0.8592),
            (10.0, 0.01217, 1.2571, 0.01129, 1.2156),
            (12.0, 0.02386, 1.1825, 0.02455, 1.1216),
            (20.0, 0.09164, 1.0568, 0.09611, 0.9847),
            (30.0, 0.2403, 0.9485, 0.2291, 0.9129),
            (40.0, 0.4431, 0.8673, 0.4274, 0.8421),
            (50.0, 0.6600, 0.8084, 0.6472, 0.7871),
        ] {
            for (polarization, k, alpha) in
                [(Polarization::Horizontal, k_h, alpha_h), (Polarization::Vertical, k_v, alpha_v)]
            {
                let law = SpecificAttenuation::new(Gigahertz(ghz), Degrees(0.0), polarization);
                assert!((law.k / k - 1.0).abs() < 2e-3, "{ghz} GHz: {law:?}, {k}");
                assert!((law.alpha - alpha).abs() < 1e-4, "{ghz} GHz: {law:?}, {alpha}");
            }
        }
    }

    #[test]
    fn slant_waves_agree_with_the_validation_examples() {
        // ITU-R Study Group 3, validation examples for P.838-3, as ITU-Rpy has them in
        // `test/test_data/838/ITURP838-3_rain_specific_attenuation.csv`.
        for (elevation, ghz, polarization, rain, k, alpha, db) in [
            (
                31.07699124,
                14.25,
                Polarization::Horizontal,
                26.48052,
                0.03975488,
                1.12418043,
                1.58130839,
            ),
            (
                46.35969261,
                29.0,
                Polarization::Horizontal,
                27.13586832,
                0.21978097,
                0.9484851,
                5.03135479,
            ),
            (
                48.24117054,
                14.25,
                Polarization::Vertical,
                63.62668149,
                0.04226474,
                1.07871664,
                3.72901264,
            ),
            (
                20.14335809,
                29.0,
                Polarization::Vertical,
                42.91007183,
                0.21298877,
                0.92265917,
                6.83364556,
            ),
        ] {
            let law = SpecificAttenuation::new(Gigahertz(ghz), Degrees(elevation), polarization);
            assert!((law.k - k).abs() < 1e-7 && (law.alpha - alpha).abs() < 1e-7, "{law:?}");
            let per_km = law.per_km(RainRate(rain)).0;
            assert!((per_km - db).abs() < 1e-6, "{per_km}");
        }
    }
}
