//! `weaver memory forget`.

use contextweaver::memory::{EntryKind, EpisodicStore, FactStore};
use serde_json::json;

use super::args::Forget;
use super::output;
use super::store::{existing, failed, nothing};
use crate::{Exit, Failure};

pub(super) fn run(args: &Forget) -> Result<Exit, Failure> {
    let memory = existing(&args.place)?;
    let gone = match &args.key {
        None => memory.sweep().map_err(|error| failed(&error))?,
        Some(key) => {
            let gone = match args.kind {
                EntryKind::Value => memory.delete(key),
                EntryKind::Episode => EpisodicStore::new(&memory).forget(key),
                EntryKind::Fact => FactStore::new(&memory).forget(key),
            };
            if !gone.map_err(|error| failed(&error))? {
                return Err(nothing(key));
            }
            1
        }
    };
    if args.output.json {
        output::json(&json!({ "ok": true, "forgotten": gone }))?;
    } else {
        let entries = if gone == 1 { "entry" } else { "entries" };
        output::line(&format!("{gone} {entries} forgotten"))?;
    }
    Ok(Exit::Ok)
}
