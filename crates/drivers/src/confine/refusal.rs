//! Recognises access refusals of the operating system in output, and explains them by the
//! confinement.

use std::path::{Path, PathBuf};

use super::{Confinement, EnforcedConfinement, FileAccess, Protection, SiblingAccess};

/// A longer text is a result, not an error message.
const MAX_RESULT_BYTES: usize = 2 * 1024;
/// The most paths that an explanation lists.
const MAX_LISTED_PATHS: usize = 6;
/// The longest prefix that announces an error.
const MAX_PREFIX_BYTES: usize = 64;
/// How refusals of the system, SQLite and Node begin.
const REFUSAL_PHRASES: [&str; 8] = [
    "read-only file system",
    "attempt to write a readonly database",
    "permission denied",
    "operation not permitted",
    "unable to open database file",
    "eacces",
    "erofs",
    "eperm",
];

/// A refusal of the operating system, as a program repeated it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileRefusal {
    /// The absolute path in its line.
    pub(crate) path: Option<PathBuf>,
}

/// The refusal that makes up a short result. The phrase must be where an error message has it: in
/// the first or last line, after a prefix such as `Error:`, or alone. File contents that mention
/// such phrases are no refusal.
pub(crate) fn refusal_in_result(text: &str) -> Option<FileRefusal> {
    if text.len() > MAX_RESULT_BYTES {
        return None;
    }
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next()?;
    let Some(last) = lines.next_back() else {
        return is_refusal(first, ErrorPrefix::Optional)
            .then(|| FileRefusal { path: absolute_path_in(first) });
    };
    let line = [first, last].into_iter().find(|line| is_refusal(line, ErrorPrefix::Required))?;
    Some(FileRefusal { path: absolute_path_in(line) })
}

/// The refusal mentioned anywhere in the end of standard error.
pub(crate) fn refusal_in_stderr(text: &str) -> Option<FileRefusal> {
    let line = text.split(" | ").find(|line| {
        let line = line.to_ascii_lowercase();
        REFUSAL_PHRASES.iter().any(|phrase| line.contains(phrase))
    })?;
    Some(FileRefusal { path: absolute_path_in(line) })
}

/// Whether a prefix such as `Error:` must precede the phrase.
#[derive(Clone, Copy, PartialEq)]
enum ErrorPrefix {
    /// The phrase may begin the line.
    Optional,
    /// A prefix that announces an error must come first.
    Required,
}

fn is_refusal(line: &str, prefix_rule: ErrorPrefix) -> bool {
    let mut rest = line;
    let mut announced = prefix_rule == ErrorPrefix::Optional;
    loop {
        let lower = rest.to_ascii_lowercase();
        if announced && REFUSAL_PHRASES.iter().any(|phrase| lower.starts_with(phrase)) {
            return true;
        }
        // Python's form: `[Errno 13] Permission denied`.
        if let Some((number, after)) = rest.strip_prefix("[Errno ").and_then(|r| r.split_once("] "))
            && number.bytes().all(|byte| byte.is_ascii_digit())
        {
            rest = after;
            continue;
        }
        let Some((prefix, after)) = rest.split_once(':') else { return false };
        if prefix.len() > MAX_PREFIX_BYTES || !announces(prefix) {
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

/// The first absolute path in a line, quoted or as a word.
fn absolute_path_in(line: &str) -> Option<PathBuf> {
    // A path begins right after its opening quote, which an apostrophe in `can't` is not.
    let quoted = line.match_indices(['\'', '"', '`']).filter_map(|(at, quote)| {
        let rest = line.get(at..)?.strip_prefix(quote)?;
        rest.starts_with('/').then(|| rest.split_once(quote)).flatten().map(|(path, _)| path)
    });
    let words = line.split_whitespace().map(|word| word.trim_matches([':', ',', ';', '(', ')']));
    let found = quoted.chain(words).find(|text| text.starts_with('/') && text.len() > 1);
    found.map(PathBuf::from)
}

/// Explains in one line how the confinement relates to a refusal; `None` if files are not
/// confined or the path may be written.
pub(crate) fn explain_refusal(
    confinement: &Confinement,
    setting: Option<&str>,
    enforced: &EnforcedConfinement,
    refusal: &FileRefusal,
) -> Option<String> {
    if !enforced.protections.contains(&Protection::Files) {
        return None;
    }
    let setting = setting.unwrap_or("its confinement");
    let path = refusal.path.as_deref();
    if let Some(path) = path.filter(|path| is_below_any(path, &confinement.denied)) {
        return Some(format!(
            "the confinement of this server refused `{}`: it is the gateway's own state, which no \
             server reaches; let the server work elsewhere",
            path.display()
        ));
    }
    Some(match &confinement.files {
        FileAccess::Only(only) => {
            let is_writable = path.is_some_and(|path| is_below_any(path, &only.write));
            let shown =
                path.map_or_else(|| " a file".to_owned(), |path| format!(" `{}`", path.display()));
            let writable = list_paths(only.write.iter().map(PathBuf::as_path));
            if is_writable {
                return None;
            }
            format!(
                "the confinement of this server may have refused{shown}: it may write only {writable}; to \
                 change that, add the folder to {setting}"
            )
        }
        FileAccess::AllButDenied => {
            let mounts = enforced.protections.contains(&Protection::Mounts);
            let closed = list_paths(
                confinement.denied.iter().filter(|path| path.exists()).map(PathBuf::as_path),
            );
            if mounts && confinement.sibling_access == SiblingAccess::Open {
                let what = "the confinement of this server denies only the gateway's own";
                return Some(format!("{what} {closed}; check the permissions of the file"));
            }
            let above = confinement.denied.iter().filter_map(|path| path.parent());
            let above = list_paths(above.collect::<std::collections::BTreeSet<_>>().into_iter());
            format!(
                "the confinement of this server may be the reason: no new files can be created in {above}; \
                 move the server's files, or name its folder in {setting}"
            )
        }
    })
}

fn is_below_any(path: &Path, folders: &std::collections::BTreeSet<PathBuf>) -> bool {
    let real = path.canonicalize();
    let real = real.as_deref().unwrap_or(path);
    folders.iter().any(|folder| path.starts_with(folder) || real.starts_with(folder))
}

/// Some paths separated by commas; `nothing` for none.
fn list_paths<'a>(paths: impl Iterator<Item = &'a Path>) -> String {
    let shown: Vec<String> =
        paths.take(MAX_LISTED_PATHS).map(|path| format!("`{}`", path.display())).collect();
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
            "Error: permission denied, can't open file '/srv/x'",
        ] {
            let refusal = refusal_in_result(text).unwrap_or_else(|| panic!("{text}"));
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
            assert_eq!(refusal_in_result(text), None, "{text}");
        }
    }
}
