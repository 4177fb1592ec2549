//! What is wrong with a scenario, said so that it can be mended.

use std::fmt;

/// A scenario that can not be: where, what, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// File, or the command line option.
    pub source: String,
    /// Line in the file, counted from 1.
    pub line: Option<usize>,
    /// Key, as a path such as `links.space.delay`.
    pub key: Option<String>,
    /// What is wrong and what would be right.
    pub message: String,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        if let Some(key) = &self.key {
            write!(f, ", `{key}`")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for ScenarioError {}

/// The one of `known` that `wrong` was most likely meant to be.
pub(crate) fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(wrong, name), name))
        .min()
        .filter(|(distance, name)| *distance <= name.len().max(wrong.len()) / 2)
        .map(|(_, name)| name.to_owned())
}

/// Puts the nearest right spelling behind serde's list of what it knows.
pub(crate) fn with_suggestion(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let names_a_choice = ["unknown field", "unknown variant"].iter().any(|w| message.contains(w));
    let Some(wrong) = quoted.next().filter(|_| names_a_choice) else {
        return message.to_owned();
    };
    match nearest(wrong, quoted) {
        Some(right) => format!("{message}; did you mean `{right}`?"),
        None => message.to_owned(),
    }
}

/// The line, counted from 1, of a place in a text.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|b| *b == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_spelling_is_suggested_and_nonsense_is_not() {
        assert_eq!(nearest("dealy", ["rate", "delay", "ber"]), Some("delay".into()));
        assert_eq!(nearest("xyzzyplugh", ["rate", "delay"]), None);
        let message = "unknown field `probng`, expected one of `preset`, `probing`, `mss`";
        assert!(with_suggestion(message).ends_with("did you mean `probing`?"));
    }
}
