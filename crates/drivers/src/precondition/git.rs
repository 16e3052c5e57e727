//! The commit that a git repository is at, read from its files: no program is run, so that no
//! configuration inside a repository can run one either.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

use weaver_agent_kernel::PreconditionError;

use super::unreadable;

/// The largest file of a repository that is read, in bytes: the packed refs of very large ones.
const MAX_FILE: u64 = 32 * 1024 * 1024;
/// How many symbolic refs are followed.
const MAX_REFS: usize = 5;

/// `<branch> <commit>`, or the commit alone where no branch is checked out. A branch without a
/// commit yet is `<branch> unborn`.
pub(super) fn head(folder: &Path) -> Result<String, PreconditionError> {
    let folders = Folders::of(folder)?;
    let head = folders.own.join("HEAD");
    let text = read(&head)?.ok_or_else(|| unreadable(&head, "there is no such file"))?;
    let Some(name) = symbolic(&text) else { return commit(&head, &text) };
    let mut target = name.to_owned();
    for _ in 0..MAX_REFS {
        match folders.find(&target)? {
            None => return Ok(format!("{name} unborn")),
            Some(text) => match symbolic(&text) {
                Some(next) => target = next.to_owned(),
                None => return Ok(format!("{name} {}", commit(&head, &text)?)),
            },
        }
    }
    Err(unreadable(&head, "its refs lead to each other"))
}

/// Where a working tree keeps its own files, and where all working trees keep the common ones.
struct Folders {
    own: PathBuf,
    common: PathBuf,
}

impl Folders {
    /// Of a working tree, a linked working tree, or a bare repository.
    fn of(folder: &Path) -> Result<Self, PreconditionError> {
        let git = folder.join(".git");
        let own = if git.is_dir() {
            git
        } else if git.is_file() {
            let text = read(&git)?.unwrap_or_default();
            let place = text.strip_prefix("gitdir:").map(str::trim);
            let place = place.ok_or_else(|| unreadable(&git, "it names no `gitdir:`"))?;
            folder.join(place)
        } else if folder.join("HEAD").is_file() && folder.join("objects").is_dir() {
            folder.to_owned()
        } else {
            return Err(unreadable(folder, "it is no git repository"));
        };
        if own.join("reftable").is_dir() {
            return Err(unreadable(folder, "its refs are kept as a reftable, which is not read"));
        }
        let common = match read(&own.join("commondir"))? {
            Some(place) => own.join(place.trim()),
            None => own.clone(),
        };
        if common.join("reftable").is_dir() {
            return Err(unreadable(folder, "its refs are kept as a reftable, which is not read"));
        }
        Ok(Self { own, common })
    }

    /// What a ref holds: a loose one of this working tree or of all, else a packed one.
    fn find(&self, name: &str) -> Result<Option<String>, PreconditionError> {
        let path = Path::new(name);
        let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        if !plain || !name.starts_with("refs/") {
            return Err(unreadable(&self.own.join("HEAD"), "it names no ref"));
        }
        for folder in [&self.own, &self.common] {
            if let Some(text) = read(&folder.join(path))? {
                return Ok(Some(text));
            }
        }
        let packed = read(&self.common.join("packed-refs"))?.unwrap_or_default();
        let line = packed.lines().find_map(|line| {
            let (commit, found) = line.split_once(' ')?;
            (found == name).then(|| commit.to_owned())
        });
        Ok(line)
    }
}

fn symbolic(text: &str) -> Option<&str> {
    text.strip_prefix("ref:").map(str::trim)
}

/// A commit: 40 or 64 hexadecimal digits.
fn commit(path: &Path, text: &str) -> Result<String, PreconditionError> {
    let text = text.trim();
    let fits = matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit());
    if fits {
        Ok(text.to_ascii_lowercase())
    } else {
        Err(unreadable(path, "it leads to no commit"))
    }
}

/// The text of a file, up to a bound; `None` where there is none, or a folder.
fn read(path: &Path) -> Result<Option<String>, PreconditionError> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => return Ok(None),
        Ok(found) if !found.is_file() => return Err(unreadable(path, "it is no plain file")),
        Ok(_) => {}
        Err(error) if absent(error.kind()) => return Ok(None),
        Err(error) => return Err(unreadable(path, error)),
    }
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if absent(error.kind()) => return Ok(None),
        Err(error) => return Err(unreadable(path, error)),
    };
    let mut text = String::new();
    let mut file = file.take(MAX_FILE.saturating_add(1));
    file.read_to_string(&mut text).map_err(|error| unreadable(path, error))?;
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > MAX_FILE {
        return Err(PreconditionError::TooLarge { what: super::shown(path), limit: MAX_FILE });
    }
    Ok(Some(text))
}

fn absent(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}
