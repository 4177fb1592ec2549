//! What an association does against losses.

use bentpipe_tunnel::Protection;
use bentpipe_units::{Instant, Span};
use bytes::Bytes;

use super::decoder::FecDecoder;
use super::encoder::{FecEncoder, Sealed};
use super::losses::{Losses, Received};
use super::{Fec, Parity};
use crate::endpoint::number::has_content;
use crate::secure::Index;

/// A round-trip time that was not measured yet: longer than any over a satellite.
const UNKNOWN: Span = Span::from_secs(1);

/// Parity of one association, both directions.
#[derive(Debug)]
pub(in crate::endpoint) struct FecState {
    fec: Fec,
    losses: Losses,
    encoder: FecEncoder,
    decoder: FecDecoder,
    /// Connections that have something to send.
    busy: usize,
    /// The round-trip time that a connection measured last.
    round_trip: Option<Span>,
}

impl FecState {
    /// Nothing has been sent or received; what arrives is kept in so many bytes.
    pub(in crate::endpoint) fn new(fec: Fec, room: usize) -> Self {
        Self {
            fec,
            losses: Losses::default(),
            encoder: FecEncoder::default(),
            decoder: FecDecoder::new(room),
            busy: 0,
            round_trip: None,
        }
    }

    /// Whether what is sent now is protected.
    pub(in crate::endpoint) const fn protects(&self) -> bool {
        self.fec.protects(&self.losses)
    }

    /// How datagrams of applications are protected.
    pub(in crate::endpoint) fn protection(&self) -> Protection {
        match self.fec {
            Fec::Ratio(ratio) => Protection::Ratio(ratio),
            Fec::Auto if self.losses.are_noticed() => {
                Protection::Against { share: self.losses.share(), worst: self.losses.worst() }
            }
            Fec::Auto | Fec::Off => Protection::Off,
        }
    }

    /// Content is about to be sent: whether to tell the peer that parity will come.
    pub(in crate::endpoint) fn notice(&mut self, now: Instant) -> bool {
        self.protects() && self.encoder.notice(now)
    }

    /// A datagram is sealed.
    pub(in crate::endpoint) fn sealed(&mut self, now: Instant, sealed: Sealed<'_>) {
        if self.protects() {
            let plain = if has_content(sealed.plain) { sealed.plain } else { &[] };
            let round_trip = self.round_trip.unwrap_or(UNKNOWN);
            self.encoder.sealed(now, Sealed { plain, ..sealed }, round_trip);
        } else {
            // Parity covers numbers in a row.
            self.encoder.clear();
        }
    }

    /// A connection was drained: whether it had and has something to send, and its round-trip time.
    pub(in crate::endpoint) fn drained(
        &mut self,
        was_busy: bool,
        is_busy: bool,
        round_trip: Option<Span>,
    ) {
        self.busy = self.busy + usize::from(is_busy) - usize::from(was_busy);
        self.round_trip = round_trip.or(self.round_trip);
        self.encoder.set_quiet(self.busy == 0);
    }

    /// The round-trip time that a connection measured last.
    pub(in crate::endpoint) const fn round_trip(&self) -> Option<Span> {
        self.round_trip
    }

    /// A short object that began to be sent then is sent: what came since is protected although others
    /// go on.
    pub(in crate::endpoint) fn object_ended(&mut self, now: Instant, began: Instant) {
        self.encoder.object_ended(now, began);
    }

    /// What to tell the peer now of what came.
    pub(in crate::endpoint) fn news(&mut self, now: Instant) -> Option<Received> {
        self.losses.news(now)
    }

    /// The peer tells what it received.
    pub(in crate::endpoint) fn report(&mut self, received: Received) {
        self.losses.report(received);
    }

    /// The share of datagrams that got lost, as the peer reports; `None` before its first report.
    pub(in crate::endpoint) fn measured_losses(&self) -> Option<f64> {
        self.losses.measured()
    }

    /// The parity that is due, at most `room` bytes in each datagram.
    pub(in crate::endpoint) fn parity(&mut self, now: Instant, room: usize) -> Vec<Parity> {
        if self.encoder.due().is_none_or(|due| due > now) {
            return Vec::new();
        }
        let (fec, losses) = (self.fec, &self.losses);
        self.encoder.parity(|of| fec.count(losses, of), room)
    }

    /// An authentic datagram carries this, of an application or not. Returns what was lost and can be recovered now.
    pub(in crate::endpoint) fn arrived(
        &mut self,
        now: Instant,
        keys: Index,
        number: u64,
        plain: &Bytes,
        is_data: bool,
    ) -> Vec<Bytes> {
        let content = has_content(plain);
        self.losses.saw(now, keys, number, is_data);
        self.decoder.received(keys, number, if content { plain } else { &[] })
    }

    /// The peer says that parity will come.
    pub(in crate::endpoint) fn expect(&mut self, now: Instant) {
        self.decoder.expect(now);
    }

    /// Parity came in the datagram of this number. Returns what was lost and can be recovered now.
    pub(in crate::endpoint) fn handle_parity(
        &mut self,
        now: Instant,
        number: u64,
        parity: Parity,
    ) -> Vec<Bytes> {
        self.decoder.parity(now, number, parity)
    }

    /// When there is something to send or to forget.
    pub(in crate::endpoint) fn deadline(&self) -> Option<Instant> {
        let parity = Instant::earliest(self.encoder.due(), self.decoder.deadline());
        Instant::earliest(parity, self.losses.due())
    }

    /// Forgets what is old.
    pub(in crate::endpoint) fn handle_timeout(&mut self, now: Instant) {
        self.decoder.handle_timeout(now);
    }
}
