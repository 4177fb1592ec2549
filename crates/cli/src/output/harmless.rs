//! Text that others chose.

/// Such a text without what a terminal would obey: control characters, and those that turn the direction of text.
pub(crate) fn harmless(text: &str) -> String {
    let turns = |c| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let harms = |c: char| c.is_control() || turns(c);
    text.chars().map(|c| if harms(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_replaced() {
        assert_eq!(
            harmless("a\u{1b}[2J\u{202e}b\n\u{9b}é"),
            "a\u{fffd}[2J\u{fffd}b\u{fffd}\u{fffd}é"
        );
    }
}
