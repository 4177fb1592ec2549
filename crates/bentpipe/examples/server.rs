//! A service over UDP that says back what a client says: `server ADDRESS KEY_FILE CLIENT_KEY`.
//!
//! `bentpipe keygen --key FILE` writes a key file and prints the public key, which the other end is given.

use std::error::Error;
use std::path::Path;

use bentpipe::association::{PublicKey, Security, Tuning};
use bentpipe::net::{Host, key_file};
use tokio::io::{AsyncWriteExt, copy, split};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, key, client] = &arguments[..] else {
        return Err("usage: server ADDRESS KEY_FILE CLIENT_KEY".into());
    };
    let client: PublicKey = client.parse()?;
    let host = Host::bind(address.parse()?, key_file::load(Path::new(key))?, Security::Full)?;
    host.allow(client);
    host.listen(Tuning::default().config()?);
    println!("listening on {}", host.local_addr());
    loop {
        let (mut said, mut answer) = split(host.accept().await);
        tokio::spawn(async move {
            copy(&mut said, &mut answer).await?;
            answer.shutdown().await
        });
    }
}
