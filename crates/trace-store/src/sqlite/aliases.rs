//! Whether a file has one name only.
//!
//! The lock, the write-ahead log and its shared memory are found by the name of the database. Two
//! programs that reach one file under two names have two locks and two logs, and both write.
//! Symbolic links are followed before; what is left are hard links, and a file that is mounted
//! elsewhere by itself.

use std::path::Path;

use weaver_types::ledger::LedgerError;

use super::lock::beside;

/// Refuses a database that has another name, or a file beside it that has.
pub(super) fn refuse_aliases(path: &Path) -> Result<(), LedgerError> {
    for suffix in ["", "-wal", "-shm", ".lock"] {
        let name = beside(path, suffix);
        match std::fs::metadata(&name) {
            Ok(metadata) => refuse_hard_links(&name, &metadata)?,
            // What is not there yet has no other name; what cannot be read is refused when it is
            // opened.
            Err(_) => continue,
        }
    }
    if is_mount_point(path) {
        let place = path.display();
        return Err(LedgerError::Failed(format!(
            "{place} is mounted as a single file, so it has another name elsewhere and its \
             write-ahead log would stay behind; mount its folder instead"
        )));
    }
    Ok(())
}

/// Refuses a file that has hard links.
#[cfg(unix)]
pub(super) fn refuse_hard_links(
    name: &Path,
    metadata: &std::fs::Metadata,
) -> Result<(), LedgerError> {
    use std::os::unix::fs::MetadataExt;
    // One without any link was deleted, which the comparison of identities reports.
    if metadata.nlink() <= 1 {
        return Ok(());
    }
    let place = name.display();
    Err(LedgerError::Failed(format!(
        "{place} has {} names by hard links, under each of which another program could write it; \
         remove the others (`find -samefile` shows them), or put a copy in its place",
        metadata.nlink()
    )))
}

#[cfg(not(unix))]
pub(super) fn refuse_hard_links(_: &Path, _: &std::fs::Metadata) -> Result<(), LedgerError> {
    Ok(())
}

/// Whether something is mounted at this very path. False where the system does not tell.
fn is_mount_point(path: &Path) -> bool {
    if !cfg!(target_os = "linux") {
        return false;
    }
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    path.to_str().is_some_and(|path| mounts(&table, path))
}

/// Whether a table of mounts has one at `path`: the fifth field of a line, in which blanks, tabs,
/// line feeds and backslashes are written as a backslash with three octal digits.
fn mounts(table: &str, path: &str) -> bool {
    let escaped = path
        .replace('\\', "\\134")
        .replace(' ', "\\040")
        .replace('\t', "\\011")
        .replace('\n', "\\012");
    table.lines().any(|line| line.split(' ').nth(4) == Some(escaped.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_is_found_by_its_whole_path() {
        let table = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
                     40 22 8:1 /led.db /data/my\\040led.db rw - ext4 /dev/sda1 rw\n";
        assert!(mounts(table, "/data/my led.db"));
        for other in ["/data", "/data/my", "/led.db", "8:1", "/data/my\\040led.db", ""] {
            assert!(!mounts(table, other), "{other}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_mounts_of_this_machine_are_looked_at() {
        assert!(is_mount_point(Path::new("/proc")));
        assert!(!is_mount_point(Path::new("/proc/self")));
    }
}
