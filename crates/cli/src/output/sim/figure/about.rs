//! What a figure says of itself.

use minijinja::HtmlEscape;
use serde_json::Value;

use super::theme::style_sheet;

/// What a figure shows, for those who do not see it, and where it comes from.
pub(crate) struct About {
    /// Its title.
    pub(crate) title: String,
    /// What it shows, in words and numbers.
    pub(crate) description: String,
    /// Scenario, seeds, and what else was run.
    pub(crate) source: Value,
}

/// A drawing with title, description and source in it, and with colours for dark screens.
pub(crate) fn told(svg: &str, about: &About) -> String {
    let Some(at) = svg.find('>').filter(|_| svg.starts_with("<svg")) else { return svg.to_owned() };
    let (head, rest) = (&svg[..at], &svg[at + 1..]);
    let mut source = about.source.clone();
    if let Value::Object(source) = &mut source {
        source
            .insert("generator".to_owned(), concat!("bentpipe ", env!("CARGO_PKG_VERSION")).into());
    }
    let source = source.to_string();
    format!(
        "{head} role=\"img\">\n<title>{}</title>\n<desc>{}</desc>\n<metadata>{}</metadata>\n<style>{}</style>{rest}",
        HtmlEscape(&about.title),
        HtmlEscape(&about.description),
        HtmlEscape(&source),
        style_sheet(),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_figure_says_what_it_is_whatever_its_words() {
        let about = About {
            title: "<a> & \"b\"".to_owned(),
            description: "no ]]> here".to_owned(),
            source: json!({"scenario": "geo", "seeds": "1-3"}),
        };
        let svg =
            told("<svg width=\"8\" xmlns=\"http://www.w3.org/2000/svg\">\n<rect/></svg>", &about);
        let document = roxmltree::Document::parse(&svg).expect("XML");
        let text = |name: &str| {
            let node = document.descendants().find(|node| node.has_tag_name(name));
            node.and_then(|node| node.text()).unwrap_or_default().to_owned()
        };
        assert_eq!((text("title"), text("desc")), (about.title, about.description));
        let source: Value = serde_json::from_str(&text("metadata")).expect("JSON");
        assert_eq!(source["seeds"], "1-3");
        assert!(source["generator"].as_str().is_some_and(|name| name.starts_with("bentpipe ")));
        assert!(text("style").contains("prefers-color-scheme"));
    }
}
