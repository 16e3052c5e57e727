//! `weaver memory forget`.

use contextweaver::memory::{EntryKind, EpisodicStore, FactStore};
use serde_json::json;

use super::args::Forget;
use super::output;
use super::store::{memory_failure, not_found_failure, open_existing};
use crate::{Exit, Failure};

pub(super) fn run(args: &Forget) -> Result<Exit, Failure> {
    let memory = open_existing(&args.place)?;
    let forgotten = match &args.key {
        None => memory.sweep().map_err(|error| memory_failure(&error))?,
        Some(key) => {
            let forgotten = match args.kind {
                EntryKind::Value => memory.delete(key),
                EntryKind::Episode => EpisodicStore::new(&memory).forget(key),
                EntryKind::Fact => FactStore::new(&memory).forget(key),
            };
            if !forgotten.map_err(|error| memory_failure(&error))? {
                return Err(not_found_failure(key));
            }
            1
        }
    };
    if args.output.json {
        output::json(&json!({ "ok": true, "forgotten": forgotten }))?;
    } else {
        let entries = if forgotten == 1 { "entry" } else { "entries" };
        output::line(&format!("{forgotten} {entries} forgotten"))?;
    }
    Ok(Exit::Ok)
}
