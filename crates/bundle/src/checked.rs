//! A bundle that was found right, and what becomes of it on its way.

use bp7::crc::CrcBlock as _;
use bp7::flags::{
    BlockControlFlags, BlockValidation as _, BundleControlFlags, BundleValidation as _,
};
use bp7::{
    BUNDLE_AGE_BLOCK, Bundle, CanonicalBlock, EndpointID, HOP_COUNT_BLOCK, PAYLOAD_BLOCK,
    PREVIOUS_NODE_BLOCK, new_previous_node_block,
};

use crate::shape::is_like_a_bundle;
use crate::standing::Standing;
use crate::{BundleId, DtnTime};

/// Longest endpoint ID, in bytes.
pub const LONGEST_ENDPOINT: usize = 1000;
/// Largest number of a block. The next one is made from it.
const LARGEST_NUMBER: u64 = u32::MAX as u64;
/// The type of a block of integrity (RFC 9172), which may stand for the checksum of a primary block.
const INTEGRITY_BLOCK: u64 = 11;

/// Bytes that are no bundle, or one that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Invalid(pub(crate) String);

/// Whether an endpoint ID is as long as one may be, and made of the characters of a URI.
pub(crate) fn is_well_formed(endpoint: &EndpointID) -> bool {
    let text = endpoint.to_string();
    text.len() <= LONGEST_ENDPOINT && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// A bundle whose form and checksums are right.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    bundle: Bundle,
    id: BundleId,
}

/// What a node is to do about blocks that it does not know (RFC 9171, section 5.6, step 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unknown {
    /// Somebody wants to know.
    pub(crate) report: bool,
    /// The bundle is to be deleted.
    pub(crate) delete: bool,
}

impl Checked {
    /// Decodes and checks a bundle: its form, its endpoint IDs, and the checksum of each block that has one. `requires_crc`
    /// says that a primary block without a checksum is wrong (RFC 9171, section 4.3.1), but for one that a block of
    /// integrity may protect.
    ///
    /// # Errors
    /// What is wrong.
    pub fn parse(bytes: &[u8], requires_crc: bool) -> Result<Self, Invalid> {
        let wrong = |what: &str| Err(Invalid(what.to_owned()));
        if !is_like_a_bundle(bytes) {
            return wrong("it has not the form of a bundle of at most 64 blocks");
        }
        let bundle = Bundle::try_from(bytes).map_err(|error| Invalid(error.to_string()))?;
        if let Err(errors) = bundle.validate() {
            let what = errors.first().map(ToString::to_string).unwrap_or_default();
            return Err(Invalid(what));
        }
        let primary = &bundle.primary;
        for endpoint in [&primary.source, &primary.destination, &primary.report_to] {
            if !is_well_formed(endpoint) {
                return wrong("an endpoint ID is too long or has characters that no URI has");
            }
        }
        if primary.destination == EndpointID::none() {
            return wrong("it is for nobody");
        }
        if primary.source == EndpointID::none() {
            // It has no name, and who takes it twice cannot know.
            return wrong("its source is nobody");
        }
        if bundle.canonicals.iter().any(|block| block.block_number > LARGEST_NUMBER) {
            return wrong("the number of a block is beyond 4,294,967,295");
        }
        let has_integrity = bundle.canonicals.iter().any(|it| it.block_type == INTEGRITY_BLOCK);
        if requires_crc && !primary.has_crc() && !has_integrity {
            return wrong("its primary block has no checksum (RFC 9171, section 4.3.1)");
        }
        let id = BundleId::of(&bundle);
        Ok(Self { bundle, id })
    }

    /// A bundle that was made here.
    pub(crate) fn made(bundle: Bundle) -> Self {
        let id = BundleId::of(&bundle);
        Self { bundle, id }
    }

    /// Its name.
    pub const fn id(&self) -> &BundleId {
        &self.id
    }

    /// Where it is from.
    pub const fn source(&self) -> &EndpointID {
        &self.bundle.primary.source
    }

    /// Where it goes.
    pub const fn destination(&self) -> &EndpointID {
        &self.bundle.primary.destination
    }

    /// Whom to tell what becomes of it.
    pub const fn report_to(&self) -> &EndpointID {
        &self.bundle.primary.report_to
    }

    /// When it was made; zero for a source without a clock.
    pub fn created(&self) -> DtnTime {
        DtnTime::from_millis(self.bundle.primary.creation_timestamp.dtntime())
    }

    /// What it carries.
    pub fn payload(&self) -> &[u8] {
        self.bundle.payload().map_or(&[], Vec::as_slice)
    }

    /// Whether it is a part of a bundle.
    pub fn is_fragment(&self) -> bool {
        self.bundle.primary.has_fragmentation()
    }

    /// How far it has come, and how far it can go.
    pub(crate) fn standing(&self) -> Standing {
        let hop_count = self.block(HOP_COUNT_BLOCK).and_then(CanonicalBlock::hop_count_get);
        let (limit, hops) = hop_count.unwrap_or((u8::MAX, 0));
        Standing { hops, left: limit.saturating_sub(hops) }
    }

    /// Its age in milliseconds, where its source has no clock.
    fn age(&self) -> u64 {
        if self.created() != DtnTime::default() {
            return 0;
        }
        let age = self.block(BUNDLE_AGE_BLOCK).and_then(CanonicalBlock::bundle_age_get);
        u64::try_from(age.unwrap_or_default()).unwrap_or(u64::MAX)
    }

    /// Makes it as far on its way as another copy of it is.
    pub(crate) fn take_hops(&mut self, other: &Self) {
        match (self.block_mut(HOP_COUNT_BLOCK), other.block(HOP_COUNT_BLOCK)) {
            (Some(own), Some(block)) => own.set_data(block.data().clone()),
            (None, Some(block)) => self.bundle.add_canonical_block(block.clone()),
            (_, None) => self.bundle.canonicals.retain(|it| it.block_type != HOP_COUNT_BLOCK),
        }
    }

    /// Makes it as old as another copy of it that has been here for so many milliseconds, where its source has no clock.
    pub(crate) fn take_age(&mut self, other: &Self, stayed: u64) {
        let age = u128::from(other.age().saturating_add(stayed));
        if self.created() == DtnTime::default()
            && let Some(block) = self.block_mut(BUNDLE_AGE_BLOCK)
        {
            block.bundle_age_update(age);
        }
    }

    /// Whether it is an administrative record.
    pub fn is_administrative(&self) -> bool {
        self.bundle.is_administrative_record()
    }

    /// Whether it asks for a report of this kind.
    pub(crate) fn asks(&self, flag: BundleControlFlags) -> bool {
        let primary = &self.bundle.primary;
        primary.report_to != EndpointID::none()
            && !self.is_administrative()
            && primary.bundle_control_flags.contains(flag)
    }

    /// The bundle itself.
    pub(crate) const fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// When its lifetime is over, if it was received then: by its source's clock, or by its age where that has none
    /// (RFC 9171, sections 4.3.1 and 4.4.2).
    pub fn expires(&self, received: DtnTime) -> DtnTime {
        let lifetime = self.bundle.primary.lifetime.as_millis();
        let lifetime = u64::try_from(lifetime).unwrap_or(u64::MAX);
        if self.created() == DtnTime::default() {
            return received.plus_millis(lifetime.saturating_sub(self.age()));
        }
        self.created().plus_millis(lifetime)
    }

    /// Does to blocks that are not known here what their flags say.
    pub(crate) fn settle_unknown(&mut self) -> Unknown {
        let mut unknown = Unknown::default();
        let known = [PAYLOAD_BLOCK, PREVIOUS_NODE_BLOCK, BUNDLE_AGE_BLOCK, HOP_COUNT_BLOCK];
        self.bundle.canonicals.retain(|block| {
            if known.contains(&block.block_type) {
                return true;
            }
            let has = |flag| block.block_control_flags.contains(flag);
            unknown.report |= has(BlockControlFlags::BLOCK_STATUS_REPORT);
            unknown.delete |= has(BlockControlFlags::BLOCK_DELETE_BUNDLE);
            !has(BlockControlFlags::BLOCK_REMOVE)
        });
        unknown
    }

    /// Makes it one that leaves a node, after so many milliseconds there: it has been one hop further, is so much older, and
    /// comes from this node (RFC 9171, section 5.4, step 4). False when it has been too many hops.
    pub(crate) fn leave(&mut self, node: &EndpointID, stayed: u64) -> bool {
        if let Some(block) = self.block_mut(HOP_COUNT_BLOCK) {
            let is_last = matches!(block.hop_count_get(), Some((_, u8::MAX)));
            block.hop_count_increase();
            if is_last || block.hop_count_exceeded() {
                return false;
            }
        }
        if let Some(block) = self.block_mut(BUNDLE_AGE_BLOCK) {
            let age = block.bundle_age_get().unwrap_or_default();
            block.bundle_age_update(age.saturating_add(u128::from(stayed)));
        }
        match self.block_mut(PREVIOUS_NODE_BLOCK) {
            Some(block) => {
                block.previous_node_update(node.clone());
            }
            None => {
                let crc = self.bundle.primary.crc_type();
                let flags = BlockControlFlags::empty();
                let mut block = new_previous_node_block(0, flags, node.clone());
                block.set_crc_type(crc);
                self.bundle.add_canonical_block(block);
            }
        }
        true
    }

    /// The bundle as bytes, with checksums that are right.
    pub fn to_bytes(&mut self) -> Vec<u8> {
        self.bundle.to_cbor()
    }

    fn block(&self, kind: u64) -> Option<&CanonicalBlock> {
        self.bundle.canonicals.iter().find(|block| block.block_type == kind)
    }

    fn block_mut(&mut self, kind: u64) -> Option<&mut CanonicalBlock> {
        self.bundle.canonicals.iter_mut().find(|block| block.block_type == kind)
    }
}
