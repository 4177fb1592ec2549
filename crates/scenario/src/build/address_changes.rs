//! Addresses of a flow's hosts that come and go.

use bentpipe_sim::{AddressChange, Protocol};
use bentpipe_units::Instant;

use super::node;
use crate::problem::{Problem, problem};
use crate::schema::file::ScenarioFile;
use crate::schema::flow::{AddressChangeTable, FlowTable};

/// Most paths of an association.
const MOST_PATHS: usize = 16;

/// Adds the changes of a flow between these nodes to its protocol.
pub(super) fn add(
    file: &ScenarioFile,
    flow: &str,
    table: &FlowTable,
    ends: [usize; 2],
    mut protocol: Protocol,
) -> Result<Protocol, Problem> {
    if table.address_changes.is_empty() {
        return Ok(protocol);
    }
    let all = ["flows", flow, "address_changes"];
    let Protocol::Sctp { sender, receiver, more_paths, address_changes } = &mut protocol else {
        return problem(&all, "only `protocol = \"sctp\"` changes addresses while it is open");
    };
    if !(sender.asconf && receiver.asconf) {
        return problem(&all, "both ends must offer changes: `sctp.asconf = true`");
    }
    let mut paths = vec![ends];
    paths.extend(more_paths.iter().copied());
    if paths.iter().any(|[_, there]| paths.iter().any(|[here, _]| here == there)) {
        return problem(
            &["flows", flow, "more_paths"],
            "where addresses change a node is one of the sender or of the receiver, and not of both",
        );
    }
    for (number, change) in table.address_changes.iter().enumerate() {
        let number = number.to_string();
        let at = |key| ["flows", flow, "address_changes", &number, key];
        let built = build(file, change, &paths, at)?;
        if address_changes.last().is_some_and(|before| built.at < before.at) {
            return problem(
                &at("at"),
                "it is before the change above: they stand in the order of time",
            );
        }
        let gone = |node| {
            let last = address_changes
                .iter()
                .rev()
                .find(|one| one.add == Some(node) || one.delete == Some(node));
            last.map_or_else(|| comes_later(table, file, node), |one| one.delete == Some(node))
        };
        if built.add.is_some_and(|new| !gone(new)) {
            return problem(&at("add"), "it is an address of the host already");
        }
        if let Some(old) = built.delete {
            let side = paths.iter().find_map(|path| path.iter().position(|own| *own == old));
            let own = paths.iter().filter_map(|path| side.map(|side| path[side]));
            let is_last = built.add.is_none() && own.filter(|own| *own != old).all(gone);
            if gone(old) || is_last {
                return problem(
                    &at("delete"),
                    "it must be an address that the host has, and not its last one",
                );
            }
        }
        let there = |side: usize| {
            let mut nodes: Vec<usize> = paths.iter().map(|path| path[side]).collect();
            nodes.sort_unstable();
            nodes.dedup();
            nodes.into_iter().filter(|node| !gone(*node)).count()
        };
        if built.add.is_some() && built.delete.is_none() && there(0).max(there(1)) >= MOST_PATHS {
            return problem(&at("add"), "an association has 16 paths at most");
        }
        address_changes.push(built);
    }
    Ok(protocol)
}

/// A node that is no address before its change.
fn comes_later(table: &FlowTable, file: &ScenarioFile, node: usize) -> bool {
    let mut added = table.address_changes.iter().filter_map(|change| change.add.as_ref());
    added.any(|name| file.nodes.get(node) == Some(name))
}

fn build<'a>(
    file: &ScenarioFile,
    change: &AddressChangeTable,
    paths: &[[usize; 2]],
    at: impl Fn(&'static str) -> [&'a str; 5],
) -> Result<AddressChange, Problem> {
    let AddressChangeTable { add, delete, .. } = change;
    let of = |key: &'static str, name: &Option<String>| {
        name.as_ref().map(|name| node(file, &at(key), name)).transpose()
    };
    let (added, deleted) = (of("add", add)?, of("delete", delete)?);
    let side = |node: usize| paths.iter().find_map(|path| path.iter().position(|own| *own == node));
    let known = |key, node: Option<usize>| match node {
        Some(node) if side(node).is_none() => {
            problem(&at(key), "it is no end of a path of this flow: `more_paths` says which are")
        }
        _ => Ok(()),
    };
    known("add", added)?;
    known("delete", deleted)?;
    match (added, deleted) {
        (None, None) => return problem(&at("add"), "a change has `add`, `delete` or both"),
        (Some(new), Some(old)) if side(new) != side(old) || new == old => {
            return problem(
                &at("delete"),
                "it must be another address of the host that `add` is one of",
            );
        }
        _ => {}
    }
    if let Some(new) = added {
        let later = paths.iter().skip(1).filter(|path| path.contains(&new)).count();
        if paths[0].contains(&new) || later != 1 {
            return problem(
                &at("add"),
                "it must be an end of one of `more_paths`, and of no other path",
            );
        }
    }
    if change.set_primary && added.is_none() {
        return problem(&at("set_primary"), "there is no new address: it needs `add`");
    }
    let when = Instant::ZERO + change.at.0;
    Ok(AddressChange { at: when, add: added, set_primary: change.set_primary, delete: deleted })
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    const PATH_B: &str = "{ from = \"ship-b\", to = \"shore\" }";

    /// A ship with these further paths and these changes of its addresses.
    fn scenario(paths: &str, changes: &str) -> Result<Scenario, String> {
        let text = format!(
            r#"name = "ship"
nodes = ["ship", "ship-b", "ship-c", "shore"]

[links.a]
between = ["ship", "shore"]
rate = "1 Mbit/s"
delay = "25 ms"

[links.b]
between = ["ship-b", "shore"]
rate = "1 Mbit/s"
delay = "25 ms"

[links.c]
between = ["ship-c", "shore"]
rate = "1 Mbit/s"
delay = "25 ms"

[flows.file]
from = "ship"
to = "shore"
more_paths = [{paths}]
size = "1 MB"
protocol = "sctp"
address_changes = [{changes}]

[flows.file.sctp]
asconf = true
"#
        );
        Scenario::parse("ship", &text).map_err(|error| error.to_string())
    }

    #[test]
    fn an_address_that_comes_is_the_end_of_a_further_path() {
        assert!(scenario(PATH_B, "{ at = \"20 s\", add = \"ship-b\", delete = \"ship\" }").is_ok());
        for (wrong, said) in [
            ("{ at = \"1 s\" }", "`add`, `delete` or both"),
            ("{ at = \"1 s\", add = \"ship\" }", "one of `more_paths`"),
            ("{ at = \"1 s\", delete = \"ship\", set_primary = true }", "it needs `add`"),
            (
                "{ at = \"1 s\", add = \"ship-b\", delete = \"shore\" }",
                "another address of the host",
            ),
            (
                "{ at = \"2 s\", add = \"ship-b\" }, { at = \"1 s\", delete = \"ship\" }",
                "order of time",
            ),
            ("{ at = \"1 s\", add = \"boat\" }", "boat"),
            (
                "{ at = \"1 s\", delete = \"ship\" }, { at = \"2 s\", delete = \"ship-b\" }",
                "not its last one",
            ),
            ("{ at = \"1 s\", delete = \"shore\" }", "not its last one"),
            (
                "{ at = \"1 s\", add = \"ship-b\" }, { at = \"2 s\", add = \"ship-b\" }",
                "an address of the host already",
            ),
        ] {
            let error = scenario(PATH_B, wrong).err().unwrap_or_default();
            assert!(error.contains(said), "{wrong}: {error}");
        }
    }
    #[test]
    fn what_takes_the_place_of_an_address_that_is_not_there_is_told() {
        let changes = "{ at = \"2 s\", add = \"ship-b\", delete = \"ship\" }, \
                       { at = \"4 s\", add = \"ship-c\", delete = \"ship\" }";
        for (paths, said) in [
            (
                r#"{ from = "ship-b", to = "shore" }, { from = "ship-c", to = "shore" }"#,
                "address_changes.1.delete",
            ),
            (
                r#"{ from = "ship-b", to = "shore" }, { from = "ship-c", to = "ship" }"#,
                "more_paths",
            ),
        ] {
            let error = scenario(paths, changes).err().unwrap_or_default();
            assert!(error.contains(said), "{error}");
        }
    }
}
