//! The folder that a demo works in: temporary, or one to keep.

use std::fs::{self, DirBuilder};
use std::io;
use std::path::{Path, PathBuf};

use weaver_types::{OsRandom, Random};

use super::{DemoError, tickets};

/// The notes that a demo begins with.
const NOTES: [(&str, &str); 4] = [
    ("welcome", include_str!("../../assets/demo/notes/welcome.md")),
    ("refund-policy", include_str!("../../assets/demo/notes/refund-policy.md")),
    (OLD_NOTE, include_str!("../../assets/demo/notes/old-price-list.md")),
    (POISONED_NOTE, include_str!("../../assets/demo/notes/customer-feedback.md")),
];
/// The note that the agent tries to delete.
pub(super) const OLD_NOTE: &str = "old-price-list";
/// The note that tries to steer the agent.
pub(super) const POISONED_NOTE: &str = "customer-feedback";

/// A folder with everything that one demo needs. A temporary one is removed when dropped.
pub(super) struct DemoFolder {
    dir: PathBuf,
    kept: bool,
}

impl DemoFolder {
    /// Opens the folder to keep, which must be new or empty, or makes a temporary one.
    pub(super) fn open(keep: Option<&Path>) -> Result<Self, DemoError> {
        let (dir, kept) = match keep {
            Some(dir) => (existing_or_new(dir)?, true),
            None => (temporary()?, false),
        };
        // From here on a failure removes a temporary folder.
        let mut folder = Self { dir, kept };
        let dir = fs::canonicalize(&folder.dir).map_err(DemoError::file("open", &folder.dir))?;
        folder.dir = dir;
        folder.fill()?;
        Ok(folder)
    }

    /// Whether the folder stays.
    pub(super) fn kept(&self) -> bool {
        self.kept
    }

    /// The folder itself, absolute.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The configuration of `weaver serve`.
    pub(super) fn config(&self) -> PathBuf {
        self.dir.join("weaver.toml")
    }

    /// The folder of the signed documents.
    pub(super) fn documents(&self) -> PathBuf {
        self.dir.join("policy")
    }

    /// The folder of the encrypted private keys.
    pub(super) fn keys(&self) -> PathBuf {
        self.dir.join("keys")
    }

    /// The folder of the gateway's own.
    fn own(&self) -> PathBuf {
        self.dir.join(".weaver")
    }

    /// The folder into which approvals are dropped.
    pub(super) fn inbox(&self) -> PathBuf {
        self.own().join("inbox")
    }

    /// The folder that the demo's MCP server serves.
    pub(super) fn files(&self) -> PathBuf {
        self.dir.join("files")
    }

    /// The file of one note.
    pub(super) fn note(&self, name: &str) -> PathBuf {
        self.files().join("notes").join(format!("{name}.md"))
    }

    /// Where sent messages would stand.
    pub(super) fn outbox(&self) -> PathBuf {
        self.files().join("outbox.txt")
    }

    /// The ledger.
    pub(super) fn ledger(&self) -> PathBuf {
        self.own().join("ledger.db")
    }

    /// Writes the files that the agent works on.
    fn fill(&self) -> Result<(), DemoError> {
        let notes = self.files().join("notes");
        for dir in [self.documents(), self.keys(), self.own(), self.inbox(), self.files(), notes] {
            private_folder(&dir).map_err(DemoError::file("make", &dir))?;
        }
        for (name, text) in NOTES {
            write(&self.note(name), text)?;
        }
        write(&self.files().join("tickets.jsonl"), &tickets::lines())
    }
}

impl Drop for DemoFolder {
    fn drop(&mut self) {
        if !self.kept {
            // What cannot be removed is made-up data in the system's temporary folder.
            let _ = fs::remove_dir_all(&self.dir);
        }
    }
}

/// Writes a new file.
pub(super) fn write(path: &Path, text: &str) -> Result<(), DemoError> {
    fs::write(path, text).map_err(DemoError::file("write", path))
}

fn existing_or_new(dir: &Path) -> Result<PathBuf, DemoError> {
    match fs::read_dir(dir) {
        Ok(mut entries) => match entries.next() {
            None => Ok(dir.to_owned()),
            Some(_) => Err(DemoError::NotEmpty(dir.to_owned())),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            private_folder(dir).map_err(DemoError::file("make", dir))?;
            Ok(dir.to_owned())
        }
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            Err(DemoError::NotFolder(dir.to_owned()))
        }
        Err(error) => Err(DemoError::file("open", dir)(error)),
    }
}

/// A new folder under a name that nobody can guess.
fn temporary() -> Result<PathBuf, DemoError> {
    let mut name = [0_u8; 8];
    OsRandom.fill(&mut name).map_err(|error| DemoError::System {
        what: "name a temporary folder",
        reason: error.to_string(),
    })?;
    let dir = std::env::temp_dir().join(format!("weaver-demo-{:016x}", u64::from_be_bytes(name)));
    private().create(&dir).map_err(DemoError::file("make", &dir))?;
    Ok(dir)
}

/// Makes a folder for this user alone, and those above it.
fn private_folder(dir: &Path) -> io::Result<()> {
    private().recursive(true).create(dir)
}

/// Makes a folder for this user alone, where the system knows such a thing.
fn private() -> DirBuilder {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_folder_goes_and_a_kept_one_stays() {
        let temporary = DemoFolder::open(None).unwrap();
        let dir = temporary.dir().to_owned();
        assert!(dir.join("files/notes/customer-feedback.md").is_file());
        drop(temporary);
        assert!(!dir.exists());

        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("a/b");
        drop(DemoFolder::open(Some(&dir)).unwrap());
        assert!(dir.join("files/tickets.jsonl").is_file());
    }

    #[test]
    fn a_folder_in_use_is_refused_and_left_alone() {
        let parent = tempfile::tempdir().unwrap();
        let file = parent.path().join("mine.txt");
        std::fs::write(&file, "mine").unwrap();
        let codes =
            [parent.path(), &file].map(|dir| DemoFolder::open(Some(dir)).err().unwrap().code());
        assert_eq!(codes, ["demo.not_empty", "demo.not_folder"]);
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 1);
        assert_eq!(std::fs::read_to_string(file).unwrap(), "mine");
    }

    #[cfg(unix)]
    #[test]
    fn the_folder_is_for_this_user_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = DemoFolder::open(None).unwrap();
        for dir in [folder.dir().to_owned(), folder.keys()] {
            let mode = std::fs::metadata(&dir).unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{}", dir.display());
        }
    }
}
