//! `weaver memory consolidate`.

use contextweaver::memory::{ConsolidatedFact, RecurrenceCriteria, consolidate};
use serde_json::{Value, json};
use weaver_text::escape;

use super::args::Consolidate;
use super::output;
use super::store::{memory_failure, open_existing};
use crate::{Exit, Failure};

pub(super) fn run(args: &Consolidate) -> Result<Exit, Failure> {
    let memory = open_existing(&args.place)?;
    let consolidations = consolidate(&memory, &RecurrenceCriteria::default())
        .map_err(|error| memory_failure(&error))?;
    if args.output.json {
        let facts: Vec<Value> = consolidations.iter().map(consolidation_json).collect();
        output::json(&json!({ "ok": true, "facts": facts }))?;
        return Ok(Exit::Ok);
    }
    let line = |one: &ConsolidatedFact| {
        let (key, summary) = (escape::line(&one.key), escape::line(&one.summary));
        format!("{key}: {summary} ({} episodes, {} sessions)\n", one.episodes.len(), one.sessions)
    };
    let facts: String = consolidations.iter().map(line).collect();
    output::text(&format!("{facts}{}\n", output::counted(consolidations.len(), "fact")))?;
    Ok(Exit::Ok)
}

fn consolidation_json(one: &ConsolidatedFact) -> Value {
    json!({
        "key": one.key,
        "summary": one.summary,
        "episodes": one.episodes,
        "sessions": one.sessions,
    })
}
