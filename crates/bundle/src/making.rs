//! Bundles that a node makes: those of its applications, and status reports.

use std::time::Duration;

use bentpipe_units::Span;
use bp7::administrative_record::{AdministrativeRecord, BundleStatusItem, StatusReport};
use bp7::bundle::BundleBuilder;
use bp7::canonical::{new_hop_count_block, new_payload_block};
use bp7::crc::CRC_32;
use bp7::flags::{BlockControlFlags, BundleControlFlags};
use bp7::primary::PrimaryBlockBuilder;
use bp7::{CreationTimestamp, EndpointID};

use crate::checked::is_well_formed;
use crate::{Checked, DtnTime, id};

/// Hops that a bundle from here may take.
const HOPS: u8 = 32;

/// What an application asks to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Where it goes.
    pub to: EndpointID,
    /// Where it is from: an endpoint of the node.
    pub from: EndpointID,
    /// Whom to tell what becomes of it.
    pub report_to: EndpointID,
    /// What is to be told.
    pub reports: Reports,
    /// How long it is of use.
    pub lifetime: Span,
    /// What it carries.
    pub payload: Vec<u8>,
}

/// Status reports that a bundle asks for (RFC 9171, section 4.2.3). They carry the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reports {
    /// A node has it.
    pub reception: bool,
    /// The next hop has taken custody.
    pub forwarding: bool,
    /// Its application has it.
    pub delivery: bool,
    /// It is gone, and why.
    pub deletion: bool,
}

impl Reports {
    fn flags(self) -> BundleControlFlags {
        let mut flags = BundleControlFlags::empty();
        for (is_asked, flag) in [
            (self.reception, BundleControlFlags::BUNDLE_STATUS_REQUEST_RECEPTION),
            (self.forwarding, BundleControlFlags::BUNDLE_STATUS_REQUEST_FORWARD),
            (self.delivery, BundleControlFlags::BUNDLE_STATUS_REQUEST_DELIVERY),
            (self.deletion, BundleControlFlags::BUNDLE_STATUS_REQUEST_DELETION),
        ] {
            if is_asked {
                flags |= flag | BundleControlFlags::BUNDLE_REQUEST_STATUS_TIME;
            }
        }
        flags
    }
}

/// What became of a bundle, as a report says it (RFC 9171, section 6.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// A node has it.
    Received,
    /// The next hop has it.
    Forwarded,
    /// Its application has it.
    Delivered,
    /// It is gone.
    Deleted,
}

impl Status {
    /// All of them, in the order of a report.
    const ALL: [Self; 4] = [Self::Received, Self::Forwarded, Self::Delivered, Self::Deleted];

    /// The flag by which a bundle asks for it.
    pub(crate) const fn flag(self) -> BundleControlFlags {
        match self {
            Self::Received => BundleControlFlags::BUNDLE_STATUS_REQUEST_RECEPTION,
            Self::Forwarded => BundleControlFlags::BUNDLE_STATUS_REQUEST_FORWARD,
            Self::Delivered => BundleControlFlags::BUNDLE_STATUS_REQUEST_DELIVERY,
            Self::Deleted => BundleControlFlags::BUNDLE_STATUS_REQUEST_DELETION,
        }
    }

    /// As a word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Received => "received",
            Self::Forwarded => "forwarded",
            Self::Delivered => "delivered",
            Self::Deleted => "deleted",
        }
    }
}

/// A bundle that an application wants to be sent. It is never fragmented and has a CRC-32C in each block.
pub(crate) fn request(request: &Request, now: DtnTime, sequence: u64) -> Option<Checked> {
    let flags = request.reports.flags() | BundleControlFlags::BUNDLE_MUST_NOT_FRAGMENTED;
    let hops = new_hop_count_block(2, BlockControlFlags::empty(), HOPS);
    let payload = new_payload_block(BlockControlFlags::empty(), request.payload.clone());
    let made = Made {
        flags,
        to: &request.to,
        from: &request.from,
        report_to: &request.report_to,
        lifetime: request.lifetime.as_nanos() / 1_000_000,
    };
    made.build(now, sequence, vec![hops, payload])
}

/// The report that a bundle asks for, if it asks. It lives as long as the bundle was to.
pub(crate) fn report(
    about: &Checked,
    node: &EndpointID,
    (status, reason): (Status, u32),
    now: DtnTime,
    sequence: u64,
) -> Option<Checked> {
    if !about.asks(status.flag()) {
        return None;
    }
    let has_time = about.asks(BundleControlFlags::BUNDLE_REQUEST_STATUS_TIME);
    let items = Status::ALL.map(|item| BundleStatusItem {
        asserted: item == status,
        time: now.as_millis(),
        status_requested: item == status && has_time,
    });
    let primary = &about.bundle().primary;
    let is_fragment = primary.has_fragmentation();
    let record = AdministrativeRecord::BundleStatusReport(StatusReport {
        status_information: items.to_vec(),
        report_reason: reason,
        source_node: primary.source.clone(),
        timestamp: primary.creation_timestamp.clone(),
        frag_offset: if is_fragment { primary.fragmentation_offset } else { 0 },
        frag_len: if is_fragment { about.payload().len() as u64 } else { 0 },
    });
    let hops = new_hop_count_block(2, BlockControlFlags::empty(), HOPS);
    let made = Made {
        flags: BundleControlFlags::BUNDLE_ADMINISTRATIVE_RECORD_PAYLOAD,
        to: about.report_to(),
        from: node,
        report_to: &EndpointID::none(),
        lifetime: u64::try_from(primary.lifetime.as_millis()).unwrap_or(u64::MAX),
    };
    made.build(now, sequence, vec![hops, record.to_payload()])
}

struct Made<'a> {
    flags: BundleControlFlags,
    to: &'a EndpointID,
    from: &'a EndpointID,
    report_to: &'a EndpointID,
    lifetime: u64,
}

impl Made<'_> {
    fn build(
        self,
        now: DtnTime,
        sequence: u64,
        blocks: Vec<bp7::CanonicalBlock>,
    ) -> Option<Checked> {
        let primary = PrimaryBlockBuilder::new()
            .bundle_control_flags(self.flags.bits())
            .destination(self.to.clone())
            .source(self.from.clone())
            .report_to(self.report_to.clone())
            .creation_timestamp(CreationTimestamp::with_time_and_seq(now.as_millis(), sequence))
            .lifetime(Duration::from_millis(self.lifetime))
            .build()
            .ok()?;
        let mut bundle = BundleBuilder::new().primary(primary).canonicals(blocks).build().ok()?;
        bundle.set_crc(CRC_32);
        Some(Checked::made(bundle))
    }
}

/// What a status report says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The name of the bundle that it is about, if it is no fragment.
    pub about: String,
    /// What became of it, and when, if that was asked for.
    pub status: Vec<(Status, Option<DtnTime>)>,
    /// Why, as RFC 9171, section 9.5, numbers it; 0 for no more than that.
    pub reason: u32,
}

/// Longest report that is read, in bytes.
const LONGEST_REPORT: usize = 4096;

/// Reads the payload of an administrative record; `None` if it is no status report.
pub fn read_report(bundle: &Checked) -> Option<Told> {
    let payload = bundle.payload();
    if !bundle.is_administrative() || payload.len() > LONGEST_REPORT {
        return None;
    }
    let Ok(AdministrativeRecord::BundleStatusReport(record)) = serde_cbor::from_slice(payload)
    else {
        return None;
    };
    // What it names goes to an application as text.
    if !is_well_formed(&record.source_node) {
        return None;
    }
    let time =
        |item: &BundleStatusItem| item.status_requested.then_some(DtnTime::from_millis(item.time));
    let said = Status::ALL.into_iter().zip(&record.status_information);
    let status = said.filter(|(_, item)| item.asserted).map(|(it, item)| (it, time(item)));
    let created = DtnTime::from_millis(record.timestamp.dtntime());
    Some(Told {
        about: id::name(&record.source_node, created, record.timestamp.seqno()),
        status: status.collect(),
        reason: record.report_reason,
    })
}
