//! Reading scenario files and changing single values from the command line.

use std::ops::Range;
use std::path::Path;

use bentpipe_sim::RunSpec;
use serde::de::DeserializeOwned;
use toml_edit::{Document, DocumentMut, Item, Key, Table, Value};

use crate::build::{self, Problem};
use crate::error::{ScenarioError, did_you_mean, line_of, missing_field, plainly};
use crate::profile::profile;
use crate::{Extensions, ScenarioFile, library};

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
                Ok(Self { key: key.trim().to_owned(), value: value.trim().to_owned() })
            }
            _ => Err(format!("`{text}` is not key=value, such as links.space.delay=100ms")),
        }
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
        let (source, text) = (source.to_owned(), text.to_owned());
        let scenario = Self { source, text, file, extensions: extensions.clone() };
        scenario.run_spec(None, false)?;
        Ok(scenario)
    }

    /// The scenario with some values changed. Whether they fit together is asked when all are.
    ///
    /// # Errors
    /// When a key does not exist or a value can not be.
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
            text = set(&text, change).map_err(wrong)?;
            file = read(&self.source, &text).map_err(|error: ScenarioError| {
                wrong(stranger(&file, &change.key).unwrap_or(error.message))
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

    /// Where it came from.
    pub fn source(&self) -> &str {
        &self.source
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

/// Where in a text a problem is.
pub(crate) fn locate(source: &str, text: &str, problem: Problem) -> ScenarioError {
    let Problem { path, message } = problem;
    ScenarioError {
        source: source.to_owned(),
        line: line_of_path(text, &path),
        key: Some(path.join(".")),
        message,
    }
}

/// Says so when a key is that of a link or a flow that the scenario does not have.
fn stranger(file: &ScenarioFile, key: &str) -> Option<String> {
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

/// Reads a text as what the schema says.
pub(crate) fn read<T: DeserializeOwned>(source: &str, text: &str) -> Result<T, ScenarioError> {
    toml::from_str(text).map_err(|error| unreadable(source, text, &error))
}

fn not_found(name: &str, error: &std::io::Error) -> ScenarioError {
    let names = library::scenarios().flat_map(|(name, _)| [name, library::last_part(name)]);
    let hint = crate::error::nearest(name.strip_suffix(".toml").unwrap_or(name), names);
    let message = match hint {
        Some(right) => format!("{error}; did you mean the built-in scenario `{right}`?"),
        None => {
            let names: Vec<&str> = library::scenarios().map(|(name, _)| name).collect();
            format!("{error}; built in are {}", names.join(", "))
        }
    };
    ScenarioError { source: name.to_owned(), line: None, key: None, message }
}

/// What is wrong with a text that is not TOML or not what the schema says.
fn unreadable(source: &str, text: &str, error: &toml::de::Error) -> ScenarioError {
    let message = error.message().lines().next().unwrap_or_default();
    let span = error.span().unwrap_or_default();
    let mut line = Some(line_of(text, span.start));
    let path = match Document::parse(text) {
        Ok(document) => path_at(document.as_item(), None, &span),
        Err(_) => key_before(text, span.start).map(|key| vec![key]),
    };
    let mut path = path.unwrap_or_default();
    if let Some(field) = missing_field(message) {
        // Of the whole file: that is no place.
        line = line.filter(|_| !path.is_empty());
        path.push(field.to_owned());
    }
    let key = Some(path.join(".")).filter(|key| !key.is_empty());
    ScenarioError { source: source.to_owned(), line, key, message: plainly(message) }
}

/// The path, below `item`, of the key or the value that stands exactly at `span`.
fn path_at(item: &Item, key: Option<&Key>, span: &Range<usize>) -> Option<Vec<String>> {
    if item.span().as_ref() == Some(span) || key.and_then(Key::span).as_ref() == Some(span) {
        return Some(Vec::new());
    }
    let below = |name: &str, inner: &Item, key: Option<&Key>| {
        let mut path = path_at(inner, key, span)?;
        path.insert(0, name.to_owned());
        Some(path)
    };
    if let Some(table) = item.as_table_like() {
        return table.iter().find_map(|(name, inner)| {
            below(name, inner, table.get_key_value(name).map(|(key, _)| key))
        });
    }
    (0..).map_while(|n| Some((n, item.get(n)?))).find_map(|(n, i)| below(&n.to_string(), i, None))
}

/// The path of the key that stands at, or before, a place in a text that is not TOML.
fn key_before(text: &str, offset: usize) -> Option<String> {
    let line_start = text[..offset.min(text.len())].rfind('\n').map_or(0, |n| n + 1);
    let line = text[line_start..].lines().next()?.trim();
    let bare = |part: &str| part.trim().trim_matches(['[', ']']).trim().to_owned();
    if line.starts_with('[') {
        return Some(bare(line));
    }
    // In an inline table the key is the last one before the place.
    let before = &text[line_start..offset.max(line_start).min(text.len())];
    let start = before.rfind(['{', ',']).map_or(0, |n| n + 1);
    let key = text[line_start + start..].lines().next()?.trim();
    let key = bare(key.split(['=', ' ', '\t']).next()?);
    let outer = before[..start].split('=').next().map(str::trim).filter(|_| start > 0);
    let table = text[..line_start].lines().rev().map(str::trim).find(|l| l.starts_with('['));
    let path = [table.map(bare), outer.map(str::to_owned), Some(key)];
    Some(path.into_iter().flatten().filter(|p| !p.is_empty()).collect::<Vec<_>>().join("."))
}

/// The line on which the value of a path stands.
fn line_of_path(text: &str, path: &[String]) -> Option<usize> {
    let document = Document::parse(text).ok()?;
    let mut item: &Item = document.as_item();
    let mut span = None;
    for key in path {
        item = match (item.get(key.as_str()), key.parse::<usize>()) {
            (Some(inner), _) => inner,
            (None, Ok(index)) => item.get(index)?,
            _ => break,
        };
        span = item.span().or(span);
    }
    span.map(|span| line_of(text, span.start))
}

/// Changes one value of a TOML text.
fn set(text: &str, change: &Override) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|e| format!("{e}"))?;
    let value = change.value.parse::<Value>().unwrap_or_else(|_| Value::from(&*change.value));
    let keys: Vec<&str> = change.key.split('.').collect();
    let (last, parents) = keys.split_last().ok_or("the key is empty")?;
    let mut item = document.as_item_mut();
    let mut at = "";
    for key in parents {
        item = match key.parse::<usize>() {
            Ok(index) if item.get(index).is_some() => &mut item[index],
            _ => {
                let table = item.as_table_like_mut();
                let table = table.ok_or_else(|| format!("`{at}` has nothing called `{key}`"))?;
                table.entry(key).or_insert(Item::Table(Table::new()))
            }
        };
        at = key;
    }
    match last.parse::<usize>() {
        Ok(index) if item.get(index).is_some() => item[index] = Item::Value(value),
        _ => {
            let table = item.as_table_like_mut();
            let table = table.ok_or_else(|| format!("`{at}` has nothing called `{last}`"))?;
            table.insert(last, Item::Value(value));
        }
    }
    Ok(document.to_string())
}
