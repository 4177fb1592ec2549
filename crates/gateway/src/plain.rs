//! Quantities as plain numbers of one unit: seconds, bytes, bits per second.

use bentpipe_units::{BitRate, ByteCount, Span};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A quantity that is written as a number.
pub(crate) trait Plain: Sized {
    type Number: Serialize + for<'a> Deserialize<'a>;

    fn number(&self) -> Self::Number;
    fn of(number: Self::Number) -> Self;
}

impl Plain for Span {
    type Number = f64;

    fn number(&self) -> f64 {
        self.as_secs_f64()
    }

    fn of(number: f64) -> Self {
        Self::from_secs_f64(number)
    }
}

impl Plain for ByteCount {
    type Number = u64;

    fn number(&self) -> u64 {
        self.get()
    }

    fn of(number: u64) -> Self {
        Self::new(number)
    }
}

impl Plain for BitRate {
    type Number = u64;

    fn number(&self) -> u64 {
        self.as_bps()
    }

    fn of(number: u64) -> Self {
        Self::from_bps(number)
    }
}

impl<T: Plain> Plain for Option<T> {
    type Number = Option<T::Number>;

    fn number(&self) -> Self::Number {
        self.as_ref().map(T::number)
    }

    fn of(number: Self::Number) -> Self {
        number.map(T::of)
    }
}

pub(crate) fn serialize<T: Plain, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    value.number().serialize(to)
}

pub(crate) fn deserialize<'de, T: Plain, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    T::Number::deserialize(from).map(T::of)
}
