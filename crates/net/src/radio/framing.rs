//! How segments travel between stations: in IPv4 with a source route, in UI frames of AX.25.

use std::collections::VecDeque;

use bentpipe_wire::radio::{LONGEST_FRAME, OVERHEAD, ax25, source_route};
use bentpipe_wire::xstp::{self, Body, Flow, Segment};
use bytes::{Bytes, BytesMut};

use super::{Digis, Identity};
use crate::sessions::{self, Unfit};

/// How many stations may pass a packet on; none does.
const TIME_TO_LIVE: u8 = 64;

/// The frames of a station, as its TNC takes them and hands them over: without flags and check sequence.
#[derive(Clone, Debug)]
pub struct Framing {
    own: Identity,
    digis: Digis,
    /// Number of the next packet.
    identification: u16,
}

/// Bytes that a segment may have so that its frame is none too long.
pub(super) fn room(digis: &Digis) -> usize {
    LONGEST_FRAME - OVERHEAD - ax25::REPEATER * digis.as_slice().len()
}

impl Framing {
    /// The frames of this station, which these repeaters pass on.
    pub(super) const fn new(own: Identity, digis: Digis) -> Self {
        Self { own, digis, identification: 0 }
    }

    fn frame(&mut self, to: Identity, segment: &Segment) -> Bytes {
        let mut payload = BytesMut::with_capacity(segment.wire_len());
        xstp::encode(segment, None, &mut payload);
        let packet = source_route::Packet {
            source: self.own.ip(),
            destination: to.ip(),
            identification: self.identification,
            time_to_live: TIME_TO_LIVE,
            hops: Default::default(),
            segments_left: 0,
            protocol: xstp::PROTOCOL,
            payload: payload.freeze(),
        };
        self.identification = self.identification.wrapping_add(1);
        let mut payload = BytesMut::with_capacity(LONGEST_FRAME);
        source_route::encode(&packet, &mut payload).expect("a segment is shorter than a packet");
        let repeater = |address: &_| ax25::Repeater { address: *address, has_repeated: false };
        let frame = ax25::Frame {
            destination: to.call_sign(),
            source: self.own.call_sign(),
            repeaters: self.digis.as_slice().iter().map(repeater).collect(),
            pid: ax25::Pid::Ip,
            payload: payload.freeze(),
        };
        let mut bytes = BytesMut::with_capacity(LONGEST_FRAME);
        ax25::encode(&frame, &mut bytes).expect("there are as few repeaters as a frame may have");
        bytes.freeze()
    }
}

impl sessions::Framing for Framing {
    type Peer = Identity;
    type Frame = Bytes;

    fn wrap(&mut self, to: Identity, segment: &Segment, frames: &mut VecDeque<Bytes>) {
        match &segment.body {
            // Data and a report are too much for one frame. Peers read the report first.
            Body::Flow(flow) if segment.wire_len() > room(&self.digis) => {
                let (report, end_ack) = (flow.report.clone(), flow.end_ack);
                let said = Flow { report, end_ack, ..Flow::default() };
                let rest = Flow { report: None, end_ack: None, ..flow.clone() };
                for part in [said, rest].map(Body::Flow) {
                    frames.push_back(self.frame(to, &Segment { body: part, ..*segment }));
                }
            }
            _ => frames.push_back(self.frame(to, segment)),
        }
    }

    fn unwrap(&self, frame: Bytes) -> Result<(Identity, Segment), Unfit> {
        let frame = ax25::decode(&frame).map_err(|error| match error {
            // Others have connections on this channel.
            ax25::DecodeError::Control(_) => Unfit::Unwanted,
            _ => Unfit::Malformed,
        })?;
        let is_whole_way = frame.repeaters.iter().all(|repeater| repeater.has_repeated);
        if frame.destination != self.own.call_sign() || frame.pid != ax25::Pid::Ip || !is_whole_way
        {
            return Err(Unfit::Unwanted);
        }
        let packet = source_route::decode(frame.payload).map_err(|_| Unfit::Malformed)?;
        let is_here = packet.destination == self.own.ip() && packet.segments_left == 0;
        if !is_here || packet.protocol != xstp::PROTOCOL {
            return Err(Unfit::Unwanted);
        }
        let segment = xstp::decode(packet.payload, None).map_err(|_| Unfit::Malformed)?;
        let source = Identity::heard(frame.source, packet.source).ok_or(Unfit::Malformed)?;
        Ok((source, segment))
    }
}

#[cfg(test)]
mod tests;
