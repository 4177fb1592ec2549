//! A flow between a TCP connection and a connection to the remote gateway.
//!
//! Each direction says how it ended: what was cut off is never taken for the end. Between gateways the
//! bytes therefore travel in frames with a header of four bytes, and the last frame says whether it is the
//! end or a reset. Frames may be [compressed](crate::compression).
//!
//! | what ends a direction | its other side | the flow |
//! |---|---|---|
//! | TCP ends | END is sent | goes on until the other direction has ended |
//! | END comes | TCP is shut down for writing | the same |
//! | TCP is reset | RESET is sent | ends once that is delivered, in 60 s at most |
//! | RESET comes | TCP gets what came before | ends with a reset of TCP once that is taken, in 60 s at most |
//! | TCP takes nothing any more | is aborted once everything is delivered | ends |
//! | a verdict comes that is not *connected* | is aborted | ends with a reset of TCP, and counts as refused |
//! | the connection between the gateways fails, or ends without END | TCP is reset | counts as cut off |

mod buffer;
mod frames;
mod pieces;

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::pin;
use std::task::Poll;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use buffer::Buffer;
use frames::{DATA, END, Frames, HEADER, RESET, put_header};
use pieces::Pieces;

use crate::carrier::Carrier;
use crate::flows::Flow;
use crate::open::{self, Verdict};
use crate::{Tcp, TcpReader};

use bentpipe_association::host::Runtime;
use bentpipe_units::Span;

/// Most frames given to TCP at once.
const GATHER: usize = 64;
/// Time between two looks whether everything was delivered.
const LOOK: Span = Span::from_millis(20);
/// A host that has reset its connection does not have to be served for longer.
const LINGER: Span = Span::from_secs(60);

/// How a direction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// Everything was passed on.
    End,
    /// Everything that there was, before a reset.
    Reset,
    /// Nobody takes what still comes.
    Refused,
    /// There is no other host.
    NotConnected(Verdict),
}

/// What a remote gateway has said of a flow.
#[derive(Debug)]
pub(crate) enum Before {
    /// Nothing yet: what became of it comes first.
    Verdict,
    /// That it is connected, and the beginning of what follows.
    Bytes(Bytes),
}

/// How a flow ended that was not cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Everything was carried.
    Carried,
    /// It was never connected.
    NotConnected(Verdict),
}

/// Sends what was read from TCP before the flow began.
///
/// # Errors
/// When the connection failed.
pub(crate) async fn send_first(carrier: &Carrier, first: Bytes, flow: &Flow) -> io::Result<()> {
    if first.is_empty() {
        return Ok(());
    }
    flow.sent(first.len());
    let mut header = BytesMut::zeroed(HEADER);
    put_header(&mut header, DATA, first.len());
    carrier.write_bytes(header.freeze()).await?;
    carrier.write_bytes(first).await
}

/// Carries a flow until both directions have ended.
///
/// # Errors
/// When the connection between the gateways failed; TCP is reset then.
pub(crate) async fn relay<T: Tcp>(
    runtime: &impl Runtime,
    tcp: &mut T,
    carrier: Carrier,
    before: Before,
    flow: &Flow,
) -> io::Result<Ended> {
    tcp.guard()?;
    let outcome = {
        let (reader, writer) = tcp.split();
        let up = upward(reader, &carrier, flow);
        let down = async {
            let ending = downward(&carrier, before, writer, flow).await;
            if matches!(ending, Ok(Ending::Refused)) {
                carrier.refuse();
            }
            carrier.has_passed_on();
            ending
        };
        both(up, down, carrier.failed()).await
    };
    carrier.keeps_nothing();
    match outcome {
        Ok(Both::Ended(Ending::End)) => {
            tcp.complete()?;
            let _ = carrier.finish().await;
            Ok(Ended::Carried)
        }
        Ok(Both::Ended(_)) => {
            // The host is gone, but what it sent before is still delivered.
            let _ = runtime.timeout(LINGER, carrier.delivered(runtime)).await;
            carrier.abort();
            Ok(Ended::Carried)
        }
        Ok(Both::ResetHere) => {
            carrier.refuse();
            let _ = runtime.timeout(LINGER, carrier.finish()).await;
            Ok(Ended::Carried)
        }
        Ok(Both::NotConnected(verdict)) => {
            carrier.abort();
            Ok(Ended::NotConnected(verdict))
        }
        Ok(Both::ResetThere) => {
            let _ = runtime.timeout(LINGER, taken(runtime, tcp)).await;
            let _ = runtime.timeout(LINGER, carrier.finish()).await;
            Ok(Ended::Carried)
        }
        Err(error) => {
            carrier.abort();
            Err(error)
        }
    }
}

/// How both directions ended.
enum Both {
    /// Each by itself; this is how the one to this host did.
    Ended(Ending),
    /// This host, or the other one, has reset its connection.
    ResetHere,
    ResetThere,
    /// There is no other host.
    NotConnected(Verdict),
}

/// Waits for both directions; a reset ends them both. That the connection has failed each of them sees when it uses it,
/// but for one to the remote gateway that has nothing to say while the other one is over.
async fn both(
    up: impl Future<Output = io::Result<Ending>>,
    down: impl Future<Output = io::Result<Ending>>,
    failed: impl Future<Output = io::Error>,
) -> io::Result<Both> {
    tokio::pin!(up, down, failed);
    let (mut up_ended, mut down_ended) = (false, None);
    loop {
        tokio::select! {
            biased;
            ending = &mut up, if !up_ended => {
                if ending? == Ending::Reset {
                    return Ok(Both::ResetHere);
                }
                up_ended = true;
            }
            ending = &mut down, if down_ended.is_none() => match ending? {
                Ending::Reset => return Ok(Both::ResetThere),
                Ending::NotConnected(verdict) => return Ok(Both::NotConnected(verdict)),
                ending => down_ended = Some(ending),
            },
            error = &mut failed, if down_ended.is_some() => return Err(error),
        }
        if let Some(ending) = down_ended.filter(|_| up_ended) {
            return Ok(Both::Ended(ending));
        }
    }
}

/// Waits until the host has taken everything.
async fn taken(runtime: &impl Runtime, tcp: &mut impl Tcp) {
    while tcp.queued() > 0 {
        runtime.sleep(LOOK).await;
    }
}

/// From TCP to the remote gateway.
async fn upward(mut tcp: impl TcpReader, carrier: &Carrier, flow: &Flow) -> io::Result<Ending> {
    let (mut buffer, mut pieces) = (Buffer::new(), Pieces::new(flow.compression()));
    let (kind, ending) = loop {
        match read(&mut tcp, carrier, &mut buffer).await {
            Ok(0) => break (END, Ending::End),
            Err(_) => break (RESET, Ending::Reset),
            Ok(len) => {
                flow.sent(len);
                for frame in pieces.of(flow.now(), buffer.take_frame(len)) {
                    carrier.write_bytes(frame).await?;
                }
            }
        }
    };
    let mut last = BytesMut::zeroed(HEADER);
    put_header(&mut last, kind, 0);
    carrier.write_bytes(last.freeze()).await?;
    carrier.close();
    Ok(ending)
}

/// Reads as much as there is memory for at that moment: the rest stays in the kernel, and with the host. While
/// nothing comes no memory is kept.
async fn read(
    tcp: &mut impl TcpReader,
    carrier: &Carrier,
    buffer: &mut Buffer,
) -> io::Result<usize> {
    buffer.released_during(tcp.readable()).await?;
    poll_fn(|cx| {
        let polled = match carrier.poll_room(cx) {
            Poll::Ready(room) => {
                let mut bytes = buffer.prepare(room).limit(room);
                pin!(tcp.read_buf(&mut bytes)).poll(cx)
            }
            Poll::Pending => Poll::Pending,
        };
        // Whoever was readable may not be any more, or the task has had its turn.
        if polled.is_pending() {
            buffer.release();
        }
        polled
    })
    .await
}

/// From the remote gateway to TCP.
async fn downward(
    carrier: &Carrier,
    before: Before,
    mut tcp: impl AsyncWrite + Unpin,
    flow: &Flow,
) -> io::Result<Ending> {
    let first = match before {
        Before::Bytes(first) => first,
        Before::Verdict => match open::read(carrier).await? {
            (Verdict::Connected, first) => first,
            (verdict, _) => return Ok(Ending::NotConnected(verdict)),
        },
    };
    let mut frames = Frames::default();
    let mut arrived = vec![first];
    loop {
        let mut ready = VecDeque::new();
        let mut kind = None;
        for mut bytes in arrived.drain(..) {
            while !bytes.is_empty() {
                let taken = frames.take(&mut bytes, &mut ready, GATHER, flow.compression())?;
                kind = taken.or(kind);
                let is_full = frames.has_expanded() || ready.len() == GATHER;
                if is_full && write_all(&mut tcp, &mut ready, flow).await.is_err() {
                    return Ok(Ending::Refused);
                }
            }
        }
        if write_all(&mut tcp, &mut ready, flow).await.is_err() {
            return Ok(Ending::Refused);
        }
        drop(ready);
        match kind {
            Some(END) => {
                // It may be gone by now, which changes nothing.
                let _ = tcp.shutdown().await;
                return Ok(Ending::End);
            }
            Some(_) => return Ok(Ending::Reset),
            None => {}
        }
        if !carrier.read_chunks(&mut arrived, GATHER).await? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

/// Writes all frames.
async fn write_all(
    tcp: &mut (impl AsyncWrite + Unpin),
    frames: &mut VecDeque<Bytes>,
    flow: &Flow,
) -> io::Result<()> {
    while !frames.is_empty() {
        let mut slices = [IoSlice::new(&[]); GATHER];
        let count = frames.len().min(GATHER);
        for (slice, frame) in slices.iter_mut().zip(&*frames) {
            *slice = IoSlice::new(frame);
        }
        let mut written = tcp.write_vectored(&slices[..count]).await?;
        flow.received(written);
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        while let Some(front) = frames.front_mut()
            && written > 0
        {
            let len = written.min(front.len());
            front.advance(len);
            written -= len;
            if front.is_empty() {
                frames.pop_front();
            }
        }
    }
    Ok(())
}
