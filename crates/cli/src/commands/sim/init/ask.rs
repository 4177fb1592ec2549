//! What is asked of whoever begins with a link.

use std::fmt::{self, Display};
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
    /// The rate of its other direction, if that is another one.
    fn return_rate(&self) -> Result<Option<BitRate>, Failure>;
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

    fn return_rate(&self) -> Result<Option<BitRate>, Failure> {
        Ok(None)
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
        ask("Rate to the client", RATE)
    }

    fn return_rate(&self) -> Result<Option<BitRate>, Failure> {
        let same = SameOr(None);
        Ok(ask("Rate from the client", same)?.0)
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

/// A rate, or that of the other direction.
#[derive(Clone, Copy)]
struct SameOr(Option<BitRate>);

impl Display for SameOr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("same"),
            Some(rate) => rate.fmt(f),
        }
    }
}

impl FromStr for SameOr {
    type Err = <BitRate as FromStr>::Err;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_same = text.trim() == "same";
        Ok(Self(if is_same { None } else { Some(text.parse()?) }))
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
