//! Reading files within a bound.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Why a file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There is none.
    #[error("there is no such file")]
    Absent,
    /// It is larger than its kind may be.
    #[error("the file has more than {max} bytes")]
    TooLarge {
        /// The bound.
        max: usize,
    },
    /// It is not text.
    #[error("the file is not UTF-8 text")]
    NotText,
    /// The system refused.
    #[error("the file cannot be read: {0}")]
    System(io::Error),
}

/// The bytes of a file, at most `max`.
pub fn bytes(path: &Path, max: usize) -> Result<Vec<u8>, ReadError> {
    let file = File::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => ReadError::Absent,
        _ => ReadError::System(error),
    })?;
    all(file, max)
}

/// The text of a file, at most `max` bytes.
pub fn text(path: &Path, max: usize) -> Result<String, ReadError> {
    String::from_utf8(bytes(path, max)?).map_err(|_| ReadError::NotText)
}

/// Everything that can be read, at most `max` bytes.
pub fn all(from: impl Read, max: usize) -> Result<Vec<u8>, ReadError> {
    let mut out = Vec::new();
    let bound = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
    from.take(bound).read_to_end(&mut out).map_err(ReadError::System)?;
    if out.len() > max { Err(ReadError::TooLarge { max }) } else { Ok(out) }
}
