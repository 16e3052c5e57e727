//! What a command of the gateway wrote as `weaver.toml`.
//!
//! A replaced file is within reach of the servers of a running gateway until it is covered again. So a
//! command notes the digest of its text before, in a folder that servers are denied, and a file that
//! was changed in that time counts only if it is still that text. A user's own edit leaves no note.

use std::io;
use std::path::PathBuf;
#[cfg(unix)]
use std::time::{Duration, UNIX_EPOCH};

use sha2::{Digest as _, Sha256};
use weaver_types::hex;

use super::Config;
use crate::bounded_file::{self, ReadError};
use crate::clients::replace_file;

/// The note, in the private folder.
const NOTE: &str = "weaver.toml.sha256";
/// The largest note.
const MAX_NOTE_BYTES: usize = 256;
/// Longer than it takes to cover a replaced file, or to end a server that does not let it be covered.
#[cfg(unix)]
const COVERING_TIME: Duration = Duration::from_secs(10);

/// The digest of a configuration's text.
pub(super) fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text).into()
}

impl Config {
    /// Notes that the file is about to be replaced by this text. Until it is, and if that is
    /// interrupted, the text of now counts too.
    ///
    /// # Errors
    /// Those of the system.
    pub(crate) fn note_replacement(&self, text: &str) -> io::Result<()> {
        let folder = self.make_private_folder()?;
        let (old, new) = (hex(&self.file_digest), hex(&digest(text)));
        replace_file(&folder.join(NOTE), &format!("{old}\n{new}\n"))
    }

    /// Whether the file that was read is what a command wrote, or was changed by somebody else after
    /// servers could no longer reach it.
    pub(crate) fn is_as_written(&self) -> bool {
        let note = self.private_folder().join(NOTE);
        match bounded_file::read_text(&note, MAX_NOTE_BYTES) {
            Ok(noted) => {
                noted.lines().any(|noted| noted == hex(&self.file_digest))
                    || self.was_changed_later(&note).unwrap_or(false)
            }
            Err(ReadError::Absent) => true,
            Err(_) => false,
        }
    }

    /// Whether the file was changed when what replaced it after the note had been covered. No program
    /// can set this time.
    #[cfg(unix)]
    fn was_changed_later(&self, note: &PathBuf) -> io::Result<bool> {
        use std::os::unix::fs::MetadataExt as _;
        let changed = std::fs::metadata(&self.file)?;
        let nanos = u32::try_from(changed.ctime_nsec()).map_err(io::Error::other)?;
        let changed = Duration::new(changed.ctime().unsigned_abs(), nanos);
        let noted = std::fs::symlink_metadata(note)?.modified()?;
        let noted = noted.duration_since(UNIX_EPOCH).map_err(io::Error::other)?;
        Ok(changed > noted.saturating_add(COVERING_TIME))
    }

    /// This system confines no servers.
    #[cfg(not(unix))]
    fn was_changed_later(&self, _note: &PathBuf) -> io::Result<bool> {
        Ok(true)
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use weaver_types::signature::SigningKey;

    use super::*;

    #[test]
    fn what_is_changed_before_it_is_covered_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let root = SigningKey::from_seed([1; 32]).public();
        let text = |comment: &str| {
            format!(
                "[principal]\nid = \"owner\"\n\n[trust]\nroot = \"{root}\"\n\n\
                 [mcpServers.a]\ncommand = \"a\"\n# {comment}\n"
            )
        };
        let config_of = |comment: &str| {
            let file = dir.path().join("weaver.toml");
            fs::write(&file, text(comment)).unwrap();
            super::super::load(file).unwrap()
        };
        assert!(config_of("first").is_as_written(), "nothing is noted");
        config_of("first").note_replacement(&text("written")).unwrap();
        assert!(config_of("first").is_as_written(), "the command was interrupted");
        assert!(config_of("written").is_as_written());
        assert!(!config_of("planted").is_as_written());
        // Long after it was covered it is the user who changes it.
        let note = File::open(dir.path().join(".weaver").join(NOTE)).unwrap();
        let noted = note.metadata().unwrap().modified().unwrap();
        note.set_modified(noted - COVERING_TIME - Duration::from_secs(1)).unwrap();
        assert!(config_of("edited").is_as_written());
    }
}
