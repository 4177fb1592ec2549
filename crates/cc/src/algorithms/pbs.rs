//! TCP PBS, the priority-based congestion control strategy: Swift that begins with more than one segment
//! and is told what a loss means.
//!
//! A survey describes it in three sentences; the rest is this project's reading. *Accelerative start* is
//! Swift's start from the initial window of RFC 3390. *Expeditious recovery* heeds an explicit error
//! notification: a loss that somebody on the path owns up to takes nothing from the window and is repaired
//! at once. Where every link that damages data notifies, a loss without a notification is congestion, and no
//! copies go into the queue that overflowed; where some may not, copies find out, as Swift's do.

use bentpipe_units::ByteCount;

use crate::Copies;
use crate::family::Windowed;
use crate::probing::{COPIES_PER_SEGMENT, Probing};
use crate::row::{Build, Parameter, Row};
use crate::window::ABC_LIMIT;

/// The registry row.
pub(crate) const ROW: Row = Row {
    name: "pbs",
    summary: "Swift from the window of RFC 3390; a loss that is told to be corruption changes nothing",
    citation: "TCP PBS as surveys describe it, after Leung and Yeung, ISCC 2004; RFC 3390; the laws are \
               this project's reading",
    parameters: &[
        Parameter {
            name: "een",
            unit: "1",
            default: 0.0,
            range: (0.0, 1.0),
            summary: "1: links that damage data notify, so that a loss without a notification is \
                      congestion; 0: they may not, and copies find out",
        },
        ABC_LIMIT,
        COPIES_PER_SEGMENT,
    ],
    build: &|build| {
        let build = &Build { cwnd_init: first_window(build), ..*build };
        let asks = build.parameter(&ROW, "een") < 0.5;
        let algorithm =
            Probing::new(build, &ROW, Copies::Outstanding, true).asking_after_loss(asks);
        Windowed::boxed(build, &ROW, algorithm)
    },
};

/// The initial window of RFC 3390. A connection that begins with one segment keeps that: its SYN was lost
/// (section 1 there).
fn first_window(build: &Build<'_>) -> ByteCount {
    let mss = build.mss.get();
    let allowed = (4 * mss).min((2 * mss).max(4380));
    if build.cwnd_init > build.mss { ByteCount::new(allowed) } else { build.cwnd_init }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use bentpipe_units::ByteCount;

    use crate::testing::Play;
    use crate::{Choice, LossCause, LowPriority};

    fn copies(play: &Play) -> u64 {
        match play.controller.low_priority() {
            LowPriority::Probes { count, .. } => count,
            _ => 0,
        }
    }

    /// A connection whose start found room for 40 segments.
    fn opened(een: f64) -> Play {
        let mut play = Play::new("pbs", &[("een", een)]);
        play.path.peer_window = play.bytes(40);
        for n in 0..40 {
            play.send(n > 0);
        }
        play.ack_at_once(1);
        play.signal(crate::Signal::ProbeAcked { segments: 39 });
        assert_eq!((play.segments(), copies(&play)), (40.0, 0));
        play
    }

    #[test]
    fn it_begins_with_the_window_of_rfc_3390_unless_the_syn_was_lost() {
        for (mss, configured, first) in [
            (500, 1_000, 2_000),
            (1_460, 2_920, 4_380),
            (3_000, 30_000, 6_000),
            (1_000, 1_000, 1_000),
        ] {
            let choice = Choice::new("pbs", BTreeMap::new()).expect("a registered name");
            let [mss, configured, most] = [mss, configured, 1_000_000].map(ByteCount::new);
            let window = choice.build(mss, configured, mss, most).limits().window;
            assert_eq!(window, Some(ByteCount::new(first)), "{mss}");
        }
    }

    #[test]
    fn a_loss_that_is_told_to_be_corruption_keeps_the_window_and_sends_no_copies() {
        for een in [0.0, 1.0] {
            let mut play = opened(een);
            play.corrupt(LossCause::Gap);
            play.ack_at_once(1);
            assert_eq!((play.segments(), copies(&play)), (40.0, 0), "een = {een}");
        }
    }

    #[test]
    fn where_links_notify_a_loss_without_a_notification_halves_and_sends_no_copies() {
        for (een, sent) in [(1.0, 0), (0.0, 1)] {
            let mut play = opened(een);
            play.lose(LossCause::Gap);
            play.ack_at_once(1);
            assert_eq!((play.segments(), copies(&play)), (20.0, sent), "een = {een}");
        }
    }

    #[test]
    fn a_timeout_begins_a_new_start_that_remembers_who_notifies() {
        let mut play = opened(1.0);
        play.lose(LossCause::Timeout);
        assert_eq!(play.segments(), 1.0);
        play.send(false);
        assert_eq!(copies(&play), 39);
        play.lose(LossCause::Gap);
        play.ack_at_once(1);
        assert_eq!(copies(&play), 0);
    }
}
