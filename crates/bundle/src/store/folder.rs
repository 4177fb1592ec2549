//! What a store needs of a file system.

use std::io;

/// A folder of files with plain names, which one process has for itself.
///
/// What is written is there after a loss of power only if it was synchronised: the content of a file by the call that wrote
/// it, its name by [`Folder::sync`].
pub trait Folder: Send + 'static {
    /// The names of all files.
    ///
    /// # Errors
    /// When they cannot be told.
    fn names(&self) -> io::Result<Vec<String>>;

    /// The content of a file.
    ///
    /// # Errors
    /// When it is not there, cannot be read, or is longer than `most` bytes.
    fn read(&self, name: &str, most: u64) -> io::Result<Vec<u8>>;

    /// Writes a file in place of what has this name, and returns when its content is on the medium.
    ///
    /// # Errors
    /// When it cannot be put there; then anything may be there.
    fn write(&mut self, name: &str, parts: &[&[u8]]) -> io::Result<()>;

    /// Appends to a file that is there, and returns when its content is on the medium.
    ///
    /// # Errors
    /// When it cannot be put there; then any part of it may be there.
    fn append(&mut self, name: &str, bytes: &[u8]) -> io::Result<()>;

    /// Gives a file another name in one step, in place of what has it.
    ///
    /// # Errors
    /// When it cannot.
    fn rename(&mut self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// When it cannot be removed.
    fn remove(&mut self, name: &str) -> io::Result<()>;

    /// Returns when the names of all files are on the medium.
    ///
    /// # Errors
    /// When they cannot be put there.
    fn sync(&mut self) -> io::Result<()>;
}
