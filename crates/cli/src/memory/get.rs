//! `weaver memory get`.

use contextweaver::memory::{EntryKind, EpisodicStore, FactStore, Memory, MemoryError};
use serde_json::{Value, json};
use weaver_text::escape;

use super::args::Get;
use super::store::{existing, failed, nothing};
use super::{output, report};
use crate::{Exit, Failure};

pub(super) fn run(args: &Get) -> Result<Exit, Failure> {
    let memory = existing(&args.place)?;
    let found = look(&memory, args).map_err(|error| failed(&error))?;
    match (found, &args.default) {
        (None, None) => return Err(nothing(&args.key)),
        (None, Some(default)) if args.output.json => {
            output::json(&json!({ "ok": true, "found": false, "value": default }))?;
        }
        (None, Some(default)) => output::line(&escape::block(default))?,
        (Some(entry), _) if args.output.json => {
            output::json(&json!({ "ok": true, "found": true, "entry": entry }))?;
        }
        (Some(entry), _) => output::text(&plain(&entry))?,
    }
    Ok(Exit::Ok)
}

fn look(memory: &Memory, args: &Get) -> Result<Option<Value>, MemoryError> {
    let key = args.key.as_str();
    Ok(match args.kind {
        EntryKind::Value => memory.entry(key)?.as_ref().map(report::entry),
        EntryKind::Episode => EpisodicStore::new(memory).get(key)?.as_ref().map(report::entry),
        EntryKind::Fact => FactStore::new(memory).get(key)?.as_ref().map(report::fact),
    })
}

/// The value alone; of a contradicted fact, each claim that stands on a line.
fn plain(entry: &Value) -> String {
    if entry.get("contradicted") != Some(&Value::Bool(true)) {
        let value = report::value(entry.get("value").unwrap_or(&Value::Null));
        return format!("{}\n", escape::block(&value));
    }
    let claims = entry.get("claims").and_then(Value::as_array).cloned().unwrap_or_default();
    let standing = claims.iter().filter(|claim| claim.get("superseded").is_none());
    let lines = standing.map(|claim| {
        let value = report::value(claim.get("value").unwrap_or(&Value::Null));
        let source = claim.get("source").and_then(Value::as_str).unwrap_or_default();
        let number = claim.get("number").unwrap_or(&Value::Null);
        format!("{number}: {}  ({})\n", escape::line(&value), escape::line(source))
    });
    lines.collect()
}
