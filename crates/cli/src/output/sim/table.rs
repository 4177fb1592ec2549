//! One figure as a table, and its claims.

use std::io::{self, Write};

use bentpipe_record::{Bound, Claim, Figure, Point};
use clap::builder::styling::{AnsiColor, Style};
use comfy_table::{CellAlignment, Table, presets};

/// Prints a figure: a row for each place, and a line for each claim.
pub(crate) fn print(figure: &Figure, out: &mut impl Write) -> io::Result<()> {
    let bold = Style::new().bold();
    let place = if figure.figure.starts_with(char::is_numeric) {
        format!("{}, figure {}", figure.id, figure.figure)
    } else {
        figure.id.clone()
    };
    let n = figure.points.iter().map(|p| p.n).max().unwrap_or(0);
    writeln!(out, "{bold}{place}: {}{bold:#} ({}, n = {n})", figure.title, figure.metric)?;
    writeln!(out, "{}", rows(figure))?;
    for claim in &figure.claims {
        print_claim(claim, out)?;
    }
    writeln!(out)
}

fn rows(figure: &Figure) -> String {
    let of_metric = || figure.points.iter().filter(|p| p.metric == figure.metric);
    let mut variants: Vec<&str> = Vec::new();
    let mut places: Vec<f64> = Vec::new();
    for point in of_metric() {
        if !variants.contains(&point.variant.as_str()) {
            variants.push(&point.variant);
        }
        if !places.contains(&point.x) {
            places.push(point.x);
        }
    }
    let compares = variants.len() == 2;
    let mut header = vec![figure.x_label.clone()];
    for variant in &variants {
        header.extend([variant.to_uppercase(), "± 95 %".to_owned()]);
    }
    if compares {
        header.push(format!("gain of {}", variants[1].to_uppercase()));
    }
    let mut table = Table::new();
    table.load_style(presets::UTF8_BORDERS_ONLY);
    table.set_header(header);
    for x in places {
        let at: Vec<&Point> = variants
            .iter()
            .filter_map(|v| of_metric().find(|p| p.x == x && p.variant == *v))
            .collect();
        let mut row = vec![format!("{x}")];
        for point in &at {
            let digits = if point.mean.abs() >= 1000.0 { 0 } else { 3 };
            row.extend([thousands(point.mean, digits), thousands(point.ci95, digits)]);
        }
        if compares && let [base, other] = at[..] {
            row.push(format!("{:+.1} %", 100.0 * (other.mean / base.mean - 1.0)));
        }
        table.add_row(row);
    }
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string()
}

fn print_claim(claim: &Claim, out: &mut impl Write) -> io::Result<()> {
    let (word, color) = match (claim.holds, claim.informative) {
        (Some(true), _) => ("holds", AnsiColor::Green),
        (Some(false), true) => ("fails", AnsiColor::Yellow),
        (Some(false), false) => ("fails", AnsiColor::Red),
        (None, _) => ("open ", AnsiColor::Yellow),
    };
    let style = color.on_default();
    let note = match (claim.informative, claim.bound) {
        (true, _) => " (informative)",
        (false, Bound::Ours) => " (bound of our own)",
        (false, Bound::Paper) => "",
    };
    writeln!(
        out,
        "  {style}{word}{style:#}  {}{note}\n         measured: {}",
        claim.text, claim.measured
    )
}

/// A number with its thousands apart.
pub(crate) fn thousands(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let (sign, whole) = whole.strip_prefix('-').map_or(("", whole), |w| ("-", w));
    let mut grouped = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) && digit.is_ascii_digit() {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let dot = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{grouped}{dot}{fraction}")
}

#[cfg(test)]
mod tests {
    use super::thousands;

    #[test]
    fn thousands_are_apart() {
        assert_eq!(thousands(1_234_567.0, 0), "1,234,567");
        assert_eq!(thousands(-1234.5, 1), "-1,234.5");
        assert_eq!(thousands(999.0, 0), "999");
        assert_eq!(thousands(f64::NAN, 0), "NaN");
    }
}
