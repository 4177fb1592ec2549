//! Two TNCs that share a channel on which frames are lost, damaged and joined by those of others.

use std::collections::VecDeque;

use bentpipe_net::radio::TncAddress;
use bentpipe_wire::radio::ax25::{self, Pid};
use bentpipe_wire::radio::kiss::{Command, Decoder, Port, encode};
use bytes::{Bytes, BytesMut};
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Most frames behind one key-up.
const BURST: usize = 7;
/// Longer than what stations send: a TNC has room for it.
const LONGEST: usize = 1024;

/// A port for a station, and where it is.
pub(crate) async fn port() -> (TcpListener, TncAddress) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    (listener, address.parse().expect("an address of a TNC"))
}

/// A frame of a station to another one.
pub(crate) fn frame(source: &str, destination: &str, pid: Pid, payload: Bytes) -> Bytes {
    let address = |text: &str| text.parse().expect("a call sign");
    let (source, destination) = (address(source), address(destination));
    let repeaters = Default::default();
    let mut bytes = BytesMut::new();
    let frame = ax25::Frame { destination, source, repeaters, pid, payload };
    ax25::encode(&frame, &mut bytes).expect("no repeaters");
    bytes.freeze()
}

/// A frame as it goes over the line.
pub(crate) fn on_line(frame: Bytes) -> BytesMut {
    let mut line = BytesMut::new();
    encode(Port::default(), &Command::Data(frame), &mut line);
    line
}

/// Two TNCs. They end when this is dropped, and with them their lines.
pub(crate) struct Channel {
    tasks: JoinSet<()>,
}

impl Channel {
    /// Waits for the two stations at their ports.
    pub(crate) async fn open(ports: [TcpListener; 2], seed: u64) -> Self {
        let [a, b] = ports.map(|port| async move { port.accept().await.expect("a station").0 });
        let (a, b) = tokio::join!(a, b);
        let mut tasks = JoinSet::new();
        let (ear, mut heard) = mpsc::channel(64);
        let mut mouths = Vec::new();
        for (side, stream) in [a, b].into_iter().enumerate() {
            let (reader, writer) = stream.into_split();
            mouths.push(writer);
            tasks.spawn(take(side, reader, ear.clone()));
        }
        tasks.spawn(async move {
            let mut air =
                Air { queues: Default::default(), random: Xoshiro256PlusPlus::seed_from_u64(seed) };
            while let Some((side, frame)) = heard.recv().await {
                air.queues[side].push_back(frame);
                while let Ok((side, frame)) = heard.try_recv() {
                    air.queues[side].push_back(frame);
                }
                while let Some((side, lines)) = air.turn() {
                    for line in lines {
                        if mouths[1 - side].write_all(&line).await.is_err() {
                            return;
                        }
                    }
                }
            }
        });
        Self { tasks }
    }

    /// Takes both TNCs away.
    pub(crate) async fn close(mut self) {
        self.tasks.shutdown().await;
    }
}

/// Takes the frames that a station hands to its TNC.
async fn take(
    side: usize,
    mut reader: tokio::net::tcp::OwnedReadHalf,
    ear: mpsc::Sender<(usize, Bytes)>,
) {
    let mut decoder = Decoder::new(LONGEST);
    while let Ok(byte) = reader.read_u8().await {
        if let Some((_, Command::Data(frame))) = decoder.push(byte)
            && ear.send((side, frame)).await.is_err()
        {
            return;
        }
    }
}

/// The channel: one station sends at a time, or both and nobody is heard.
struct Air {
    queues: [VecDeque<Bytes>; 2],
    random: Xoshiro256PlusPlus,
}

impl Air {
    /// Who sends next, and what the other one's TNC says for that.
    fn turn(&mut self) -> Option<(usize, Vec<Bytes>)> {
        let waiting = [0, 1].map(|side| !self.queues[side].is_empty());
        let side = match waiting {
            [false, false] => return None,
            [true, true] => self.random.random_range(0..2),
            [first, _] => usize::from(!first),
        };
        if waiting == [true, true] && self.random.random_range(0..10) == 0 {
            self.queues.iter_mut().for_each(|queue| drop(queue.pop_front()));
            return Some((side, Vec::new()));
        }
        let count = self.queues[side].len().min(BURST);
        let frames: Vec<_> = self.queues[side].drain(..count).collect();
        Some((side, frames.into_iter().flat_map(|frame| self.fate(frame)).collect()))
    }

    /// What is heard for a frame: of a hundred five are lost, four damaged on the line, and two cut off there; four times
    /// somebody else is heard before.
    fn fate(&mut self, frame: Bytes) -> Vec<Bytes> {
        let mut line = on_line(frame);
        let place = self.random.random_range(1..line.len() - 1);
        match self.random.random_range(0..100) {
            0..5 => return Vec::new(),
            5..9 => line[place] ^= 1 << self.random.random_range(0..8),
            9..11 => drop(line.split_off(place)),
            11..15 => return vec![self.somebody_else(), line.freeze()],
            _ => {}
        }
        vec![line.freeze()]
    }

    fn somebody_else(&mut self) -> Bytes {
        let text = Bytes::from_static(b"good morning");
        let frame = match self.random.random_range(0..4) {
            0 => frame("W9XYZ", "W1ABC-9", Pid::Ip, text),
            1 => frame("W9XYZ", "W1ABC-1", Pid::NoLayer3, text),
            2 => frame("W9XYZ", "W1ABC-1", Pid::Ip, text),
            _ => frame("W9XYZ", "W1ABC-1", Pid::Ip, vec![0; 600].into()),
        };
        on_line(frame).freeze()
    }
}

/// The line to a station that has come to its port.
pub(crate) async fn line(port: &TcpListener) -> TcpStream {
    port.accept().await.expect("a station").0
}
