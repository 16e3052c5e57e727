//! The symbolic links that decide where a path leads.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The symbolic links on the way to a file that a process of this user could point elsewhere: those
/// among the folders above it, the file itself, and those in the targets of others. A child that is
/// denied the file is denied each of them, so that it cannot put another file in its place.
///
/// Empty on systems other than Linux, which deny no child anything.
#[must_use]
pub fn replaceable_links(path: &Path) -> BTreeSet<PathBuf> {
    #[cfg(target_os = "linux")]
    {
        super::linux::denied_paths::replaceable_links(path)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = path;
        BTreeSet::new()
    }
}

/// Every path under which something denied can be found now.
pub(crate) fn denied_places(denied: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    #[cfg(target_os = "linux")]
    {
        super::linux::denied_paths::with_resolved_links(denied)
    }
    #[cfg(not(target_os = "linux"))]
    {
        denied.clone()
    }
}

/// The links to denied files, and the files that they lead to.
pub(crate) fn linked_places(denied: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    let mut places = BTreeSet::new();
    for path in denied {
        let links = replaceable_links(path);
        // Without a link that could be pointed elsewhere, it is where it was.
        if !links.is_empty() {
            places.extend(path.canonicalize());
            places.extend(links);
        }
    }
    places
}
