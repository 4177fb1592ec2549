//! What tells one scenario from another.

use std::io;
use std::path::Path;

use bentpipe_trace::open_regular;
use blake3::Hasher;
use toml::{Table, Value};

/// A hash of the values of a text, whatever their order and the comments, and of the contents of files. What is no file
/// came with the program, and its name is among the values.
pub(crate) fn identity<'a>(
    text: &str,
    files: impl IntoIterator<Item = &'a Path>,
) -> Result<[u8; 32], (&'a Path, io::Error)> {
    let mut hasher = Hasher::new();
    // It was read before.
    add(&mut hasher, &Value::Table(text.parse::<Table>().unwrap_or_default()));
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

/// Adds a value: its kind and length go before it, so that no two values look alike.
fn add(hasher: &mut Hasher, value: &Value) {
    let mut scalar = |kind: u8, text: &str| {
        hasher.update(&[kind]).update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
    };
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
        identity(text, []).expect("no files")
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
        let path = dir.path().join("down.csv");
        let mut all = vec![of("a = 1")];
        for contents in ["time_s,loss\n0,0\n", "time_s,loss\n0,0.5\n"] {
            std::fs::write(&path, contents).expect("written");
            all.push(identity("a = 1", [path.as_path()]).expect("read"));
        }
        assert!(all[0] != all[1] && all[1] != all[2]);
        std::fs::remove_file(&path).expect("removed");
        assert_eq!(identity("a = 1", [path.as_path()]).expect("built in"), all[0]);
    }
}
