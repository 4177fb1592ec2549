//! Means and their confidence.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// A mean over replications.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Standard deviation of the values.
    pub sd: f64,
    /// Half width of the 95 % confidence interval of the mean.
    pub ci95: f64,
    /// Number of values.
    pub n: u64,
}

impl Estimate {
    /// The estimate from these values (Student's t). One value has no spread and no interval: both
    /// are zero.
    pub fn of(values: &[f64]) -> Self {
        let n = values.len() as f64;
        if values.is_empty() {
            return Self { mean: f64::NAN, sd: f64::NAN, ci95: f64::NAN, n: 0 };
        }
        let mean = values.iter().sum::<f64>() / n;
        let spread: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
        let sd = if values.len() > 1 { (spread / (n - 1.0)).sqrt() } else { 0.0 };
        let t = StudentsT::new(0.0, 1.0, n - 1.0).map_or(0.0, |t| t.inverse_cdf(0.975));
        Self { mean, sd, ci95: t * sd / n.sqrt(), n: values.len() as u64 }
    }

    /// The estimate of the difference of paired values.
    pub fn of_difference(a: &[f64], b: &[f64]) -> Self {
        let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
        Self::of(&differences)
    }

    /// The whole interval lies below zero.
    pub fn is_below_zero(&self) -> bool {
        self.mean + self.ci95 < 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_five_values_uses_students_t() {
        let e = Estimate::of(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!((e.mean, e.n), (3.0, 5));
        assert!((e.sd - 1.581_138_83).abs() < 1e-8);
        // t(0.975, 4) = 2.776445
        assert!((e.ci95 - 2.776_445 * 1.581_138_83 / 5f64.sqrt()).abs() < 1e-5);
    }

    #[test]
    fn one_value_has_no_interval() {
        assert_eq!(Estimate::of(&[7.0]), Estimate { mean: 7.0, sd: 0.0, ci95: 0.0, n: 1 });
    }

    #[test]
    fn pairing_removes_what_both_share() {
        let a = [10.0, 20.0, 30.0];
        let b = [9.0, 19.0, 29.0];
        let e = Estimate::of_difference(&a, &b);
        assert_eq!((e.mean, e.ci95), (1.0, 0.0));
        assert!(Estimate::of_difference(&b, &a).is_below_zero());
    }
}
