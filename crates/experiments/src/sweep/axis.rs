//! What a sweep varies.

use std::str::FromStr;

use bentpipe_scenario::Override;

/// A key of a scenario and the values that a sweep gives it, in their order.
///
/// Read from `links.satellite.queue=0.25,0.5,1,2 BDP`: numbers take the unit of the last value, and commas within
/// quotes and brackets separate nothing.
///
/// ```
/// use bentpipe_experiments::sweep::Axis;
///
/// let axis: Axis = "links.satellite.queue=0.25,0.5,1 BDP".parse()?;
/// assert_eq!(axis.values(), ["0.25 BDP", "0.5 BDP", "1 BDP"]);
/// assert_eq!(axis.numbers(), Some(&[0.25, 0.5, 1.0][..]));
/// assert_eq!(axis.unit(), Some("BDP"));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    key: String,
    values: Vec<String>,
    /// If all of them are numbers of one unit, which may be none.
    numbers: Option<(Vec<f64>, String)>,
}

impl Axis {
    /// A key with these values, as a scenario file has them.
    ///
    /// # Errors
    /// When there is no value, one is empty, or one is there twice.
    pub fn new(key: &str, values: Vec<String>) -> Result<Self, String> {
        let Override { key, .. } = format!("{key}=").parse()?;
        if key == "seed" {
            return Err("`seed` is no key to vary: name the seeds by --seeds".to_owned());
        }
        for (place, value) in values.iter().enumerate() {
            if value.is_empty() {
                return Err(format!("`{key}`: value {} is empty", place + 1));
            }
            if values[..place].contains(value) {
                return Err(format!("`{key}`: {value} is there twice"));
            }
        }
        if values.is_empty() {
            return Err(format!("`{key}` has no value"));
        }
        let numbers = numbers(&values);
        Ok(Self { key, values, numbers })
    }

    /// Path of the key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The values with their units.
    pub fn values(&self) -> &[String] {
        &self.values
    }

    /// The values without their unit, where all are numbers with the same one.
    pub fn numbers(&self) -> Option<&[f64]> {
        self.numbers.as_ref().map(|(numbers, _)| &numbers[..])
    }

    /// The unit of the [`numbers`](Self::numbers), if they have one.
    pub fn unit(&self) -> Option<&str> {
        self.numbers.as_ref().map(|(_, unit)| unit.as_str()).filter(|unit| !unit.is_empty())
    }

    /// The change that one of the values makes.
    pub(super) fn change(&self, value: usize) -> Override {
        Override { key: self.key.clone(), value: self.values[value].clone() }
    }
}

impl FromStr for Axis {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("`{text}` is not KEY=VALUE,VALUE,... such as links.satellite.queue=0.5,1,2 BDP")
        };
        let (key, values) = text.split_once('=').ok_or_else(wrong)?;
        let mut values = split(values);
        // A unit at the end is that of the numbers before it.
        let unit = values.last().and_then(|last| number(last)).map(|(_, unit)| unit.to_owned());
        if let Some(unit) = unit.filter(|unit| !unit.is_empty()) {
            let gap = if unit == "%" { "" } else { " " };
            let bare = |value: &String| number(value).is_some_and(|(_, unit)| unit.is_empty());
            for value in values.iter_mut().filter(|value| bare(value)) {
                *value = format!("{value}{gap}{unit}");
            }
        }
        Self::new(key, values)
    }
}

/// Parts between commas that are in no quotes and no brackets.
fn split(text: &str) -> Vec<String> {
    let (mut parts, mut part) = (Vec::new(), String::new());
    let (mut depth, mut quote) = (0_usize, None);
    for c in text.chars() {
        match (c, quote) {
            (',', None) if depth == 0 => {
                parts.push(std::mem::take(&mut part));
                continue;
            }
            ('"' | '\'', None) => quote = Some(c),
            (_, Some(open)) if open == c => quote = None,
            ('[' | '{', None) => depth += 1,
            (']' | '}', None) => depth = depth.saturating_sub(1),
            _ => {}
        }
        part.push(c);
    }
    parts.push(part);
    parts.iter().map(|part| part.trim().to_owned()).collect()
}

/// A number and its unit, which may be empty.
fn number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim_matches(['"', '\'']);
    let is_of_number = |c: char| c.is_ascii_digit() || "+-.eE_".contains(c);
    let end = text.find(|c| !is_of_number(c)).unwrap_or(text.len());
    let number = text[..end].replace('_', "").parse::<f64>().ok()?;
    number.is_finite().then_some((number, text[end..].trim()))
}

/// The values as numbers, if all have the same unit.
fn numbers(values: &[String]) -> Option<(Vec<f64>, String)> {
    let all: Vec<(f64, &str)> = values.iter().map(|value| number(value)).collect::<Option<_>>()?;
    let unit = all.first()?.1;
    let same = all.iter().all(|(_, other)| *other == unit);
    same.then(|| (all.iter().map(|(number, _)| *number).collect(), unit.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(text: &str) -> Axis {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn numbers_take_the_unit_of_the_last_one() {
        let queues = axis("links.satellite.queue = 0.25, 0.5,2 BDP");
        assert_eq!(queues.key(), "links.satellite.queue");
        assert_eq!(queues.values(), ["0.25 BDP", "0.5 BDP", "2 BDP"]);
        assert_eq!((queues.numbers(), queues.unit()), (Some(&[0.25, 0.5, 2.0][..]), Some("BDP")));
        let losses = axis("links.satellite.loss=0.1,1%");
        assert_eq!(
            (losses.values(), losses.unit()),
            (&["0.1%".into(), "1%".into()][..], Some("%"))
        );
        let errors = axis("links.satellite.ber=0,1e-6,1e-5");
        assert_eq!((errors.numbers(), errors.unit()), (Some(&[0.0, 1e-6, 1e-5][..]), None));
    }

    #[test]
    fn values_of_several_units_and_words_are_texts() {
        for (text, values) in [
            ("a.delay=5 ms, 1 s", ["5 ms", "1 s"]),
            ("a.tcp.recovery=sack,rack", ["sack", "rack"]),
            ("a.between=[\"x\", \"y\"], ['x,z', 'y']", ["[\"x\", \"y\"]", "['x,z', 'y']"]),
        ] {
            let axis = axis(text);
            assert_eq!((axis.values(), axis.numbers()), (&values.map(str::to_owned)[..], None));
        }
    }

    #[test]
    fn what_is_no_axis_is_named() {
        for (text, said) in [
            ("a.rate", "is not KEY=VALUE"),
            ("=1,2", "is not key=value"),
            ("a.rate=1,,2", "`a.rate`: value 2 is empty"),
            ("a.rate=", "value 1 is empty"),
            ("a.rate=1,2,1", "`a.rate`: 1 is there twice"),
            ("seed=1,2", "--seeds"),
        ] {
            let error = text.parse::<Axis>().expect_err(text);
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
