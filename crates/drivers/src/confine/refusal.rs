//! The words in which an operating system refuses a file, and what a confinement has to do with it.

use std::path::{Path, PathBuf};

use super::{Confinement, EnforcedConfinement, Files, Neighbours, Protection};

/// A longer text is a result, whatever words it has.
const LONGEST: usize = 2 * 1024;
/// The most paths that an explanation names.
const MOST_PATHS: usize = 6;
/// The longest word that announces an error.
const LONGEST_PREFIX: usize = 64;
/// How the refusals of the system, of SQLite and of Node begin.
const WORDINGS: [&str; 8] = [
    "read-only file system",
    "attempt to write a readonly database",
    "permission denied",
    "operation not permitted",
    "unable to open database file",
    "eacces",
    "erofs",
    "eperm",
];

/// A refusal of the operating system, as a program repeats it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The absolute path that its line names.
    pub(crate) path: Option<PathBuf>,
}

/// The refusal that a short result consists of. The words must stand where an error has them: in
/// the first or the last line, behind a word such as `Error:`, or alone. Contents of files that
/// speak of such things are no refusal.
pub(crate) fn of_result(text: &str) -> Option<Refusal> {
    if text.len() > LONGEST {
        return None;
    }
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next()?;
    let Some(last) = lines.next_back() else {
        return is_refusal(first, LineOpening::Bare).then(|| Refusal { path: path(first) });
    };
    let line = [first, last].into_iter().find(|line| is_refusal(line, LineOpening::Announced))?;
    Some(Refusal { path: path(line) })
}

/// The refusal of which the end of standard error speaks, anywhere in it.
pub(crate) fn of_stderr(text: &str) -> Option<Refusal> {
    let line = text.split(" | ").find(|line| {
        let line = line.to_ascii_lowercase();
        WORDINGS.iter().any(|wording| line.contains(wording))
    })?;
    Some(Refusal { path: path(line) })
}

#[derive(Clone, Copy, PartialEq)]
enum LineOpening {
    /// The words may begin the line.
    Bare,
    /// A word that announces an error must stand before them.
    Announced,
}

fn is_refusal(line: &str, opening: LineOpening) -> bool {
    let mut rest = line;
    let mut announced = opening == LineOpening::Bare;
    loop {
        let lower = rest.to_ascii_lowercase();
        if announced && WORDINGS.iter().any(|wording| lower.starts_with(wording)) {
            return true;
        }
        // As Python has it: `[Errno 13] Permission denied`.
        if let Some((number, after)) = rest.strip_prefix("[Errno ").and_then(|r| r.split_once("] "))
            && number.bytes().all(|byte| byte.is_ascii_digit())
        {
            rest = after;
            continue;
        }
        let Some((prefix, after)) = rest.split_once(':') else { return false };
        if prefix.len() > LONGEST_PREFIX || !announces(prefix) {
            return false;
        }
        announced = true;
        rest = after.trim_start();
    }
}

/// `Error`, `Database error`, `sqlite3.OperationalError`, `java.io.IOException`.
fn announces(prefix: &str) -> bool {
    let last = prefix.rsplit([' ', '.']).next().unwrap_or_default().to_ascii_lowercase();
    last.ends_with("error") || last.ends_with("exception")
}

/// The absolute path in a line: in quotes, or as a word.
fn path(line: &str) -> Option<PathBuf> {
    let quoted = line.split(['\'', '"', '`']).skip(1).step_by(2);
    let words = line.split_whitespace().map(|word| word.trim_matches([':', ',', ';', '(', ')']));
    let found = quoted.chain(words).find(|text| text.starts_with('/') && text.len() > 1);
    found.map(PathBuf::from)
}

/// What this confinement has to do with a refusal, in a line; nothing where files are not confined.
pub(crate) fn explain(
    confinement: &Confinement,
    setting: Option<&str>,
    enforced: &EnforcedConfinement,
    refusal: &Refusal,
) -> Option<String> {
    if !enforced.protections.contains(&Protection::Files) {
        return None;
    }
    let setting = setting.unwrap_or("its confinement");
    let path = refusal.path.as_deref();
    if let Some(path) = path.filter(|path| below(path, &confinement.denied)) {
        return Some(format!(
            "the confinement of this server refused `{}`: it is the gateway's own state, which no \
             server reaches; let the server work elsewhere",
            path.display()
        ));
    }
    Some(match &confinement.files {
        Files::Only(only) => {
            let named = path.is_some_and(|path| below(path, &only.write));
            let shown =
                path.map_or_else(|| " a file".to_owned(), |path| format!(" `{}`", path.display()));
            let writable = list(only.write.iter().map(PathBuf::as_path));
            if named {
                return None;
            }
            format!(
                "the confinement of this server may have refused{shown}: it may write only {writable}; to \
                 change that, add the folder to {setting}"
            )
        }
        Files::AllButDenied => {
            let mounts = enforced.protections.contains(&Protection::Mounts);
            let closed =
                list(confinement.denied.iter().filter(|path| path.exists()).map(PathBuf::as_path));
            if mounts && confinement.neighbours == Neighbours::Open {
                let what = "the confinement of this server closes nothing but the gateway's own";
                return Some(format!("{what} {closed}; see to the permissions of the file itself"));
            }
            let above = confinement.denied.iter().filter_map(|path| path.parent());
            let above = list(above.collect::<std::collections::BTreeSet<_>>().into_iter());
            format!(
                "the confinement of this server may be the reason: nothing new can be made in {above}; \
                 move the server's files, or name its folder in {setting}"
            )
        }
    })
}

fn below(path: &Path, folders: &std::collections::BTreeSet<PathBuf>) -> bool {
    let real = path.canonicalize();
    let real = real.as_deref().unwrap_or(path);
    folders.iter().any(|folder| path.starts_with(folder) || real.starts_with(folder))
}

/// Some paths in a row; `nothing` for none.
fn list<'a>(paths: impl Iterator<Item = &'a Path>) -> String {
    let shown: Vec<String> =
        paths.take(MOST_PATHS).map(|path| format!("`{}`", path.display())).collect();
    if shown.is_empty() { "nothing".to_owned() } else { shown.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_says_when_a_file_is_refused_is_a_refusal() {
        for text in [
            "Database error: attempt to write a readonly database",
            "Error: EACCES: permission denied, open '/srv/x'",
            "Error: EROFS: read-only file system, mkdir '/srv/x'",
            "[Errno 30] Read-only file system: '/srv/x'",
            "PermissionError: [Errno 13] Permission denied: '/srv/x'",
            "Traceback (most recent call last):\n  File \"a.py\", line 1\nPermissionError: [Errno 13] Permission denied: '/srv/x'",
            "sqlite3.OperationalError: unable to open database file",
            "Permission denied",
        ] {
            let refusal = of_result(text).unwrap_or_else(|| panic!("{text}"));
            let path = text.contains("/srv/x").then(|| PathBuf::from("/srv/x"));
            assert_eq!(refusal.path, path, "{text}");
        }
    }

    #[test]
    fn contents_that_speak_of_refusals_are_results() {
        let long = format!("Error: permission denied{}", " ".repeat(3000));
        for text in [
            "",
            "3 rows",
            "The log has: Permission denied (publickey)",
            "Nov 23 sshd[1]: error: permission denied for root\nNov 23 sshd[1]: closed",
            "Permission denied\nfor everybody who has no key",
            "Troubleshooting\nError: permission denied\nSee chapter 3",
            "note: permission denied",
            "A guide to errors: permission denied",
            "{\"error\": \"permission denied\"}",
            long.as_str(),
        ] {
            assert_eq!(of_result(text), None, "{text}");
        }
    }
}
