//! What the fuzz targets of the gateway do with their input.

use bytes::BytesMut;
use serde::{Deserialize, Serialize};

use crate::Config;
use crate::open::{Destination, Open, Verdict, frame, take};
use crate::policy::Range;
use crate::whose::Whose;

const VERDICTS: [Verdict; 7] = [
    Verdict::Connected,
    Verdict::Refused,
    Verdict::Unreachable,
    Verdict::TimedOut,
    Verdict::Forbidden,
    Verdict::UnknownName,
    Verdict::Busy,
];

/// Reads the input as what gateways say to each other: in front of a flow, and in front of a datagram.
///
/// # Panics
///
/// If a message that was read is written to something that is read otherwise.
pub fn gateway_messages(input: &[u8]) {
    message::<Open>(input);
    message::<Verdict>(input);
    let Some(whose) = Whose::read(input) else { return };
    assert_eq!(Whose::read(&whose.label()), Some(whose));
}

fn message<M>(input: &[u8])
where
    M: Serialize + for<'a> Deserialize<'a> + PartialEq + std::fmt::Debug,
{
    let Ok(Some(read)) = take::<M>(&mut BytesMut::from(input)) else { return };
    let again = take(&mut BytesMut::from(frame(&read)));
    assert_eq!(again.expect("it was written here"), Some(read));
}

/// Reads the input as a configuration, a destination and a network.
///
/// # Panics
///
/// If an error has no words.
pub fn gateway_text(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    if let Err(error) = Config::parse("gateway.toml", text) {
        assert!(error.to_string().starts_with("gateway.toml"), "{error}");
    }
    for error in [text.parse::<Destination>().err(), text.parse::<Range>().err()] {
        assert!(error.is_none_or(|error| !error.is_empty()));
    }
}

/// Messages and texts that are right.
pub fn gateway_seeds() -> [Vec<Vec<u8>>; 2] {
    let from = std::net::SocketAddr::from(([192, 0, 2, 1], 4_000));
    let six = std::net::SocketAddr::from(([0x2001_u16, 0xdb8, 0, 0, 0, 0, 0, 1], 443));
    let name = Destination::Name("example.org".to_owned(), 80);
    let opens = [
        Open::Hold,
        Open::Flow { to: name.clone(), from },
        Open::Flow { to: six.into(), from: six },
        Open::Bonded { to: name.clone(), from, link: 1, spills: false },
        Open::Join { first: 70_000, link: 3, spills: true },
    ];
    let mut messages: Vec<Vec<u8>> = opens.iter().map(|open| frame(open).to_vec()).collect();
    messages.extend(VERDICTS.iter().map(|verdict| frame(verdict).to_vec()));
    messages.push(Whose { client: from, to: name.into() }.label().to_vec());
    let key = "key = \"g9GFFU8rGj+Q69zpXoj1ecxx/izHNwRWbH/BhgNl9w8=\"";
    let texts = [
        "192.0.2.1:80".to_owned(),
        "[2001:db8::/32]:80".to_owned(),
        format!(
            "role = \"hub\"\nkey = \"hub.key\"\nlisten = \"0.0.0.0:25300\"\nallow = [\"10.0.0.0/8:443\"]\n\
             [limits]\nmemory = \"1 GB\"\n[peers.sea]\n{key}\n"
        ),
        format!(
            "role = \"terminal\"\nkey = \"t.key\"\nlisten = \"0.0.0.0:25300\"\n[link]\nmode = \"dedicated\"\n\
             rate = \"5 Mbit/s\"\nfec = 0.1\n[[forward]]\nlisten = \"127.0.0.1:1\"\nto = \"a.example:1\"\n\
             [socks5]\nlisten = \"127.0.0.1:2\"\n[peers.hub]\n{key}\naddress = \"hub.example:25300\"\n"
        ),
    ];
    [messages, texts.map(String::into_bytes).to_vec()]
}
