//! `weaver memory get`.

use contextweaver::memory::{EntryKind, EpisodicStore, FactStore, Memory, MemoryError};
use serde_json::{Value, json};
use weaver_text::escape;

use super::args::Get;
use super::store::{memory_failure, not_found_failure, open_existing};
use super::{output, report};
use crate::{Exit, Failure};

pub(super) fn run(args: &Get) -> Result<Exit, Failure> {
    let memory = open_existing(&args.place)?;
    let found = find_entry(&memory, args).map_err(|error| memory_failure(&error))?;
    match (found, &args.default) {
        (None, None) => return Err(not_found_failure(&args.key)),
        (None, Some(default)) if args.output.json => {
            output::json(&json!({ "ok": true, "found": false, "value": default }))?;
        }
        (None, Some(default)) => output::line(&escape::block(default))?,
        (Some(entry), _) if args.output.json => {
            output::json(&json!({ "ok": true, "found": true, "entry": entry }))?;
        }
        (Some(entry), _) => output::text(&entry_text(&entry))?,
    }
    Ok(Exit::Ok)
}

fn find_entry(memory: &Memory, args: &Get) -> Result<Option<Value>, MemoryError> {
    let key = args.key.as_str();
    Ok(match args.kind {
        EntryKind::Value => memory.entry(key)?.as_ref().map(report::entry_json),
        EntryKind::Episode => EpisodicStore::new(memory).get(key)?.as_ref().map(report::entry_json),
        EntryKind::Fact => FactStore::new(memory).get(key)?.as_ref().map(report::fact_json),
    })
}

/// The value alone; of a contradicted fact, each claim that is not superseded, one a line.
fn entry_text(entry: &Value) -> String {
    if entry.get("contradicted") != Some(&Value::Bool(true)) {
        let value = report::value_text(entry.get("value").unwrap_or(&Value::Null));
        return format!("{}\n", escape::block(&value));
    }
    let claims = entry.get("claims").and_then(Value::as_array).cloned().unwrap_or_default();
    let standing = claims.iter().filter(|claim| claim.get("superseded").is_none());
    let lines = standing.map(|claim| {
        let value = report::value_text(claim.get("value").unwrap_or(&Value::Null));
        let source = claim.get("source").and_then(Value::as_str).unwrap_or_default();
        let number = claim.get("number").unwrap_or(&Value::Null);
        format!("{number}: {}  ({})\n", escape::line(&value), escape::line(source))
    });
    lines.collect()
}
