//! Two-line element sets as text.

use sgp4::Elements;

use crate::OrbitError;
use crate::elements::Satellite;

/// Characters of a line.
const LENGTH: usize = 69;

/// Reads element sets of two lines, each with or without a line for its name before it.
///
/// # Errors
/// The line that is wrong, and why: length, checksum, epoch, a field, or elements that are no orbit.
pub(crate) fn read(text: &str) -> Result<Vec<Satellite>, OrbitError> {
    let mut lines = text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim_end()))
        .filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let mut satellites = Vec::new();
    while let Some((mut number, mut line)) = lines.next() {
        let mut name = None;
        if !is_line(line, '1') {
            if is_line(line, '2') {
                return Err(wrong(number, "line 2 of an element set without its line 1"));
            }
            name = Some(line.strip_prefix("0 ").unwrap_or(line).trim().to_owned());
            (number, line) =
                lines.next().filter(|(_, line)| is_line(line, '1')).ok_or_else(|| {
                    wrong(
                        number,
                        "neither line 1 of an element set nor a name with line 1 below it",
                    )
                })?;
        }
        check(number, line)?;
        let (second_number, second) = lines
            .next()
            .filter(|(_, line)| is_line(line, '2'))
            .ok_or_else(|| wrong(number, "line 2 of the element set is missing below it"))?;
        check(second_number, second)?;
        let elements = Elements::from_tle(name, line.as_bytes(), second.as_bytes());
        let elements = elements.map_err(|error| {
            let said = error.to_string();
            let at = if said.contains("on TLE line 2") { second_number } else { number };
            wrong(at, format!("{said}{}", epoch_hint(line, &said)))
        })?;
        satellites.push(Satellite::new(&elements).map_err(|error| wrong(second_number, error))?);
    }
    Ok(satellites)
}

fn is_line(line: &str, digit: char) -> bool {
    line.strip_prefix(digit).is_some_and(|rest| rest.starts_with(' '))
}

fn wrong(line: usize, message: impl Into<String>) -> OrbitError {
    OrbitError::Tle { line, message: message.into() }
}

/// What the field of the epoch should have been, when that is what is wrong.
fn epoch_hint(line: &str, said: &str) -> String {
    let epoch = ["between characters 18 and", "between characters 20 and", "Date generation"];
    if epoch.iter().any(|part| said.contains(part)) {
        let field = line.get(18..32).unwrap_or_default();
        return format!(": the epoch `{field}` is not a year of two digits and a day in 1..=366");
    }
    String::new()
}

/// Length, characters and checksum of a line: what must hold before its fields can be read.
fn check(number: usize, line: &str) -> Result<(), OrbitError> {
    if !line.is_ascii() {
        return Err(wrong(number, "there are characters in it that are not ASCII"));
    }
    let length = line.len();
    if length != LENGTH {
        return Err(wrong(number, format!("{length} characters; an element set has {LENGTH}")));
    }
    let (body, last) = line.split_at(LENGTH - 1);
    let value = |c: u8| match c {
        b'0'..=b'9' => u32::from(c - b'0'),
        b'-' => 1,
        _ => 0,
    };
    let sum = body.bytes().map(value).sum::<u32>() % 10;
    if last != sum.to_string() {
        return Err(wrong(number, format!("the checksum is {last}; that of the line is {sum}")));
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The International Space Station.
    pub(crate) const STATION: &str = "\
1 25544U 98067A   20194.88612269 -.00002218  00000-0 -31515-4 0  9992
2 25544  51.6461 221.2784 0001413  89.1723 280.4612 15.49507896236008
";

    /// The text with the checksums of its lines made right.
    pub(crate) fn summed(text: &str) -> String {
        let sum = |line: &str| {
            let body = &line[..LENGTH - 1];
            let digits = body.bytes().map(|c| match c {
                b'0'..=b'9' => u32::from(c - b'0'),
                b'-' => 1,
                _ => 0,
            });
            format!("{body}{}\n", digits.sum::<u32>() % 10)
        };
        text.lines().map(sum).collect()
    }

    fn said(text: &str) -> String {
        read(text).expect_err(text).to_string()
    }

    #[test]
    fn satellites_are_read_with_and_without_names() {
        let named = format!("# a comment\n\nISS (ZARYA)\r\n{STATION}\n0 AGAIN\n{STATION}");
        let names: Vec<_> = read(&named).expect("three").into_iter().map(|s| s.name).collect();
        assert_eq!(names, ["ISS (ZARYA)", "AGAIN"]);
        assert_eq!(read(STATION).expect("one")[0].name, "25544");
    }

    #[test]
    fn a_wrong_checksum_says_the_line_and_what_it_should_be() {
        let text = format!("ISS\n{}", STATION.replace("51.6461", "51.6462"));
        assert_eq!(said(&text), "line 3: the checksum is 8; that of the line is 9");
        assert!(said(&STATION.replace("0  9992", "0  999x")).starts_with("line 1: the checksum"));
    }

    #[test]
    fn an_epoch_that_is_no_day_is_named() {
        for wrong in ["20999.88612269", "20000.88612269", "2x194.88612269", "20   .88612269"] {
            let text = summed(&STATION.replace("20194.88612269", wrong));
            let said = said(&text);
            assert!(said.starts_with("line 1: ") && said.contains(wrong), "{said}");
        }
    }

    #[test]
    fn broken_pairs_of_lines_say_what_is_missing() {
        let (first, second) = STATION.split_once('\n').expect("two lines");
        assert!(said(first).contains("line 2 of the element set is missing"));
        assert!(said(second).contains("without its line 1"));
        assert!(said("name only").contains("line 1 below it"));
        assert!(said(&format!("{first}\n{first}")).starts_with("line 1: line 2"));
        assert!(said(&STATION.replace("236008", "23600")).contains("68 characters"));
        assert!(said(&STATION.replace("  51.6461", " é51.6461")).contains("ASCII"));
        let other = summed(&STATION.replacen("2 25544", "2 25545", 1));
        assert!(said(&other).contains("NORAD"));
    }

    #[test]
    fn elements_that_are_no_orbit_are_refused() {
        let still = summed(&STATION.replace("15.49507896", " 0.00000000"));
        assert!(said(&still).starts_with("line 2: "), "{}", said(&still));
        let letters = summed(&STATION.replace("221.2784", "two hund"));
        assert!(said(&letters).starts_with("line 2: "), "{}", said(&letters));
    }
}
