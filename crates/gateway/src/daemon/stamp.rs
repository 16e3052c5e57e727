//! What tells whether a daemon still is the one that its configuration and its program ask for.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use sha2::{Digest as _, Sha256};

use crate::bounded_file;
use crate::config::{Config, MAX_CONFIG};

/// The content of a configuration's files, in one digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ConfigStamp([u8; 32]);

impl ConfigStamp {
    pub(super) fn of(config: &Config) -> Self {
        let files = [Some(&config.file), config.servers_file.as_ref()];
        let mut digest = Sha256::new();
        for file in files.into_iter().flatten() {
            let text = bounded_file::text(file, MAX_CONFIG).unwrap_or_default();
            digest.update(text.len().to_le_bytes());
            digest.update(text);
        }
        Self(digest.finalize().into())
    }
}

/// The program that runs, as far as its file tells: a build that takes its place differs in it.
pub(super) fn program() -> String {
    std::env::current_exe().map(|path| program_at(&path)).unwrap_or_default()
}

fn program_at(path: &Path) -> String {
    // After an upgrade the name of the file that ran has this after it.
    let path = path.to_string_lossy();
    let path = PathBuf::from(path.trim_end_matches(" (deleted)"));
    let Ok(about) = path.metadata() else { return String::new() };
    let modified = about.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    format!("{} {} {}", path.display(), about.len(), modified.unwrap_or_default().as_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_file_of_the_same_name_is_another_program() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("weaver");
        std::fs::write(&path, "one").unwrap();
        let one = program_at(&path);
        assert_eq!(one, program_at(&path));
        std::fs::write(&path, "another").unwrap();
        assert_ne!(one, program_at(&path));
    }
}
