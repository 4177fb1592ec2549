//! `bentpipe init`.

use bentpipe_units::{BitRate, Share, Span};
use clap::Args as ClapArgs;

pub(super) const INIT_EXAMPLES: &str = "Examples:
  bentpipe init my-link
  bentpipe init my-link --rate \"20 Mbit/s\" --delay \"25 ms\" --loss 1% --yes
  bentpipe init my-dish --rate \"100 Mbit/s\" --return-rate \"5 Mbit/s\" --yes
  bentpipe init from-my-dish --trace down.csv --yes

Without a terminal nothing is asked. A file that is there is never changed.";

/// `bentpipe init`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Init {
    /// Name of the scenario, which is written into NAME.toml in the current directory
    #[arg(value_parser = name)]
    pub(crate) name: String,
    /// Rate of the link, in both directions if --return-rate says nothing else [default: 10 Mbit/s]
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<BitRate>,
    /// Rate from the client to the gateway, where it is another one
    #[arg(long, value_name = "RATE")]
    pub(crate) return_rate: Option<BitRate>,
    /// Delay of the link one way, half of its round trip [default: 250 ms]
    #[arg(long, value_name = "TIME")]
    pub(crate) delay: Option<Span>,
    /// Share of the packets that are lost: 0.01 or 1% [default: 0]
    #[arg(long, value_name = "SHARE")]
    pub(crate) loss: Option<Share>,
    /// A trace that the link replays in place of what it tells of rate and delay: a file, or the name of one that
    /// comes with the program
    #[arg(long, value_name = "FILE|NAME")]
    pub(crate) trace: Option<String>,
    /// Ask nothing: take the defaults for what is not given
    #[arg(long)]
    pub(crate) yes: bool,
}

/// A name that is a file name and a word of TOML everywhere.
fn name(text: &str) -> Result<String, String> {
    let name = text.strip_suffix(".toml").unwrap_or(text);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.starts_with('-') || !name.chars().all(is_plain) {
        return Err("write letters, digits, `-` and `_`, such as my-link".to_owned());
    }
    Ok(name.to_owned())
}
