//! What is wrong with a scenario, said so that it can be mended.

use std::fmt::{self, Write};

/// A scenario that cannot be: where, what, and what would be right.
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

impl ScenarioError {
    /// The error of a text from `source` that is not TOML or not what is read from it, without its key.
    pub fn in_toml(source: &str, text: &str, error: &toml::de::Error) -> Self {
        Self {
            source: source.to_owned(),
            line: error.span().map(|span| line_of(text, span.start)),
            key: None,
            message: plainly(error.message()),
        }
    }
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
        f.write_str(": ")?;
        // One line, whatever was quoted from the file.
        self.message.chars().try_for_each(|c| match c {
            _ if c.is_control() => write!(f, "{}", c.escape_default()),
            _ => f.write_char(c),
        })
    }
}

impl std::error::Error for ScenarioError {}

/// The one of `known` that `wrong` was most likely meant to be; capital letters do not matter.
pub fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let wrong = wrong.to_lowercase();
    known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&wrong, &name.to_lowercase()), name))
        .min()
        .filter(|(distance, name)| *distance <= name.len().max(wrong.len()) / 2)
        .map(|(_, name)| name.to_owned())
}

/// The question whether the nearest of `known` was meant, to be put behind a message.
pub fn did_you_mean<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(wrong, known).map(|right| format!("; did you mean `{right}`?")).unwrap_or_default()
}

/// What serde says, in words for people and with the nearest right spelling behind its list of what
/// it knows.
pub(crate) fn plainly(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let names_a_choice = ["unknown field", "unknown variant"].iter().any(|w| message.contains(w));
    if let Some(wrong) = quoted.next().filter(|_| names_a_choice) {
        return format!("{message}{}", did_you_mean(wrong, quoted));
    }
    let Some((said, of_type)) = message.rsplit_once("expected ") else {
        return message.to_owned();
    };
    let expected = match of_type {
        "u16" => "a whole number in 0..=65535",
        "u32" => "a whole number in 0..=4294967295",
        "u64" => "a whole number that is not negative",
        "i64" => "a whole number",
        "f64" => "a number",
        "a boolean" => "true or false",
        other if other.starts_with("struct ") => "a table",
        other => other,
    };
    format!("{said}expected {expected}")
}

/// The field that serde misses.
pub(crate) fn missing_field(message: &str) -> Option<&str> {
    message.strip_prefix("missing field `")?.split('`').next()
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
        assert_eq!(nearest("e33", ["E1", "E3"]), Some("E3".into()));
        assert_eq!(nearest("xyzzyplugh", ["rate", "delay"]), None);
        let message = "unknown field `probng`, expected one of `preset`, `probing`, `mss`";
        assert!(plainly(message).ends_with("did you mean `probing`?"));
    }
    #[test]
    fn types_have_names_that_people_know() {
        let message = "invalid value: integer `-1`, expected u64";
        assert!(plainly(message).ends_with("expected a whole number that is not negative"));
        assert_eq!(plainly("duplicate key"), "duplicate key");
    }
}
