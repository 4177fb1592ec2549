//! How segments travel between the nodes of a machine.

use std::collections::VecDeque;

use bentpipe_wire::qlp::{Frame, Header, NodeId, Protocol};
use bentpipe_wire::xstp::{self, Segment};
use bytes::BytesMut;

use crate::sessions::{self, Unfit};

/// The frames of a node.
#[derive(Clone, Copy, Debug)]
pub struct Framing(pub(crate) NodeId);

impl sessions::Framing for Framing {
    type Peer = NodeId;
    type Frame = Frame;

    fn wrap(&mut self, to: NodeId, segment: &Segment, frames: &mut VecDeque<Frame>) {
        let header = Header { destination: to, source: self.0, protocol: Protocol::Xstp };
        let mut payload = BytesMut::with_capacity(segment.wire_len());
        xstp::encode(segment, None, &mut payload);
        frames.push_back(Frame { header, payload: payload.freeze() });
    }

    fn unwrap(&self, frame: Frame) -> Result<(NodeId, Segment), Unfit> {
        let Header { destination, source, protocol } = frame.header;
        if destination != self.0 || protocol != Protocol::Xstp {
            return Err(Unfit::Unwanted);
        }
        let segment = xstp::decode(frame.payload, None).map_err(|_| Unfit::Malformed)?;
        Ok((source, segment))
    }
}
