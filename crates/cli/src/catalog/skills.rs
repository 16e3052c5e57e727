//! Reads a folder of skills, each in its own folder with a `SKILL.md`.
//!
//! Links are not followed: a skill must lie in the folder itself.

use std::fs;
use std::path::{Path, PathBuf};

use contextweaver::catalog::load::{self, CatalogEntry, CatalogFormat, LoadOptions};
use weaver_gateway::bounded_file;
use weaver_text::escape;

use super::{Exit, Failure, output};

/// How many levels of folders are searched.
const MAX_DEPTH: usize = 4;
/// How many folder entries are read.
const MAX_ENTRIES: usize = 20_000;
/// The largest `SKILL.md`, in bytes.
const MAX_SKILL_BYTES: usize = 1024 * 1024;
const FILE_NAME: &str = "SKILL.md";

pub(super) fn entries(
    folder: &Path,
    namespace: Option<&str>,
) -> Result<Vec<CatalogEntry>, Failure> {
    let mut found = Vec::new();
    let mut remaining = MAX_ENTRIES;
    find_skills(folder, MAX_DEPTH, &mut remaining, &mut found)?;
    if found.is_empty() {
        let message = format!("{}: no {FILE_NAME} is in it", folder.display());
        return Err(Failure::new(Exit::Invalid, "catalog.no_skills", message)
            .with_next_step("name a folder of skills, each with its SKILL.md, or a file"));
    }
    found.sort();
    let source = LoadOptions { format: Some(CatalogFormat::Skill), namespace };
    let mut entries = Vec::new();
    for path in found {
        let text = bounded_file::read_text(&path, MAX_SKILL_BYTES)
            .map_err(|error| unreadable(&path, &error))?;
        let place = escape::line(&path.display().to_string()).into_owned();
        let item = match load::read(&text, source) {
            Ok(loaded) => loaded.entries.into_iter().next().map(|entry| entry.item),
            Err(error) => Some(Err(error)),
        };
        entries.extend(item.map(|item| CatalogEntry { location: place, item }));
    }
    Ok(entries)
}

/// Finds the skills in a folder. The folder of a skill is not searched further.
fn find_skills(
    folder: &Path,
    depth: usize,
    remaining: &mut usize,
    found: &mut Vec<PathBuf>,
) -> Result<(), Failure> {
    let skill = folder.join(FILE_NAME);
    if fs::symlink_metadata(&skill).is_ok_and(|meta| meta.is_file()) {
        found.push(skill);
        return Ok(());
    }
    let Some(depth) = depth.checked_sub(1) else { return Ok(()) };
    for entry in fs::read_dir(folder).map_err(|error| unreadable(folder, &error))? {
        *remaining = remaining.checked_sub(1).ok_or_else(|| too_many(folder))?;
        let entry = entry.map_err(|error| unreadable(folder, &error))?;
        let kind = entry.file_type().map_err(|error| unreadable(&entry.path(), &error))?;
        if kind.is_symlink() {
            let path = entry.path().display().to_string();
            let note = output::bold("note");
            output::stderr(&format!("{note}: {} is a link: left out\n", escape::line(&path)));
        } else if kind.is_dir() {
            find_skills(&entry.path(), depth, remaining, found)?;
        }
    }
    Ok(())
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    let message = format!("{}: {error}", path.display());
    Failure::new(Exit::Invalid, "catalog.unreadable", message)
        .with_next_step("name a folder of skills")
}

fn too_many(folder: &Path) -> Failure {
    let message = format!("{}: more than {MAX_ENTRIES} entries are in it", folder.display());
    Failure::new(Exit::Invalid, "catalog.too_large", message)
        .with_next_step("name the folder of the skills")
}
