//! Facts about files.

use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::time::UNIX_EPOCH;

use sha2::{Digest as _, Sha256};
use weaver_agent_kernel::PreconditionError;
use weaver_types::hex;

use super::{ABSENT, shown, unreadable};

/// The SHA-256 of a file's bytes, `absent`, or `folder`. Pipes and devices are refused unopened:
/// reading them could take for ever.
pub(super) fn digest(path: &Path, most: u64) -> Result<String, PreconditionError> {
    let Some(found) = look(path)? else { return Ok(ABSENT.to_owned()) };
    if found.is_dir() {
        return Ok("folder".to_owned());
    }
    if !found.is_file() {
        return Err(unreadable(path, "it is neither a file nor a folder"));
    }
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(ABSENT.to_owned()),
        Err(error) => return Err(unreadable(path, error)),
    };
    let mut reader = file.take(most.saturating_add(1));
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
        if read > most {
            return Err(PreconditionError::TooLarge { what: shown(path), limit: most });
        }
        hash.update(buffer.get(..n).unwrap_or_default());
    }
}

/// When a file was last changed, in nanoseconds since 1970, or `absent`.
pub(super) fn modified(path: &Path) -> Result<String, PreconditionError> {
    let Some(found) = look(path)? else { return Ok(ABSENT.to_owned()) };
    let at = found.modified().map_err(|error| unreadable(path, error))?;
    Ok(match at.duration_since(UNIX_EPOCH) {
        Ok(after) => format!("{} ns", after.as_nanos()),
        Err(before) => format!("-{} ns", before.duration().as_nanos()),
    })
}

/// What stands at the path, through symbolic links; `None` where there is nothing.
fn look(path: &Path) -> Result<Option<Metadata>, PreconditionError> {
    match std::fs::metadata(path) {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(path, error)),
    }
}
