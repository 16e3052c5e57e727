//! The folder that a demo works in: temporary, or one to keep.

use std::fs::{self, DirBuilder};
use std::io;
use std::path::{Path, PathBuf};

use weaver_gateway::canonical_path;
use weaver_types::{OsRandom, Random};

use super::{DemoError, tickets};

/// The notes at the start of the demo.
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

/// The folder with everything that one demo needs. A temporary one is removed on drop.
pub(super) struct DemoFolder {
    dir: PathBuf,
    kept: bool,
}

impl DemoFolder {
    /// Opens the folder to keep, which must be new or empty, or makes a temporary one.
    pub(super) fn open(keep: Option<&Path>) -> Result<Self, DemoError> {
        let (dir, kept) = match keep {
            Some(dir) => (existing_or_new(dir)?, true),
            None => (create_temporary()?, false),
        };
        // From here on, dropping `folder` removes a temporary folder after a failure.
        let mut folder = Self { dir, kept };
        let dir = canonical_path(&folder.dir).map_err(DemoError::file("open", &folder.dir))?;
        folder.dir = dir;
        folder.write_files()?;
        Ok(folder)
    }

    /// Whether the folder is kept.
    pub(super) fn is_kept(&self) -> bool {
        self.kept
    }

    /// The absolute path of the folder.
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

    /// The folder of the gateway's state.
    fn state_dir(&self) -> PathBuf {
        self.dir.join(".weaver")
    }

    /// The inbox for signed approvals.
    pub(super) fn inbox(&self) -> PathBuf {
        self.state_dir().join("inbox")
    }

    /// The folder that the demo's MCP server serves.
    pub(super) fn files(&self) -> PathBuf {
        self.dir.join("files")
    }

    /// The file of one note.
    pub(super) fn note(&self, name: &str) -> PathBuf {
        self.files().join("notes").join(format!("{name}.md"))
    }

    /// The file that receives sent messages.
    pub(super) fn outbox(&self) -> PathBuf {
        self.files().join("outbox.txt")
    }

    /// The ledger.
    pub(super) fn ledger(&self) -> PathBuf {
        self.state_dir().join("ledger.db")
    }

    /// Writes the files that the agent works on.
    fn write_files(&self) -> Result<(), DemoError> {
        let notes = self.files().join("notes");
        for dir in
            [self.documents(), self.keys(), self.state_dir(), self.inbox(), self.files(), notes]
        {
            private_folder(&dir).map_err(DemoError::file("make", &dir))?;
        }
        for (name, text) in NOTES {
            write(&self.note(name), text)?;
        }
        write(&self.files().join("tickets.jsonl"), &tickets::ticket_lines())
    }
}

impl Drop for DemoFolder {
    fn drop(&mut self) {
        if !self.kept {
            // If this fails, only made-up data is left in the system's temporary folder.
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

/// Creates a new folder with a name that nobody can guess.
fn create_temporary() -> Result<PathBuf, DemoError> {
    let mut name = [0_u8; 8];
    OsRandom.fill(&mut name).map_err(|error| DemoError::System {
        what: "name a temporary folder",
        reason: error.to_string(),
    })?;
    let dir = std::env::temp_dir().join(format!("weaver-demo-{:016x}", u64::from_be_bytes(name)));
    private_dir_builder().create(&dir).map_err(DemoError::file("make", &dir))?;
    Ok(dir)
}

/// Creates a folder and its parents, for this user alone.
fn private_folder(dir: &Path) -> io::Result<()> {
    private_dir_builder().recursive(true).create(dir)
}

/// A builder of folders for this user alone, on systems with permissions.
fn private_dir_builder() -> DirBuilder {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "there are no modes"))]
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
