//! What became of the packets of one direction.

use crate::LossCause;

/// What became of the packets that went one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that entered.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets that left at the other end.
    pub delivered: u64,
    /// Bytes that left at the other end.
    pub delivered_bytes: u64,
    /// Packets that found a queue full.
    pub lost_queue_full: u64,
    /// Packets that a queue dropped before it was full.
    pub lost_early: u64,
    /// Packets that were lost or damaged on the way.
    pub lost: u64,
    /// Packets that a queue marked in place of a drop.
    pub marked: u64,
    /// Acknowledgments that a queue removed, as later ones say all that they say.
    pub acks_filtered: u64,
    /// Acknowledgments that a queue added.
    pub acks_added: u64,
    /// Packets that ended at an agent.
    pub suppressed: u64,
    /// Packets that agents sent.
    pub sent_by_agents: u64,
}

impl Counters {
    /// Counts a packet that was lost.
    pub(super) const fn count_loss(&mut self, cause: LossCause) {
        let counter = match cause {
            LossCause::QueueFull => &mut self.lost_queue_full,
            LossCause::Early => &mut self.lost_early,
            LossCause::Filtered => &mut self.acks_filtered,
            LossCause::Random
            | LossCause::Blackout
            | LossCause::Channel
            | LossCause::Scripted
            | LossCause::Collision
            | LossCause::PacketTooBig => &mut self.lost,
        };
        *counter += 1;
    }

    /// Packets that did not arrive, whatever the reason.
    pub const fn all_lost(&self) -> u64 {
        self.lost_queue_full + self.lost_early + self.lost
    }
}
