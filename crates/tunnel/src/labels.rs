//! Labels of flows: they travel until the peer has them, and now and then after that.
//!
//! A label says whose a flow is, in the words of the application. Beside a short datagram it is long, so that the receiver
//! keeps it, and a datagram goes without it once the peer was told.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hasher as _};

use bentpipe_units::Seq32;
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

/// What the sender knows of a flow's label.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// A digest of it: two flows of one number have two labels, and are told apart by them.
    digest: u64,
    is_shared: bool,
    /// It is on its way, and the peer has it.
    is_told: bool,
    is_known: bool,
    /// Datagrams that went without it since one had it.
    without: u8,
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
    pub(crate) fn is_due(&mut self, flow: u16, label: &Bytes) -> bool {
        if label.is_empty() || label.len() > LONGEST {
            return !label.is_empty();
        }
        let mut hasher = DefaultHasher::new();
        hasher.write(label);
        let digest = hasher.finish();
        let known = self.flows.entry(flow).or_insert(Known { digest, ..Known::default() });
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
    labels: FxHashMap<u16, Bytes>,
    /// In the order in which they were heard first.
    flows: VecDeque<u16>,
}

impl Heard {
    /// A flow has this label. Gives it, without the packet that it came in.
    pub(crate) fn hear(&mut self, flow: u16, label: Bytes) -> Bytes {
        if label.len() > LONGEST {
            return label;
        }
        match self.labels.get(&flow) {
            Some(known) if *known == label => return known.clone(),
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
        self.labels.insert(flow, label.clone());
        label
    }

    /// The label of a flow; an empty one where none was heard.
    pub(crate) fn of(&self, flow: u16) -> Bytes {
        self.labels.get(&flow).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LABEL: Bytes = Bytes::from_static(b"whose");
    const OTHER: Bytes = Bytes::from_static(b"another one's");

    fn packets(first: u32, last: u32) -> [Seq32; 2] {
        [Seq32::new(first), Seq32::new(last)]
    }

    #[test]
    fn a_label_goes_along_until_the_peer_has_all_of_it_and_once_in_a_while_after_that() {
        let mut told = Told::default();
        assert!(told.is_due(7, &LABEL));
        told.left(7, packets(3, 4));
        told.reported(|packet| Some(packet == Seq32::new(3)));
        assert!(told.is_due(7, &LABEL), "half of it is missing");
        told.reported(|_| Some(true));
        for _ in 0..3 {
            assert!((0..63).all(|_| !told.is_due(7, &LABEL)) && told.is_due(7, &LABEL));
        }
    }

    #[test]
    fn what_was_lost_is_told_again() {
        let mut told = Told::default();
        assert!(told.is_due(7, &LABEL));
        told.left(7, packets(3, 3));
        told.reported(|_| None);
        assert!(told.is_due(7, &LABEL));
        told.left(7, packets(9, 9));
        told.reported(|_| Some(true));
        assert!(!told.is_due(7, &LABEL));
    }

    #[test]
    fn flows_that_share_a_number_take_their_labels_along() {
        let (mut told, mut heard) = (Told::default(), Heard::default());
        assert!(told.is_due(7, &LABEL));
        told.left(7, packets(1, 1));
        told.reported(|_| Some(true));
        assert!(!told.is_due(7, &LABEL) && told.is_due(7, &OTHER));
        assert!((0..200).all(|_| told.is_due(7, &LABEL) && told.is_due(7, &OTHER)));
        heard.hear(7, LABEL);
        heard.hear(7, OTHER);
        assert_eq!((heard.of(7), heard.of(8)), (OTHER, Bytes::new()));
    }

    #[test]
    fn a_peer_that_names_much_takes_no_memory_without_bound() {
        let mut heard = Heard::default();
        for flow in 0..=u16::MAX {
            heard.hear(flow, vec![1; 300].into());
            heard.hear(flow, vec![2; 60_000].into());
        }
        assert_eq!((heard.labels.len(), heard.flows.len()), (KEPT, KEPT));
        assert!(heard.labels.values().all(|label| label.len() == 300));
        let mut told = Told::default();
        assert!(told.is_due(1, &vec![1; 60_000].into()) && told.flows.is_empty());
    }
}
