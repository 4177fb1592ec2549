use super::*;

const KEY: &str = "g9GFFU8rGj+Q69zpXoj1ecxx/izHNwRWbH/BhgNl9w8=";

fn parse(text: &str) -> Result<Config, String> {
    let head = "role = \"terminal\"\nkey = \"key\"\nlisten = \"0.0.0.0:25300\"\n";
    let text = format!("{head}{}", text.replace("KEY", KEY));
    Config::parse("gateway.toml", &text).map_err(|error| error.to_string())
}

#[test]
fn a_small_configuration_has_sensible_defaults() {
    let config = parse("[peers.hub]\nkey = \"KEY\"\naddress = \"192.0.2.1:25300\"").expect("one");
    assert!(config.early_accept && config.allow.is_empty());
    assert_eq!(config.fallback, Fallback::Wait);
    assert_eq!(config.link.fec, Parsed(bentpipe_association::Fec::Auto));
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let peer = "[peers.hub]\nkey = \"KEY\"\naddress = \"192.0.2.1:25300\"\n";
    for (text, says) in [
        (String::new(), "`peers`: there is none"),
        ("[peers.hub]\nkey = \"KEY\"".into(), "`peers.hub.address`"),
        ("[peers.hub]\nkey = \"x\"".into(), "line 5"),
        (format!("{peer}waight = 3"), "line 7, `peers.hub.waight`: unknown field `waight`"),
        (format!("{peer}waight = 3"), "did you mean `weight`?"),
        (format!("{peer}[link]\nmode = \"dedicatd\""), "did you mean `dedicated`?"),
        (format!("{peer}[link]\nfec = \"often\""), "line 8, `link.fec`: it is `auto`, `off` or"),
        (format!("{peer}[link]\nfec = 1.5"), "line 8, `link.fec`: it is `auto`, `off` or"),
        (format!("{peer}[link]\nrate = 10"), "line 8, `link.rate`: "),
        (format!("{peer}[link]\nlearn = \"100 kbit\""), "line 8, `link.learn`: "),
        (
            format!("{peer}[link]\nmode = \"dedicated\"\nrate = \"1 Mbit/s\"\nlearn = \"0 B\""),
            "`link.learn`: the rate of a dedicated link is known",
        ),
        (
            format!("{peer}[limits]\nnew_per_second = -1"),
            "`limits.new_per_second`: invalid value: integer `-1`, expected a whole number from 0",
        ),
        (
            format!("{peer}[ops]\nlisten = \"here\""),
            "line 8, `ops.listen`: it is ADDRESS:PORT, such as",
        ),
        (
            format!("{peer}[socks5]\nlisten = \"[::1]:1080\"\npeer = \"hup\""),
            "`socks5.peer`: `hup`",
        ),
        (format!("{peer}[limits]\nbuffer = \"1 kB\""), "`limits.buffer`"),
        (
            format!("{peer}[limits]\nmemory = \"100 MB\""),
            "`limits.memory`: it is at least 320000000 B for 10000 connections",
        ),
        (format!("{peer}[link]\nmode = \"dedicated\""), "`link.rate`: a dedicated link"),
        (format!("{peer}[link]\nrate = \"1 Mbit/s\""), "`link.rate`: it needs mode"),
        (format!("{peer}rate = \"2 Mbit/s\""), "`peers.hub.rate`"),
        (format!("{peer}[ops]\nlisten = \"0.0.0.0:9100\""), "`ops.listen`: 0.0.0.0:9100 is"),
        (format!("{peer}weight = 0"), "`peers.hub.weight`"),
        (
            format!("{peer}[transparent]\nport = 1\ninterfaces = [\"e\\\" }} accept\"]"),
            "`transparent.interfaces`",
        ),
        (format!("{peer}[transparent]\nport = 1\nexclude = [\"10\"]"), "line 9"),
        (
            format!(
                "{peer}[link]\nmode = \"dedicated\"\nrate = \"1 Mbit/s\"\ncontroller = \"reno\""
            ),
            "`link.controller`",
        ),
    ] {
        let error = parse(&text).expect_err(says);
        assert!(error.starts_with("gateway.toml") && error.contains(says), "{error}");
    }
}

#[test]
fn finding_out_the_rate_costs_what_the_configuration_says_and_nothing_where_bytes_cost() {
    let learns = |link: &str| {
        let peer = "[peers.hub]\nkey = \"KEY\"\naddress = \"192.0.2.1:25300\"\n";
        parse(&format!("{peer}[link]\n{link}")).expect("one").link.learning().get()
    };
    assert_eq!(learns(""), 100_000);
    assert_eq!(learns("learn = \"2 MB\""), 2_000_000);
    assert_eq!(learns("learn = \"2 MB\"\nmetered = true"), 0);
}

#[test]
fn the_status_is_open_to_this_host_or_to_whom_the_operator_says() {
    let peer = "[peers.hub]\nkey = \"KEY\"\naddress = \"192.0.2.1:25300\"\n[ops]\nlisten = ";
    for ops in ["\"127.0.0.1:1\"", "\"[::1]:1\"", "\"0.0.0.0:1\"\nopen = true"] {
        assert!(parse(&format!("{peer}{ops}")).expect("one").ops.is_some(), "{ops}");
    }
}

#[test]
fn only_rates_and_weights_change_while_it_runs() {
    let text = |rate, weight, listen| {
        format!(
            "[peers.hub]\nkey = \"KEY\"\naddress = \"192.0.2.1:25300\"\nweight = {weight}\n[link]\n\
             mode = \"dedicated\"\nrate = \"{rate} Mbit/s\"\n[socks5]\nlisten = \"[::1]:{listen}\""
        )
    };
    let config = |rate, weight, listen| parse(&text(rate, weight, listen)).expect("one");
    let now = config(10, 1, 1080);
    assert!(now.differs_in_rates_only(&config(2, 5, 1080)));
    assert!(!now.differs_in_rates_only(&config(10, 1, 1081)));
    let shares: Vec<u32> = config(2, 5, 1080).shares().map(|(_, _, share)| share.weight).collect();
    assert_eq!(shares, [5]);
}

#[test]
fn passwords_are_not_printed() {
    let text = "[peers.hub]\nkey = \"KEY\"\naddress = \"192.0.2.1:25300\"\n\
                [socks5]\nlisten = \"[::1]:1080\"\nusers = { eve = \"secret\" }";
    let config = parse(text).expect("a configuration");
    assert!(!format!("{config:?}").contains("secret"));
    let users = &config.socks5.expect("a proxy").users;
    assert!(users["eve"].is("secret") && !users["eve"].is("Secret"));
}

#[test]
fn a_ratio_of_parity_is_a_number_with_quotes_or_without() {
    let peer = "[peers.hub]\nkey = \"KEY\"\naddress = \"192.0.2.1:25300\"\n[link]\nfec = ";
    for ratio in ["0.25", "\"0.25\""] {
        let config = parse(&format!("{peer}{ratio}")).expect("a ratio");
        assert_eq!(config.link.fec, Parsed(bentpipe_association::Fec::Ratio(0.25)));
    }
}

#[test]
fn a_proxy_without_passwords_is_for_this_host_and_its_network_unless_it_is_said_to_be_open() {
    let peer = "[peers.hub]\nkey = \"KEY\"\naddress = \"192.0.2.1:25300\"\n";
    for proxy in ["socks5", "http"] {
        let parse = |rest: &str| parse(&format!("{peer}[{proxy}]\nlisten = {rest}"));
        for listen in ["127.0.0.1", "192.168.7.1", "[::1]", "[fd00::1]"] {
            assert!(parse(&format!("\"{listen}:1080\"")).is_ok(), "{listen}");
        }
        for listen in ["0.0.0.0", "[::]", "203.0.113.1", "[2001:db8::1]"] {
            let listen = format!("\"{listen}:1080\"");
            let message = parse(&listen).expect_err("for everybody");
            assert!(message.contains(&format!("`{proxy}.listen`")), "{message}");
            assert!(parse(&format!("{listen}\nopen = true")).is_ok());
            assert!(parse(&format!("{listen}\nusers = {{ eve = \"x\" }}")).is_ok());
        }
    }
}

#[test]
fn a_host_is_not_its_own_peer() {
    let config = parse("[peers.hub]\nkey = \"KEY\"\naddress = \"192.0.2.1:25300\"").expect("one");
    let (key, _) = config.check_key(config.peers["hub"].key.0).expect_err("itself");
    assert_eq!(key, "peers.hub.key");
    let other = bentpipe_association::SecretKey::generate().public();
    assert!(config.check_key(other).is_ok());
}

#[test]
fn what_could_not_start_or_would_do_nothing_is_refused_by_its_key() {
    let peer = "[peers.hub]\nkey = \"KEY\"\naddress = \"192.0.2.1:25300\"\n";
    let twice = peer.replace("hub", "other");
    let cases = [
        (format!("{peer}[link]\ncontroller = \"cubik\""), "link.controller"),
        (format!("{peer}[link]\nmode = \"dedicated\"\nrate = \"1 bit/s\""), "link.rate"),
        (format!("{peer}weight = 7"), "peers.hub.weight"),
        (format!("{peer}{twice}"), "peers.other.key"),
        (peer.replace("192.0.2.1", "[2001:db8::1]"), "peers.hub.address"),
        (peer.replace("25300", "0"), "`peers.hub.address`: port 0"),
        (
            format!("{peer}[[forward]]\nlisten = \"127.0.0.1:1\"\nto = \"a.example:0\""),
            "`forward[0].to`: port 0",
        ),
        (peer.replace("192.0.2.1:25300", "hub.example"), "HOST:PORT"),
        (format!("{peer}[limits]\nidle_timeout = \"0 s\""), "limits.idle_timeout"),
        (format!("{peer}[limits]\nconnect_timeout = \"0 s\""), "limits.connect_timeout"),
        (format!("{peer}[limits]\nnew_per_second = 0"), "limits.new_per_second"),
        (format!("{peer}[transparent]\nport = 0"), "transparent.port"),
        (
            format!(
                "{peer}[socks5]\nlisten = \"127.0.0.1:1080\"\n[http]\nlisten = \"127.0.0.1:1080\""
            ),
            "http.listen",
        ),
        (
            format!(
                "{peer}[socks5]\nlisten = \"127.0.0.1:1080\"\n[ops]\nlisten = \"127.0.0.1:1080\""
            ),
            "ops.listen",
        ),
        (format!("{peer}[link]\nsource = \"2001:db8::1\""), "link.source"),
        (
            format!("{peer}[socks5]\nlisten = \"127.0.0.1:1\"\nusers = {{ eve = \"\" }}"),
            "socks5.users",
        ),
    ];
    for (text, key) in cases {
        let message = parse(&text).expect_err(key);
        assert!(message.contains(key), "{key}: {message}");
    }
}

#[test]
fn all_that_is_wrong_is_said_at_once() {
    let message = parse(
        "[peers.a]\nkey = \"KEY\"\n[peers.b]\nkey = \"KEY\"\naddress = \"192.0.2.1:0\"\nweight = 0\n\
         [limits]\nbuffer = \"1 kB\"\n[transparent]\nport = 0\npeer = \"c\"\n[link]\nrate = \"1 Mbit/s\"",
    )
    .expect_err("much");
    let lines: Vec<&str> = message.lines().collect();
    for key in [
        "peers.a.address",
        "peers.b.key",
        "peers.b.address",
        "peers.b.weight",
        "limits.buffer",
        "transparent.port",
        "transparent.peer",
        "link.rate",
    ] {
        let start = format!("gateway.toml, `{key}`: ");
        assert!(lines.iter().any(|line| line.starts_with(&start)), "{key}\n{message}");
    }
    assert_eq!(lines.len(), 8, "{message}");
}

#[test]
fn a_peer_has_an_address_or_a_name() {
    let peer = "[peers.hub]\nkey = \"KEY\"\naddress = \"hub.example.com:25300\"";
    let config = parse(peer).expect("a name");
    let Some(Parsed(address)) = &config.peers["hub"].address else { panic!("an address") };
    assert_eq!(address, &Destination::Name("hub.example.com".into(), 25_300));
}

#[test]
fn a_password_that_stands_in_the_wrong_place_is_not_repeated() {
    let text = "[peers.hub]\nkey = \"KEY\"\naddress = \"192.0.2.1:25300\"\n\
                [socks5]\nlisten = \"127.0.0.1:1080\"\nusers = \"eve:hunter2\"";
    let message = parse(text).expect_err("no users");
    assert!(message.contains("users") && !message.contains("hunter2"), "{message}");
}

#[test]
fn udp_is_a_word_or_a_table() {
    let udp = |line: &str| {
        let peer = "[peers.hub]\nkey = \"KEY\"\naddress = \"192.0.2.1:25300\"";
        parse(&format!("{line}\n{peer}")).map(|config| config.udp)
    };
    let tunnel = UdpConfig { mode: UdpMode::Tunnel, deadline: None };
    assert_eq!(udp(""), Ok(UdpConfig::default()));
    assert_eq!(udp("udp = \"tunnel\""), Ok(tunnel));
    assert_eq!(udp("udp = { mode = \"tunnel\" }"), Ok(tunnel));
    let deadline = Some(Span::from_millis(300));
    let line = "udp = { mode = \"tunnel\", deadline = \"300 ms\" }";
    assert_eq!(udp(line), Ok(UdpConfig { deadline, ..tunnel }));
    for wrong in ["udp = \"tunel\"", "udp = { dead = 1 }", "udp = { deadline = \"often\" }"] {
        let error = udp(wrong).expect_err("wrong");
        assert!(error.contains("`udp`") && error.contains("`deadline`"), "{error}");
    }
}
