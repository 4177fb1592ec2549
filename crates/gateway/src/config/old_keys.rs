//! Keys that had another name in the last release. They are still read, and whoever uses one is warned.

use toml::{Table, Value};

/// Paths of old keys, and what the last part is called now.
const OLD: [(&[&str], &str); 3] = [
    (&["carrier"], "outer"),
    (&["limits", "patience"], "idle_timeout"),
    (&["backup", "aggregate"], "load_balance"),
];

/// A warning for each old key in this text, which came from `file`.
pub fn old_keys(file: &str, text: &str) -> Vec<String> {
    let Ok(table) = text.parse::<Table>() else { return Vec::new() };
    let used = OLD.iter().filter(|(path, _)| is_set(&table, path));
    used.map(|(path, new)| format!("{file}: `{}` is called `{new}` now", path.join("."))).collect()
}

fn is_set(table: &Table, path: &[&str]) -> bool {
    let Some((first, rest)) = path.split_first() else { return false };
    match table.get(*first) {
        Some(_) if rest.is_empty() => true,
        Some(Value::Table(inner)) => is_set(inner, rest),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    /// A terminal with these settings, and its warnings.
    fn parse(top: &str, tables: &str) -> Result<(Config, Vec<String>), String> {
        let text = format!(
            "role = \"terminal\"\nkey = \"key\"\nlisten = \"0.0.0.0:25300\"\n{top}\n[peers.hub]\n\
             key = \"g9GFFU8rGj+Q69zpXoj1ecxx/izHNwRWbH/BhgNl9w8=\"\naddress = \"192.0.2.1:25300\"\n\
             backup = \"198.51.100.1:25300\"\n{tables}"
        );
        let config = Config::parse("gateway.toml", &text).map_err(|error| error.to_string())?;
        Ok((config, old_keys("gateway.toml", &text)))
    }

    /// An old key and the new one with the same value, each at the top or in a table.
    const PAIRS: [([&str; 2], [&str; 2], &str); 3] = [
        (
            ["carrier = \"tcp\"", "[backup]"],
            ["outer = \"tcp\"", "[backup]"],
            "gateway.toml: `carrier` is called `outer` now",
        ),
        (
            ["", "[limits]\npatience = \"7 s\"\n[backup]"],
            ["", "[limits]\nidle_timeout = \"7 s\"\n[backup]"],
            "gateway.toml: `limits.patience` is called `idle_timeout` now",
        ),
        (
            ["", "[backup]\naggregate = true"],
            ["", "[backup]\nload_balance = true"],
            "gateway.toml: `backup.aggregate` is called `load_balance` now",
        ),
    ];

    #[test]
    fn an_old_key_means_the_same_as_the_new_one_and_is_warned_of() {
        for ([top, tables], [new_top, new_tables], warning) in PAIRS {
            let (old, warnings) = parse(top, tables).expect(warning);
            let (new, none) = parse(new_top, new_tables).expect(warning);
            assert_eq!((old, warnings), (new, vec![warning.to_owned()]));
            assert!(none.is_empty(), "{none:?}");
        }
    }

    #[test]
    fn a_key_by_both_of_its_names_is_refused() {
        for (top, tables, key) in [
            ("carrier = \"tcp\"\nouter = \"udp\"", "[backup]", "outer"),
            ("", "[limits]\npatience = \"7 s\"\nidle_timeout = \"8 s\"\n[backup]", "idle_timeout"),
            ("", "[backup]\naggregate = true\nload_balance = true", "load_balance"),
        ] {
            let error = parse(top, tables).expect_err(key);
            let says = format!("`{key}` is set twice, once by its old name");
            assert!(error.starts_with("gateway.toml, line ") && error.contains(&says), "{error}");
        }
    }
}
