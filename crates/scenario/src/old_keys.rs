//! Keys of scenarios that had another name in the last release. They are still read, and whoever uses one is told.

use toml::{Table, Value};

/// Paths of old keys, of which `*` is any name, and what the last part is called now.
const OLD: [(&[&str], &str); 5] = [
    (&["links", "*", "forth"], "forward"),
    (&["links", "*", "back"], "return"),
    (&["constellation", "check"], "update_interval"),
    (&["schedulers", "*", "turns"], "discipline"),
    (&["flows", "*", "bentpipe", "patience"], "idle_timeout"),
];

/// Parameters of controllers that had another name: the old one, and the one that there is now.
const OLD_PARAMETERS: [(&str, &str); 2] =
    [("trial_start", "delay_probe_start"), ("carried", "floor_to_delivered")];

/// The table that parameters of controllers stand in.
const PARAMETERS: &str = "controller_parameters";

/// Keys whose old values have another name: the key, the old value, and what it is called now.
const OLD_VALUES: [(&str, &str, &str); 5] = [
    ("discipline", "acks-first", "ack-priority"),
    ("discipline", "ack-spread", "ack-reconstruction"),
    ("discipline", "low-first", "drop-low-priority"),
    ("policy", "hold", "longest-hold"),
    ("policy", "best", "highest-elevation"),
];

/// What to tell whoever wrote this text.
pub(crate) fn warnings(source: &str, text: &str) -> Vec<String> {
    let Ok(table) = text.parse::<Table>() else { return Vec::new() };
    let mut found = Vec::new();
    for (path, new) in OLD {
        collect(&table, path, new, &mut Vec::new(), &mut found);
    }
    values(&table, &mut Vec::new(), &mut found);
    found.into_iter().map(|what| format!("{source}: {what}")).collect()
}

fn collect<'a>(
    table: &'a Table,
    path: &[&str],
    new: &str,
    at: &mut Vec<&'a str>,
    found: &mut Vec<String>,
) {
    let Some((first, rest)) = path.split_first() else { return };
    for (key, value) in table.iter().filter(|(key, _)| *first == "*" || key == first) {
        at.push(key);
        match value {
            _ if rest.is_empty() => {
                found.push(format!("`{}` is called `{new}` now", at.join(".")));
            }
            Value::Table(inner) => collect(inner, rest, new, at, found),
            _ => {}
        }
        at.pop();
    }
}

/// The old parameters and values in a table, wherever they stand.
fn values<'a>(table: &'a Table, at: &mut Vec<&'a str>, found: &mut Vec<String>) {
    let parameters = at.last() == Some(&PARAMETERS);
    for (key, value) in table {
        at.push(key);
        if let Some((_, new)) = OLD_PARAMETERS.iter().find(|(old, _)| parameters && old == key) {
            found.push(format!("`{}` is called `{new}` now", at.join(".")));
        }
        match value {
            Value::Table(inner) => values(inner, at, found),
            Value::String(text) => {
                let old = OLD_VALUES.iter().find(|(of, old, _)| of == key && old == text);
                if let Some((_, old, new)) = old {
                    found.push(format!("`{}`: `{old}` is called `{new}` now", at.join(".")));
                }
            }
            _ => {}
        }
        at.pop();
    }
}

/// What a part of a path was called in the last release, if it had another name.
pub(crate) fn old_of(part: &str) -> Option<&'static str> {
    let path = OLD.iter().find(|(_, new)| *new == part).and_then(|(path, _)| path.last().copied());
    path.or_else(|| Some(OLD_PARAMETERS.iter().find(|(_, new)| *new == part)?.0))
}

/// What a parameter is called that a controller does not know by this name, if it is one that had another name.
pub(crate) fn parameter(old: &str) -> Option<&'static str> {
    Some(OLD_PARAMETERS.iter().find(|(name, _)| *name == old)?.1)
}

/// A key as it is called now.
pub(crate) fn renewed(key: &str) -> String {
    let mut parts: Vec<&str> = key.split('.').collect();
    for (path, new) in OLD {
        let is_it = |(part, old): (&&str, &&str)| *old == "*" || part.trim() == *old;
        if parts.len() >= path.len() && parts.iter().zip(path).all(is_it) {
            parts[path.len() - 1] = new;
        }
    }
    if let [.., table, last] = &mut parts[..]
        && table.trim() == PARAMETERS
        && let Some(new) = parameter(last.trim())
    {
        *last = new;
    }
    parts.join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_keys_are_told_with_their_place_and_their_new_name() {
        let text = "[links.space.forth]\nloss = 0.1\n[links.back]\nback = { loss = 0.2 }\n";
        let told = warnings("a.toml", text);
        assert_eq!(
            told,
            [
                "a.toml: `links.space.forth` is called `forward` now",
                "a.toml: `links.back.back` is called `return` now",
            ]
        );
        let text = "[links.a.forward]\nqueue = { discipline = \"acks-first\" }\n";
        let told = warnings("a.toml", text);
        let at = "links.a.forward.queue.discipline";
        assert_eq!(told, [format!("a.toml: `{at}`: `acks-first` is called `ack-priority` now")]);
        assert!(warnings("a.toml", "[links.back.return]\nloss = 0.1\n").is_empty());
    }

    #[test]
    fn a_change_of_an_old_key_changes_the_new_one() {
        assert_eq!(renewed("links.back.forth.loss"), "links.back.forward.loss");
        assert_eq!(renewed("links.back"), "links.back");
        let old = "flows.a.tcp.controller_parameters.carried";
        assert_eq!(renewed(old), old.replace("carried", "floor_to_delivered"));
    }
}
