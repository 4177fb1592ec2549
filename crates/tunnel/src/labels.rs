//! Labels of flows: they travel until the peer has them, and now and then after that.
//!
//! A label says whose a flow is, in the words of the application. Beside a short datagram it is long, so that the receiver
//! keeps it, and a datagram goes without it once the peer was told.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hasher as _};

use bentpipe_units::{Instant, Seq32, Span};
use bytes::Bytes;
use rustc_hash::FxHashMap;

/// So many datagrams of a flow go without its label, and the next one with it: the receiver may have forgotten it, or have
/// never heard it.
const WITHOUT: u8 = 63;
/// Flows of which may be waited at a time for word that the peer has their label.
const TOLD: usize = 256;
/// Labels that a receiver keeps, and their longest: whoever names more, or longer ones, names them with each datagram.
const KEPT: usize = 4_096;
const LONGEST: usize = 320;
/// After so long without a datagram a flow's number may be another one's. The receiver takes less for that, so that it
/// never keeps the old label when the new one is its.
const SILENT: Span = Span::from_secs(60);
const SILENT_HERE: Span = Span::from_secs(30);

/// What the sender knows of a flow's label.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// A digest of it: two flows of one number have two labels, and are told apart by them.
    digest: u64,
    used_at: Instant,
    is_shared: bool,
    /// It is on its way, and the peer has it.
    is_told: bool,
    is_known: bool,
    /// Datagrams that went without it since one had it.
    without: u8,
}

impl Known {
    const fn new(digest: u64, used_at: Instant) -> Self {
        let (is_shared, is_told, is_known) = (false, false, false);
        Self { digest, used_at, is_shared, is_told, is_known, without: 0 }
    }
}

/// Those of what is sent.
#[derive(Debug, Default)]
pub(crate) struct Told {
    flows: FxHashMap<u16, Known>,
    /// Flows whose label is in these two packets.
    under_way: VecDeque<(u16, [Seq32; 2])>,
}

impl Told {
    /// Whether a datagram of a flow takes its label along.
    pub(crate) fn is_due(&mut self, now: Instant, flow: u16, label: &Bytes) -> bool {
        if label.is_empty() || label.len() > LONGEST {
            return !label.is_empty();
        }
        let mut hasher = DefaultHasher::new();
        hasher.write(label);
        let digest = hasher.finish();
        let known = self.flows.entry(flow).or_insert(Known::new(digest, now));
        if known.digest != digest && now.since(known.used_at) >= SILENT {
            *known = Known::new(digest, now);
            self.under_way.retain(|(of, _)| *of != flow);
        }
        known.used_at = now;
        known.is_shared |= known.digest != digest;
        let is_due = known.is_shared || !known.is_known || known.without == WITHOUT;
        known.without = if is_due { 0 } else { known.without + 1 };
        is_due
    }

    /// A label left, in these two packets.
    pub(crate) fn left(&mut self, flow: u16, packets: [Seq32; 2]) {
        if let Some(known) = self.flows.get_mut(&flow)
            && !known.is_told
            && !known.is_known
            && self.under_way.len() < TOLD
        {
            known.is_told = true;
            self.under_way.push_back((flow, packets));
        }
    }

    /// The peer told what arrived: `has` of a packet says whether that is so, if it is known and remembered.
    pub(crate) fn reported(&mut self, has: impl Fn(Seq32) -> Option<bool>) {
        let flows = &mut self.flows;
        self.under_way.retain(|(flow, packets)| {
            let [first, last] = packets.map(&has);
            if first.zip(last).is_some_and(|(first, last)| !(first && last)) {
                return true;
            }
            if let Some(known) = flows.get_mut(flow) {
                known.is_told = false;
                known.is_known = first.is_some() && last.is_some();
            }
            false
        });
    }
}

/// Those of what came.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// With the time when the flow was heard last.
    labels: FxHashMap<u16, (Bytes, Instant)>,
    /// In the order in which they were heard first.
    flows: VecDeque<u16>,
}

impl Heard {
    /// A datagram of a flow has this label. Gives it, without the packet that it came in. Of labels of one number the first is
    /// kept: what comes without one was sent before there was another.
    pub(crate) fn hear(&mut self, now: Instant, flow: u16, label: Bytes) -> Bytes {
        if label.len() > LONGEST {
            return label;
        }
        match self.labels.get_mut(&flow) {
            Some((known, heard_at)) if *known == label => {
                *heard_at = now;
                return known.clone();
            }
            Some((_, heard_at)) if now.since(*heard_at) < SILENT_HERE => return label,
            Some(_) => {}
            None => {
                if self.flows.len() == KEPT
                    && let Some(first) = self.flows.pop_front()
                {
                    self.labels.remove(&first);
                }
                self.flows.push_back(flow);
            }
        }
        let label = Bytes::copy_from_slice(&label);
        self.labels.insert(flow, (label.clone(), now));
        label
    }

    /// The label of a flow; an empty one where none was heard.
    pub(crate) fn of(&mut self, now: Instant, flow: u16) -> Bytes {
        let Some((label, heard_at)) = self.labels.get_mut(&flow) else { return Bytes::new() };
        *heard_at = now;
        label.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LABEL: Bytes = Bytes::from_static(b"whose");
    const OTHER: Bytes = Bytes::from_static(b"another one's");

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Span::from_secs(seconds)
    }

    fn packets(first: u32, last: u32) -> [Seq32; 2] {
        [Seq32::new(first), Seq32::new(last)]
    }

    /// A sender of which the peer has the label of flow 7.
    fn told() -> Told {
        let mut told = Told::default();
        assert!(told.is_due(at(0), 7, &LABEL));
        told.left(7, packets(1, 1));
        told.reported(|_| Some(true));
        assert!(!told.is_due(at(1), 7, &LABEL));
        told
    }

    #[test]
    fn a_label_goes_along_until_the_peer_has_all_of_it_and_once_in_a_while_after_that() {
        let mut told = Told::default();
        let is_due = |told: &mut Told| told.is_due(at(0), 7, &LABEL);
        assert!(is_due(&mut told));
        told.left(7, packets(3, 4));
        told.reported(|packet| Some(packet == Seq32::new(3)));
        assert!(is_due(&mut told), "half of it is missing");
        told.reported(|_| Some(true));
        for _ in 0..3 {
            assert!((0..63).all(|_| !is_due(&mut told)) && is_due(&mut told));
        }
    }

    #[test]
    fn what_was_lost_is_told_again() {
        let mut told = Told::default();
        assert!(told.is_due(at(0), 7, &LABEL));
        told.left(7, packets(3, 3));
        told.reported(|_| None);
        assert!(told.is_due(at(0), 7, &LABEL));
        told.left(7, packets(9, 9));
        told.reported(|_| Some(true));
        assert!(!told.is_due(at(0), 7, &LABEL));
    }

    #[test]
    fn flows_that_share_a_number_take_their_labels_along_and_what_went_before_keeps_its_own() {
        let (mut told, mut heard) = (told(), Heard::default());
        assert!(told.is_due(at(2), 7, &OTHER));
        let labels = [LABEL, OTHER];
        for label in labels.iter().cycle().take(400) {
            assert!(told.is_due(at(3), 7, label));
        }
        heard.hear(at(0), 7, LABEL);
        assert_eq!(heard.hear(at(2), 7, OTHER), OTHER);
        assert_eq!((heard.of(at(2), 7), heard.of(at(2), 8)), (LABEL, Bytes::new()));
    }

    #[test]
    fn a_number_that_nobody_used_for_a_minute_is_another_flows() {
        let (mut told, mut heard) = (told(), Heard::default());
        heard.hear(at(0), 7, LABEL);
        assert!(told.is_due(at(61), 7, &OTHER));
        told.left(7, packets(9, 9));
        told.reported(|_| Some(true));
        assert!(!told.is_due(at(62), 7, &OTHER));
        assert_eq!((heard.hear(at(61), 7, OTHER), heard.of(at(62), 7)), (OTHER, OTHER));
    }

    #[test]
    fn a_peer_that_names_much_takes_no_memory_without_bound() {
        let mut heard = Heard::default();
        for flow in 0..=u16::MAX {
            heard.hear(at(0), flow, vec![1; 300].into());
            heard.hear(at(0), flow, vec![2; 60_000].into());
        }
        assert_eq!((heard.labels.len(), heard.flows.len()), (KEPT, KEPT));
        assert!(heard.labels.values().all(|(label, _)| label.len() == 300));
        let mut told = Told::default();
        assert!(told.is_due(at(0), 1, &vec![1; 60_000].into()) && told.flows.is_empty());
    }
}
