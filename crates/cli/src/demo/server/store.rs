//! Reads and writes the folder of the server. No other module touches it.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;
use weaver_gateway::canonical_path;

use super::error::ToolError;
use crate::demo::DemoError;

/// The longest note, in bytes.
const MAX_NOTE_BYTES: u64 = 64 * 1024;
/// The most bytes of tickets that are read.
const MAX_TICKET_BYTES: u64 = 4 * 1024 * 1024;
/// The most notes that can be written. Those that somebody else adds to the folder are also listed.
const MAX_NOTES: usize = 1_000;
/// The longest name of a note, in bytes.
const MAX_NAME_BYTES: usize = 64;

/// A folder with `notes/`, `tickets.jsonl` and `outbox.txt`.
pub(super) struct DemoFolder {
    root: PathBuf,
}

impl DemoFolder {
    /// Opens a folder that has a folder `notes`.
    pub(super) fn open(root: &Path) -> Result<Self, DemoError> {
        let refused = |reason: String| DemoError::Root { root: root.to_owned(), reason };
        let root = canonical_path(root).map_err(|error| refused(error.to_string()))?;
        let notes = fs::symlink_metadata(root.join("notes"));
        if notes.is_ok_and(|notes| notes.is_dir()) {
            Ok(Self { root })
        } else {
            Err(refused("it has no folder `notes`".to_owned()))
        }
    }

    /// The names of all notes, in order.
    pub(super) fn names(&self) -> Result<Vec<String>, ToolError> {
        let folder = fs::read_dir(self.root.join("notes"))?;
        let mut names = Vec::new();
        for entry in folder {
            let entry = entry?;
            // What is no plain file can neither be read nor deleted as a note.
            if !entry.file_type()?.is_file() {
                continue;
            }
            let name = entry.file_name();
            let name = name.to_str().and_then(|name| name.strip_suffix(".md"));
            names.extend(name.filter(|name| check_name(name).is_ok()).map(str::to_owned));
        }
        names.sort();
        Ok(names)
    }

    /// The text of a note.
    pub(super) fn read(&self, name: &str) -> Result<String, ToolError> {
        let (path, exists) = self.note(name)?;
        if !exists {
            return Err(ToolError::NoteNotFound { name: name.to_owned() });
        }
        read_bounded(&path, MAX_NOTE_BYTES)
    }

    /// Writes a note. True if it replaced an old one.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<bool, ToolError> {
        if text.len() as u64 > MAX_NOTE_BYTES {
            return Err(ToolError::NoteSize { most: MAX_NOTE_BYTES });
        }
        let (path, exists) = self.note(name)?;
        if !exists && self.names()?.len() >= MAX_NOTES {
            return Err(ToolError::NoteCount { most: MAX_NOTES });
        }
        fs::write(path, text)?;
        Ok(exists)
    }

    /// Deletes a note for good.
    pub(super) fn delete(&self, name: &str) -> Result<(), ToolError> {
        let (path, exists) = self.note(name)?;
        if !exists {
            return Err(ToolError::NoteNotFound { name: name.to_owned() });
        }
        Ok(fs::remove_file(path)?)
    }

    /// All tickets, or those with one status.
    pub(super) fn tickets(&self, status: Option<&str>) -> Result<Vec<Value>, ToolError> {
        let path = self.root.join("tickets.jsonl");
        is_plain_file(&path)?;
        let mut tickets = Vec::new();
        for line in read_bounded(&path, MAX_TICKET_BYTES)?.lines() {
            let ticket: Value = serde_json::from_str(line)?;
            let found = ticket.get("status").and_then(Value::as_str);
            if status.is_none() || status == found {
                tickets.push(ticket);
            }
        }
        Ok(tickets)
    }

    /// Appends a line to the outbox, which is all that sending does.
    pub(super) fn send(&self, line: &str) -> Result<(), ToolError> {
        let path = self.root.join("outbox.txt");
        is_plain_file(&path)?;
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(writeln!(file, "{line}")?)
    }

    /// The path of a note, and whether it exists. A link is refused, because it may point out of
    /// the folder.
    fn note(&self, name: &str) -> Result<(PathBuf, bool), ToolError> {
        check_name(name)?;
        let path = self.root.join("notes").join(format!("{name}.md"));
        let exists = is_plain_file(&path)?;
        Ok((path, exists))
    }
}

/// Checks that a name has only lower-case letters, digits and hyphens, so that it is never a path.
fn check_name(name: &str) -> Result<(), ToolError> {
    let fine = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.bytes().all(fine) {
        return Err(ToolError::Name);
    }
    Ok(())
}

/// Whether there is a plain file. Anything else with this path is an error.
fn is_plain_file(path: &Path) -> Result<bool, ToolError> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => Ok(true),
        Ok(_) => Err(ToolError::NotARegularFile),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn read_bounded(path: &Path, limit: u64) -> Result<String, ToolError> {
    let file = File::open(path)?;
    let mut text = String::new();
    let read = file.take(limit.saturating_add(1)).read_to_string(&mut text)?;
    if read as u64 > limit {
        return Err(ToolError::FileSize { most: limit });
    }
    Ok(text)
}
