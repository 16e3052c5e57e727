//! The files of the repository, loaded once, so that each rule is a function of text.

use std::path::Path;

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

/// Larger files are data and not read as text.
const MAX_TEXT_BYTES: u64 = 2 * 1024 * 1024;

/// One file.
#[derive(Clone, Debug)]
pub struct File {
    /// Relative to the root, with `/`.
    pub path: String,
    /// `None` if the file is large or not UTF-8.
    pub text: Option<String>,
}

/// All files that git tracks or would add.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// Sorted by path.
    pub files: Vec<File>,
}

impl Tree {
    /// Load the files of the repository. Without git, walk the folder.
    ///
    /// # Errors
    /// If a folder or file cannot be read.
    pub fn load(sh: &Shell) -> Result<Self> {
        let root = sh.current_dir();
        let listed = cmd!(sh, "git ls-files --cached --others --exclude-standard")
            .quiet()
            .ignore_stderr()
            .read();
        let mut paths: Vec<String> = match listed {
            Ok(list) => list.lines().map(str::to_owned).collect(),
            Err(_) => walk(&root)?,
        };
        paths.sort();
        paths.dedup();
        let mut files = Vec::with_capacity(paths.len());
        for path in paths {
            let file = root.join(&path);
            // Git also lists a file that was just deleted.
            let Ok(meta) = std::fs::metadata(&file) else { continue };
            let mut text = None;
            if meta.len() <= MAX_TEXT_BYTES {
                let bytes = std::fs::read(&file).with_context(|| format!("cannot read {path}"))?;
                text = String::from_utf8(bytes).ok();
            }
            files.push(File { path, text });
        }
        Ok(Self { files })
    }

    /// The text of the file at this path.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.iter().find(|file| file.path == path)?.text.as_deref()
    }

    /// Whether the file exists.
    pub fn has(&self, path: &str) -> bool {
        self.files.iter().any(|file| file.path == path)
    }

    /// Path and text of every Rust file.
    pub fn rust(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts().filter(|(path, _)| path.ends_with(".rs"))
    }

    /// Path and text of every text file.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().filter_map(|file| Some((file.path.as_str(), file.text.as_deref()?)))
    }

    /// The folders of the library crates, `crates/NAME`.
    pub fn crates(&self) -> Vec<String> {
        self.packages().into_iter().filter(|folder| folder.starts_with("crates/")).collect()
    }

    /// The folders of all packages: the crates, `examples`, `benches`, `xtask`.
    pub fn packages(&self) -> Vec<String> {
        let folders = self.files.iter().filter_map(|file| file.path.strip_suffix("/Cargo.toml"));
        let is_member = |folder: &&str| match folder.strip_prefix("crates/") {
            Some(name) => !name.contains('/'),
            None => !folder.contains('/'),
        };
        folders.filter(is_member).map(str::to_owned).collect()
    }

    /// A tree of made-up files for a test.
    #[cfg(test)]
    pub fn planted(files: &[(&str, &str)]) -> Self {
        let file = |(path, text): &(&str, &str)| File {
            path: (*path).to_owned(),
            text: Some((*text).to_owned()),
        };
        let mut files: Vec<File> = files.iter().map(file).collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Self { files }
    }
}

/// Every file below the root, except those in `.git`, build output and installed packages.
fn walk(root: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder)
            .with_context(|| format!("cannot read {}", folder.display()))?;
        for entry in entries {
            let entry = entry?;
            let (path, name) = (entry.path(), entry.file_name());
            if entry.file_type()?.is_dir() {
                if name != "target" && name != ".git" && name != "node_modules" {
                    folders.push(path);
                }
            } else if let Ok(relative) = path.strip_prefix(root) {
                found.push(relative.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    Ok(found)
}
