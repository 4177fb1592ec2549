//! TCP Star: Jersey whose estimate also raises the window, and whose repairs may wait until it is known what
//! was lost.
//!
//! A survey names three parts. *Congestion window setting* and *lift window control* are Jersey's estimate and
//! the raising by it. *Acknowledgment error notification* prevents retransmissions that lost or late
//! acknowledgements cause; no law of it is published where this project could read it, and this is its
//! reading: a timeout in complete silence does not say whether data or their acknowledgements were lost, so
//! that the sender finds that out before it repairs ([`Repair::asks_before_repair`]).
//!
//! [`Repair::asks_before_repair`]: crate::Repair::asks_before_repair

use crate::algorithms::jersey::{Jersey, MARKS};
use crate::family::Windowed;
use crate::row::{Parameter, Row};
use crate::window::{ABC_LIMIT, INITIAL_SSTHRESH};

/// Whether repairs wait until it is known what was lost.
const AEN: Parameter = Parameter {
    name: "aen",
    unit: "1",
    default: 0.0,
    range: (0.0, 1.0),
    summary: "1: after a timeout without a word of the peer new data leave before a repair, to find out \
              whether data or acknowledgements were lost; 0: the oldest segment leaves again",
};

/// The registry row.
pub(crate) const ROW: Row = Row {
    name: "star",
    summary: "Jersey; once a round the window is raised to what the path was seen to deliver",
    citation: "TCP Star's congestion window setting, lift window control and acknowledgment error \
               notification, on the estimator of Xu, Tian, Ansari, IEEE JSAC 22(4), 2004; raising and \
               notification are this project's reading",
    parameters: &[MARKS, AEN, ABC_LIMIT, INITIAL_SSTHRESH],
    build: &|build| {
        let asks = build.parameter(&ROW, AEN.name) >= 0.5;
        Windowed::boxed(build, &ROW, Jersey::star(build, &ROW, asks))
    },
};

#[cfg(test)]
mod tests {
    use crate::testing::Play;

    #[test]
    fn repairs_wait_until_it_is_known_what_was_lost_only_with_aen() {
        for (aen, asks) in [(0.0, false), (1.0, true)] {
            let play = Play::new("star", &[("aen", aen)]);
            assert_eq!(play.controller.repair().asks_before_repair, asks);
        }
    }
}
