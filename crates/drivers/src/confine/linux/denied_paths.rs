//! Resolves the denied files and folders.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Every path under which something denied is found: with links followed, and the link itself.
pub(super) fn places(denied: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    denied.iter().flat_map(|path| [settled(path), unfollowed(path)]).collect()
}

/// A path as the kernel will see it, with links followed as far as it exists.
pub(super) fn settled(path: &Path) -> PathBuf {
    let mut missing = Vec::new();
    let mut known = path;
    loop {
        if let Ok(real) = known.canonicalize() {
            return missing.into_iter().rev().fold(real, |path, name| path.join(name));
        }
        match (known.parent(), known.file_name()) {
            (Some(parent), Some(name)) => {
                missing.push(name);
                known = parent;
            }
            _ => return path.to_path_buf(),
        }
    }
}

/// The same, with the path itself as it is, so that a link is denied beside what it leads to.
fn unfollowed(path: &Path) -> PathBuf {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => settled(parent).join(name),
        _ => path.to_path_buf(),
    }
}
