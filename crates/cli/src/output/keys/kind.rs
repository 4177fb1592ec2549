//! What values a key takes.

use serde_json::Value;

/// A table within another one, with the name of its definition if it has one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nested<'a> {
    pub(super) name: Option<&'a str>,
    pub(super) schema: &'a Value,
}

/// What values a key takes.
#[derive(Debug, Default)]
pub(super) struct Kind<'a> {
    /// In words.
    pub(super) text: String,
    /// The tables among them: what is behind the key in their headers, and whether they are a list.
    pub(super) tables: Vec<(&'static str, bool, Nested<'a>)>,
}

impl<'a> Kind<'a> {
    fn word(text: impl Into<String>) -> Self {
        Self { text: text.into(), tables: Vec::new() }
    }

    /// Reads it from the schema of the key.
    pub(super) fn of(schema: &'a Value, definitions: &'a Value) -> Self {
        Self::named(None, schema, definitions)
    }

    fn named(name: Option<&'a str>, schema: &'a Value, definitions: &'a Value) -> Self {
        if let Some(reference) = schema["$ref"].as_str() {
            let name = reference.rsplit('/').next().unwrap_or(reference);
            return Self::named(Some(name), &definitions[name], definitions);
        }
        if let Some(names) = constants(schema) {
            return Self::word(names);
        }
        let is_table = |schema: &Value| schema["properties"].is_object();
        let forms = ["oneOf", "anyOf"].iter().find_map(|of| schema[*of].as_array());
        if is_table(schema) || forms.is_some_and(|forms| forms.iter().all(is_table)) {
            return Self {
                text: "table".to_owned(),
                tables: vec![("", false, Nested { name, schema })],
            };
        }
        if let Some(forms) = forms {
            return Self::any(forms.iter().map(|form| Self::of(form, definitions)));
        }
        match &schema["type"] {
            Value::Array(types) => {
                let types = types.iter().filter_map(Value::as_str).filter(|name| *name != "null");
                Self::any(types.map(|name| Self::plain(name, schema, definitions)))
            }
            name => Self::plain(name.as_str().unwrap_or_default(), schema, definitions),
        }
    }

    fn plain(kind: &str, schema: &'a Value, definitions: &'a Value) -> Self {
        match kind {
            "null" | "" => Self::default(),
            "array" => {
                let items = Self::of(&schema["items"], definitions);
                let tables = items.tables.into_iter();
                let tables = tables.map(|(suffix, _, nested)| (suffix, true, nested)).collect();
                Self { text: format!("list: {}", items.text), tables }
            }
            "object" => {
                let values = Self::of(&schema["additionalProperties"], definitions);
                let what = if values.tables.is_empty() { values.text } else { "tables".to_owned() };
                let tables = values.tables.into_iter();
                let tables = tables.map(|(_, list, nested)| (".NAME", list, nested)).collect();
                Self { text: format!("{what} by name"), tables }
            }
            "string" => Self::word(schema["description"].as_str().unwrap_or("text")),
            "boolean" => Self::word("true or false"),
            kind => {
                let (least, most) = (&schema["minimum"], &schema["maximum"]);
                let range = match (least.as_number(), most.as_number()) {
                    (Some(least), Some(most)) => format!(", {least} to {most}"),
                    (Some(least), None) => format!(", at least {least}"),
                    (None, Some(most)) => format!(", at most {most}"),
                    (None, None) => String::new(),
                };
                Self::word(format!("{kind}{range}"))
            }
        }
    }

    fn any(kinds: impl Iterator<Item = Self>) -> Self {
        let mut all = Self::default();
        for kind in kinds {
            if !kind.text.is_empty() && !all.text.contains(&kind.text) {
                let or = if all.text.is_empty() { "" } else { ", or " };
                all.text = format!("{}{or}{}", all.text, kind.text);
            }
            all.tables.extend(kind.tables);
        }
        all
    }
}

/// The texts that a value may be, if it is one of some.
fn constants(schema: &Value) -> Option<String> {
    let quoted = |value: &Value| value.as_str().map(|value| format!("\"{value}\""));
    if let Some(values) = schema["enum"].as_array() {
        return Some(values.iter().filter_map(quoted).collect::<Vec<_>>().join(", "));
    }
    if !schema["const"].is_null() {
        return quoted(&schema["const"]);
    }
    let forms = schema["oneOf"].as_array()?;
    let names: Option<Vec<_>> = forms
        .iter()
        .map(|form| {
            let one = || quoted(&form["const"]).map(|name| vec![name]);
            one().or_else(|| form["enum"].as_array()?.iter().map(quoted).collect())
        })
        .collect();
    Some(names?.concat().join(", "))
}
