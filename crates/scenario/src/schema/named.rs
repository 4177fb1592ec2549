//! Things with a name and settings: the name alone, or a table with the name among its keys.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, MapDeserializer};
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error, MapAccess, Visitor};
use serde_json::Value;

/// Something that is chosen by name. It reads itself from a table that has the name under
/// [`Choice::KEY`].
pub trait Choice: DeserializeOwned + JsonSchema {
    /// Key of the name in the table.
    const KEY: &'static str;
    /// What to write, for messages.
    const EXPECTED: &'static str;

    /// What a text that is no name looks like, as a regular expression; `None` if there is none.
    const SHORT: Option<&'static str> = None;

    /// What a text means that is no name, if it can mean anything; an error if it was meant to and
    /// is wrong.
    fn short(_text: &str) -> Option<Result<Self, String>> {
        None
    }
}

/// A [`Choice`], written as its name or as a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Named<T>(pub T);

impl<'de, T: Choice> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameOrTable<T>(PhantomData<T>);
        impl<'de, T: Choice> Visitor<'de> for NameOrTable<T> {
            type Value = Named<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(T::EXPECTED)
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Named<T>, E> {
                if let Some(meant) = T::short(text) {
                    return meant.map(Named).map_err(E::custom);
                }
                let table = MapDeserializer::new([(T::KEY, text)].into_iter());
                T::deserialize(table).map(Named)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Named<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Named)
            }
        }
        deserializer.deserialize_any(NameOrTable(PhantomData))
    }
}

impl<T: Choice> JsonSchema for Named<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Named{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let names = names(&T::json_schema(generator), T::KEY);
        let mut forms = Vec::new();
        if !names.is_empty() {
            forms.push(json_schema!({"enum": names, "description": T::EXPECTED}));
        }
        forms.extend(T::SHORT.map(|pattern| json_schema!({"type": "string", "pattern": pattern})));
        forms.push(generator.subschema_for::<T>());
        json_schema!({"anyOf": forms})
    }
}

/// The names that a table may have under `key`, by its schema, and that say all that it needs.
fn names(table: &Schema, key: &str) -> Vec<Value> {
    let variants = table.get("oneOf").and_then(Value::as_array).into_iter().flatten();
    let name = |variant: &Value| variant.get("properties")?.get(key)?.get("const").cloned();
    let required = |variant: &Value| variant.get("required")?.as_array().map(Vec::len);
    variants.filter(|variant| required(variant) <= Some(1)).filter_map(name).collect()
}
