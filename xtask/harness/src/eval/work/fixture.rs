//! What tasks work on: files, a repository, a database, a graph and web pages, the same in every
//! run.

mod file;
mod prose;
mod repository;
mod table;
pub mod web;

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::json;

use super::environment::TaskEnvironment;
use crate::child;
use crate::counterparts::cache::Cache;

const TIMEOUT: Duration = Duration::from_secs(60);

/// Creates everything in an environment.
pub fn create(cache: &Cache, environment: &TaskEnvironment) -> Result<()> {
    environment.create_folders()?;
    for (name, text) in file::all_files() {
        let path = environment.files.join(&name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    repository::create(cache, &environment.files.join("app"))
        .context("cannot make the repository")?;
    fs::write(environment.graph(), graph())?;
    let mut make = cache.command(cache.python_program("python"));
    make.arg(cache.script("database.py")).arg("make").arg(environment.database());
    child::run(&mut make, &table::sql(), TIMEOUT)?.succeeded("the making of the database")?;
    Ok(())
}

/// The graph of the memory server: 60 people in 6 teams.
fn graph() -> String {
    let mut lines = Vec::new();
    for team in 0..6 {
        lines.push(json!({
            "type": "entity", "name": format!("team-{team}"), "entityType": "team",
            "observations": [format!("sits on floor {}", team + 2)],
        }));
    }
    for person in 0..60 {
        lines.push(json!({
            "type": "entity", "name": format!("person-{person:02}"), "entityType": "person",
            "observations": [
                format!("keeps the keys of cabinet {}", 300 + person * 7),
                prose::sentence(9_000 + person),
            ],
        }));
        lines.push(json!({
            "type": "relation", "from": format!("person-{person:02}"),
            "to": format!("team-{}", person % 6), "relationType": "belongs to",
        }));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}
