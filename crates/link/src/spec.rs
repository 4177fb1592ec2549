//! Models described as data, and built for one direction of a link.

use std::mem::{self, Discriminant};

use bentpipe_units::{BitRate, Instant, Span};

use crate::rain::{RainLine, RainSpec};
use crate::{
    Action, Arq, ArqConfig, BitErrors, Blackout, Delay, Fade, Fec, FecConfig, GilbertElliott,
    GilbertElliottConfig, ModelChoice, Opportunities, OpportunityQueue, QueueLimit, RandomLoss,
    RateQueue, Rule, Script, Series, SteppedDelay, SteppedLoss, SteppedRate, SteppedState, Streams,
    Timeline, XDelDrop, XDelDropConfig,
};

/// One model of a link and its settings.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelSpec {
    /// [`RateQueue`].
    Rate {
        /// Line rate.
        rate: BitRate,
        /// What may wait.
        queue: QueueLimit,
    },
    /// [`SteppedRate`] with one rate and fades.
    FadingRate {
        /// Line rate between fades.
        rate: BitRate,
        /// What may wait.
        queue: QueueLimit,
        /// In the order of time, not overlapping.
        fades: Vec<Fade>,
    },
    /// [`SteppedRate`].
    SteppedRate {
        /// Line rates, `None` for nothing.
        rates: Timeline<Option<BitRate>>,
        /// What may wait.
        queue: QueueLimit,
    },
    /// [`RainLine`].
    Rain(Box<RainSpec>),
    /// [`OpportunityQueue`].
    Opportunities {
        /// When something may leave.
        opportunities: Opportunities,
        /// What may wait.
        queue: QueueLimit,
    },
    /// [`SteppedDelay`].
    SteppedDelay {
        /// One-way delays.
        delays: Timeline<Span>,
        /// Packets may overtake each other.
        reorders: bool,
    },
    /// [`SteppedLoss`] with these probabilities.
    SteppedLoss(Timeline<f64>),
    /// [`SteppedState`]: whether the link is up.
    SteppedState(Timeline<bool>),
    /// [`Delay`].
    Delay(Span),
    /// [`BitErrors`] with this probability of a wrong bit.
    BitErrors(f64),
    /// [`Fec`] over a line on which a bit is wrong with this probability.
    Fec {
        /// The code.
        config: FecConfig,
        /// Probability of a wrong bit before it is corrected.
        ber: f64,
    },
    /// [`Arq`] for what these models lose or damage.
    Arq {
        /// How often and when.
        config: ArqConfig,
        /// What happens to each transmission.
        losses: Vec<Self>,
    },
    /// [`RandomLoss`] with this probability.
    RandomLoss(f64),
    /// [`GilbertElliott`].
    GilbertElliott(GilbertElliottConfig),
    /// [`Blackout`] at these times, for so long.
    Blackouts(Vec<(Instant, Span)>),
    /// [`Blackout`] again and again.
    PeriodicBlackout {
        /// Begin of the first one.
        first: Instant,
        /// From one begin to the next.
        every: Span,
        /// How long each lasts.
        lasts: Span,
    },
    /// [`Script`].
    Script(Vec<Rule>),
    /// [`XDelDrop`].
    XDelDrop {
        /// Settings of the channel.
        config: XDelDropConfig,
        /// Each direction has a channel of its own; otherwise both see the same states at the same
        /// times.
        independent: bool,
    },
    /// A model that the program brings.
    Custom(ModelChoice),
}

impl ModelSpec {
    /// Builds the models of one direction of the link `link`. `direction` names it among the
    /// directions of the link and keeps its random draws apart from the other's.
    pub fn build_series(specs: &[Self], streams: &Streams, link: &str, direction: &str) -> Series {
        let mut series = Series::default();
        for (place, spec) in specs.iter().enumerate() {
            // Numbered among its own kind: a model of another kind shifts nobody's draws.
            let like = specs[..place].iter().filter(|other| other.kind() == spec.kind()).count();
            spec.push_to(&mut series, streams, link, direction, like);
        }
        series
    }

    /// The times at which the model is a link that is down, if it is one.
    pub fn blackout(&self) -> Option<Blackout> {
        match self {
            Self::Blackouts(list) => Some(Blackout::scripted(list.clone())),
            Self::PeriodicBlackout { first, every, lasts } => {
                Some(Blackout::periodic(*first, *every, *lasts))
            }
            _ => None,
        }
    }

    /// Whether packets leave in the order in which they enter.
    pub fn keeps_order(&self) -> bool {
        match self {
            Self::Script(rules) => !rules.iter().any(|r| matches!(r.action, Action::Delay(_))),
            Self::XDelDrop { config, .. } => config.fifo,
            Self::SteppedDelay { reorders, .. } => !reorders,
            Self::Arq { config, .. } => config.in_order,
            Self::Custom(choice) => choice.row().keeps_order,
            _ => true,
        }
    }

    /// The mean rate of a transmitter in bits per second over a run that takes so long, that of a round for delivery
    /// opportunities, that of the clear sky in rain; `None` for other models.
    pub fn mean_bps(&self, run: Span) -> Option<f64> {
        let bps = |rate: Option<BitRate>| rate.map_or(0, BitRate::as_bps) as f64;
        match self {
            Self::Rate { rate, .. } => Some(rate.as_bps() as f64),
            Self::FadingRate { rate, fades, .. } => {
                Some(SteppedRate::steps_of(*rate, fades).mean(run, bps))
            }
            Self::SteppedRate { rates, .. } => Some(rates.mean(run, bps)),
            Self::Rain(spec) => Some(spec.rate().as_bps() as f64),
            Self::Opportunities { opportunities, .. } => Some(opportunities.mean_bps()),
            _ => None,
        }
    }

    /// The same model, but a transmitter has this share of its rate.
    #[must_use]
    pub fn at_share(&self, share: f64) -> Self {
        let part = |rate: BitRate| BitRate::from_bps((rate.as_bps() as f64 * share) as u64);
        let mut model = self.clone();
        match &mut model {
            Self::Rate { rate, .. } | Self::FadingRate { rate, .. } => *rate = part(*rate),
            Self::Rain(spec) => {
                let rate = part(spec.rate());
                return Self::Rain(Box::new((**spec).clone().with_rate(rate)));
            }
            _ => {}
        }
        model
    }

    /// Equal for models of one kind, whatever their settings.
    fn kind(&self) -> (Discriminant<Self>, Option<&str>) {
        let name = match self {
            Self::Custom(choice) => Some(choice.row().name),
            _ => None,
        };
        (mem::discriminant(self), name)
    }

    fn push_to(
        &self,
        series: &mut Series,
        streams: &Streams,
        link: &str,
        direction: &str,
        number: usize,
    ) {
        let own = |what: &str| streams.stream(&format!("link/{link}/{direction}/{number}/{what}"));
        let common = |what: &str| streams.stream(&format!("link/{link}/both/{number}/{what}"));
        match self {
            Self::Rate { rate, queue } => series.push_rate(RateQueue::new(*rate, *queue)),
            Self::FadingRate { rate, queue, fades } => {
                series.push(SteppedRate::fading(*rate, *queue, fades));
            }
            Self::SteppedRate { rates, queue } => {
                series.push(SteppedRate::new(rates.clone(), *queue));
            }
            Self::Rain(spec) => {
                // The same weather both ways, at another frequency perhaps.
                series.push(RainLine::new(spec, common("rain"), own("rain")));
            }
            Self::Opportunities { opportunities, queue } => {
                series.push(OpportunityQueue::new(opportunities.clone(), *queue));
            }
            Self::SteppedDelay { delays, reorders } => {
                series.push(SteppedDelay::new(delays.clone(), *reorders));
            }
            Self::SteppedLoss(probabilities) => {
                series.push(SteppedLoss::new(probabilities.clone(), own("trace")));
            }
            Self::SteppedState(up) => series.push(SteppedState::new(up.clone())),
            Self::Delay(span) => series.push_delay(Delay::new(*span)),
            Self::BitErrors(ber) => series.push(BitErrors::new(*ber, own("ber"))),
            Self::Fec { config, ber } => series.push(Fec::new(*config, *ber, own("fec"))),
            Self::Arq { config, losses } => {
                let losses = Self::build_series(losses, streams, link, direction);
                series.push(Arq::new(*config, losses));
            }
            Self::RandomLoss(p) => series.push(RandomLoss::new(*p, own("loss"))),
            Self::GilbertElliott(config) => {
                series.push(GilbertElliott::new(*config, own("turns"), own("losses")));
            }
            Self::Blackouts(_) | Self::PeriodicBlackout { .. } => {
                self.blackout().into_iter().for_each(|blackout| series.push(blackout));
            }
            Self::Script(rules) => series.push(Script::new(rules.clone())),
            Self::XDelDrop { config, independent } => {
                let (sojourn, delay) = if *independent {
                    (own("sojourn"), own("delay"))
                } else {
                    (common("sojourn"), common("delay"))
                };
                series.push(XDelDrop::new(*config, sojourn, delay, own("drop")));
            }
            Self::Custom(choice) => {
                let stream = own(&format!("custom/{}", choice.row().name));
                series.push_boxed(choice.build(stream));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    use crate::{CustomModel, CustomParameter, Fate, Model, Passing, StateConfig};
    use bentpipe_units::ByteCount;
    use bentpipe_wire::Kind;

    fn channel(independent: bool) -> [ModelSpec; 1] {
        let state = |mean_ms, drop_probability| StateConfig {
            mean_sojourn: Span::from_millis(mean_ms),
            drop_probability,
            drop_at_min_delay: None,
            delay_min: Span::from_millis(100),
            delay_max: Span::from_millis(150),
        };
        let config = XDelDropConfig { good: state(500, 0.0), bad: state(500, 1.0), fifo: false };
        [ModelSpec::XDelDrop { config, independent }]
    }

    fn fates(specs: &[ModelSpec], direction: &str) -> Vec<Fate> {
        let mut series = ModelSpec::build_series(specs, &Streams::new(1), "space", direction);
        let packet = Passing { bytes: ByteCount::new(1000), kind: Kind::DATA };
        let at = |n: u64| Instant::from_nanos(n * 10_000_000);
        (0..1000).map(|n| series.pass(at(n), &packet)).collect()
    }

    #[test]
    fn a_model_before_the_channel_shifts_none_of_its_states() {
        let alone = channel(false);
        let behind = [ModelSpec::RandomLoss(0.0), alone[0].clone()];
        assert_eq!(fates(&alone, "forth"), fates(&behind, "back"));
    }

    #[test]
    fn both_directions_share_a_channel_unless_they_are_independent() {
        assert_eq!(fates(&channel(false), "forth"), fates(&channel(false), "back"));
        assert_ne!(fates(&channel(true), "forth"), fates(&channel(true), "back"));
    }

    static LOSSY: CustomModel = CustomModel {
        name: "lossy",
        summary: "loses one half, or another share",
        source: "this test",
        parameters: &[CustomParameter {
            name: "loss",
            unit: "1",
            default: 0.5,
            range: (0.0, 1.0),
            summary: "probability that a packet is lost",
        }],
        keeps_order: false,
        build: |settings, stream| Box::new(RandomLoss::new(settings.get("loss"), stream)),
    };
    static OTHER: CustomModel = CustomModel { name: "other", ..LOSSY };

    fn custom(row: &'static CustomModel, loss: f64) -> ModelSpec {
        let parameters = BTreeMap::from([("loss".to_owned(), loss)]);
        ModelSpec::Custom(ModelChoice::new(row, &parameters).expect("a probability"))
    }

    #[test]
    fn a_model_that_a_program_brings_draws_from_a_stream_of_its_own() {
        let alone = fates(&[custom(&LOSSY, 0.5)], "forth");
        assert_ne!(alone, fates(&[custom(&LOSSY, 0.5)], "back"));
        assert_ne!(alone, fates(&[custom(&OTHER, 0.5)], "forth"));
        assert_eq!(alone, fates(&[custom(&OTHER, 0.0), custom(&LOSSY, 0.5)], "forth"));
        let three = fates(&vec![custom(&LOSSY, 0.5); 3], "forth");
        let lost = three.iter().filter(|fate| matches!(fate, Fate::Lost(_))).count();
        assert!((825..925).contains(&lost), "the same draws three times would lose 500: {lost}");
        assert!(!custom(&LOSSY, 0.5).keeps_order());
    }
}
