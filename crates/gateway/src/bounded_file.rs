//! Reads files up to a maximum size, so that a huge file cannot exhaust the memory.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Why a file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There is no such file.
    #[error("there is no such file")]
    Absent,
    /// The file is larger than allowed.
    #[error("the file has more than {max} bytes")]
    TooLarge {
        /// The maximum size in bytes.
        max: usize,
    },
    /// The file is not UTF-8 text.
    #[error("the file is not UTF-8 text")]
    NotText,
    /// The system could not read it.
    #[error("the file cannot be read: {0}")]
    System(io::Error),
}

/// The bytes of a file of at most `max` bytes.
pub fn read_bytes(path: &Path, max: usize) -> Result<Vec<u8>, ReadError> {
    let file = File::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => ReadError::Absent,
        _ => ReadError::System(error),
    })?;
    read_all(file, max)
}

/// The text of a file of at most `max` bytes.
pub fn read_text(path: &Path, max: usize) -> Result<String, ReadError> {
    String::from_utf8(read_bytes(path, max)?).map_err(|_| ReadError::NotText)
}

/// Everything that `reader` yields, if it is at most `max` bytes.
pub fn read_all(reader: impl Read, max: usize) -> Result<Vec<u8>, ReadError> {
    let mut out = Vec::new();
    let limit = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
    reader.take(limit).read_to_end(&mut out).map_err(ReadError::System)?;
    if out.len() > max { Err(ReadError::TooLarge { max }) } else { Ok(out) }
}
