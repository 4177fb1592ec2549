//! What a handover does to a link: an outage, losses behind it, another rate.

use bentpipe_units::{Instant, Span};

use crate::{ModelSpec, Stream, Timeline};

/// What happens to a link when a terminal takes another satellite.
#[derive(Clone, Debug, PartialEq)]
pub struct HandoverSpec {
    /// Nothing passes for a time that is drawn evenly between these.
    pub outage: [Span; 2],
    /// Probability that a packet is lost behind the outage.
    pub loss: f64,
    /// For so long.
    pub loss_time: Span,
    /// Until the next handover the rate is its share of that of the link, drawn evenly between these; above zero.
    pub rate: [f64; 2],
}

impl Default for HandoverSpec {
    /// A handover that nobody notices.
    fn default() -> Self {
        Self { outage: [Span::ZERO; 2], loss: 0.0, loss_time: Span::ZERO, rate: [1.0; 2] }
    }
}

impl HandoverSpec {
    /// The models of a link from a handover at `at` on.
    pub fn models(&self, models: &[ModelSpec], at: Instant, stream: &mut Stream) -> Vec<ModelSpec> {
        let mut between = |[least, most]: [f64; 2]| least + (most - least) * stream.unit();
        let outage = Span::from_secs_f64(between(self.outage.map(Span::as_secs_f64)));
        let share = between(self.rate);
        let mut models: Vec<_> = models.iter().map(|model| model.at_share(share)).collect();
        if !outage.is_zero() {
            models.push(ModelSpec::Blackouts(vec![(at, outage)]));
        }
        if self.loss > 0.0 && !self.loss_time.is_zero() {
            let over = at + outage + self.loss_time;
            let losses = Timeline::new(vec![(Instant::ZERO, self.loss), (over, 0.0)], None);
            models.extend(losses.ok().map(ModelSpec::SteppedLoss));
        }
        models
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::{BitRate, ByteCount};
    use bentpipe_wire::Kind;

    use super::*;
    use crate::{Fate, LossCause, Model, Passing, QueueLimit, Streams};

    const RATE: BitRate = BitRate::from_bps(8_000_000);

    fn ms(n: u64) -> Instant {
        Instant::ZERO + Span::from_millis(n)
    }

    /// The fates of packets of 1 ms that enter every 10 ms from `from` on.
    fn fates(spec: &HandoverSpec, count: u64, from: u64) -> Vec<Fate> {
        let models = [ModelSpec::Rate { rate: RATE, queue: QueueLimit::Packets(9) }];
        let streams = Streams::new(3);
        let models = spec.models(&models, ms(from), &mut streams.stream("handover"));
        let mut line = ModelSpec::build_series(&models, &streams, "line", "forth");
        let packet = Passing { bytes: ByteCount::new(1000), kind: Kind::DATA };
        (0..count).map(|n| line.pass(ms(from + 10 * n), &packet)).collect()
    }

    #[test]
    fn nothing_passes_in_the_outage_and_everything_behind_it() {
        let spec = HandoverSpec { outage: [Span::from_millis(100); 2], ..HandoverSpec::default() };
        let fates = fates(&spec, 20, 5000);
        assert_eq!(fates[..10], [Fate::Lost(LossCause::Blackout); 10]);
        assert_eq!(fates[10], Fate::Leaves(ms(5101)));
        assert!(fates[10..].iter().all(|fate| matches!(fate, Fate::Leaves(_))));
    }

    #[test]
    fn losses_end_when_their_time_is_over() {
        let loss_time = Span::from_millis(5000);
        let spec = HandoverSpec { loss: 0.5, loss_time, ..HandoverSpec::default() };
        let fates = fates(&spec, 1000, 0);
        let lost = fates[..499].iter().filter(|fate| matches!(fate, Fate::Lost(_))).count();
        assert!((200..300).contains(&lost), "{lost}");
        assert!(fates[500..].iter().all(|fate| matches!(fate, Fate::Leaves(_))));
    }

    #[test]
    fn the_rate_is_a_share_of_that_of_the_link() {
        let spec = HandoverSpec { rate: [0.5, 0.5], ..HandoverSpec::default() };
        assert_eq!(fates(&spec, 1, 0), [Fate::Leaves(ms(2))]);
        assert_eq!(fates(&HandoverSpec::default(), 1, 0), [Fate::Leaves(ms(1))]);
    }

    #[test]
    fn what_is_drawn_lies_between_the_two_values() {
        let spec = HandoverSpec {
            outage: [Span::from_millis(20), Span::from_millis(150)],
            rate: [0.4, 1.0],
            ..HandoverSpec::default()
        };
        let mut stream = Streams::new(1).stream("handover");
        let models = [ModelSpec::Rate { rate: RATE, queue: QueueLimit::Unlimited }];
        let (mut outages, mut rates) = (Vec::new(), Vec::new());
        for _ in 0..1000 {
            for model in spec.models(&models, Instant::ZERO, &mut stream) {
                match model {
                    ModelSpec::Rate { rate, .. } => rates.push(rate.as_bps()),
                    ModelSpec::Blackouts(list) => outages.push(list[0].1),
                    other => panic!("{other:?}"),
                }
            }
        }
        let ends = |values: &[u64]| (values.iter().min().copied(), values.iter().max().copied());
        let (least, most) = ends(&rates);
        assert!(least >= Some(3_200_000) && least < Some(3_300_000), "{least:?}");
        assert!(most <= Some(8_000_000) && most > Some(7_900_000), "{most:?}");
        outages.sort();
        assert!(outages[0] >= Span::from_millis(20) && outages[999] <= Span::from_millis(150));
    }
}
