//! The folder that the server works on, and the only way into it.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::demo::DemoError;

/// The longest note, in bytes.
const MAX_NOTE: u64 = 64 * 1024;
/// The most bytes of tickets that are read.
const MAX_TICKETS: u64 = 4 * 1024 * 1024;
/// The most notes.
const MAX_NOTES: usize = 1_000;
/// The longest name of a note.
const MAX_NAME: usize = 64;

/// A folder with `notes/`, `tickets.jsonl` and `outbox.txt`.
pub(super) struct Store {
    root: PathBuf,
}

impl Store {
    /// Opens a folder that holds the folder `notes`.
    pub(super) fn open(root: &Path) -> Result<Self, DemoError> {
        let refused = |reason: String| DemoError::Root { root: root.to_owned(), reason };
        let root = fs::canonicalize(root).map_err(|error| refused(error.to_string()))?;
        let notes = fs::symlink_metadata(root.join("notes"));
        if notes.is_ok_and(|notes| notes.is_dir()) {
            Ok(Self { root })
        } else {
            Err(refused("it holds no folder `notes`".to_owned()))
        }
    }

    /// The names of all notes, in order.
    pub(super) fn names(&self) -> Result<Vec<String>, String> {
        let folder = fs::read_dir(self.root.join("notes")).map_err(failed)?;
        let mut names = Vec::new();
        for entry in folder.take(MAX_NOTES) {
            let name = entry.map_err(failed)?.file_name();
            let name = name.to_str().and_then(|name| name.strip_suffix(".md"));
            names.extend(name.filter(|name| check(name).is_ok()).map(str::to_owned));
        }
        names.sort();
        Ok(names)
    }

    /// The text of a note.
    pub(super) fn read(&self, name: &str) -> Result<String, String> {
        let (path, there) = self.note(name)?;
        if !there {
            return Err(format!("there is no note `{name}`"));
        }
        text(&path, MAX_NOTE)
    }

    /// Writes a note, new or over an old one. True when there was one.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<bool, String> {
        if text.len() as u64 > MAX_NOTE {
            return Err(format!("a note has at most {MAX_NOTE} bytes"));
        }
        let (path, there) = self.note(name)?;
        fs::write(path, text).map_err(failed)?;
        Ok(there)
    }

    /// Deletes a note for good.
    pub(super) fn delete(&self, name: &str) -> Result<(), String> {
        let (path, there) = self.note(name)?;
        if !there {
            return Err(format!("there is no note `{name}`"));
        }
        fs::remove_file(path).map_err(failed)
    }

    /// All tickets, optionally those of one status.
    pub(super) fn tickets(&self, status: Option<&str>) -> Result<Vec<Value>, String> {
        let path = self.root.join("tickets.jsonl");
        plain(&path)?;
        let mut tickets = Vec::new();
        for line in text(&path, MAX_TICKETS)?.lines() {
            let ticket: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
            let found = ticket.get("status").and_then(Value::as_str);
            if status.is_none() || status == found {
                tickets.push(ticket);
            }
        }
        Ok(tickets)
    }

    /// Appends a line to the outbox: the only trace that a message leaves.
    pub(super) fn send(&self, line: &str) -> Result<(), String> {
        let path = self.root.join("outbox.txt");
        plain(&path)?;
        let mut file = OpenOptions::new().create(true).append(true).open(path).map_err(failed)?;
        writeln!(file, "{line}").map_err(failed)
    }

    /// Where a note is or would be, and whether it is there. A link is refused, since it may lead
    /// out of the folder.
    fn note(&self, name: &str) -> Result<(PathBuf, bool), String> {
        check(name)?;
        let path = self.root.join("notes").join(format!("{name}.md"));
        let there = plain(&path)?;
        Ok((path, there))
    }
}

/// A name is a name and never a path: lower-case letters, digits and hyphens.
fn check(name: &str) -> Result<(), String> {
    let fine = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(fine) {
        return Err("a name has 1 to 64 lower-case letters, digits and hyphens".to_owned());
    }
    Ok(())
}

/// Whether there is a plain file; anything else that is there is refused.
fn plain(path: &Path) -> Result<bool, String> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => Ok(true),
        Ok(_) => Err("this is not a plain file".to_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(failed(error)),
    }
}

fn text(path: &Path, limit: u64) -> Result<String, String> {
    let file = File::open(path).map_err(failed)?;
    let mut text = String::new();
    let read = file.take(limit.saturating_add(1)).read_to_string(&mut text).map_err(failed)?;
    if read as u64 > limit {
        return Err(format!("the file has more than {limit} bytes"));
    }
    Ok(text)
}

/// The kind of a failure: its text could hold a path.
fn failed(error: std::io::Error) -> String {
    format!("the file system refused: {}", error.kind())
}
