//! `weaver memory consolidate`.

use contextweaver::memory::{Consolidation, Recurrence, consolidate};
use serde_json::{Value, json};
use weaver_text::escape;

use super::args::Consolidate;
use super::output;
use super::store::{existing, failed};
use crate::{Exit, Failure};

pub(super) fn run(args: &Consolidate) -> Result<Exit, Failure> {
    let memory = existing(&args.place)?;
    let made = consolidate(&memory, &Recurrence::default()).map_err(|error| failed(&error))?;
    if args.output.json {
        let facts: Vec<Value> = made.iter().map(told).collect();
        output::json(&json!({ "ok": true, "facts": facts }))?;
        return Ok(Exit::Ok);
    }
    let line = |one: &Consolidation| {
        let (key, summary) = (escape::line(&one.key), escape::line(&one.summary));
        format!("{key}: {summary} ({} episodes, {} sessions)\n", one.episodes.len(), one.sessions)
    };
    let count = match made.len() {
        1 => "1 fact\n".to_owned(),
        count => format!("{count} facts\n"),
    };
    output::text(&(made.iter().map(line).collect::<String>() + &count))?;
    Ok(Exit::Ok)
}

fn told(one: &Consolidation) -> Value {
    json!({
        "key": one.key,
        "summary": one.summary,
        "episodes": one.episodes,
        "sessions": one.sessions,
    })
}
