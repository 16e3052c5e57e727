//! Resolves the denied files and folders.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Access, access};

/// The most links that the kernel follows in one path.
const MAX_LINKS: usize = 40;

/// Every path under which something denied can be found: with links followed, the path itself, and
/// each link on the way that this user could point elsewhere.
pub(in crate::confine) fn with_resolved_links(denied: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    let mut all: BTreeSet<PathBuf> =
        denied.iter().flat_map(|path| [resolve(path), resolve_parent(path)]).collect();
    all.extend(denied.iter().flat_map(|path| replaceable_links(path)));
    all
}

/// The links that the kernel follows on the way to this absolute path, those in the targets of
/// others included, each in the folder that holds it. Without those that this user cannot replace.
pub(in crate::confine) fn replaceable_links(path: &Path) -> BTreeSet<PathBuf> {
    let mut links = BTreeSet::new();
    let mut followed = 0_usize;
    let mut real = PathBuf::from("/");
    let mut ahead = std::path::absolute(path).map(|path| names(&path)).unwrap_or_default();
    while let Some(name) = ahead.pop_front() {
        if name == ".." {
            real.pop();
            continue;
        }
        let next = real.join(&name);
        // What is missing or cannot be examined is no link that the kernel would follow for us.
        let Ok(target) = std::fs::read_link(&next) else {
            real = next;
            continue;
        };
        followed = followed.saturating_add(1);
        if followed > MAX_LINKS {
            break;
        }
        if is_replaceable(&next) {
            links.insert(next);
        }
        if target.has_root() {
            real = PathBuf::from("/");
        }
        let mut through = names(&target);
        through.append(&mut ahead);
        ahead = through;
    }
    links
}

/// The names of a path, without its root.
fn names(path: &Path) -> VecDeque<OsString> {
    let name = |component: Component<'_>| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(name).collect()
}

/// Whether this user can put another link in the place of one: in a folder above it, whose own path
/// has no links, it may make entries, or it owns the folder and may allow itself to.
fn is_replaceable(link: &Path) -> bool {
    let user = rustix::process::geteuid();
    let is_open = |folder: &Path| {
        access(folder, Access::WRITE_OK).is_ok()
            || folder.symlink_metadata().is_ok_and(|about| about.uid() == user.as_raw())
    };
    link.ancestors().skip(1).any(is_open)
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn every_link_on_the_way_is_found_and_none_beside_it() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let at = |name: &str| root.join(name);
        for name in ["a/b", "c", "d/e"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        fs::write(at("d/e/file"), "").unwrap();
        symlink("../c/second", at("a/first")).unwrap();
        symlink(at("d/./e/../third"), at("c/second")).unwrap();
        symlink("e", at("d/third")).unwrap();
        symlink("file", at("d/e/name")).unwrap();
        symlink("file", at("d/e/beside")).unwrap();
        let on_the_way = ["a/first", "c/second", "d/third", "d/e/name"].map(at);
        assert_eq!(replaceable_links(&at("a/b/../first/name")), on_the_way.into());
        assert_eq!(replaceable_links(&at("d/e/file")), BTreeSet::new());
        let denied = with_resolved_links(&BTreeSet::from([at("a/first/missing/x")]));
        let expected = ["a/first", "c/second", "d/third", "d/e/missing/x"].map(at);
        assert_eq!(denied, expected.into());
        // One without an end has none that matters.
        symlink("round", at("round")).unwrap();
        assert_eq!(replaceable_links(&at("round")), [at("round")].into());
    }

    #[test]
    fn a_link_of_the_system_is_replaceable_by_root_alone() {
        let is_root = rustix::process::geteuid().is_root();
        // Every process has this one, in a folder that nobody writes.
        assert!(!is_replaceable(Path::new("/sys/none")) || is_root);
    }
}
