//! The keys of a kind of file, as its JSON Schema has them: for manual pages and the reference.

mod kind;
pub(crate) mod manual;
pub(crate) mod markdown;

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Map, Value};

use self::kind::{Kind, Nested};

/// A table of a file.
#[derive(Debug)]
pub(crate) struct Section {
    /// How it is written, such as `[links.NAME]`; empty for what stands at the top.
    pub(crate) header: String,
    /// What it is.
    pub(crate) about: String,
    /// What may be in it.
    pub(crate) keys: Vec<Key>,
}

/// A key of a table.
#[derive(Debug)]
pub(crate) struct Key {
    /// Its name.
    pub(crate) name: String,
    /// What values it takes.
    pub(crate) kind: String,
    /// What it means.
    pub(crate) about: String,
    /// It must be there.
    pub(crate) required: bool,
    /// The value that it has where it is not there.
    pub(crate) default: Option<String>,
}

impl Key {
    /// What it means, whether it must be there, and its default, in one paragraph.
    fn told(&self) -> String {
        let default = self.default.as_ref().map(|value| format!("Default: {value}."));
        let required = self.required.then(|| "It must be there.".to_owned());
        let parts = [Some(self.about.clone()), required, default];
        parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

/// A table that is still to be told of.
struct Waiting<'a> {
    path: String,
    repeated: bool,
    nested: Nested<'a>,
}

/// The tables of a schema, those nearest to the top first. One that stands at several places is told of once.
pub(crate) fn sections(schema: &Value) -> Vec<Section> {
    let definitions = &schema["$defs"];
    let root = Nested { name: None, schema };
    let mut waiting =
        VecDeque::from([Waiting { path: String::new(), repeated: false, nested: root }]);
    let mut told: BTreeMap<String, String> = BTreeMap::new();
    let mut sections = Vec::new();
    while let Some(Waiting { path, repeated, nested }) = waiting.pop_front() {
        let header = header(&path, repeated);
        if let Some(name) = nested.name {
            if let Some(first) = told.get(name) {
                let about = format!("The same keys as {first}.");
                sections.push(Section { header, about, keys: Vec::new() });
                continue;
            }
            told.insert(name.to_owned(), header.clone());
        }
        for (form, table) in forms(nested.schema) {
            let header = if form.is_empty() { header.clone() } else { format!("{header}, {form}") };
            let mut keys = Vec::new();
            for (name, value) in properties(table) {
                let kind = Kind::of(value, definitions);
                keys.push(key(table, name, value, &kind));
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                for (suffix, repeated, nested) in kind.tables {
                    let path = format!("{path}{suffix}");
                    waiting.push_back(Waiting { path, repeated, nested });
                }
            }
            sections.push(Section { header, about: text(table, "description"), keys });
        }
    }
    sections
}

fn header(path: &str, repeated: bool) -> String {
    match (path, repeated) {
        ("", _) => String::new(),
        (path, false) => format!("[{path}]"),
        (path, true) => format!("[[{path}]]"),
    }
}

/// A table, or its forms with the value that tells them apart.
fn forms(schema: &Value) -> Vec<(String, &Value)> {
    let Some(forms) = schema["oneOf"].as_array() else { return vec![(String::new(), schema)] };
    let told_apart = |form: &Value| {
        let by = properties(form).find_map(|(name, value)| {
            value["const"].as_str().map(|value| format!("{name} = \"{value}\""))
        });
        by.unwrap_or_default()
    };
    forms.iter().map(|form| (told_apart(form), form)).collect()
}

fn properties(table: &Value) -> impl Iterator<Item = (&String, &Value)> {
    table["properties"].as_object().into_iter().flat_map(Map::iter)
}

fn key(table: &Value, name: &str, value: &Value, kind: &Kind<'_>) -> Key {
    let required =
        table["required"].as_array().is_some_and(|names| names.iter().any(|n| n == name));
    let default = match &value["default"] {
        Value::Null | Value::Object(_) => None,
        Value::Array(items) if items.is_empty() => None,
        Value::String(text) if text.is_empty() => None,
        default => Some(default.to_string()),
    };
    Key {
        name: name.to_owned(),
        kind: kind.text.clone(),
        about: text(value, "description"),
        required,
        default,
    }
}

/// A text of a schema, on one line.
fn text(schema: &Value, name: &str) -> String {
    schema[name].as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}
