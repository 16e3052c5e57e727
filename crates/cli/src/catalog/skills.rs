//! A folder of skills: each in a folder of its own, with a `SKILL.md`.
//!
//! Links are not followed: a skill is what lies in the folder, not what something in it points to.

use std::fs;
use std::path::{Path, PathBuf};

use contextweaver::catalog::load::{self, CatalogEntry, CatalogFormat, Source};
use weaver_gateway::bounded_file;
use weaver_text::escape;

use super::{Exit, Failure, output};

/// How deep folders are looked into.
const MAX_DEPTH: usize = 4;
/// How many entries of folders are looked at.
const MAX_ENTRIES: usize = 20_000;
/// The largest `SKILL.md`, in bytes.
const MAX_SKILL: usize = 1024 * 1024;
const NAME: &str = "SKILL.md";

pub(super) fn entries(
    folder: &Path,
    namespace: Option<&str>,
) -> Result<Vec<CatalogEntry>, Failure> {
    let mut found = Vec::new();
    let mut room = MAX_ENTRIES;
    look(folder, MAX_DEPTH, &mut room, &mut found)?;
    if found.is_empty() {
        let message = format!("{}: no {NAME} is in it", folder.display());
        return Err(Failure::new(Exit::Invalid, "catalog.no_skills", message)
            .next("name a folder of skills, each with its SKILL.md, or a file"));
    }
    found.sort();
    let source = Source { format: Some(CatalogFormat::Skill), namespace };
    let mut entries = Vec::new();
    for path in found {
        let text =
            bounded_file::text(&path, MAX_SKILL).map_err(|error| unreadable(&path, &error))?;
        let place = escape::line(&path.display().to_string()).into_owned();
        let item = match load::read(&text, source) {
            Ok(loaded) => loaded.entries.into_iter().next().map(|entry| entry.item),
            Err(error) => Some(Err(error)),
        };
        entries.extend(item.map(|item| CatalogEntry { place, item }));
    }
    Ok(entries)
}

/// The skills in a folder; none is looked for below one.
fn look(
    folder: &Path,
    depth: usize,
    room: &mut usize,
    found: &mut Vec<PathBuf>,
) -> Result<(), Failure> {
    let skill = folder.join(NAME);
    if fs::symlink_metadata(&skill).is_ok_and(|meta| meta.is_file()) {
        found.push(skill);
        return Ok(());
    }
    let Some(depth) = depth.checked_sub(1) else { return Ok(()) };
    for entry in fs::read_dir(folder).map_err(|error| unreadable(folder, &error))? {
        *room = room.checked_sub(1).ok_or_else(|| too_many(folder))?;
        let entry = entry.map_err(|error| unreadable(folder, &error))?;
        let kind = entry.file_type().map_err(|error| unreadable(&entry.path(), &error))?;
        if kind.is_symlink() {
            let path = entry.path().display().to_string();
            let note = output::bold("note");
            output::aside(&format!("{note}: {} is a link: left out\n", escape::line(&path)));
        } else if kind.is_dir() {
            look(&entry.path(), depth, room, found)?;
        }
    }
    Ok(())
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    let message = format!("{}: {error}", path.display());
    Failure::new(Exit::Invalid, "catalog.unreadable", message).next("name a folder of skills")
}

fn too_many(folder: &Path) -> Failure {
    let message = format!("{}: more than {MAX_ENTRIES} entries are in it", folder.display());
    Failure::new(Exit::Invalid, "catalog.too_large", message).next("name the folder of the skills")
}
