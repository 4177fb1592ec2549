//! Keys as tables of Markdown.

use std::fmt::Write;

use super::Section;

/// A page with a table for each table of the file.
pub(crate) fn render(title: &str, sections: &[Section]) -> String {
    let mut out = format!("# {title}\n");
    for section in sections {
        if !section.header.is_empty() {
            let _ = write!(out, "\n## `{}`\n", section.header);
        }
        let _ = write!(out, "\n{}\n", section.about);
        if section.keys.is_empty() {
            continue;
        }
        out.push_str("\n| key | value | meaning |\n|---|---|---|\n");
        for key in &section.keys {
            let cell = |text: &str| text.replace('|', "\\|").replace('<', "&lt;");
            let (kind, told) = (cell(&key.kind), cell(&key.told()));
            let _ = writeln!(out, "| `{}` | {kind} | {told} |", key.name);
        }
    }
    out
}
