//! Folders that a set of paths lies in.

use std::collections::BTreeSet;

/// The most folders of one pattern.
const MAX_FOLDERS: usize = 4;
/// The least number of steps of an absolute folder: neither `/` nor `/home/ana` is one.
const MIN_STEPS: usize = 3;
/// Steps of a path behind which keys, settings and start-up files lie.
const SENSITIVE_STEPS: [&str; 22] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".weaver",
    ".config",
    ".local",
    ".git",
    ".npmrc",
    ".pypirc",
    ".netrc",
    ".env",
    ".bashrc",
    ".bash_profile",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".vscode",
    ".claude",
    ".cursor",
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
    let hidden = |step: &&str| SENSITIVE_STEPS.contains(step) || step.starts_with(".env");
    let system = path.starts_with('/') && steps.first().is_some_and(|first| SYSTEM.contains(first));
    system || steps.iter().any(|step| hidden(&step))
}

/// Whether a folder is narrow enough to be suggested.
fn is_narrow(absolute: bool, steps: &[&str]) -> bool {
    if !absolute {
        return true;
    }
    let short = steps.first().is_some_and(|first| SHORT.contains(first));
    steps.len() >= if short { 2 } else { MIN_STEPS }
}

fn text(absolute: bool, steps: &[&str]) -> String {
    match (absolute, steps.is_empty()) {
        (false, true) => ".".to_owned(),
        (true, _) => format!("/{}", steps.join("/")),
        (false, false) => steps.join("/"),
    }
}

/// The fewest folders, at most [`MAX_FOLDERS`], that the paths lie in; `None` where they have no
/// folders in common that are narrow enough. `is_folder` says of a path that it names a folder
/// itself.
pub(super) fn cover(paths: &BTreeSet<String>) -> Option<BTreeSet<String>> {
    let mut folders: BTreeSet<(bool, Vec<&str>)> = BTreeSet::new();
    for path in paths {
        let absolute = path.starts_with('/');
        let mut steps = steps(path)?;
        // A name with a dot in it is a file; what is none may be a folder itself.
        let is_file = steps.last().is_some_and(|last| last.contains('.'));
        if is_file || !is_narrow(absolute, &steps) {
            steps.pop();
        }
        if !is_narrow(absolute, &steps) {
            return None;
        }
        folders.insert((absolute, steps));
    }
    loop {
        let below = |folder: &(bool, Vec<&str>), other: &(bool, Vec<&str>)| {
            folder != other && folder.0 == other.0 && folder.1.starts_with(&other.1)
        };
        let all = folders.clone();
        folders.retain(|folder| !all.iter().any(|other| below(folder, other)));
        // Two neighbours become their parent: `notes/a` and `notes/b`, not `notes` and `src`.
        if folders.len() <= MAX_FOLDERS {
            return Some(folders.iter().map(|(root, steps)| text(*root, steps)).collect());
        }
        let deepest = folders.iter().max_by_key(|(_, steps)| steps.len()).cloned()?;
        let (absolute, mut steps) = deepest.clone();
        steps.pop();
        if !is_narrow(absolute, &steps) {
            return None;
        }
        folders.remove(&deepest);
        folders.insert((absolute, steps));
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
