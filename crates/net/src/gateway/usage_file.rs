//! What links have carried in this month, kept in a small file of JSON, so that a restart forgets no more than a minute.

use std::io;
use std::path::{Path, PathBuf};

use bentpipe_gateway::Usage;

use crate::kept::{self, Kept};

/// A file of what links have carried that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum UsageError {
    /// It could not be read.
    #[error("{path}: {error}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        error: io::Error,
    },
    /// It holds something else.
    #[error(
        "{path}: not what links have carried in a month: {error}; without this file they begin at zero",
        path = path.display()
    )]
    Content {
        /// The file.
        path: PathBuf,
        /// What was expected.
        error: serde_json::Error,
    },
}

/// What the file says; none if there is no file yet, or nothing in it, which a crash may leave.
pub(super) fn load(path: &Path) -> Result<Option<Usage>, UsageError> {
    let text = kept::read(path);
    let text = text.map_err(|error| UsageError::File { path: path.to_owned(), error })?;
    let content = |error| UsageError::Content { path: path.to_owned(), error };
    text.map(|text| serde_json::from_str(&text)).transpose().map_err(content)
}

impl Kept for Usage {
    const WHAT: &'static str = "what links have carried in this month";

    fn content(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("numbers")
    }

    /// What was asked for earlier may come later.
    fn is_news(&self, saved: &Self) -> bool {
        let mut both = self.carried_bytes.iter().zip(&saved.carried_bytes);
        self.month != saved.month || both.any(|(now, saved)| now > saved)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::kept::Keeper;

    #[test]
    fn what_was_kept_is_read_after_a_restart() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("usage");
        assert!(load(&path).expect("no file is none").is_none());
        let month = "2026-11".parse().expect("a month");
        let usage = Usage { month, carried_bytes: [1, 1 << 53, 3, 4] };
        Keeper::new(path.clone(), None).save(&usage);
        assert_eq!(load(&path).expect("a file"), Some(usage));
    }

    #[test]
    fn a_file_of_something_else_is_named() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("usage");
        fs::write(&path, "").expect("a file");
        assert!(load(&path).expect("what a crash left").is_none());
        for text in ["{}", "[1]", "{\"month\":\"2026-13\",\"carried_bytes\":[0,0,0,0]}"] {
            fs::write(&path, text).expect("a file");
            let error = load(&path).expect_err(text).to_string();
            assert!(error.contains("usage: not what links have carried"), "{error}");
        }
    }
}
