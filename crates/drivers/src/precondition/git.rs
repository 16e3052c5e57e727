//! Reads the current commit of a git repository from its files. No program is run, because the
//! repository's own configuration could make git run others.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

use weaver_agent_kernel::PreconditionError;

use super::unreadable;

/// The largest repository file that is read: packed refs can be large.
const MAX_FILE_BYTES: u64 = 32 * 1024 * 1024;
/// How many symbolic refs are followed.
const MAX_REFS: usize = 5;

/// `<branch> <commit>`, or only the commit for a detached HEAD. A branch without commits is
/// `<branch> unborn`.
pub(super) fn head(folder: &Path) -> Result<String, PreconditionError> {
    let folders = GitFolders::from_working_tree(folder)?;
    let head = folders.worktree_dir.join("HEAD");
    let text = read_file(&head)?.ok_or_else(|| unreadable(&head, "there is no such file"))?;
    let Some(name) = symbolic_target(&text) else { return parse_commit(&head, &text) };
    let mut target = name.to_owned();
    for _ in 0..MAX_REFS {
        match folders.find_ref(&target)? {
            None => return Ok(format!("{name} unborn")),
            Some(text) => match symbolic_target(&text) {
                Some(next) => target = next.to_owned(),
                None => return Ok(format!("{name} {}", parse_commit(&head, &text)?)),
            },
        }
    }
    Err(unreadable(&head, "its refs lead to each other"))
}

/// The git folder of a working tree, and the one shared by all working trees.
struct GitFolders {
    worktree_dir: PathBuf,
    common_dir: PathBuf,
}

impl GitFolders {
    /// For a working tree, a linked working tree, or a bare repository.
    fn from_working_tree(folder: &Path) -> Result<Self, PreconditionError> {
        let git = folder.join(".git");
        let worktree_dir = if git.is_dir() {
            git
        } else if git.is_file() {
            let text = read_file(&git)?.unwrap_or_default();
            let target = text.strip_prefix("gitdir:").map(str::trim);
            let target = target.ok_or_else(|| unreadable(&git, "it names no `gitdir:`"))?;
            folder.join(target)
        } else if folder.join("HEAD").is_file() && folder.join("objects").is_dir() {
            folder.to_owned()
        } else {
            return Err(unreadable(folder, "it is not a git repository"));
        };
        if worktree_dir.join("reftable").is_dir() {
            return Err(unreadable(folder, "its refs are kept as a reftable, which is not read"));
        }
        let common_dir = match read_file(&worktree_dir.join("commondir"))? {
            Some(target) => worktree_dir.join(target.trim()),
            None => worktree_dir.clone(),
        };
        if common_dir.join("reftable").is_dir() {
            return Err(unreadable(folder, "its refs are kept as a reftable, which is not read"));
        }
        Ok(Self { worktree_dir, common_dir })
    }

    /// The content of a ref: loose in this working tree or shared, otherwise packed.
    fn find_ref(&self, name: &str) -> Result<Option<String>, PreconditionError> {
        let path = Path::new(name);
        let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        if !plain || !name.starts_with("refs/") {
            return Err(unreadable(&self.worktree_dir.join("HEAD"), "it names no ref"));
        }
        for folder in [&self.worktree_dir, &self.common_dir] {
            if let Some(text) = read_file(&folder.join(path))? {
                return Ok(Some(text));
            }
        }
        let packed = read_file(&self.common_dir.join("packed-refs"))?.unwrap_or_default();
        let line = packed.lines().find_map(|line| {
            let (commit, found) = line.split_once(' ')?;
            (found == name).then(|| commit.to_owned())
        });
        Ok(line)
    }
}

fn symbolic_target(text: &str) -> Option<&str> {
    text.strip_prefix("ref:").map(str::trim)
}

/// Parses a commit: 40 or 64 hexadecimal digits.
fn parse_commit(path: &Path, text: &str) -> Result<String, PreconditionError> {
    let text = text.trim();
    let fits = matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit());
    if fits {
        Ok(text.to_ascii_lowercase())
    } else {
        Err(unreadable(path, "it leads to no commit"))
    }
}

/// The text of a file up to the limit; `None` if it does not exist or is a folder.
fn read_file(path: &Path) -> Result<Option<String>, PreconditionError> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => return Ok(None),
        Ok(found) if !found.is_file() => return Err(unreadable(path, "it is not a plain file")),
        Ok(_) => {}
        Err(error) if is_absent(error.kind()) => return Ok(None),
        Err(error) => return Err(unreadable(path, error)),
    }
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if is_absent(error.kind()) => return Ok(None),
        Err(error) => return Err(unreadable(path, error)),
    };
    let mut text = String::new();
    let mut file = file.take(MAX_FILE_BYTES.saturating_add(1));
    file.read_to_string(&mut text).map_err(|error| unreadable(path, error))?;
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > MAX_FILE_BYTES {
        return Err(PreconditionError::TooLarge {
            what: super::path_for_error(path),
            limit: MAX_FILE_BYTES,
        });
    }
    Ok(Some(text))
}

fn is_absent(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}
