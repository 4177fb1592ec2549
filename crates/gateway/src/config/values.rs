//! Values of a configuration that are more than text or numbers.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::str::FromStr;

use bentpipe_units::Written;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// A value that is written as text, or as a number where it has no unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parsed<T>(pub T);

impl<'de, T: FromStr<Err: Display>> Deserialize<'de> for Parsed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Text(PhantomData)).map(Self)
    }
}

/// Reads what is written, as text or as a number.
struct Text<T>(PhantomData<T>);

impl<T: FromStr<Err: Display>> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text in quotes")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }
}

impl<T: Written> JsonSchema for Parsed<T> {
    fn schema_name() -> Cow<'static, str> {
        T::NAME.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": T::PATTERN, "description": T::EXPECTED})
    }
}

/// What is said of parity.
pub(super) fn fec(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"anyOf": [{"enum": ["auto", "off"]}, {"type": "number", "minimum": 0, "maximum": 1}]})
}

/// A password, which nothing prints.
#[derive(Clone, PartialEq, Deserialize)]
pub struct Password(String);

impl Password {
    /// Whether a client gave the right one, in a time that tells nothing.
    pub fn is(&self, given: &str) -> bool {
        blake3::hash(self.0.as_bytes()) == blake3::hash(given.as_bytes())
    }

    /// Its bytes.
    pub(super) const fn len(&self) -> usize {
        self.0.len()
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(..)")
    }
}

/// Reads users without saying what is there instead, which may be a password.
pub(super) fn users<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Password>, D::Error> {
    BTreeMap::deserialize(deserializer)
        .map_err(|_| D::Error::custom("users are names with their passwords: { eve = \"…\" }"))
}

/// Reads one value or table, or a list of them.
pub(super) fn one_or_more<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    deserializer.deserialize_any(OneOrMore(PhantomData))
}

struct OneOrMore<T>(PhantomData<T>);

/// The same in the schema.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it only says what a file may have")]
pub(super) enum OneOrMany<T> {
    /// One.
    One(T),
    /// Several.
    Many(Vec<T>),
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrMore<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one, or a list of them")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Vec<T>, E> {
        T::deserialize(text.into_deserializer()).map(|one| vec![one])
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Vec<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|one| vec![one])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Vec<T>, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list))
    }
}
