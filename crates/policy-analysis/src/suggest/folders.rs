//! Folders that a set of paths lies in.

use std::collections::BTreeSet;

/// The most folders of one pattern.
const MAX_FOLDERS: usize = 4;
/// The least number of steps of an absolute folder: neither `/` nor `/home/ana` is one.
const MIN_STEPS: usize = 3;
/// Steps of a path behind which keys, settings and start-up files lie.
const SENSITIVE_STEPS: [&str; 22] = [
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".weaver", ".config", ".local", ".git",
    ".npmrc", ".pypirc", ".netrc", ".env", ".bashrc", ".bash_profile", ".profile", ".zshrc",
    ".zshenv", ".vscode", ".claude", ".cursor",
];
/// Folders of the system.
const SYSTEM: [&str; 14] = [
    "etc", "usr", "bin", "sbin", "boot", "dev", "proc", "sys", "lib", "lib64", "root", "System",
    "Library", "Windows",
];
/// Folders for what passes.
const SHORT: [&str; 4] = ["tmp", "srv", "data", "workspace"];

/// The steps of a path that any reader understands in the same way.
fn steps(path: &str) -> Option<Vec<&str>> {
    let plain = !path.is_empty() && !path.starts_with('~') && !path.contains(['\\', '\0', '\n']);
    let steps: Vec<&str> =
        path.split('/').filter(|step| !step.is_empty() && *step != ".").collect();
    (plain && !steps.contains(&"..")).then_some(steps)
}

/// Whether no suggestion opens this place.
pub(super) fn is_sensitive(path: &str) -> bool {
    let Some(steps) = steps(path) else { return true };
    let hidden = |step: &str| SENSITIVE_STEPS.contains(&step) || step.starts_with(".env");
    let system = path.starts_with('/') && steps.first().is_some_and(|first| SYSTEM.contains(first));
    system || steps.iter().any(|step| hidden(step))
}

/// Where a path begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PathRoot {
    Relative,
    Absolute,
}

/// A folder, by its steps. The order puts a folder right before all that lies in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Folder<'p> {
    root: PathRoot,
    steps: Vec<&'p str>,
}

impl<'p> Folder<'p> {
    /// The folder of a path. A name with a dot in it is a file; what is none may be a folder itself.
    fn of(path: &'p str) -> Option<Self> {
        let root = if path.starts_with('/') { PathRoot::Absolute } else { PathRoot::Relative };
        let folder = Self { root, steps: steps(path)? };
        let is_file = folder.steps.last().is_some_and(|last| last.contains('.'));
        if is_file || !folder.is_narrow() { folder.parent() } else { Some(folder) }
    }

    /// The folder around it, where that is narrow enough to be suggested.
    fn parent(mut self) -> Option<Self> {
        self.steps.pop()?;
        self.is_narrow().then_some(self)
    }

    fn is_narrow(&self) -> bool {
        let short = self.steps.first().is_some_and(|first| SHORT.contains(first));
        match self.root {
            PathRoot::Relative => true,
            PathRoot::Absolute => self.steps.len() >= if short { 2 } else { MIN_STEPS },
        }
    }

    fn holds(&self, other: &Self) -> bool {
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

/// Few folders, at most [`MAX_FOLDERS`], that the paths lie in; `None` where they have no folders in
/// common that are narrow enough. Where there are too many, the deepest become those around them, all
/// of one depth at once, so that this takes no more rounds than a path has steps.
pub(super) fn cover(paths: &BTreeSet<String>) -> Option<BTreeSet<String>> {
    let mut folders: BTreeSet<Folder<'_>> =
        paths.iter().map(|path| Folder::of(path)).collect::<Option<_>>()?;
    loop {
        let mut widest: Vec<Folder<'_>> = Vec::new();
        for folder in folders {
            // In this order, what holds it came last.
            if !widest.last().is_some_and(|last| last.holds(&folder)) {
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
        cover(&paths).map(|folders| folders.into_iter().collect())
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
        ] {
            assert!(is_sensitive(path), "{path}");
        }
        for path in ["/home/ana/work/a.md", "work/etc/a", "/home/ana/work/.github/x.yml"] {
            assert!(!is_sensitive(path), "{path}");
        }
    }
}
