//! Facts about files.

use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::time::UNIX_EPOCH;

use sha2::{Digest as _, Sha256};
use weaver_agent_kernel::PreconditionError;
use weaver_types::hex;

use super::{ABSENT, path_for_error, unreadable};

/// The SHA-256 of a file's bytes, `absent`, or `folder`. Pipes and devices are refused unopened,
/// because reading them might never end.
pub(super) fn digest(path: &Path, max_file_bytes: u64) -> Result<String, PreconditionError> {
    let Some(metadata) = metadata_of(path)? else { return Ok(ABSENT.to_owned()) };
    if metadata.is_dir() {
        return Ok("folder".to_owned());
    }
    if !metadata.is_file() {
        return Err(unreadable(path, "it is neither a file nor a folder"));
    }
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(ABSENT.to_owned()),
        Err(error) => return Err(unreadable(path, error)),
    };
    let mut reader = file.take(max_file_bytes.saturating_add(1));
    let (mut hash, mut read) = (Sha256::new(), 0_u64);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let n = match reader.read(&mut buffer) {
            Ok(0) => return Ok(format!("sha256:{}", hex(&hash.finalize()))),
            Ok(n) => n,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(unreadable(path, error)),
        };
        read = read.saturating_add(u64::try_from(n).unwrap_or(u64::MAX));
        if read > max_file_bytes {
            return Err(PreconditionError::TooLarge {
                what: path_for_error(path),
                limit: max_file_bytes,
            });
        }
        hash.update(buffer.get(..n).unwrap_or_default());
    }
}

/// The modification time of a file in nanoseconds since 1970, or `absent`.
pub(super) fn modification_time(path: &Path) -> Result<String, PreconditionError> {
    let Some(metadata) = metadata_of(path)? else { return Ok(ABSENT.to_owned()) };
    let at = metadata.modified().map_err(|error| unreadable(path, error))?;
    Ok(match at.duration_since(UNIX_EPOCH) {
        Ok(after) => format!("{} ns", after.as_nanos()),
        Err(before) => format!("-{} ns", before.duration().as_nanos()),
    })
}

/// The metadata at the path, through symbolic links; `None` if nothing exists.
fn metadata_of(path: &Path) -> Result<Option<Metadata>, PreconditionError> {
    match std::fs::metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(path, error)),
    }
}
