//! Finds a small set of folders that covers a set of paths.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use weaver_policy::Pattern;

use crate::propose::sensitive_paths;

/// The maximum number of folders in one pattern.
const MAX_FOLDERS: usize = 4;
/// The minimum number of components of an absolute folder, which excludes `/` and `/home/ana`.
const MIN_COMPONENTS: usize = 3;
/// Top-level system folders.
const SYSTEM_ROOTS: [&str; 14] = [
    "etc", "usr", "bin", "sbin", "boot", "dev", "proc", "sys", "lib", "lib64", "root", "System",
    "Library", "Windows",
];
/// Top-level folders below which fewer components suffice.
const SHALLOW_ROOTS: [&str; 4] = ["tmp", "srv", "data", "workspace"];

/// The components of a path; `None` if programs could interpret it differently.
fn path_components(path: &str) -> Option<Vec<&str>> {
    let plain = !path.is_empty() && !path.starts_with('~') && !path.contains(['\\', '\0', '\n']);
    let steps: Vec<&str> =
        path.split('/').filter(|step| !step.is_empty() && *step != ".").collect();
    (plain && !steps.contains(&"..")).then_some(steps)
}

/// Whether suggestions must never open this path.
pub(super) fn is_sensitive(path: &str) -> bool {
    let Some(steps) = path_components(path) else { return true };
    let system =
        path.starts_with('/') && steps.first().is_some_and(|first| SYSTEM_ROOTS.contains(first));
    let rooted = format!("/{}", steps.join("/"));
    system || SENSITIVE_ANYWHERE.iter().any(|pattern| pattern.matches(&rooted))
}

/// What the proposer holds to be sensitive below any folder: keys, settings and start-up files.
static SENSITIVE_ANYWHERE: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
    let patterns = sensitive_paths(None, &[]).into_iter();
    patterns.filter(|pattern| pattern.as_str().starts_with("*/")).collect()
});

/// Whether a path is relative or absolute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PathRoot {
    Relative,
    Absolute,
}

/// What the paths of an argument lead to, as its name says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathArgument {
    /// Files, also where a name has no ending.
    Files,
    /// Files or folders.
    Any,
}

impl PathArgument {
    /// What an argument of this name leads to.
    pub(super) fn of_name(name: &str) -> Self {
        let words = weaver_text::split::words(name);
        let names_file = |word: &String| matches!(word.as_str(), "file" | "filename" | "document");
        let names_folder = |word: &String| {
            matches!(word.as_str(), "path" | "folder" | "directory" | "dir" | "root")
        };
        match words.iter().any(names_file) && !words.iter().any(names_folder) {
            true => Self::Files,
            false => Self::Any,
        }
    }
}

/// A folder, as its components. It sorts directly before everything inside it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Folder<'p> {
    root: PathRoot,
    steps: Vec<&'p str>,
}

impl<'p> Folder<'p> {
    /// The folder of a path. A last component with a dot counts as a file, and so does any in an
    /// argument that names files; otherwise the path itself may be the folder.
    fn from_path(path: &'p str, what: PathArgument) -> Option<Self> {
        let root = if path.starts_with('/') { PathRoot::Absolute } else { PathRoot::Relative };
        let folder = Self { root, steps: path_components(path)? };
        let is_file = what == PathArgument::Files
            || folder.steps.last().is_some_and(|last| last.contains('.'));
        if is_file || !folder.is_narrow() { folder.parent() } else { Some(folder) }
    }

    /// The parent folder, if it is narrow enough to be suggested.
    fn parent(mut self) -> Option<Self> {
        self.steps.pop()?;
        self.is_narrow().then_some(self)
    }

    fn is_narrow(&self) -> bool {
        let short = self.steps.first().is_some_and(|first| SHALLOW_ROOTS.contains(first));
        match self.root {
            PathRoot::Relative => true,
            PathRoot::Absolute => self.steps.len() >= if short { 2 } else { MIN_COMPONENTS },
        }
    }

    fn contains(&self, other: &Self) -> bool {
        self.root == other.root && other.steps.starts_with(&self.steps)
    }

    fn text(&self) -> String {
        match (self.root, self.steps.is_empty()) {
            (PathRoot::Relative, true) => ".".to_owned(),
            (PathRoot::Absolute, _) => format!("/{}", self.steps.join("/")),
            (PathRoot::Relative, false) => self.steps.join("/"),
        }
    }
}

/// At most [`MAX_FOLDERS`] folders that cover the paths; `None` if no sufficiently narrow folders
/// do. While there are too many, all folders of the greatest depth are replaced by their parents at
/// once, so there are no more rounds than a path has components.
pub(super) fn covering_folders(
    paths: &BTreeSet<String>,
    what: PathArgument,
) -> Option<BTreeSet<String>> {
    let mut folders: BTreeSet<Folder<'_>> =
        paths.iter().map(|path| Folder::from_path(path, what)).collect::<Option<_>>()?;
    loop {
        let mut widest: Vec<Folder<'_>> = Vec::new();
        for folder in folders {
            // In this order, a folder that contains it precedes it directly.
            if !widest.last().is_some_and(|last| last.contains(&folder)) {
                widest.push(folder);
            }
        }
        if widest.len() <= MAX_FOLDERS {
            return Some(widest.iter().map(Folder::text).collect());
        }
        let deepest = widest.iter().map(|folder| folder.steps.len()).max()?;
        folders = widest
            .into_iter()
            .map(
                |folder| if folder.steps.len() == deepest { folder.parent() } else { Some(folder) },
            )
            .collect::<Option<_>>()?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covering(paths: &[&str]) -> Option<Vec<String>> {
        let paths = paths.iter().map(|path| (*path).to_owned()).collect();
        covering_folders(&paths, PathArgument::Any).map(|folders| folders.into_iter().collect())
    }

    #[test]
    fn the_name_of_a_file_without_an_ending_is_no_folder() {
        let paths = BTreeSet::from(["2026-11-30".to_owned(), "Daily/2026-12-01".to_owned()]);
        for (name, folders) in [("filename", "."), ("note_file", "."), ("file_path", "2026-11-30")]
        {
            let found = covering_folders(&paths, PathArgument::of_name(name)).unwrap();
            assert!(found.contains(folders), "{name}: {found:?}");
        }
    }

    #[test]
    fn files_are_generalised_to_their_folders() {
        let one = covering(&["/home/ana/work/a.md"]);
        assert_eq!(one.unwrap(), ["/home/ana/work"]);
        let nested = covering(&["/home/ana/work/a.md", "/home/ana/work/x/b.md"]);
        assert_eq!(nested.unwrap(), ["/home/ana/work"]);
        assert_eq!(covering(&["/tmp/build/a.o"]).unwrap(), ["/tmp/build"]);
        assert_eq!(covering(&["notes/a.md", "b.md"]).unwrap(), ["."]);
        assert_eq!(covering(&["/home/ana/work/src"]).unwrap(), ["/home/ana/work/src"]);
    }

    #[test]
    fn many_folders_become_the_one_above_them() {
        let paths: Vec<String> = (0..9).map(|n| format!("/home/ana/work/{n}/a.md")).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        assert_eq!(covering(&paths).unwrap(), ["/home/ana/work"]);
    }

    #[test]
    fn no_home_and_no_root_is_suggested() {
        for wide in ["/a.md", "/home/ana/a.md", "/tmp/a.md", "/home/ana/../../etc/passwd", "~/a"] {
            assert_eq!(covering(&[wide]), None, "{wide}");
        }
        let homes: Vec<String> = (0..9).map(|n| format!("/home/u{n}/work/a.md")).collect();
        let homes: Vec<&str> = homes.iter().map(String::as_str).collect();
        assert_eq!(covering(&homes), None);
    }

    #[test]
    fn keys_and_the_system_are_sensitive() {
        for path in [
            "/home/ana/.ssh/id_ed25519",
            "/etc/passwd",
            "work/.env.local",
            "/home/ana/work/.git/hooks/pre-commit",
            "/home/ana/work/../.ssh/x",
            "~/.bashrc",
            "work/.mcp.json",
            "/home/ana/.cargo/config.toml",
            "/home/ana/./.zshenv",
        ] {
            assert!(is_sensitive(path), "{path}");
        }
        for path in
            ["/home/ana/work/a.md", "work/etc/a", "lib/a.rs", "/home/ana/work/.github/x.yml"]
        {
            assert!(!is_sensitive(path), "{path}");
        }
    }
}
