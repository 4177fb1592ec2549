//! Random amounts in a scenario file: one amount, or a law with its mean.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use bentpipe_units::{ByteCount, Span};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, IntoDeserializer, MapAccess, Visitor};

use super::quantity::Quantity;

/// Something that amounts are counted in.
pub trait Amount: for<'de> Deserialize<'de> + JsonSchema {
    /// What to write, for messages.
    const EXPECTED: &'static str;

    /// The amount in its base unit.
    fn base(&self) -> f64;
}

impl Amount for Quantity<Span> {
    const EXPECTED: &'static str = "a time such as \"250 ms\", or a table with `mean` and `law`";

    fn base(&self) -> f64 {
        self.0.as_secs_f64()
    }
}

impl Amount for Quantity<ByteCount> {
    const EXPECTED: &'static str = "a size such as \"12 kB\", or a table with `mean` and `law`";

    fn base(&self) -> f64 {
        self.0.get() as f64
    }
}

impl Amount for f64 {
    const EXPECTED: &'static str = "a number, or a table with `mean` and `law`";

    fn base(&self) -> f64 {
        *self
    }
}

/// How amounts are distributed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Law {
    /// Always the mean.
    Constant,
    /// Exponential.
    #[default]
    Exponential,
    /// Pareto; needs a `shape`.
    Pareto,
    /// Pareto of the second kind; needs a `shape`.
    Lomax,
}

/// A law and its mean.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LawTable<T> {
    /// The mean.
    pub mean: T,
    /// How amounts are distributed; exponentially.
    #[serde(default)]
    pub law: Law,
    /// Shape of the two Pareto laws, above 1.
    pub shape: Option<f64>,
}

/// A random amount: a constant, or a law with its mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DrawTable<T>(pub(crate) LawTable<T>);

impl<'de, T: Amount> Deserialize<'de> for DrawTable<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AmountOrTable<T>(PhantomData<T>);
        fn constant<T, E>(mean: Result<T, E>) -> Result<DrawTable<T>, E> {
            mean.map(|mean| DrawTable(LawTable { mean, law: Law::Constant, shape: None }))
        }
        impl<'de, T: Amount> Visitor<'de> for AmountOrTable<T> {
            type Value = DrawTable<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(T::EXPECTED)
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<DrawTable<T>, E> {
                constant(T::deserialize(text.into_deserializer()))
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<DrawTable<T>, E> {
                constant(T::deserialize(number.into_deserializer()))
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<DrawTable<T>, E> {
                constant(T::deserialize(number.into_deserializer()))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<DrawTable<T>, A::Error> {
                LawTable::deserialize(MapAccessDeserializer::new(map)).map(DrawTable)
            }
        }
        deserializer.deserialize_any(AmountOrTable(PhantomData))
    }
}

impl<T: Amount> JsonSchema for DrawTable<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Draw{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (amount, table) =
            (generator.subschema_for::<T>(), generator.subschema_for::<LawTable<T>>());
        json_schema!({"anyOf": [amount, table], "description": T::EXPECTED})
    }
}
