//! The place where a task happens: files, a repository, a database, a graph and a web page.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The paths of a task. They are the same in every way, so that results are too.
pub struct Place {
    /// The folder that the filesystem server works on.
    pub files: PathBuf,
    /// The folder of the database and the graph.
    pub data: PathBuf,
    /// The address of the web server, without a slash at the end.
    pub web: String,
}

impl Place {
    /// The path of a file or folder.
    pub fn file(&self, name: &str) -> String {
        self.files.join(name).display().to_string()
    }

    /// The path of the repository.
    pub fn repository(&self) -> String {
        self.file("app")
    }

    /// The database of the SQLite server.
    pub fn database(&self) -> PathBuf {
        self.data.join("store.db")
    }

    /// The file of the memory server.
    pub fn graph(&self) -> PathBuf {
        self.data.join("memory.jsonl")
    }

    /// Makes everything as the template has it. The two folders stay those that servers opened.
    pub fn reset(&self, template: &Self) -> Result<()> {
        for (from, to) in [(&template.files, &self.files), (&template.data, &self.data)] {
            empty(to)?;
            copy(from, to)?;
        }
        Ok(())
    }

    /// Makes the two folders.
    pub fn make(&self) -> Result<()> {
        for dir in [&self.files, &self.data] {
            fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
        }
        Ok(())
    }
}

/// Copies what lies in a folder into another one.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs::create_dir_all(&target)?;
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}

fn empty(dir: &Path) -> Result<()> {
    for entry in fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}
