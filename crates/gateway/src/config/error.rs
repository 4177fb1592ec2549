//! What is wrong with a configuration, said so that it can be mended.

use std::fmt;

use serde::de::DeserializeOwned;

/// A configuration file that cannot be used: where, what, and what would be right.
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

/// All that is wrong with a configuration, one in each line. There is at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigErrors(Vec<ConfigError>);

impl ConfigErrors {
    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &ConfigError> {
        self.0.iter()
    }

    /// What is wrong with keys of a file.
    pub fn of(file: &str, found: Vec<(String, String)>) -> Self {
        let error = |(key, message)| ConfigError {
            file: file.to_owned(),
            line: None,
            key: Some(key),
            message,
        };
        Self(found.into_iter().map(error).collect())
    }
}

impl From<ConfigError> for ConfigErrors {
    fn from(error: ConfigError) -> Self {
        Self(vec![error])
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&all.join("\n"))
    }
}

impl std::error::Error for ConfigErrors {}

/// Reads TOML that came from `file`.
pub(super) fn read<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, ConfigError> {
    let wrong = |error: &toml::de::Error, key: Option<String>| {
        let line = error
            .span()
            .map(|span| text.bytes().take(span.start).filter(|byte| *byte == b'\n').count() + 1);
        let message = plainly(error.message());
        ConfigError { file: file.to_owned(), line, key, message }
    };
    let toml = toml::Deserializer::parse(text).map_err(|error| wrong(&error, None))?;
    serde_path_to_error::deserialize(toml).map_err(|error| {
        let path = error.path().to_string();
        wrong(error.inner(), Some(path).filter(|path| path != "."))
    })
}

/// What libraries say, and the same for people.
const IN_WORDS: [(&str, &str); 7] = [
    ("invalid socket address syntax", "it is ADDRESS:PORT, such as 127.0.0.1:1080 or [::1]:1080"),
    ("invalid IP address syntax", "it is an address, such as 192.0.2.7 or 2001:db8::7"),
    ("expected a sequence", "expected a list, such as [\"10.0.0.0/8\"]"),
    ("expected a boolean", "expected true or false"),
    ("expected usize", "expected a whole number that is not negative"),
    ("expected u32", "expected a whole number from 0 to 4294967295"),
    ("expected u16", "expected a whole number from 0 to 65535"),
];

/// What was said, for people, and with what was most likely meant where it names what there is.
fn plainly(message: &str) -> String {
    if let Some((said, words)) = IN_WORDS.iter().find(|(said, _)| message.ends_with(said)) {
        return message.replace(said, words);
    }
    // Within one table TOML itself refuses a key that is there twice.
    if let Some(key) = message.strip_prefix("duplicate field ") {
        return format!("{key} is set twice, once by its old name");
    }
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
