//! Settings of links, and the paths that follow.

use std::net::SocketAddr;

use bentpipe_association::endpoint::{LINKS, Multipath, Outer, Plan};
use bentpipe_bond::Use;
use bentpipe_units::ByteCount;

use super::Config;

/// What comes of a terminal's settings beside the first link at 192.0.2.1.
fn parse(settings: &str, peer: &str) -> Result<Config, String> {
    let text = format!(
        "role = \"terminal\"\nkey = \"key\"\nlisten = \"0.0.0.0:25300\"\n{settings}\n[peers.hub]\n\
         key = \"g9GFFU8rGj+Q69zpXoj1ecxx/izHNwRWbH/BhgNl9w8=\"\naddress = \"192.0.2.1:25300\"\n{peer}"
    );
    Config::parse("gateway.toml", &text).map_err(|error| error.to_string())
}

const BACKUP: &str = "backup = \"198.51.100.1:25300\"";

fn plan(config: &Config) -> Plan {
    let addresses = config.peers["hub"].addresses();
    let addresses: Vec<Option<SocketAddr>> =
        addresses.iter().map(|known| known.as_ref()?.address()).collect();
    config.plan(&addresses).expect("paths")
}

/// Links and outer transports of the paths to the peer, in their order.
fn paths(config: &Config) -> Vec<(usize, Outer)> {
    plan(config).paths.iter().map(|path| (path.link, path.route.outer)).collect()
}

#[test]
fn the_first_link_comes_before_the_second_one_and_udp_before_tcp() {
    let (udp, tcp) = (Outer::Udp, Outer::Tcp);
    assert_eq!(paths(&parse("", "").expect("one link")), [(0, udp), (0, tcp)]);
    let both = parse("[backup]", BACKUP).expect("two links");
    assert_eq!(paths(&both), [(0, udp), (0, tcp), (1, udp), (1, tcp)]);
    let both = parse("outer = \"tcp\"\n[backup]", BACKUP).expect("two links");
    assert_eq!(paths(&both), [(0, tcp), (1, tcp)]);
}

#[test]
fn each_link_has_its_own_rate_and_source() {
    let settings = "[link]\nmode = \"dedicated\"\nrate = \"10 Mbit/s\"\n[backup]\n\
                    rate = \"1 Mbit/s\"\nsource = \"198.51.100.9\"\nload_balance = true";
    let config = parse(settings, BACKUP).expect("two links");
    let rates: Vec<(usize, u64)> =
        config.shares().map(|(link, _, share)| (link, share.rate.as_bps())).collect();
    assert_eq!(rates, [(0, 10_000_000), (1, 1_000_000)]);
    let plan = plan(&config);
    let locals: Vec<bool> = plan.paths.iter().map(|path| path.route.local.is_some()).collect();
    assert_eq!((plan.multipath, locals), (Multipath::LoadBalance, vec![false, false, true, true]));
}

#[test]
fn settings_of_a_second_link_that_make_no_sense_are_named() {
    let dedicated = "[link]\nmode = \"dedicated\"\nrate = \"10 Mbit/s\"";
    for (settings, peer, key) in [
        ("", BACKUP, "`peers.hub.backup`"),
        ("[backup]", "", "`backup`"),
        ("[backup]", "backup = \"192.0.2.1:25300\"", "`peers.hub.backup`"),
        ("[backup]\nrate = \"1 Mbit/s\"", BACKUP, "`backup.rate`"),
        (&format!("{dedicated}\n[backup]"), BACKUP, "`backup.rate`"),
        ("[backup]\nuse = \"always\"", BACKUP, "`backup.use`"),
        ("[backup]\nload_balance = true\nuse = \"spill\"", BACKUP, "`backup.use`"),
        ("[backup]\nbond = true\nuse = \"backup\"", BACKUP, "`backup.use`"),
        ("[backup]\nuse = \"never\"", BACKUP, "`backup.use`"),
        ("[backup]\ncap = \"1 kB\"", BACKUP, "`backup.cap`"),
        ("[backup]\nbond = true\nload_balance = true", BACKUP, "`backup.load_balance`"),
    ] {
        let error = parse(settings, peer).expect_err(settings);
        assert!(error.contains(key), "{error}");
    }
    // The same address from another one is another path.
    let same = "backup = \"192.0.2.1:25300\"";
    assert!(parse("[backup]\nsource = \"198.51.100.9\"", same).is_ok());
}

const THREE: &str =
    "backup = [\"198.51.100.1:25300\", \"203.0.113.1:25300\", \"hub.example.org:25300\"]";

#[test]
fn there_are_four_links_at_most() {
    let four = parse("outer = \"udp\"\n[[backup]]\n[[backup]]\n[[backup]]", THREE).expect("four");
    let udp = Outer::Udp;
    // The name was not looked up yet.
    assert_eq!(paths(&four), [(0, udp), (1, udp), (2, udp)]);
    let five = parse("[[backup]]\n[[backup]]\n[[backup]]\n[[backup]]", THREE);
    assert!(five.expect_err("too many").contains("there are 4 links at most"));
}

#[test]
fn what_is_wrong_with_one_of_several_links_is_named_by_its_place() {
    for (settings, peer, key) in [
        ("[[backup]]\n[[backup]]\nrate = \"1 Mbit/s\"", THREE, "`backup[1].rate`"),
        ("[[backup]]\n[[backup]]\ncap = 12.5", THREE, "`backup[1].cap`"),
        ("[[backup]]\n[[backup]]", THREE, "3 addresses, but [[backup]] describes 2 links"),
        (
            "[[backup]]\n[[backup]]",
            "backup = [\"198.51.100.1:1\", \"198.51.100.1:1\"]",
            "another link",
        ),
        ("[[backup]]", "backup = 7", "`peers.hub.backup`"),
    ] {
        let error = parse(settings, peer).expect_err(settings);
        assert!(error.contains(key), "{error}");
    }
}

#[test]
fn each_further_link_has_its_use() {
    let settings = "[[backup]]\nbond = true\n[[backup]]\nbond = true\nuse = \"spill\"\n\
                    cap = \"20 GB\"\n[[backup]]\nmetered = true";
    let config = parse(settings, THREE).expect("four links");
    let plan = plan(&config);
    assert_eq!(plan.multipath, Multipath::Bond);
    assert_eq!(plan.links.map(|link| link.is_reserve), [false, false, false, true]);
    assert_eq!(plan.links.map(|link| link.is_metered), [false, false, true, true]);
    let uses: Vec<Use> = (0..LINKS).map(|link| config.use_of(link)).collect();
    assert_eq!(uses, [Use::Always, Use::Always, Use::Spill, Use::Always]);
    assert_eq!(config.caps().collect::<Vec<_>>(), [(2, ByteCount::new(20_000_000_000))]);
}

#[test]
fn without_bond_and_load_balance_no_link_is_kept_in_reserve() {
    let config = parse("[[backup]]\n[[backup]]\nuse = \"backup\"\n[[backup]]", THREE).expect("one");
    assert!(plan(&config).links.iter().all(|link| !link.is_reserve));
}

#[test]
fn a_hub_leaves_the_use_of_links_to_its_terminals() {
    for setting in ["use = \"backup\"", "metered = true", "cap = \"1 GB\"", "bond = true"] {
        let text = format!(
            "role = \"hub\"\nkey = \"key\"\nlisten = \"0.0.0.0:25300\"\n[backup]\n{setting}\n\
             [peers.sea]\nkey = \"g9GFFU8rGj+Q69zpXoj1ecxx/izHNwRWbH/BhgNl9w8=\""
        );
        let error = Config::parse("gateway.toml", &text).expect_err(setting).to_string();
        assert!(error.contains("the terminal decides"), "{error}");
    }
}

#[test]
fn a_hub_that_knows_where_its_terminal_is_leaves_the_paths_to_it() {
    let text = "role = \"hub\"\nkey = \"key\"\nlisten = \"0.0.0.0:25300\"\n[peers.sea]\n\
                key = \"g9GFFU8rGj+Q69zpXoj1ecxx/izHNwRWbH/BhgNl9w8=\"\naddress = \"192.0.2.7:25300\"";
    let config = Config::parse("gateway.toml", text).expect("a hub");
    assert_eq!(config.plan(&[Some(SocketAddr::from(([192, 0, 2, 7], 25_300)))]), None);
}
