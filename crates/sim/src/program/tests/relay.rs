//! What a hub's relay keeps, and when it ends.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use bentpipe_association::Tuning;
use bentpipe_association::host::{Runtime, lock};
use bentpipe_gateway::{Config, Gateway, Network, Surroundings};
use bentpipe_units::{Instant, Span};
use bytes::Bytes;
use ipnet::IpNet;

use super::{Two, address, after, key};
use crate::lan::{NoUdp, Pipe, Read, Running};
use crate::program::Virtual;

/// Servers that take every connection.
#[derive(Clone, Debug)]
struct Lan {
    runtime: Virtual,
    servers: Servers,
}

/// Their ends of the connections.
type Servers = Arc<Mutex<Vec<Pipe>>>;

impl Runtime for Lan {
    fn now(&self) -> Instant {
        Runtime::now(&self.runtime)
    }

    async fn sleep(&self, span: Span) {
        self.runtime.sleep(span).await;
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<T> {
        self.runtime.blocking(work).await
    }
}

impl Surroundings for Lan {
    fn is_own(&self, _: SocketAddr) -> bool {
        false
    }

    fn network_of(&self, _: IpAddr) -> Option<IpNet> {
        None
    }
}

impl Network for Lan {
    type Tcp = Pipe;
    type Udp = NoUdp;
    type Tasks = Running;

    fn calendar(&self) -> u64 {
        self.now().as_nanos()
    }

    fn tasks(&self) -> Running {
        Running::new(self.runtime.clone())
    }

    async fn connect(&self, _: SocketAddr, _: Option<SocketAddr>) -> io::Result<Pipe> {
        let [near, far] = Pipe::pair();
        lock(&self.servers).push(far);
        Ok(near)
    }

    fn look_up(
        &self,
        _: String,
        _: u16,
        _: impl FnOnce(io::Result<Vec<SocketAddr>>) + Send + 'static,
    ) -> io::Result<()> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn socket_to(&self, _: SocketAddr, _: Option<SocketAddr>) -> io::Result<NoUdp> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn socket_between(&self, _: SocketAddr, _: SocketAddr, _: bool) -> io::Result<NoUdp> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn esp_to(&self, _: IpAddr, _: IpAddr) -> io::Result<NoUdp> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Program 1 becomes a hub; program 0 is its terminal.
fn hub(two: &Two) -> Servers {
    let text = format!(
        "role = \"hub\"\nkey = \"k\"\nlisten = \"0.0.0.0:25300\"\nallow = [\"10.0.0.0/8\"]\n\
         [limits]\nmemory = \"10 MB\"\nconnections = 16\n[peers.terminal]\nkey = \"{}\"\n",
        key(0).public()
    );
    let (program, servers) = (two.program(1), Servers::default());
    let lan = Lan { runtime: program.runtime().clone(), servers: servers.clone() };
    let config = Config::parse("gateway", &text).expect("a configuration");
    let gateway = Gateway::new(config, program.host().clone(), lan, 100).expect("a hub");
    for work in Arc::new(gateway).work() {
        program.spawn(async move {
            let _ = work.await;
        });
    }
    servers
}

/// What opens a flow from 10.0.0.1:4000 to 10.9.9.9:80.
fn opening() -> Bytes {
    let message = [1, 0, 0, 10, 9, 9, 9, 80, 0, 10, 0, 0, 1, 0xa0, 0x1f];
    [&(message.len() as u16).to_be_bytes()[..], &message].concat().into()
}

const DATA: u8 = 0;
const END: u8 = 1;

fn frame(kind: u8, data: &[u8]) -> Vec<u8> {
    let header = u32::from(kind) << 24 | data.len() as u32;
    [&header.to_be_bytes()[..], data].concat()
}

/// The terminal opens eight flows; each says this and stays open.
fn flows(two: &Two, says: &[u8]) {
    let (client, says) = (two.program(0), Bytes::copy_from_slice(says));
    let (host, time) = (client.host().clone(), client.runtime().clone());
    client.spawn(async move {
        let config = Tuning::default().config().expect("settings");
        let mut all = Vec::new();
        for _ in 0..8 {
            let connection = host.connect(address(1), key(1).public(), 2, config.clone()).await;
            let connection = connection.expect("connected");
            connection.write_bytes(opening()).await.expect("written");
            let _ = connection.read_bytes().await;
            connection.write_bytes(says.clone()).await.expect("written");
            all.push(connection);
        }
        time.sleep(Span::from_secs(10_000)).await;
    });
}

/// Time passes, and servers read all that there is. Returns how many bytes that was.
fn serve(two: &mut Two, servers: &Servers, from: u64, until: u64) -> usize {
    let mut read = 0;
    for tick in from * 10..until * 10 {
        two.run(after(Span::from_millis(100 * tick)));
        for pipe in &*lock(servers) {
            while let Read::Bytes(bytes) = pipe.read(1 << 20) {
                read += bytes.len();
            }
        }
    }
    read
}

fn held(two: &Two) -> u64 {
    two.program(1).host().shared().endpoint().held(key(0).public()).get()
}

#[test]
fn what_was_passed_on_before_the_end_counts_no_more() {
    let mut two = Two::new(1);
    let servers = hub(&two);
    flows(&two, &[frame(DATA, &[7; 150_000]), frame(END, &[])].concat());
    // Servers begin to read after a while.
    two.run(after(Span::from_secs(60)));
    assert!(held(&two) > 500_000);
    assert_eq!(serve(&mut two, &servers, 60, 200), 8 * 150_000);
    assert!(held(&two) < 8 * 10_000, "{} bytes", held(&two));
}

#[test]
fn a_flow_that_one_side_has_ended_is_reset_when_the_other_gateway_is_gone() {
    for ends in [false, true] {
        let mut two = Two::new(1);
        let servers = hub(&two);
        let end = if ends { frame(END, &[]) } else { Vec::new() };
        flows(&two, &[frame(DATA, b"x"), end].concat());
        assert_eq!(serve(&mut two, &servers, 0, 60), 8);
        two.programs[0] = None;
        serve(&mut two, &servers, 60, 1_000);
        let reset = lock(&servers).iter().filter(|pipe| pipe.read(1) == Read::Reset).count();
        let connections = two.program(1).host().shared().endpoint().connections();
        assert_eq!((reset, connections), (8, 0), "END came: {ends}");
    }
}

#[test]
fn frames_of_a_byte_each_arrive_whole() {
    let mut two = Two::new(1);
    let servers = hub(&two);
    flows(&two, &frame(DATA, b"x").repeat(20_000));
    assert_eq!(serve(&mut two, &servers, 0, 200), 8 * 20_000);
}
