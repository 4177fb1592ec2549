//! The page of the controllers names them all.

use bentpipe_cc::rows;

const PAGE: &str = include_str!("../../../docs/protocols/controllers.md");

#[test]
fn every_controller_has_a_line_that_names_its_parameters() {
    let line = |name: &str| PAGE.lines().find(|l| l.starts_with(&format!("| `{name}` |")));
    for row in rows() {
        let line = line(row.name).unwrap_or_else(|| panic!("no line for `{}`", row.name));
        for parameter in row.parameters {
            let common = ["abc_limit", "initial_ssthresh"].contains(&parameter.name);
            let named = line.contains(&format!("`{}`", parameter.name));
            assert!(common || named, "`{}` of `{}` is not on the page", parameter.name, row.name);
        }
    }
}
