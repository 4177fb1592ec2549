//! TOML texts: what is read from them, where something stands, and changes of single values.

use std::ops::Range;

use serde::de::DeserializeOwned;
use toml_edit::{Document, DocumentMut, Item, Key, Table, Value};

use crate::error::{ScenarioError, line_of, missing_field, plainly};
use crate::old_keys::old_of;
use crate::problem::Problem;

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

/// Reads a text as what the schema says.
pub(crate) fn read<T: DeserializeOwned>(source: &str, text: &str) -> Result<T, ScenarioError> {
    toml::from_str(text).map_err(|error| unreadable(source, text, &error))
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
        item = match (item.get(name_in(item, key)), key.parse::<usize>()) {
            (Some(inner), _) => inner,
            (None, Ok(index)) => item.get(index)?,
            _ => break,
        };
        span = item.span().or(span);
    }
    span.map(|span| line_of(text, span.start))
}

/// A key as this table has it, which may be the name that it had before.
fn name_in<'a>(item: &Item, key: &'a str) -> &'a str {
    let old = old_of(key).filter(|old| item.get(key).is_none() && item.get(*old).is_some());
    old.unwrap_or(key)
}

/// Parts of a key at most: no scenario has half as many, and the text of tables in tables takes room on the stack for each.
const MOST_PARTS: usize = 32;

/// Changes one value of a TOML text.
pub(crate) fn set(text: &str, key: &str, value: &str) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|e| format!("{e}"))?;
    put(&mut document, key, value)?;
    Ok(document.to_string())
}

/// A text whose values can be changed, and which keeps its comments.
pub(crate) fn editable(source: &str, text: &str) -> Result<DocumentMut, ScenarioError> {
    text.parse().map_err(|error: toml_edit::TomlError| ScenarioError {
        source: source.to_owned(),
        line: error.span().map(|span| line_of(text, span.start)),
        key: None,
        message: plainly(error.message()),
    })
}

/// Changes one value of such a text; without a value the key is taken away.
pub(crate) fn put(document: &mut DocumentMut, key: &str, value: &str) -> Result<(), String> {
    if value.trim().is_empty() {
        return take_away(document, key);
    }
    let mut value = value.parse::<Value>().unwrap_or_else(|_| Value::from(value));
    if key.split('.').nth(MOST_PARTS).is_some() {
        let begins: String = key.chars().take(40).collect();
        return Err(format!("a key of more than {MOST_PARTS} parts: `{begins}...`"));
    }
    let keys: Vec<&str> = key.split('.').collect();
    let (last, parents) = keys.split_last().ok_or("the key is empty")?;
    let mut item = document.as_item_mut();
    let mut at = "";
    for key in parents {
        let key = &name_in(item, key);
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
    let last = &name_in(item, last);
    match last.parse::<usize>() {
        Ok(index) if item.get(index).is_some() => item[index] = Item::Value(value),
        _ => {
            let table = item.as_table_like_mut();
            let table = table.ok_or_else(|| format!("`{at}` has nothing called `{last}`"))?;
            match table.get_mut(last) {
                // Comments above and behind it stay.
                Some(Item::Value(old)) => {
                    *value.decor_mut() = old.decor().clone();
                    *old = value;
                }
                _ => drop(table.insert(last, Item::Value(value))),
            }
        }
    }
    Ok(())
}

/// Takes a key or an element of a list away.
fn take_away(document: &mut DocumentMut, key: &str) -> Result<(), String> {
    let (parents, last) = key.rsplit_once('.').unwrap_or(("", key));
    let mut item = document.as_item_mut();
    let absent = || format!("there is no `{key}` to take away; a text without letters is \"\"");
    for part in parents.split('.').filter(|part| !part.is_empty()) {
        let part = name_in(item, part);
        item = match part.parse::<usize>() {
            Ok(index) if item.get(index).is_some() => &mut item[index],
            _ => item.get_mut(part).ok_or_else(absent)?,
        };
    }
    let last = name_in(item, last);
    let gone = match (last.parse::<usize>(), &mut *item) {
        (Ok(index), Item::Value(Value::Array(list))) if index < list.len() => {
            list.remove(index);
            true
        }
        (Ok(index), Item::ArrayOfTables(tables)) if index < tables.len() => {
            tables.remove(index);
            true
        }
        _ => item.as_table_like_mut().is_some_and(|table| table.remove(last).is_some()),
    };
    if gone { Ok(()) } else { Err(absent()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_changed_keeps_the_comments_around_it() {
        let text = "# Above.\nrate = \"1 Mbit/s\" # as hired\n[a]\nb = 1\n";
        let changed = set(text, "rate", "2 Mbit/s").and_then(|text| set(&text, "a.b", "3"));
        let wanted = "# Above.\nrate = \"2 Mbit/s\" # as hired\n[a]\nb = 3\n";
        assert_eq!(changed.as_deref(), Ok(wanted));
    }

    #[test]
    fn what_is_set_to_nothing_is_taken_away() {
        let text = "rate = \"1 Mbit/s\" # as hired\n[a]\nb = [1, 2, 3]\nc = { d = 1, e = 2 }\n[[f]]\ng = 1\n[[f]]\ng = 2\n";
        let mut changed = text.to_owned();
        for key in ["rate", "a.b.1", "a.c.d", "f.0"] {
            changed = set(&changed, key, "").expect(key);
        }
        assert_eq!(changed, "[a]\nb = [1, 3]\nc = { e = 2 }\n[[f]]\ng = 2\n");
        assert_eq!(set(&changed, "a", " ").as_deref(), Ok("[[f]]\ng = 2\n"));
        for key in ["rate", "a.b.2", "a.c.d.x", "f.1", "f.0.h"] {
            let said = set(&changed, key, "").expect_err(key);
            assert!(said.contains(&format!("there is no `{key}` to take away")), "{said}");
        }
    }
}
