//! Requests that nobody should make.

use bentpipe_serve::{Limits, Options, ServeError, Server};
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::json;

use crate::common::{Socket, answer, get, post, serve, server};

/// Requests that are changed at random, and how often.
const CHANGED: usize = 2000;

fn first_line(answer: &str) -> &str {
    answer.lines().next().unwrap_or("")
}

#[tokio::test]
async fn other_names_and_other_origins_get_no_answer() {
    let address = server(Limits::default()).await;
    let about = get(address, "/api/about", "").await;
    assert!(about.starts_with("HTTP/1.1 200") && about.contains("\"version\""), "{about}");
    for (path, headers, code) in [
        ("/api/about", "Origin: http://evil.example\r\n", "403"),
        ("/api/about", "Sec-Fetch-Site: cross-site\r\n", "403"),
        ("/api/scenario/geo", "", "200"),
        ("/api/scenario/../../../etc/passwd", "", "404"),
        ("/api/scenario/%2e%2e/%2e%2e/etc/passwd", "", "404"),
        ("/../Cargo.toml", "", "404"),
        ("/%2e%2e/Cargo.toml", "", "404"),
        ("/api/run", "", "400"),
        ("/api/gateways/0/metrics", "", "404"),
    ] {
        let said = get(address, path, headers).await;
        assert!(first_line(&said).contains(code), "{path}: {}", first_line(&said));
        assert!(said.contains("content-security-policy: default-src 'self'"), "{said}");
        assert!(said.contains("x-content-type-options: nosniff"), "{said}");
    }
    let request = b"GET /api/about HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    assert!(first_line(&answer(address, request).await).contains("421"));
    let body = "x".repeat(3 << 20);
    let request = format!(
        "POST /api/check/scenario HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    assert!(first_line(&answer(address, request.as_bytes()).await).contains("413"));
}

#[tokio::test]
async fn a_token_is_asked_for_and_without_one_only_this_host_is_served() {
    let token = "abcdefghijklmnopqrstuvwxyz";
    let options = Options { token: token.parse().ok(), ..Options::new(([127, 0, 0, 1], 0).into()) };
    let address = serve(options).await;
    assert!(first_line(&get(address, "/api/about", "").await).contains("401"));
    let header = format!("Authorization: Bearer {token}\r\n");
    assert!(first_line(&get(address, "/api/about", &header).await).contains("200"));
    let refused = Server::bind(Options::new(([0, 0, 0, 0], 0).into())).await;
    assert!(matches!(refused, Err(ServeError::NoToken(_))), "{refused:?}");
}

#[tokio::test]
async fn a_configuration_is_checked_as_the_gateway_checks_it() {
    let address = server(Limits::default()).await;
    let check = async |text: &str| {
        post(address, "/api/check/gateway", "text/plain", text).await["wrong"].clone()
    };
    let wrong = check("role = \"hub\"\nkee = \"k\"\n").await;
    assert!(wrong[0]["message"].as_str().expect("text").contains("did you mean `key`?"), "{wrong}");
    let right = "role = \"hub\"\nkey = \"/nowhere\"\nlisten = \"0.0.0.0:25300\"\nallow = [\"0.0.0.0/0\"]\n\
                 [peers.far]\nkey = \"g9GFFU8rGj+Q69zpXoj1ecxx/izHNwRWbH/BhgNl9w8=\"\n";
    assert_eq!(check(right).await, json!([]));
}

/// What is asked usually, of which others are made.
fn seeds(address: std::net::SocketAddr) -> Vec<Vec<u8>> {
    let post = |path: &str, body: &str| {
        format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let upgrade = format!(
        "GET /api/run HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    let framed: Vec<u8> = [upgrade.as_bytes(), b"\x81\x85\x01\x02\x03\x04{\"do\"\x88\x80"].concat();
    let texts = [
        format!("GET /api/about HTTP/1.1\r\nHost: {address}\r\n\r\n"),
        post("/api/check/gateway", "role = \"hub\"\n"),
        post("/api/check/scenario", "name = \"x\"\nnodes = [\"a\"]\n"),
    ];
    texts.into_iter().map(String::into_bytes).chain([framed]).collect()
}

#[tokio::test]
async fn garbage_ends_nothing() {
    let address = server(Limits { begun: usize::MAX, ..Limits::default() }).await;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let seeds = seeds(address);
    for round in 0..CHANGED {
        let mut bytes = seeds[round % seeds.len()].clone();
        for _ in 0..random.random_range(1..8) {
            let at = random.random_range(0..bytes.len());
            match random.random_range(0..4) {
                0 => bytes[at] = random.random(),
                1 => bytes.truncate(at.max(1)),
                2 => bytes.insert(at, random.random()),
                _ => drop(bytes.remove(at)),
            }
            if bytes.is_empty() {
                bytes.push(0);
            }
        }
        answer(address, &bytes).await;
    }
    assert!(first_line(&get(address, "/api/about", "").await).contains("200"));
}

#[tokio::test]
async fn what_no_page_says_is_answered_and_the_server_goes_on() {
    let address = server(Limits::default()).await;
    for said in [
        json!(null),
        json!(7),
        json!({"do": "pause"}),
        json!({"scenario": "x", "more": 1}),
        json!([]),
    ] {
        for path in ["run", "study", "sky"] {
            let mut socket = Socket::ask(address, path, &said).await;
            let heard = socket.hear().await.expect("an answer");
            assert_eq!(heard["kind"], "wrong", "{path}: {said}");
        }
    }
}
