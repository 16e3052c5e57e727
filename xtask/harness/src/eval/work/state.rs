//! The state that a task left, and the differences between two states.
//!
//! Times that the servers write themselves do not count: those of files and folders, and those in
//! git's index. The dates of commits are fixed by variables, so they count.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::environment::TaskEnvironment;
use crate::child;
use crate::counterparts::cache::Cache;

const TIMEOUT: Duration = Duration::from_secs(60);
/// What git is queried for, instead of comparing the files of `.git`.
const GIT_QUERIES: [(&str, &[&str]); 5] = [
    ("HEAD", &["symbolic-ref", "HEAD"]),
    ("refs", &["for-each-ref"]),
    ("log", &["log", "--all", "--format=raw"]),
    ("index", &["ls-files", "--stage"]),
    ("status", &["status", "--porcelain"]),
];

/// Each file by its path, and the contents of the repository and the database.
pub type State = BTreeMap<String, Vec<u8>>;

/// Records the current state.
pub fn capture(cache: &Cache, environment: &TaskEnvironment) -> Result<State> {
    let mut state = State::new();
    add_folder(&environment.files, "files", &mut state)?;
    let graph = environment.graph();
    if graph.exists() {
        state.insert("graph".to_owned(), fs::read(&graph)?);
    }
    for (name, words) in GIT_QUERIES {
        let mut git = cache.command("git");
        git.arg("-C").arg(environment.repository()).args(words);
        // A missing repository is a state too: then git's error is compared.
        let output = child::run(quiet(&mut git), "", TIMEOUT)?;
        state.insert(format!("repository: {name}"), (output.stdout + &output.stderr).into_bytes());
    }
    let mut dump = cache.command(cache.python_program("python"));
    dump.arg(cache.script("database.py")).arg("dump").arg(environment.database());
    let dump = child::run(&mut dump, "", TIMEOUT)?.succeeded("the dump of the database")?;
    state.insert("database".to_owned(), dump.into_bytes());
    Ok(state)
}

/// What is missing on one side, or not the same.
pub fn differences(one: &State, other: &State) -> Vec<String> {
    let mut names: Vec<&String> = one.keys().chain(other.keys()).collect();
    names.sort();
    names.dedup();
    names.into_iter().filter(|name| one.get(*name) != other.get(*name)).cloned().collect()
}

/// Git without the user's settings.
pub fn quiet(git: &mut Command) -> &mut Command {
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    git.env_remove("GIT_DIR").env_remove("GIT_WORK_TREE").env_remove("GIT_INDEX_FILE")
}

fn add_folder(dir: &Path, name: &str, state: &mut State) -> Result<()> {
    state.insert(format!("{name}/"), Vec::new());
    for entry in fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))? {
        let entry = entry?;
        let path = format!("{name}/{}", entry.file_name().to_string_lossy());
        if !entry.file_type()?.is_dir() {
            state.insert(path, fs::read(entry.path())?);
        } else if entry.file_name() != ".git" {
            add_folder(&entry.path(), &path, state)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(pairs: &[(&str, &str)]) -> State {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), v.as_bytes().to_vec())).collect()
    }

    #[test]
    fn a_byte_a_missing_and_an_added_file_are_found() {
        let one = state(&[("files/a", "1"), ("files/b", "2")]);
        assert!(differences(&one, &one).is_empty());
        let other = state(&[("files/a", "1\r"), ("files/c", "2")]);
        assert_eq!(differences(&one, &other), ["files/a", "files/b", "files/c"]);
    }

    #[test]
    fn files_and_empty_folders_are_seen_and_git_is_asked() {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["empty", "app/.git"] {
            fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        fs::write(dir.path().join("app/note"), "x").unwrap();
        fs::write(dir.path().join("app/.git/index"), "x").unwrap();
        let mut seen = State::new();
        add_folder(dir.path(), "files", &mut seen).unwrap();
        let names: Vec<&str> = seen.keys().map(String::as_str).collect();
        assert_eq!(names, ["files/", "files/app/", "files/app/note", "files/empty/"]);
    }
}
