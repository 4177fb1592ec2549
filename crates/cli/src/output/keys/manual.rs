//! Keys as a manual page of section 5.

use roff::{Roff, bold, italic, roman};

use super::Section;

/// What a manual page says besides the keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page<'a> {
    /// Its name, such as `bentpipe-scenario`.
    pub(crate) name: &'a str,
    /// What the files are, in a few words.
    pub(crate) summary: &'a str,
    /// What they are for, a paragraph each.
    pub(crate) description: &'a [&'a str],
    /// A short file.
    pub(crate) example: &'a str,
    /// Pages to read besides, with their sections.
    pub(crate) see_also: &'a str,
}

/// The page as a text of roff.
pub(crate) fn render(page: &Page<'_>, sections: &[Section]) -> String {
    let version = concat!("bentpipe ", env!("CARGO_PKG_VERSION"));
    let mut out = Roff::new();
    out.control("TH", [page.name, "5", "", version]);
    out.control("SH", ["NAME"]);
    out.text([roman(format!("{} - {}", page.name, page.summary))]);
    out.control("SH", ["DESCRIPTION"]);
    for paragraph in page.description {
        out.control("PP", []);
        out.text([roman(*paragraph)]);
    }
    out.control("SH", ["KEYS"]);
    for section in sections {
        if !section.header.is_empty() {
            out.control("SS", [section.header.as_str()]);
        }
        out.text([roman(section.about.as_str())]);
        for key in &section.keys {
            out.control("TP", []);
            out.text([bold(key.name.as_str()), roman(" = "), italic(key.kind.as_str())]);
            out.text([roman(key.told())]);
        }
    }
    out.control("SH", ["EXAMPLE"]);
    out.control("EX", []);
    for line in page.example.lines() {
        out.text([roman(line)]);
    }
    out.control("EE", []);
    out.control("SH", ["SEE ALSO"]);
    out.text([roman(page.see_also)]);
    out.render()
}
