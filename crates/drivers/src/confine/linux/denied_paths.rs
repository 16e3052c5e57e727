//! Resolves the denied files and folders.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Every path under which something denied can be found: with links followed, and the link itself.
pub(super) fn with_resolved_links(denied: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    denied.iter().flat_map(|path| [resolve(path), resolve_parent(path)]).collect()
}

/// The path with links followed as far as it exists, as the kernel resolves it.
pub(super) fn resolve(path: &Path) -> PathBuf {
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

/// The same, but without following a link at the end, so that the link itself is denied too.
fn resolve_parent(path: &Path) -> PathBuf {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => resolve(parent).join(name),
        _ => path.to_path_buf(),
    }
}
