//! The line to a TNC: commands out of bytes and bytes out of commands.

use bentpipe_wire::radio::kiss::{Command, Decoder, Port, TncTime, encode};
use bytes::{Bytes, BytesMut};

/// Bytes that wait for the TNC at most. The windows of some connections are far below that; it is reached when the TNC takes
/// nothing any more.
const MOST_WAITING: usize = 65_536;

/// Bytes of the longest frame that is read, the byte with the command included. Those of others may be longer than those of
/// this station, and are unwanted, not malformed.
const LONGEST_HEARD: usize = 4096;

/// What a TNC is told at the beginning; what is left out stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Which radio of a TNC with several.
    pub port: Port,
    /// From key-up to the first frame.
    pub tx_delay: Option<TncTime>,
    /// A free channel is taken with probability (P + 1) / 256.
    pub persistence: Option<u8>,
    /// Time between two attempts to take the channel.
    pub slot_time: Option<TncTime>,
    /// How long the carrier stays after the last frame.
    pub tx_tail: Option<TncTime>,
}

impl Settings {
    fn commands(&self) -> impl Iterator<Item = Command> {
        let commands = [
            self.tx_delay.map(Command::TxDelay),
            self.persistence.map(Command::Persistence),
            self.slot_time.map(Command::SlotTime),
            self.tx_tail.map(Command::TxTail),
        ];
        commands.into_iter().flatten()
    }
}

/// What became of the frames of a station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames that the TNC handed over.
    pub received: u64,
    /// What was dropped because it is no frame, or no packet or segment is in it, damage included.
    pub malformed: u64,
    /// Frames that were dropped because they are not for this station, or for another protocol.
    pub unwanted: u64,
    /// Frames that were handed to the TNC.
    pub sent: u64,
    /// Frames that the TNC took too slowly, and are lost.
    pub lost_tnc_busy: u64,
}

/// The line to a TNC.
#[derive(Debug)]
pub(super) struct Line {
    port: Port,
    decoder: Decoder,
    /// Bytes for the TNC.
    waiting: BytesMut,
    counters: Counters,
}

impl Line {
    /// The line to a TNC that is told these settings first.
    pub(super) fn new(settings: &Settings) -> Self {
        let mut waiting = BytesMut::new();
        for command in settings.commands() {
            encode(settings.port, &command, &mut waiting);
        }
        let (decoder, counters) = (Decoder::new(LONGEST_HEARD), Counters::default());
        Self { port: settings.port, decoder, waiting, counters }
    }

    /// The TNC says one byte more. Returns a frame when it ends one of this station's radio.
    pub(super) fn hear(&mut self, byte: u8) -> Option<Bytes> {
        let (port, command) = self.decoder.push(byte)?;
        // A TNC says nothing but frames; settings are what an echo looks like.
        let Command::Data(frame) = command else { return None };
        self.counters.received += 1;
        if port != self.port {
            self.counters.unwanted += 1;
            return None;
        }
        Some(frame)
    }

    /// A frame that is to be sent. If too much waits already, it is lost.
    pub(super) fn send(&mut self, frame: Bytes) {
        if self.waiting.len() >= MOST_WAITING {
            self.counters.lost_tnc_busy += 1;
            return;
        }
        encode(self.port, &Command::Data(frame), &mut self.waiting);
        self.counters.sent += 1;
    }

    /// Takes all bytes that wait for the TNC.
    pub(super) fn take_waiting(&mut self) -> BytesMut {
        self.waiting.split()
    }

    /// What became of the frames so far, apart from what was dropped for what is in them.
    pub(super) fn counters(&self) -> Counters {
        Counters { malformed: self.decoder.skipped(), ..self.counters }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tnc_is_told_what_is_set_and_nothing_else() {
        let port = Port::new(1).expect("a port");
        let slot_time = Some(TncTime::from_steps(10));
        let settings = Settings { port, persistence: Some(63), slot_time, ..Settings::default() };
        let mut line = Line::new(&settings);
        assert_eq!(line.take_waiting(), b"\xc0\x12\x3f\xc0\xc0\x13\x0a\xc0"[..]);
        assert!(Line::new(&Settings::default()).take_waiting().is_empty());
    }

    #[test]
    fn frames_of_other_radios_and_junk_are_counted_and_dropped() {
        let mut line = Line::new(&Settings::default());
        let said =
            b"\xc0\x00one\xc0\xc0\x10other\xc0\xc0\x00\xdbjunk\xc0\xc0\x01\x05\xc0\xc0\x00two\xc0";
        let heard: Vec<_> = said.iter().filter_map(|byte| line.hear(*byte)).collect();
        assert_eq!(heard, ["one", "two"]);
        let counters = line.counters();
        assert_eq!((counters.received, counters.unwanted, counters.malformed), (3, 1, 1));
    }

    #[test]
    fn what_a_tnc_does_not_take_is_lost_and_takes_no_memory() {
        let mut line = Line::new(&Settings::default());
        for _ in 0..2000 {
            line.send(Bytes::from_static(&[0; 254]));
        }
        let Counters { sent, lost_tnc_busy, .. } = line.counters();
        assert!(lost_tnc_busy > 1000 && sent + lost_tnc_busy == 2000);
        assert!(line.waiting.len() < MOST_WAITING + 512);
    }
}
