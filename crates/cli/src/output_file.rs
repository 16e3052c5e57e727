//! Files that a command writes because an option names them: completely or not at all.

use std::io::{self, Write as _};
use std::path::Path;

use clap::Args;
use weaver_gateway::clients::{FilePermissions, NewFile, replace_file};

use crate::{Exit, Failure};

/// Whether a file that exists already is replaced.
#[derive(Debug, Args, Default)]
pub(crate) struct ReplaceFlag {
    /// Replace the file where it exists already
    #[arg(long)]
    force: bool,
}

impl ReplaceFlag {
    /// Writes the file. `code` is that of the failure to do so.
    pub(crate) fn write(&self, path: &Path, text: &str, code: &'static str) -> Result<(), Failure> {
        let written = match self.force && path.exists() {
            true => replace_file(path, text),
            false => write_new(path, text),
        };
        written.map_err(|error| {
            let next = match error.kind() {
                io::ErrorKind::AlreadyExists => "name a new file, or replace this one by --force",
                _ => "name a file that can be written",
            };
            let message = format!("{}: it cannot be written: {error}", path.display());
            Failure::new(Exit::Invalid, code, message).with_next_step(next)
        })
    }
}

/// Writes a file that must not exist yet.
pub(crate) fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = NewFile::create(path, FilePermissions::Default)?;
    file.write_all(text.as_bytes())?;
    file.commit()
}
