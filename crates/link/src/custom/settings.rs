//! The parameters of what a program brings, and their values.

use std::collections::BTreeMap;

use super::CustomError;

/// Something that can be set in a model or a queue that a program brings.
#[derive(Clone, Copy, Debug)]
pub struct CustomParameter {
    /// Name in scenario files.
    pub name: &'static str,
    /// Unit, or `1` for a pure number.
    pub unit: &'static str,
    /// Value when it is not set.
    pub default: f64,
    /// Smallest and largest sensible value.
    pub range: (f64, f64),
    /// What it does.
    pub summary: &'static str,
}

/// The values of all parameters of a model or a queue.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings(BTreeMap<&'static str, f64>);

impl Settings {
    /// What is given, checked, and the defaults of all that is not.
    pub(super) fn new(
        row: &'static str,
        parameters: &'static [CustomParameter],
        given: &BTreeMap<String, f64>,
    ) -> Result<Self, CustomError> {
        let mut values: BTreeMap<_, _> = parameters.iter().map(|p| (p.name, p.default)).collect();
        for (name, value) in given {
            let Some(known) = parameters.iter().find(|p| p.name == name) else {
                return Err(CustomError::NoSuchParameter { row, parameter: name.clone() });
            };
            let (low, high) = known.range;
            if !(low..=high).contains(value) {
                let (parameter, value) = (known.name, *value);
                return Err(CustomError::OutOfRange { row, parameter, value, low, high });
            }
            values.insert(known.name, *value);
        }
        Ok(Self(values))
    }

    /// The value of a parameter, or its default; 0 if there is no parameter of this name.
    pub fn get(&self, name: &str) -> f64 {
        self.0.get(name).copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEPTH: CustomParameter = CustomParameter {
        name: "depth",
        unit: "1",
        default: 3.0,
        range: (1.0, 5.0),
        summary: "for the test",
    };

    fn settings(name: &str, value: f64) -> Result<Settings, CustomError> {
        Settings::new("tide", &[DEPTH], &BTreeMap::from([(name.to_owned(), value)]))
    }

    #[test]
    fn what_is_not_given_has_its_default() {
        let none = Settings::new("tide", &[DEPTH], &BTreeMap::new()).expect("nothing is wrong");
        let given = settings("depth", 5.0).expect("in range");
        assert_eq!((none.get("depth"), given.get("depth"), given.get("width")), (3.0, 5.0, 0.0));
    }

    #[test]
    fn an_unknown_parameter_and_a_value_out_of_range_are_refused() {
        for (name, value, said) in [
            ("width", 2.0, "`tide` has no parameter `width`"),
            ("depth", 6.0, "parameter `depth` of `tide` is 6: it must lie in 1..=5"),
            ("depth", f64::NAN, "parameter `depth` of `tide` is NaN: it must lie in 1..=5"),
        ] {
            assert_eq!(settings(name, value).expect_err(name).to_string(), said);
        }
    }
}
