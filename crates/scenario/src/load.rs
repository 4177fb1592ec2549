//! Reading scenario files and changing single values from the command line.

use std::path::{Path, PathBuf};

use bentpipe_sim::RunSpec;

use crate::error::{ScenarioError, did_you_mean};
use crate::identity::identity;
use crate::old_keys;
use crate::profile::profile;
use crate::text::{editable, locate, put, read, set};
use crate::{Extensions, ScenarioFile, build, library, reads};

/// A scenario, read and checked.
#[derive(Clone, Debug)]
pub struct Scenario {
    source: String,
    text: String,
    file: ScenarioFile,
    extensions: Extensions,
}

/// A change of one value: `links.space.delay=100 ms`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// Path of the key.
    pub key: String,
    /// The new value, in TOML; text without quotes is a string.
    pub value: String,
}

impl std::str::FromStr for Override {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((key, value)) if key.split('.').all(|part| !part.trim().is_empty()) => {
                Ok(Self { key: old_keys::renewed(key.trim()), value: value.trim().to_owned() })
            }
            _ => Err(format!("`{text}` is not key=value, such as links.space.delay=100ms")),
        }
    }
}

impl Override {
    /// The text of a scenario from `source` with these changes in it. Whatever values it had, it may be one with these; whether it is
    /// one then is asked by whoever reads it.
    ///
    /// # Errors
    /// When the text is no TOML, or has no place for a key.
    pub fn put_all(source: &str, text: &str, changes: &[Self]) -> Result<String, ScenarioError> {
        let mut document = editable(source, text)?;
        for Self { key, value } in changes {
            put(&mut document, key, value).map_err(|message| ScenarioError {
                source: source.to_owned(),
                line: None,
                key: Some(key.clone()),
                message,
            })?;
        }
        Ok(document.to_string())
    }
}

impl Scenario {
    /// Reads a file, or the scenario of that name that comes with the program.
    ///
    /// # Errors
    /// When there is no such file or scenario, or it is not a valid one: file, line, key, what is
    /// wrong and what would be right.
    pub fn open(name: &str) -> Result<Self, ScenarioError> {
        Self::open_with(name, &Extensions::default())
    }

    /// The same as [`Scenario::open`] for a scenario that may name what the program brings.
    ///
    /// # Errors
    /// As there.
    pub fn open_with(name: &str, extensions: &Extensions) -> Result<Self, ScenarioError> {
        let text = match std::fs::read_to_string(name) {
            Ok(text) => text,
            Err(error) => {
                let missing = !Path::new(name).is_file();
                let built_in = library::scenario(name).filter(|_| missing);
                built_in.ok_or_else(|| not_found(name, &error))?.to_owned()
            }
        };
        Self::parse_with(name, &text, extensions)
    }

    /// A flow between two places over a constellation: that of a built-in scenario, with its links, or any
    /// other, known by name or in a file, whose links have no rate.
    ///
    /// # Errors
    /// When there is no such constellation, or it does not cover one of the places.
    pub fn over(constellation: &str, from: &str, to: &str) -> Result<Self, ScenarioError> {
        // No file has the lines of this text.
        Self::parse(constellation, &profile(constellation, from, to))
            .map_err(|error| ScenarioError { line: None, ..error })
    }

    /// Reads a scenario from a text that came from `source`.
    ///
    /// # Errors
    /// When it is not a valid scenario.
    pub fn parse(source: &str, text: &str) -> Result<Self, ScenarioError> {
        Self::parse_with(source, text, &Extensions::default())
    }

    /// The same as [`Scenario::parse`] for a scenario that may name what the program brings.
    ///
    /// # Errors
    /// As there.
    pub fn parse_with(
        source: &str,
        text: &str,
        extensions: &Extensions,
    ) -> Result<Self, ScenarioError> {
        let file: ScenarioFile = read(source, text)?;
        if let Some(confines) = extensions.confines() {
            confines.check(&file, source)?;
        }
        let (source, text) = (source.to_owned(), text.to_owned());
        let scenario = Self { source, text, file, extensions: extensions.clone() };
        scenario.run_spec(None, false)?;
        Ok(scenario)
    }

    /// The scenario with some values changed. Whether they fit together is asked when all are.
    ///
    /// # Errors
    /// When a key does not exist or a value cannot be.
    pub fn with(&self, overrides: &[Override]) -> Result<Self, ScenarioError> {
        let option = |change: &Override| format!("--set {}={}", change.key, change.value);
        let (mut text, mut file) = (self.text.clone(), self.file.clone());
        for change in overrides {
            let wrong = |message| ScenarioError {
                source: option(change),
                line: None,
                key: Some(change.key.clone()),
                message,
            };
            text = set(&text, &change.key, &change.value).map_err(wrong)?;
            file = read(&self.source, &text).map_err(|error: ScenarioError| {
                wrong(unknown_name(&file, &change.key).unwrap_or(error.message))
            })?;
        }
        Self::parse_with(&self.source, &text, &self.extensions).map_err(|error| {
            let mut blamed =
                overrides.iter().filter(|change| error.key.as_ref() == Some(&change.key));
            let blamed = blamed.next_back().map(option);
            let all = || overrides.iter().map(option).collect::<Vec<_>>().join(" ");
            ScenarioError { source: blamed.unwrap_or_else(all), line: None, ..error }
        })
    }

    /// The same for a scenario that may name what the program brings.
    ///
    /// # Errors
    /// When it named what another program brought.
    pub fn with_extensions(&self, extensions: &Extensions) -> Result<Self, ScenarioError> {
        Self::parse_with(&self.source, &self.text, extensions)
    }

    /// What the program brought for it to name.
    pub const fn extensions(&self) -> &Extensions {
        &self.extensions
    }

    /// The text of the file with all values that were changed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where it came from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The files that it reads besides its own, so that no result is written over them.
    pub fn reads(&self) -> Vec<PathBuf> {
        reads::files(&self.file, &self.source)
    }

    /// What its runs depend on besides their seed and the program, as a hash: its values, whatever their order and the
    /// comments, the contents of the files that it reads, and the [versions](Extensions::with_version) of controllers that it names.
    ///
    /// # Errors
    /// When one of those files cannot be read.
    pub fn identity(&self) -> Result<[u8; 32], ScenarioError> {
        let files = self.reads();
        let (files, versions) = (files.iter().map(PathBuf::as_path), self.extensions.versions());
        identity(&self.text, files, versions).map_err(|(path, error)| {
            let source = path.display().to_string();
            ScenarioError { source, line: None, key: None, message: error.to_string() }
        })
    }

    /// What to tell whoever wrote it: keys that have another name now.
    pub fn warnings(&self) -> Vec<String> {
        old_keys::warnings(&self.source, &self.text)
    }

    /// The schema's view of the scenario.
    pub const fn file(&self) -> &ScenarioFile {
        &self.file
    }

    /// The run that the scenario describes, with its own seed or the one given.
    ///
    /// # Errors
    /// When parts of the scenario do not fit together.
    pub fn run_spec(&self, seed: Option<u64>, wire: bool) -> Result<RunSpec, ScenarioError> {
        build::run_spec(&self.file, &self.source, &self.extensions, seed, wire)
            .map_err(|problem| locate(&self.source, &self.text, problem))
    }
}

/// Says so when a key is that of a link or a flow that the scenario does not have.
fn unknown_name(file: &ScenarioFile, key: &str) -> Option<String> {
    let mut parts = key.split('.').map(str::trim);
    let (what, known): (_, Vec<&String>) = match parts.next()? {
        "links" => ("link", file.links.keys().collect()),
        "flows" => ("flow", file.flows.keys().collect()),
        _ => return None,
    };
    let name = parts.next().filter(|name| !known.iter().any(|known| known == name))?;
    let hint = did_you_mean(name, known.into_iter().map(String::as_str));
    Some(format!("there is no {what} `{name}`{hint}"))
}

fn not_found(name: &str, error: &std::io::Error) -> ScenarioError {
    let names = library::scenarios().flat_map(|(name, _)| [name, library::last_part(name)]);
    let hint = crate::error::nearest(name.strip_suffix(".toml").unwrap_or(name), names);
    let message = match hint {
        Some(right) => format!("{error}; did you mean the built-in scenario `{right}`?"),
        None => {
            format!("{error}; `bentpipe list scenarios` names those that come with the program")
        }
    };
    ScenarioError { source: name.to_owned(), line: None, key: None, message }
}
