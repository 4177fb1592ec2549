//! Labels of flows: they travel until the peer has them, and now and then after that.
//!
//! A label says whose a flow is, in the words of the application. Beside a short datagram it is long, so that the receiver
//! keeps it, and a datagram goes with a digest of it in its place once the peer was told. Where the digest is not that of the
//! label that is kept the datagram has none: it is nobody else's.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hasher as _};

use bentpipe_units::Seq32;
use bytes::Bytes;
use rustc_hash::FxHashMap;

/// The longest label.
pub(crate) const LONGEST: usize = 320;
/// So many datagrams of a flow go without its label, and the next one with it: the receiver may have forgotten it, or have
/// never heard it.
const WITHOUT: u8 = 63;
/// Flows of which may be waited at a time for word that the peer has their label.
const TOLD: usize = 256;
/// Flows that a sender remembers, and a receiver. Beyond that the half that was used last stays, so that a receiver knows
/// all of which a sender takes that for granted.
const REMEMBERED: usize = 1_024;
const KEPT: usize = 4_096;

fn hash(label: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(label);
    hasher.finish()
}

/// What stands for a label.
pub(crate) fn digest(label: &[u8]) -> u16 {
    hash(label) as u16
}

/// Forgets the half of the flows that was not used for longest.
fn forget_half<T>(flows: &mut FxHashMap<u16, T>, used: impl Fn(&T) -> u64) {
    let mut all: Vec<u64> = flows.values().map(&used).collect();
    let middle = all.len() / 2;
    let (_, middle, _) = all.select_nth_unstable(middle);
    let middle = *middle;
    flows.retain(|_, flow| used(flow) >= middle);
}

/// What the sender knows of a flow's label.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// Of its label.
    hash: u64,
    /// When it was used, counted in datagrams.
    used: u64,
    /// Flows of this number have several labels.
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
    datagrams: u64,
    /// Flows whose label is in these packets of a run, from the first to the last.
    under_way: VecDeque<(u16, u16, [Seq32; 2])>,
}

impl Told {
    /// Whether a datagram of a flow takes its label along.
    pub(crate) fn is_due(&mut self, flow: u16, label: &[u8]) -> bool {
        let hash = hash(label);
        self.datagrams += 1;
        if self.flows.len() == REMEMBERED && !self.flows.contains_key(&flow) {
            forget_half(&mut self.flows, |known| known.used);
            let flows = &self.flows;
            self.under_way.retain(|(flow, _, _)| flows.contains_key(flow));
        }
        let known = self.flows.entry(flow).or_insert(Known { hash, ..Known::default() });
        known.used = self.datagrams;
        known.is_shared |= known.hash != hash;
        let is_due = known.is_shared || !known.is_known || known.without == WITHOUT;
        known.without = if is_due { 0 } else { known.without + 1 };
        is_due
    }

    /// A label left, in the packets of a run from the first to the last of these.
    pub(crate) fn left(&mut self, flow: u16, run: u16, packets: [Seq32; 2]) {
        if let Some(known) = self.flows.get_mut(&flow)
            && !known.is_told
            && !known.is_known
            && self.under_way.len() < TOLD
        {
            known.is_told = true;
            self.under_way.push_back((flow, run, packets));
        }
    }

    /// The peer tells of this run no more, perhaps.
    pub(crate) fn forget(&mut self, run: u16) {
        self.reported(run, |_| None);
    }

    /// The peer told what arrived of a run: `has` of a packet says whether that is so, if it is known and remembered.
    pub(crate) fn reported(&mut self, run: u16, has: impl Fn(Seq32) -> Option<bool>) {
        let flows = &mut self.flows;
        self.under_way.retain(|(flow, of, packets)| {
            if *of != run {
                return true;
            }
            let [first, last] = *packets;
            let fates = (0..=last.distance_from(first)).map(|n| has(first.plus(n)));
            // None where one of them is not remembered any more.
            let arrived = fates.reduce(|all, one| Some(all? && one?)).flatten();
            if arrived == Some(false) {
                return true;
            }
            if let Some(known) = flows.get_mut(flow) {
                known.is_told = false;
                known.is_known = arrived.is_some();
            }
            false
        });
    }
}

/// A label that came.
#[derive(Debug)]
struct Label {
    bytes: Bytes,
    digest: u16,
    /// When it was heard of, counted in datagrams.
    heard: u64,
}

/// Those of what came.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    labels: FxHashMap<u16, Label>,
    datagrams: u64,
}

impl Heard {
    /// A datagram of a flow has this label. Gives it, without the packet that it came in.
    pub(crate) fn hear(&mut self, flow: u16, bytes: &[u8]) -> Bytes {
        self.datagrams += 1;
        let heard = self.datagrams;
        if let Some(known) = self.labels.get_mut(&flow)
            && known.bytes == bytes
        {
            known.heard = heard;
            return known.bytes.clone();
        }
        if self.labels.len() == KEPT && !self.labels.contains_key(&flow) {
            forget_half(&mut self.labels, |label| label.heard);
        }
        let label = Label { bytes: Bytes::copy_from_slice(bytes), digest: digest(bytes), heard };
        let bytes = label.bytes.clone();
        self.labels.insert(flow, label);
        bytes
    }

    /// The label of a flow with this digest; an empty one where none such is kept.
    pub(crate) fn of(&mut self, flow: u16, digest: u16) -> Bytes {
        self.datagrams += 1;
        let known = self.labels.get_mut(&flow).filter(|known| known.digest == digest);
        known.map_or_else(Bytes::new, |known| {
            known.heard = self.datagrams;
            known.bytes.clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LABEL: &[u8] = b"whose";
    const OTHER: &[u8] = b"another one's";

    fn packets(first: u32, last: u32) -> [Seq32; 2] {
        [Seq32::new(first), Seq32::new(last)]
    }

    /// The peer has the label of a flow.
    fn tell(told: &mut Told, flow: u16, label: &[u8]) {
        assert!(told.is_due(flow, label));
        told.left(flow, 8, packets(1, 1));
        told.reported(8, |_| Some(true));
    }

    #[test]
    fn a_label_goes_along_until_the_peer_has_all_of_it_and_once_in_a_while_after_that() {
        let mut told = Told::default();
        assert!(told.is_due(7, LABEL));
        told.left(7, 8, packets(3, 4));
        told.reported(8, |packet| Some(packet == Seq32::new(3)));
        assert!(told.is_due(7, LABEL), "half of it is missing");
        let mut long = Told::default();
        assert!(long.is_due(7, LABEL));
        long.left(7, 8, packets(3, 5));
        long.reported(8, |packet| Some(packet != Seq32::new(4)));
        assert!(long.is_due(7, LABEL), "the middle of it is missing");
        told.reported(8, |_| Some(true));
        for _ in 0..3 {
            assert!((0..63).all(|_| !told.is_due(7, LABEL)) && told.is_due(7, LABEL));
        }
    }

    #[test]
    fn what_was_lost_is_told_again() {
        let mut told = Told::default();
        assert!(told.is_due(7, LABEL));
        told.left(7, 8, packets(3, 3));
        told.reported(8, |_| None);
        tell(&mut told, 7, LABEL);
        assert!(!told.is_due(7, LABEL));
    }

    #[test]
    fn flows_that_share_a_number_take_their_labels_along_and_none_is_taken_for_the_other() {
        let (mut told, mut heard) = (Told::default(), Heard::default());
        tell(&mut told, 7, LABEL);
        assert!(!told.is_due(7, LABEL));
        assert!((0..200).all(|_| told.is_due(7, OTHER) && told.is_due(7, LABEL)));
        assert_eq!(heard.hear(7, LABEL), LABEL);
        assert_eq!(heard.of(7, digest(LABEL)), LABEL);
        assert_eq!(heard.hear(7, OTHER), OTHER);
        assert_eq!(heard.of(7, digest(LABEL)), Bytes::new(), "one that was late");
        assert_eq!(heard.of(8, digest(LABEL)), Bytes::new());
    }

    #[test]
    fn a_receiver_keeps_the_labels_of_all_flows_that_a_sender_takes_for_told() {
        let (mut told, mut heard) = (Told::default(), Heard::default());
        // Flow 0 goes on beside many that say one thing each, and flow 1 is silent.
        for flow in 0..20_000_u16 {
            for flow in [flow, 0] {
                let label = flow.to_be_bytes();
                if told.is_due(flow, &label) {
                    heard.hear(flow, &label);
                    told.left(flow, 8, packets(1, 1));
                    told.reported(8, |_| Some(true));
                } else {
                    assert_eq!(heard.of(flow, digest(&label)), label[..]);
                }
            }
        }
        assert!(told.is_due(1, &1_u16.to_be_bytes()));
        assert!(told.flows.len() <= REMEMBERED && heard.labels.len() <= KEPT);
    }
}
