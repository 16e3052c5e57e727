//! The environment of a task: files, a repository, a database, a graph and a web page.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The paths of a task. They are the same for every access, so results are too.
pub struct TaskEnvironment {
    /// The folder that the filesystem server works on.
    pub files: PathBuf,
    /// The folder of the database and the graph.
    pub data: PathBuf,
    /// The address of the web server, without a slash at the end.
    pub web: String,
}

impl TaskEnvironment {
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

    /// Restores everything from the template. Keeps the two folders themselves, which servers have
    /// open.
    pub fn reset(&self, template: &Self) -> Result<()> {
        for (from, to) in [(&template.files, &self.files), (&template.data, &self.data)] {
            empty_folder(to)?;
            copy_folder(from, to)?;
        }
        Ok(())
    }

    /// Creates the two folders.
    pub fn create_folders(&self) -> Result<()> {
        for dir in [&self.files, &self.data] {
            fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
        }
        Ok(())
    }
}

/// Copies the contents of a folder into another one.
pub fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs::create_dir_all(&target)?;
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}

fn empty_folder(dir: &Path) -> Result<()> {
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
