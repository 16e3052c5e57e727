//! Reads what a command is given: a file, or standard input for `-`.

use std::io;
use std::path::Path;

use weaver_gateway::bounded_file::{self, ReadError};

use crate::{Exit, Failure};

/// At most `max` bytes of a file, or of standard input for `-`.
pub(crate) fn read_bytes(path: &Path, max: usize) -> Result<Vec<u8>, ReadError> {
    if path.as_os_str() == "-" {
        return bounded_file::read_all(io::stdin().lock(), max);
    }
    bounded_file::read_bytes(path, max)
}

/// The same as text.
pub(crate) fn read_text(path: &Path, max: usize) -> Result<String, ReadError> {
    String::from_utf8(read_bytes(path, max)?).map_err(|_| ReadError::NotText)
}

/// The failure of a command whose input cannot be read.
pub(crate) fn unreadable(
    path: &Path,
    code: &'static str,
    error: impl std::fmt::Display,
) -> Failure {
    Failure::new(Exit::Invalid, code, format!("{}: {error}", path.display()))
        .with_next_step("name a file, or `-`")
}
