//! Where the options stand in a header.
//!
//! The order is the one that most implementations use. NOPs go before an option so that its numbers
//! are aligned as RFC 7323, appendix A, advises; where they would take room that other options
//! need, there are none. Zeros, the end of the list, fill the last word.

use super::kinds;
use super::options::{SackBlock, Snack};
use super::{Options, Scps, Segment, SynOptions};

/// Most bytes of options: the header's length is a 4-bit number of 32-bit words.
pub(super) const MOST_OPTIONS: usize = 15 * 4 - super::segment::FIXED_HEADER;

/// The options of a header as bytes.
pub(super) struct Laid {
    bytes: [u8; MOST_OPTIONS],
    len: usize,
    /// NOPs go before options.
    aligned: bool,
}

/// The options of a segment. Lists are cut to the room there is; everything else always fits.
pub(super) fn lay_out(segment: &Segment) -> Laid {
    let empty = |aligned| Laid { bytes: [0; MOST_OPTIONS], len: 0, aligned };
    let aligned = empty(true).with_all(segment);
    aligned.or_else(|| empty(false).with_all(segment)).unwrap_or_else(|| empty(false))
}

/// Bytes that timestamps and marks leave to SACK or SNACK, its kind and length included.
fn room_for_list(segment: &Segment) -> usize {
    let timestamps = if segment.timestamps.is_some() { 10 } else { 0 };
    let marks = segment.scps.len();
    MOST_OPTIONS - timestamps - 2 * marks
}

impl Laid {
    /// The options with zeros up to the end of the last word.
    pub(super) fn padded(&self) -> &[u8] {
        &self.bytes[..self.len.next_multiple_of(4)]
    }

    /// Appends all options of a segment; `None` when they do not fit.
    fn with_all(mut self, segment: &Segment) -> Option<Self> {
        let syn = match &segment.options {
            Options::Syn(syn) => *syn,
            _ => SynOptions::default(),
        };
        if let Some(mss) = syn.mss {
            self.put(kinds::MSS, &mss.to_be_bytes())?;
        }
        for (present, kind) in [
            (syn.sack_permitted, kinds::SACK_PERMITTED),
            (segment.scps.contains(Scps::CORRUPTION_EXPERIENCED), kinds::CORRUPTION_EXPERIENCED),
            (segment.scps.contains(Scps::RECORD_BOUNDARY), kinds::RECORD_BOUNDARY),
        ] {
            if present {
                self.put(kind, &[])?;
            }
        }
        if let Some(timestamps) = segment.timestamps {
            let both = u64::from(timestamps.value) << 32 | u64::from(timestamps.echo);
            self.put(kinds::TIMESTAMPS, &both.to_be_bytes())?;
        }
        if let Some(shift) = syn.window_shift {
            self.put(kinds::WINDOW_SHIFT, &[shift.min(SynOptions::LARGEST_SHIFT)])?;
        }
        if let Some(scps) = syn.scps {
            self.put(kinds::SCPS_CAPABILITIES, &[scps.bits, scps.connection_id])?;
        }
        let room = room_for_list(segment);
        match &segment.options {
            Options::Sack(blocks) if !blocks.is_empty() => self.put_sack(blocks, room)?,
            Options::Snack(snack) => self.put_snack(snack, room)?,
            _ => {}
        }
        Some(self)
    }

    fn put_sack(&mut self, blocks: &[SackBlock], room: usize) -> Option<()> {
        let mut body = [[0; 8]; 4];
        let listed = blocks.len().min((room - 2) / 8);
        for (place, block) in body.iter_mut().zip(blocks) {
            let both = u64::from(block.first.get()) << 32 | u64::from(block.end.get());
            *place = both.to_be_bytes();
        }
        self.put(kinds::SACK, body[..listed].as_flattened())
    }

    fn put_snack(&mut self, snack: &Snack, room: usize) -> Option<()> {
        let mut body = [0; MOST_OPTIONS - 2];
        let listed = snack.vector.len().min(room - 6);
        body[..2].copy_from_slice(&snack.hole_offset.to_be_bytes());
        body[2..4].copy_from_slice(&snack.hole_size.to_be_bytes());
        body[4..4 + listed].copy_from_slice(&snack.vector[..listed]);
        self.put(kinds::SNACK, &body[..4 + listed])
    }

    /// Appends an option. Unless it has no numbers it ends at the end of a word.
    fn put(&mut self, kind: u8, body: &[u8]) -> Option<()> {
        let end = self.len + 2 + body.len();
        let nops = if self.aligned && !body.is_empty() { end.next_multiple_of(4) - end } else { 0 };
        let place = self.bytes.get_mut(self.len..end + nops)?;
        let (before, option) = place.split_at_mut(nops);
        before.fill(kinds::NOP);
        option[0] = kind;
        option[1] = 2 + body.len() as u8; // at most MOST_OPTIONS
        option[2..].copy_from_slice(body);
        self.len = end + nops;
        Some(())
    }
}
