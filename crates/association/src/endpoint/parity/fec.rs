//! How much parity there is.

use std::str::FromStr;

use super::MOST_PARITY;
use super::losses::Losses;

/// Standard deviations of the number of losses that parity covers besides their mean, and where they come in bursts: these make
/// them so large that more parity takes longer than what it saves.
const SIGMAS: f64 = 4.0;
const SIGMAS_OF_BURSTS: f64 = 2.0;
/// Shares of losses above this are congestion or a blackout: no parity helps.
const SHARE_MAX: f64 = 0.3;

/// Forward error correction: whether the end of each burst is protected by parity.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Fec {
    /// As much as the measured losses ask for; none on a clean link.
    #[default]
    Auto,
    /// None.
    Off,
    /// So much for every datagram, from 0 to 1.
    Ratio(f64),
}

impl Fec {
    /// Whether there is parity after such losses.
    pub(super) const fn protects(self, losses: &Losses) -> bool {
        match self {
            Self::Auto => losses.are_noticed(),
            Self::Off => false,
            Self::Ratio(_) => true,
        }
    }

    /// Parity datagrams over so many others.
    pub(super) fn count(self, losses: &Losses, of: usize) -> u16 {
        match self {
            Self::Auto if losses.share() > SHARE_MAX => 0,
            Self::Auto => against(losses.share(), losses.dispersion(), of),
            Self::Off => 0,
            Self::Ratio(ratio) => (ratio * of as f64).ceil().min(f64::from(MOST_PARITY)) as u16,
        }
    }
}

impl FromStr for Fec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "auto" => Ok(Self::Auto),
            "off" => Ok(Self::Off),
            _ => match text.parse() {
                Ok(ratio) if (0.0..=1.0).contains(&ratio) => Ok(Self::Ratio(ratio)),
                _ => Err("it is `auto`, `off` or a ratio from 0 to 1".to_owned()),
            },
        }
    }
}

/// Parity datagrams over so many others if a share of all gets lost: the losses to be expected, and some
/// standard deviations more. Their number varies so many times as much as that of single losses.
fn against(share: f64, dispersion: f64, of: usize) -> u16 {
    let sigmas = SIGMAS.max(SIGMAS_OF_BURSTS * libm::sqrt(dispersion));
    let enough = |count: &u16| {
        let expected = (of as f64 + f64::from(*count)) * share;
        f64::from(*count) >= expected + sigmas * libm::sqrt(expected * (1.0 - share))
    };
    (1..=MOST_PARITY).find(enough).unwrap_or(MOST_PARITY)
}

#[cfg(test)]
mod tests {
    use super::super::Received;
    use super::*;

    #[test]
    fn parity_covers_what_is_expected_to_be_lost_and_four_standard_deviations() {
        assert_eq!(against(0.01, 1.0, 70), 5);
        assert_eq!(against(0.01, 1.0, 1), 1);
        assert_eq!(against(0.1, 1.0, 1), 3);
        assert_eq!(against(0.01, 1.0, 2600), 47);
        assert_eq!(against(0.3, 1.0, 16_384), MOST_PARITY);
        assert_eq!(against(0.05, 4.0, 640), against(0.05, 1.0, 640));
        assert_eq!([1.0, 19.0].map(|dispersion| against(0.05, dispersion, 640)), [58, 88]);
    }

    #[test]
    fn a_clean_link_and_a_dead_one_get_no_parity() {
        let mut losses = Losses::default();
        losses.report(Received { next: 5000, count: 5000 });
        assert!(!Fec::Auto.protects(&losses) && !Fec::Off.protects(&losses));
        assert!(Fec::Ratio(0.1).protects(&losses));
        assert_eq!(Fec::Ratio(0.1).count(&losses, 11), 2);
        losses.report(Received { next: 10_000, count: 5000 });
        assert_eq!(Fec::Auto.count(&losses, 11), 0);
    }

    #[test]
    fn what_a_user_may_say_is_read() {
        assert_eq!("auto".parse(), Ok(Fec::Auto));
        assert_eq!("off".parse(), Ok(Fec::Off));
        assert_eq!("0.05".parse(), Ok(Fec::Ratio(0.05)));
        assert!("5".parse::<Fec>().is_err() && "often".parse::<Fec>().is_err());
    }
}
