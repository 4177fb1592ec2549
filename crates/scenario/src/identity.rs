//! What tells one scenario from another.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use bentpipe_trace::open_regular;
use blake3::Hasher;
use toml::{Table, Value};

/// A hash of the values of a text, whatever their order and the comments, of the contents of files, and of the versions of what the
/// text names. What is no file came with the program, and its name is among the values.
pub(crate) fn identity<'a>(
    text: &str,
    files: impl IntoIterator<Item = &'a Path>,
    versions: &BTreeMap<String, String>,
) -> Result<[u8; 32], (&'a Path, io::Error)> {
    let mut hasher = Hasher::new();
    // It was read before.
    let values = Value::Table(text.parse::<Table>().unwrap_or_default());
    add(&mut hasher, &values);
    for (name, version) in versions.iter().filter(|(name, _)| names(&values, name)) {
        for text in [name, version] {
            scalar(&mut hasher, b'v', text);
        }
    }
    for path in files.into_iter().filter(|path| path.is_file()) {
        let contents = open_regular(path).and_then(|file| {
            let mut contents = Hasher::new();
            contents.update_reader(file)?;
            Ok(contents.finalize())
        });
        hasher.update(contents.map_err(|error| (path, error))?.as_bytes());
    }
    Ok(*hasher.finalize().as_bytes())
}

/// Whether one of the values is this text.
fn names(value: &Value, name: &str) -> bool {
    match value {
        Value::String(text) => text == name,
        Value::Array(values) => values.iter().any(|value| names(value, name)),
        Value::Table(table) => table.values().any(|value| names(value, name)),
        _ => false,
    }
}

fn scalar(hasher: &mut Hasher, kind: u8, text: &str) {
    hasher.update(&[kind]).update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
}

/// Adds a value: its kind and length go before it, so that no two values look alike.
fn add(hasher: &mut Hasher, value: &Value) {
    let mut scalar = |kind, text: &str| scalar(hasher, kind, text);
    match value {
        Value::String(text) => scalar(b's', text),
        Value::Integer(number) => scalar(b'i', &number.to_string()),
        Value::Float(number) => scalar(b'f', &number.to_string()),
        Value::Boolean(truth) => scalar(b'b', &truth.to_string()),
        Value::Datetime(time) => scalar(b'd', &time.to_string()),
        Value::Array(values) => {
            scalar(b'a', &values.len().to_string());
            values.iter().for_each(|value| add(hasher, value));
        }
        Value::Table(table) => {
            scalar(b't', &table.len().to_string());
            let mut entries: Vec<(&String, &Value)> = table.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            for (key, value) in entries {
                add(hasher, &Value::String(key.clone()));
                add(hasher, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> [u8; 32] {
        identity(text, [], &BTreeMap::new()).expect("no files")
    }

    #[test]
    fn order_and_comments_say_nothing_and_values_say_all() {
        let one = of("a = 1\n[b]\nc = \"x\" # why\nd = [1, 2]\n");
        assert_eq!(one, of("b = { d = [1, 2], c = 'x' }\na = 1"));
        for other in [
            "a = 2\n[b]\nc = \"x\"\nd = [1, 2]",
            "a = 1.0\n[b]\nc = \"x\"\nd = [1, 2]",
            "a = 1\n[b]\nc = \"x\"\nd = [2, 1]",
            "a = 1\n[b]\nc = \"xd\"\nd = [1, 2]",
            "a = 1\nb = { c = \"x\" }\nd = [1, 2]",
        ] {
            assert_ne!(one, of(other), "{other}");
        }
    }

    #[test]
    fn contents_of_files_say_something() {
        let dir = tempfile::tempdir().expect("a directory");
        let (path, none) = (dir.path().join("down.csv"), BTreeMap::new());
        let mut all = vec![of("a = 1")];
        for contents in ["time_s,loss\n0,0\n", "time_s,loss\n0,0.5\n"] {
            std::fs::write(&path, contents).expect("written");
            all.push(identity("a = 1", [path.as_path()], &none).expect("read"));
        }
        assert!(all[0] != all[1] && all[1] != all[2]);
        std::fs::remove_file(&path).expect("removed");
        assert_eq!(identity("a = 1", [path.as_path()], &none).expect("built in"), all[0]);
    }

    #[test]
    fn the_version_of_a_controller_says_something_where_it_is_named() {
        let text = "flows = [{ tcp = { controller = \"mine\" } }]\nother = \"yours\"";
        let of = |name: &str, version: &str| {
            let versions = BTreeMap::from([(name.to_owned(), version.to_owned())]);
            identity(text, [], &versions).expect("no files")
        };
        assert_eq!(of("mine", "1"), of("mine", "1"));
        assert_ne!(of("mine", "1"), of("mine", "2"));
        assert_eq!(of("theirs", "1"), of("theirs", "2"));
    }
}
