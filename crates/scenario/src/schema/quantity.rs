//! Quantities in scenario files: strings with units, checked while they are read.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use bentpipe_link::QueueLimit;
use bentpipe_units::{ByteCount, Share, Written};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// A quantity that is written with its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity<T>(pub T);

/// Room of a queue: packets, bytes, bandwidth-delay products of its link, or no limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Room {
    /// As it is.
    Limit(QueueLimit),
    /// So many times what is under way on the link in a round trip at its rate.
    Products(f64),
}

impl Room {
    /// What may wait where the link has this bandwidth-delay product, if it is known.
    pub(crate) fn limit(self, product: Option<ByteCount>) -> Result<QueueLimit, String> {
        match (self, product) {
            (Self::Limit(limit), _) => Ok(limit),
            (Self::Products(times), Some(product)) => {
                let bytes = (times * product.get() as f64).round() as u64;
                Ok(QueueLimit::Bytes(ByteCount::new(bytes)))
            }
            (Self::Products(times), None) => Err(format!(
                "{times} BDP: that needs a link with `rate` and `delay`; write packets or bytes"
            )),
        }
    }
}

impl FromStr for Room {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text == "unlimited" {
            return Ok(Self::Limit(QueueLimit::Unlimited));
        }
        let packets = text.strip_suffix("packets").or_else(|| text.strip_suffix("packet"));
        if let Some(count) = packets.and_then(|count| count.trim().parse().ok()) {
            return Ok(Self::Limit(QueueLimit::Packets(count)));
        }
        let products = text.strip_suffix("BDP").and_then(|times| times.trim().parse::<f64>().ok());
        if let Some(times) = products.filter(|times| (0.0..=1e6).contains(times)) {
            return Ok(Self::Products(times));
        }
        let bytes = text.parse().map(|bytes| Self::Limit(QueueLimit::Bytes(bytes)));
        bytes.map_err(|_| format!("`{text}` is not a queue: write {}", Self::EXPECTED))
    }
}

impl Written for Room {
    const NAME: &'static str = "Room";
    const EXPECTED: &'static str = "\"100 packets\", a size such as \"64 kB\", \"1 BDP\" (rate times round trip of the link), or \"unlimited\"";
    const PATTERN: &'static str =
        r"^(unlimited|\d+ ?packets?|\d+(\.\d+)? ?BDP|\d[\d_]*(\.\d+)? ?(B|kB|MB|GB|KiB|MiB|GiB))$";
}

impl<'de, T> Deserialize<'de> for Quantity<T>
where
    T: Written,
    T::Err: fmt::Display,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text<T>(PhantomData<T>);
        impl<T> Visitor<'_> for Text<T>
        where
            T: Written,
            T::Err: fmt::Display,
        {
            type Value = Quantity<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(T::EXPECTED)
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Quantity<T>, E> {
                text.parse().map(Quantity).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text(PhantomData))
    }
}

impl<T: Written> JsonSchema for Quantity<T> {
    fn schema_name() -> Cow<'static, str> {
        T::NAME.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": T::PATTERN, "description": T::EXPECTED})
    }
}

/// A probability in 0..=1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Probability(pub f64);

impl<'de> Deserialize<'de> for Probability {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;
        impl Visitor<'_> for Number {
            type Value = Probability;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a probability between 0 and 1, or a percentage such as \"1 %\"")
            }
            fn visit_f64<E: Error>(self, value: f64) -> Result<Probability, E> {
                if (0.0..=1.0).contains(&value) {
                    return Ok(Probability(value));
                }
                Err(E::custom(format!("{value} is not a probability: it must lie in 0..=1")))
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<Probability, E> {
                self.visit_f64(value as f64)
            }
            fn visit_u64<E: Error>(self, value: u64) -> Result<Probability, E> {
                self.visit_f64(value as f64)
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Probability, E> {
                text.parse().map(|share: Share| Probability(share.get())).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Number)
    }
}

impl JsonSchema for Probability {
    fn schema_name() -> Cow<'static, str> {
        "Probability".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [
            {"type": "number", "minimum": 0, "maximum": 1},
            {"type": "string", "pattern": r"^(100|\d{1,2}(\.\d+)?) ?%$"},
        ]})
    }
}
