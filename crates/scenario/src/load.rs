//! Reading scenario files and changing single values from the command line.

use bentpipe_sim::RunSpec;
use toml_edit::{Document, DocumentMut, Item, Table, Value};

use crate::build::{self, Problem};
use crate::error::{ScenarioError, line_of, with_suggestion};
use crate::{ScenarioFile, library};

/// A scenario, read and checked.
#[derive(Clone, Debug)]
pub struct Scenario {
    source: String,
    text: String,
    file: ScenarioFile,
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
            Some((key, value)) if !key.trim().is_empty() => {
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
        let text = match std::fs::read_to_string(name) {
            Ok(text) => text,
            Err(error) => {
                let missing = error.kind() == std::io::ErrorKind::NotFound;
                let built_in = library::scenario(name).filter(|_| missing);
                built_in.ok_or_else(|| not_found(name, &error))?.to_owned()
            }
        };
        Self::parse(name, &text)
    }

    /// Reads a scenario from a text that came from `source`.
    ///
    /// # Errors
    /// When it is not a valid scenario.
    pub fn parse(source: &str, text: &str) -> Result<Self, ScenarioError> {
        let file = toml::from_str(text).map_err(|error| syntax(source, text, &error))?;
        let scenario = Self { source: source.to_owned(), text: text.to_owned(), file };
        scenario.run_spec(None, false)?;
        Ok(scenario)
    }

    /// The scenario with some values changed.
    ///
    /// # Errors
    /// When a key does not exist or a value can not be.
    pub fn with(&self, overrides: &[Override]) -> Result<Self, ScenarioError> {
        let mut changed = self.clone();
        for change in overrides {
            let option = format!("--set {}={}", change.key, change.value);
            let at = |error: ScenarioError| ScenarioError {
                source: option.clone(),
                line: None,
                key: Some(change.key.clone()),
                message: error.message,
            };
            let text = set(&changed.text, change).map_err(|message| {
                at(ScenarioError { source: option.clone(), line: None, key: None, message })
            })?;
            changed = Self::parse(&self.source, &text).map_err(at)?;
        }
        Ok(changed)
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
        build::run_spec(&self.file, seed, wire).map_err(|problem| self.locate(problem))
    }

    fn locate(&self, problem: Problem) -> ScenarioError {
        let Problem { path, message } = problem;
        ScenarioError {
            source: self.source.clone(),
            line: line_of_path(&self.text, &path),
            key: Some(path.join(".")),
            message,
        }
    }
}

fn not_found(name: &str, error: &std::io::Error) -> ScenarioError {
    let known = library::scenarios().map(|(name, _)| name);
    let message = match crate::error::nearest(name, known) {
        Some(right) => format!("{error}; did you mean the built-in scenario `{right}`?"),
        None => format!("{error}; `bentpipe list scenarios` names those that are built in"),
    };
    ScenarioError { source: name.to_owned(), line: None, key: None, message }
}

fn syntax(source: &str, text: &str, error: &toml::de::Error) -> ScenarioError {
    let span = error.span();
    let line = span.as_ref().map(|span| line_of(text, span.start));
    let key = span.and_then(|span| key_at(text, span.start));
    let message = with_suggestion(error.message().lines().next().unwrap_or_default());
    ScenarioError { source: source.to_owned(), line, key, message }
}

/// The path of the key that stands at, or before, a place in a TOML text.
fn key_at(text: &str, offset: usize) -> Option<String> {
    let line_start = text[..offset.min(text.len())].rfind('\n').map_or(0, |n| n + 1);
    let line = text[line_start..].lines().next()?.trim();
    let bare = |part: &str| part.trim().trim_matches(['[', ']']).trim().to_owned();
    if line.starts_with('[') {
        return Some(bare(line));
    }
    // In an inline table the key is the last one before the place.
    let before = &text[line_start..offset.max(line_start).min(text.len())];
    let start = before.rfind(['{', ',']).map_or(0, |n| n + 1);
    let key = bare(text[line_start + start..].lines().next()?.split('=').next()?);
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
    for key in parents {
        item = match key.parse::<usize>() {
            Ok(index) if item.get(index).is_some() => &mut item[index],
            _ => {
                let table = item.as_table_like_mut();
                let table = table.ok_or_else(|| format!("`{key}` is not in a table"))?;
                table.entry(key).or_insert(Item::Table(Table::new()))
            }
        };
    }
    let table = item.as_table_like_mut().ok_or("it is not in a table")?;
    table.insert(last, Item::Value(value));
    Ok(document.to_string())
}
