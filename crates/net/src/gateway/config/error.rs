//! What is wrong with a configuration, said so that it can be mended.

use std::fmt;

use serde::de::DeserializeOwned;

/// A configuration file that can not be used: where, what, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// Its name.
    pub file: String,
    /// The line, counted from 1.
    pub line: Option<usize>,
    /// The key, as a path such as `peers.hub.address`.
    pub key: Option<String>,
    /// What is wrong and what would be right.
    pub message: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        if let Some(key) = &self.key {
            write!(f, ", `{key}`")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for ConfigError {}

/// Reads TOML that came from `file`.
pub(super) fn read<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, ConfigError> {
    let wrong = |error: &toml::de::Error, key: Option<String>| {
        let line = error
            .span()
            .map(|span| text.bytes().take(span.start).filter(|byte| *byte == b'\n').count() + 1);
        let message = with_suggestion(error.message());
        ConfigError { file: file.to_owned(), line, key, message }
    };
    let toml = toml::Deserializer::parse(text).map_err(|error| wrong(&error, None))?;
    serde_path_to_error::deserialize(toml).map_err(|error| {
        let path = error.path().to_string();
        wrong(error.inner(), Some(path).filter(|path| path != "."))
    })
}

/// What serde says, with what was most likely meant where it names what there is.
fn with_suggestion(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let names_a_choice = ["unknown field", "unknown variant"].iter().any(|w| message.contains(w));
    let Some(wrong) = quoted.next().filter(|_| names_a_choice) else { return message.to_owned() };
    let nearest = quoted.min_by_key(|known| strsim::damerau_levenshtein(wrong, known));
    let near = |known: &&str| {
        strsim::damerau_levenshtein(wrong, known) * 2 <= wrong.len().max(known.len())
    };
    match nearest.filter(near) {
        Some(right) => format!("{message}; did you mean `{right}`?"),
        None => message.to_owned(),
    }
}
