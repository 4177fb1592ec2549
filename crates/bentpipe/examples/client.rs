//! Says something to the server beside this file and prints the answer: `client ADDRESS KEY_FILE SERVER_KEY TEXT`.

use std::error::Error;
use std::path::Path;

use bentpipe::association::{PublicKey, Security, Tuning};
use bentpipe::net::{Host, key_file};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// The service at the other end, as ports are to TCP.
const ECHO: u16 = 7;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, key, server, text] = &arguments[..] else {
        return Err("usage: client ADDRESS KEY_FILE SERVER_KEY TEXT".into());
    };
    let server: PublicKey = server.parse()?;
    let own = key_file::load(Path::new(key))?;
    let host = Host::bind("0.0.0.0:0".parse()?, own, Security::Full)?;
    // What is written goes out with the keys: there is no round trip before it once the two hosts have met.
    let mut connection = host.open(address.parse()?, server, ECHO, Tuning::default().config()?);
    connection.write_all(text.as_bytes()).await?;
    connection.shutdown().await?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await?;
    println!("{answer}");
    host.shutdown().await;
    Ok(())
}
