//! Links that tell the hosts beside them when they go down and come up.

use bentpipe_link::Blackout;
use bentpipe_units::Instant;

use crate::RunSpec;

/// The links that tell, and how they are.
#[derive(Debug, Default)]
pub(crate) struct Outages {
    links: Vec<Telling>,
}

/// A link that tells.
#[derive(Debug)]
struct Telling {
    /// Index of the link: its channels are twice that and the one behind.
    link: u32,
    /// It is down while one of them is.
    blackouts: Vec<Blackout>,
    down: bool,
}

impl Telling {
    fn is_down(&self, at: Instant) -> bool {
        self.blackouts.iter().any(|blackout| blackout.is_down(at))
    }
}

impl Outages {
    /// The links of a run that tell, at its start.
    pub(crate) fn new(spec: &RunSpec) -> Self {
        let telling = |(link, of): (usize, &crate::LinkSpec)| {
            let models = of.forward_link.iter().chain(&of.return_link);
            let blackouts = models.filter_map(bentpipe_link::ModelSpec::blackout).collect();
            let mut telling = Telling { link: link as u32, blackouts, down: false };
            telling.down = telling.is_down(Instant::ZERO);
            (of.tells_state && spec.constellation.is_none()).then_some(telling)
        };
        Self { links: spec.links.iter().enumerate().filter_map(telling).collect() }
    }

    /// Some link is down that will tell when it is up.
    pub(crate) fn any_down(&self) -> bool {
        self.links.iter().any(|link| link.down)
    }

    /// Whether this channel is known to be down.
    pub(crate) fn is_down(&self, channel: u32) -> bool {
        self.links.iter().any(|link| link.down && link.link == channel / 2)
    }

    /// When a blackout begins or ends next.
    pub(crate) fn next(&self, now: Instant) -> Option<Instant> {
        let blackouts = self.links.iter().flat_map(|link| &link.blackouts);
        let next = blackouts.map(|blackout| blackout.next_change(now));
        next.fold(None, Instant::earliest)
    }

    /// The links that went down or came up now, and whether they are up.
    pub(crate) fn turn(&mut self, now: Instant) -> Vec<(u32, bool)> {
        let turned = |link: &mut Telling| {
            let down = link.is_down(now);
            (std::mem::replace(&mut link.down, down) != down).then_some((link.link, !down))
        };
        self.links.iter_mut().filter_map(turned).collect()
    }
}
