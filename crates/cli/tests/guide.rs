//! `docs/gateway-guide.md` and `docs/howto/ipsec.md`, followed word for word on four hosts. They need root, unshare, ip, nft, curl
//! and python3, the second one strongSwan as well, and say so where they are skipped.

mod namespaces;

use namespaces::guide::follow;
use namespaces::site::can_run;
use namespaces::{Host, ip};

/// Follows a guide on a client, a terminal, a hub and a server.
fn on_four_hosts(guide: &str) {
    let [client, terminal, hub, server] = [(); 4].map(|()| Host::new());
    client.connect(("eth0", &["10.61.1.2/24"]), &terminal, ("lan0", &["10.61.1.1/24"]));
    terminal.connect(("sat0", &["10.61.2.1/24"]), &hub, ("sat0", &["10.61.2.2/24"]));
    hub.connect(("net0", &["10.61.3.1/24"]), &server, ("eth0", &["10.61.3.2/24"]));
    ip(client.id(), &["route add default via 10.61.1.1"]);
    ip(server.id(), &["route add default via 10.61.3.1"]);
    let dir = tempfile::tempdir().expect("a directory");
    let hosts = [("client", &client), ("terminal", &terminal), ("hub", &hub), ("server", &server)];
    follow(guide, &hosts, dir.path());
}

#[test]
fn the_guide_works_word_for_word() {
    if can_run("the guide to the gateway", &["curl", "python3"]) {
        on_four_hosts(include_str!("../../../docs/gateway-guide.md"));
    }
}

#[test]
fn ipsec_below_the_gateway_and_through_it_works_word_for_word() {
    let needed = ["curl", "python3", "charon-systemd", "swanctl"];
    if can_run("the guide to IPsec", &needed) {
        on_four_hosts(include_str!("../../../docs/howto/ipsec.md"));
    }
}
