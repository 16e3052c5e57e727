//! Refuses a ledger file that is reachable under several names.
//!
//! SQLite finds the lock, the write-ahead log and its shared memory by the name of the database.
//! Two programs that open one file under two names would use two locks and two logs, and both would
//! write. Symbolic links are resolved before; this module handles hard links, and a file that is
//! itself a mount point.

use std::path::Path;

use weaver_types::ledger::LedgerError;

use super::lock::sibling_path;

/// Refuses a database with another name, or with a companion file that has one.
pub(super) fn refuse_aliases(path: &Path) -> Result<(), LedgerError> {
    for suffix in ["", "-wal", "-shm", ".lock"] {
        let name = sibling_path(path, suffix);
        match std::fs::metadata(&name) {
            Ok(metadata) => refuse_hard_links(&name, &metadata)?,
            // A missing file has no other name; an unreadable one is refused when it is opened.
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

/// Refuses a file with several hard links.
#[cfg(unix)]
pub(super) fn refuse_hard_links(
    name: &Path,
    metadata: &std::fs::Metadata,
) -> Result<(), LedgerError> {
    use std::os::unix::fs::MetadataExt;
    // A file without any link was deleted, which the check of file identities reports.
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

/// Whether something is mounted at exactly this path. False where the system does not tell.
fn is_mount_point(path: &Path) -> bool {
    if !cfg!(target_os = "linux") {
        return false;
    }
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    path.to_str().is_some_and(|path| has_mount(&table, path))
}

/// Whether a mount table has an entry for `path`. The fifth field of a line is the mount point, in
/// which blanks, tabs, line feeds and backslashes are escaped as a backslash and three octal
/// digits.
fn has_mount(table: &str, path: &str) -> bool {
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
        assert!(has_mount(table, "/data/my led.db"));
        for other in ["/data", "/data/my", "/led.db", "8:1", "/data/my\\040led.db", ""] {
            assert!(!has_mount(table, other), "{other}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_mounts_of_this_machine_are_looked_at() {
        assert!(is_mount_point(Path::new("/proc")));
        assert!(!is_mount_point(Path::new("/proc/self")));
    }
}
