//! The folder of `weaver.toml`, where servers are denied it as a whole.

use std::path::{Path, PathBuf};

/// The folder of `weaver.toml`, if servers have a work folder outside of it.
pub(super) fn find(base: &Path, work_folder: &Path) -> Option<PathBuf> {
    let base = if base.as_os_str().is_empty() { Path::new(".") } else { base };
    let base = std::path::absolute(base).ok()?;
    let is_outside = std::path::absolute(work_folder).is_ok_and(|work| !work.starts_with(&base));
    is_outside.then_some(base)
}

/// Whether a path is in a folder, as it is written or with its links followed.
pub(super) fn is_inside(path: &Path, folder: &Path) -> bool {
    let as_written = std::path::absolute(path).is_ok_and(|path| path.starts_with(folder));
    let real = || Some(path.canonicalize().ok()?.starts_with(folder.canonicalize().ok()?));
    as_written || real().unwrap_or(false)
}
