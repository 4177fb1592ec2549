//! What is asked of whoever begins with a link.

use std::fmt::Display;
use std::str::FromStr;

use bentpipe_units::{BitRate, Share, Span};
use dialoguer::Input;

use crate::failure::Failure;

const RATE: BitRate = BitRate::from_bps(10_000_000);
const DELAY: Span = Span::from_millis(250);

/// Whoever knows what the options do not say.
pub(super) trait Asks {
    /// The rate of the link.
    fn rate(&self) -> Result<BitRate, Failure>;
    /// Its delay, one way.
    fn delay(&self) -> Result<Span, Failure>;
    /// The share of its packets that are lost.
    fn loss(&self) -> Result<Share, Failure>;
    /// The trace that it replays, if there is one.
    fn trace(&self) -> Result<Option<String>, Failure>;
}

/// Nobody is asked.
pub(super) struct Defaults;

impl Asks for Defaults {
    fn rate(&self) -> Result<BitRate, Failure> {
        Ok(RATE)
    }

    fn delay(&self) -> Result<Span, Failure> {
        Ok(DELAY)
    }

    fn loss(&self) -> Result<Share, Failure> {
        Ok(Share::default())
    }

    fn trace(&self) -> Result<Option<String>, Failure> {
        Ok(None)
    }
}

/// The user is asked, again until the answer can be read.
pub(super) struct Questions;

impl Asks for Questions {
    fn rate(&self) -> Result<BitRate, Failure> {
        ask("Rate", RATE)
    }

    fn delay(&self) -> Result<Span, Failure> {
        ask("Delay one way (half of the round trip)", DELAY)
    }

    fn loss(&self) -> Result<Share, Failure> {
        ask("Packets that are lost (0.01 or 1%)", Share::default())
    }

    fn trace(&self) -> Result<Option<String>, Failure> {
        let file = Input::<String>::new()
            .with_prompt("A trace to replay: a file or a name, nothing for none")
            .allow_empty(true)
            .interact_text()?;
        Ok(Some(file.trim().to_owned()).filter(|file| !file.is_empty()))
    }
}

fn ask<T>(question: &str, usual: T) -> Result<T, Failure>
where
    T: Clone + Display + FromStr,
    T::Err: Display,
{
    Ok(Input::new().with_prompt(question).default(usual).interact_text()?)
}

impl From<dialoguer::Error> for Failure {
    /// Who cannot be asked any more went away.
    fn from(error: dialoguer::Error) -> Self {
        Self::System(format!("nothing was written: {error}"))
    }
}
