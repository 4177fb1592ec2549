//! `bentpipe gateway` between hosts that know nothing of it. Needs root, nft, unshare and ip, and says so where
//! it is skipped.

mod namespaces;

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::time::Duration;

use bentpipe_testkit::pattern;
use rustix::net::{AddressFamily, SocketType, ipproto};
use rustix::process::Signal;

use namespaces::site::{self, Gateway, Site};
use namespaces::{Host, TIMEOUT, inside, ip};

/// Addresses of the client, seen by the server, and of the server.
const V4: (&str, &str) = ("10.61.1.2", "10.61.3.2");
const V6: (&str, &str) = ("fd61:1::2", "fd61:3::2");

fn can_run() -> bool {
    site::can_run("transparent connections", &[])
}

impl Site {
    /// Lets packets pass by themselves, as they do where there is no gateway.
    fn forward(&self) {
        for (host, net, via) in [(&self.terminal, 3, 2), (&self.hub, 1, 1)] {
            inside(host.id(), || {
                fs::write("/proc/sys/net/ipv4/ip_forward", "1").expect("a switch");
            });
            ip(host.id(), &[&format!("route add 10.61.{net}.0/24 via 10.61.2.{via}")]);
        }
    }

    /// A connection from the client to a server that listens: both ends, and whom the server sees.
    #[expect(clippy::disallowed_methods, reason = "the test is the programs on both sides")]
    fn connection(&self, address: &str) -> (TcpStream, TcpStream, IpAddr) {
        let address = SocketAddr::new(address.parse().expect("an address"), 0);
        let listener = inside(self.server.id(), || TcpListener::bind(address)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let ours = inside(self.client.id(), || TcpStream::connect_timeout(&address, TIMEOUT));
        let ours = ours.expect("a connection");
        let (theirs, from) = listener.accept().expect("a connection");
        for stream in [&ours, &theirs] {
            stream.set_read_timeout(Some(TIMEOUT)).expect("a timeout");
        }
        (ours, theirs, from.ip())
    }
}

/// Sends so many bytes to the other end, which sends them back, and ends in both directions.
fn exchange(mut ours: TcpStream, mut theirs: TcpStream, bytes: usize) {
    let data = pattern(bytes);
    let (mut there, mut back) = (Vec::new(), Vec::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            theirs.read_to_end(&mut there).expect("the request");
            theirs.write_all(&there).expect("the answer");
            theirs.shutdown(Shutdown::Write).expect("an end");
        });
        scope.spawn(|| {
            (&ours).write_all(&data).expect("the request");
            ours.shutdown(Shutdown::Write).expect("an end");
        });
        (&ours).read_to_end(&mut back).expect("the answer");
    });
    ours.flush().expect("nothing left");
    assert!(back == data && there == data, "{} of {bytes}", back.len());
}

/// What a program prints in the network of a host.
fn prints(host: &Host, program: &str, args: &str) -> String {
    let output = inside(host.id(), || Command::new(program).args(args.split(' ')).output());
    String::from_utf8_lossy(&output.expect("it runs").stdout).into_owned()
}

#[test]
fn clients_and_servers_see_each_other_and_not_the_gateways() {
    if !can_run() {
        return;
    }
    let site = Site::new();
    let _gateways = site.gateways();
    for (client, server) in [V4, V6] {
        for size in [0, 1, 2_000_000] {
            let (ours, theirs, from) = site.connection(server);
            assert_eq!(from, client.parse::<IpAddr>().expect("an address"));
            assert_eq!(ours.peer_addr().expect("an address").ip().to_string(), server);
            exchange(ours, theirs, size);
        }
    }
}

#[test]
fn both_kinds_of_addresses_are_carried_where_a_unit_of_systemd_shows_processes_only() {
    if !can_run() {
        return;
    }
    let site = Site::new();
    let _gateways = [("hub", &site.hub), ("terminal", &site.terminal)]
        .map(|(name, host)| Gateway::start_confined(host, &site.config(name)));
    for (client, server) in [V4, V6] {
        let (ours, theirs, from) = site.connection(server);
        assert_eq!(from, client.parse::<IpAddr>().expect("an address"));
        exchange(ours, theirs, 100_000);
    }
}

#[test]
fn without_an_early_accept_clients_hear_what_the_servers_would_have_said() {
    if !can_run() {
        return;
    }
    let site = Site::new().accepts_late();
    let _gateways = site.gateways();
    for (client, server) in [V4, V6] {
        for size in [0, 100_000] {
            let (ours, theirs, from) = site.connection(server);
            assert_eq!(from, client.parse::<IpAddr>().expect("an address"));
            exchange(ours, theirs, size);
        }
    }
    // The server drops what is for one port.
    let rules =
        "table inet deaf { chain input { type filter hook input priority 0; tcp dport 9 drop; }; }";
    assert_eq!(prints(&site.server, "nft", rules), "");
    // It knows that there is nobody behind it.
    for switch in ["ipv4/ip_forward", "ipv6/conf/all/forwarding"] {
        inside(site.server.id(), || {
            fs::write(format!("/proc/sys/net/{switch}"), "1").expect("a switch");
        });
    }
    for (version, host, via) in [("", "10.61.3.77/32", V4.1), ("-6 ", "fd61:3::77/128", V6.1)] {
        ip(site.hub.id(), &[&format!("{version}route add {host} via {via}")]);
        ip(site.server.id(), &[&format!("{version}route add unreachable {host}")]);
    }
    let attempt = |address: &str, timeout: Duration| {
        let address = address.parse().expect("an address");
        let ours = || TcpStream::connect_timeout(&address, timeout);
        inside(site.client.id(), ours).expect_err("nobody is there").kind()
    };
    for (address, kind) in [
        ("10.61.3.2:1", ErrorKind::ConnectionRefused),
        ("[fd61:3::2]:1", ErrorKind::ConnectionRefused),
        ("10.61.3.2:9", ErrorKind::TimedOut),
        ("[fd61:3::2]:9", ErrorKind::TimedOut),
        ("10.61.3.77:80", ErrorKind::HostUnreachable),
        ("[fd61:3::77]:80", ErrorKind::HostUnreachable),
        // Nobody has these addresses of the hub's own network.
        ("10.61.3.99:80", ErrorKind::HostUnreachable),
        ("[fd61:3::99]:80", ErrorKind::HostUnreachable),
        // Those to which the hub does not connect.
        ("192.0.2.1:80", ErrorKind::HostUnreachable),
        ("[2001:db8::1]:80", ErrorKind::PermissionDenied),
    ] {
        let is_deaf = kind == ErrorKind::TimedOut;
        let timeout = if is_deaf { Duration::from_secs(1) } else { TIMEOUT };
        assert_eq!(attempt(address, timeout), kind, "{address}");
    }
}

#[test]
fn rules_go_with_the_gateway_and_those_that_a_killed_one_left_can_be_removed() {
    if !can_run() {
        return;
    }
    let site = Site::new();
    let rules = || prints(&site.terminal, "nft", "list ruleset");
    let routes = || {
        prints(&site.terminal, "ip", "rule list") + &prints(&site.terminal, "ip", "-6 rule list")
    };
    let switches = || {
        let all = "/proc/sys/net/ipv4/fwmark_reflect /proc/sys/net/ipv6/fwmark_reflect";
        prints(&site.hub, "cat", all)
    };
    let before = routes();
    assert_eq!(switches(), "0\n0\n");
    let [terminal, hub] = site.gateways();
    assert!(rules().contains("tproxy") && routes() != before);
    assert_eq!(switches(), "1\n1\n");
    terminal.end(Signal::TERM);
    hub.end(Signal::TERM);
    assert_eq!((rules(), routes()), (String::new(), before.clone()));
    assert_eq!(switches(), "0\n0\n");
    Gateway::start(&site.terminal, &site.config("terminal")).end(Signal::KILL);
    assert!(rules().contains("tproxy"));
    Gateway::start(&site.terminal, &site.config("terminal")).end(Signal::KILL);
    assert_eq!(rules().matches("tproxy").count(), 1);
    let config = site.config("terminal");
    let program = env!("CARGO_BIN_EXE_bentpipe");
    prints(&site.terminal, program, &format!("gateway --remove-firewall --config {config}"));
    assert_eq!((rules(), routes()), (String::new(), before));
}

#[test]
fn connections_of_before_go_on_and_new_ones_go_by_themselves_after_it_was_killed() {
    if !can_run() {
        return;
    }
    for site in [Site::new(), Site::new().accepts_late()] {
        site.forward();
        let (ours, theirs, _) = site.connection(V4.1);
        let [terminal, _hub] = site.gateways();
        exchange(ours, theirs, 100_000);
        let counted = || prints(&site.terminal, "ip", "-s -o link show sat0");
        let before = counted();
        terminal.end(Signal::KILL);
        let (ours, theirs, from) = site.connection(V4.1);
        assert_eq!(from.to_string(), V4.0);
        exchange(ours, theirs, 100_000);
        assert_ne!(counted(), before);
    }
}

/// The next datagram. A signal, such as the end of a child of another test, is no reason to give up.
fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> (usize, SocketAddr) {
    loop {
        match socket.recv_from(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            received => return received.expect("it arrives"),
        }
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the hosts at both ends use UDP")]
fn udp_is_carried_if_it_is_asked_for_and_both_hosts_see_each_other() {
    if !can_run() {
        return;
    }
    let site = Site::new().tunnels_udp();
    let _gateways = site.gateways();
    let bind = |host: &Host, address: String| {
        let socket = inside(host.id(), || UdpSocket::bind(address).expect("a socket"));
        socket.set_read_timeout(Some(TIMEOUT)).expect("a timeout");
        socket
    };
    for (client, server) in [V4, V6] {
        let at = |ip: &str| SocketAddr::new(ip.parse().expect("an address"), 4000);
        let (ours, theirs) = (
            bind(&site.client, at(client).to_string()),
            bind(&site.server, at(server).to_string()),
        );
        let mut buffer = [0; 2_000];
        // The first one begins the flow, the others find it.
        for size in [1, 0, 500, 1_400] {
            let data = pattern(size);
            ours.send_to(&data, at(server)).expect("sent");
            let (len, from) = receive(&theirs, &mut buffer);
            assert!(buffer[..len] == data && from == at(client), "{size} bytes, from {from}");
            theirs.send_to(&data, from).expect("sent");
            let (len, from) = receive(&ours, &mut buffer);
            assert!(buffer[..len] == data && from == at(server), "{size} bytes, from {from}");
        }
    }
}

/// A socket for packets of ESP of a host. With IPv4 they come with their header.
fn esp_socket(host: &Host, own: SocketAddr) -> UdpSocket {
    let family = if own.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let open = || rustix::net::socket(family, SocketType::RAW, Some(ipproto::ESP));
    let socket = UdpSocket::from(inside(host.id(), open).expect("a socket"));
    socket.set_read_timeout(Some(TIMEOUT)).expect("a timeout");
    socket
}

#[test]
fn esp_is_carried_beside_udp_and_both_hosts_see_each_other() {
    if !can_run() {
        return;
    }
    let site = Site::new().tunnels_udp();
    // What is for the terminal itself would come to the server.
    ip(site.server.id(), &["address add 10.61.1.1/32 dev lo"]);
    ip(site.hub.id(), &["route add 10.61.1.1/32 via 10.61.3.2"]);
    let _gateways = site.gateways();
    for (client, server) in [V4, V6] {
        let at = |ip: &str| SocketAddr::new(ip.parse().expect("an address"), 0);
        let header = if client == V4.0 { 20 } else { 0 };
        let ours = esp_socket(&site.client, at(client));
        let theirs = esp_socket(&site.server, at(server));
        let near = if client == V4.0 { "10.61.1.1" } else { "fd61:1::1" };
        let mut buffer = [0; 4_000];
        // The first one begins the flow, the last ones are longer than what the links carry at once.
        for size in [40, 9, 1_000, 1_480, 3_500] {
            let data = pattern(size);
            ours.send_to(&pattern(33), at(near)).expect("sent");
            ours.send_to(&data, at(server)).expect("sent");
            let (len, from) = receive(&theirs, &mut buffer);
            assert!(buffer[header..len] == data && from == at(client), "{size} bytes, from {from}");
            theirs.send_to(&data, from).expect("sent");
            let (len, from) = receive(&ours, &mut buffer);
            assert!(buffer[header..len] == data && from == at(server), "{size} bytes, from {from}");
        }
        // Of each packet one came.
        for socket in [&ours, &theirs] {
            socket.set_nonblocking(true).expect("set");
            let more = socket.recv_from(&mut buffer).expect_err("nothing more");
            assert_eq!(more.kind(), ErrorKind::WouldBlock);
        }
    }
}
