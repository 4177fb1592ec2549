//! Traces that come with the program.

static TRACES: &[(&str, &str)] = &[
    ("starlink-down", include_str!("../../../traces/starlink-down.csv")),
    ("starlink-up", include_str!("../../../traces/starlink-up.csv")),
    ("geo-rain", include_str!("../../../traces/geo-rain.csv")),
];

/// The names and texts of the traces that come with the program.
pub fn known() -> impl Iterator<Item = (&'static str, &'static str)> {
    TRACES.iter().copied()
}

/// The text of a trace that comes with the program, by its name with or without `.csv`.
pub fn find_known(name: &str) -> Option<&'static str> {
    let name = name.strip_suffix(".csv").unwrap_or(name);
    TRACES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_trace_can_be_read_and_lasts_five_minutes() {
        for (name, text) in known() {
            let trace = crate::read(name, text).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(trace.length.as_secs_f64(), 300.0, "{name}");
            assert_eq!(find_known(&format!("{name}.csv")), Some(text));
        }
        assert_eq!(find_known("nowhere"), None);
    }
}
