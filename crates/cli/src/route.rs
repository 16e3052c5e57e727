//! `weaver route`: ranks tools for queries, as the gateway would.

pub(super) mod args;
mod explain;
pub(super) mod shortlist;

use std::path::Path;
use std::time::Duration;

use contextweaver::route::{Hit, RouteAnswer};
use serde::Deserialize;
use serde_json::{Value, json};
use weaver_types::{Clock as _, SystemClock};

use super::catalog::{source, table};
use super::{Exit, Failure, output};
use args::Route;
use shortlist::Shortlist;

/// One query. Other keys of its line are ignored.
#[derive(Deserialize)]
struct Query {
    id: Value,
    query: String,
}

pub(super) fn run(args: &Route) -> Result<Exit, Failure> {
    let is_stdin = |path: &Path| path.as_os_str() == "-";
    if is_stdin(&args.tools) && args.queries.as_deref().is_some_and(is_stdin) {
        let failure = Failure::new(Exit::Usage, "route.stdin", "both inputs are standard input");
        return Err(failure.with_next_step("name a file for one of them"));
    }
    let shortlist = Shortlist::new(source::load_catalog(&args.tools, &args.form)?, &args.limits)?;
    match (&args.query, &args.queries) {
        (Some(query), _) => answer_query(args, &shortlist, query)?,
        (None, Some(path)) => {
            let queries = source::read_text(path)?;
            for (at, line) in queries.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()) {
                let query = parse_query(path, at + 1, line)?;
                let (answer, elapsed) = timed_answer(&shortlist, &query.query, args);
                output::json(&answer_json(args, &shortlist, &query, &answer, elapsed))?;
            }
        }
        (None, None) => {}
    }
    Ok(Exit::Ok)
}

/// Answers one query: as a table, or as one line of JSON.
fn answer_query(args: &Route, shortlist: &Shortlist, text: &str) -> Result<(), Failure> {
    let (answer, elapsed) = timed_answer(shortlist, text, args);
    if args.output.json {
        let query = Query { id: Value::Null, query: text.to_owned() };
        output::json(&answer_json(args, shortlist, &query, &answer, elapsed))?;
        return Ok(());
    }
    let mut out = table::ranking_table(&answer.hits, |hit| shortlist.router().item(&hit.id));
    if args.explain {
        out.push_str(&explain::explanation_text(shortlist, text, &answer));
    }
    output::text(&out)?;
    Ok(())
}

fn timed_answer(shortlist: &Shortlist, query: &str, args: &Route) -> (RouteAnswer, Duration) {
    let clock = SystemClock::default();
    let start = clock.monotonic();
    let answer =
        if args.explain { shortlist.traced_answer(query) } else { shortlist.answer(query) };
    (answer, clock.monotonic().saturating_sub(start))
}

fn answer_json(
    args: &Route,
    shortlist: &Shortlist,
    query: &Query,
    answer: &RouteAnswer,
    elapsed: Duration,
) -> Value {
    let router = shortlist.router();
    let id = |hit: &Hit| {
        router.item(&hit.id).map_or_else(|| hit.id.to_string(), |i| i.source_id().to_owned())
    };
    let mut out = json!({
        "id": query.id,
        "ranked": answer.hits.iter().map(id).collect::<Vec<_>>(),
        "scores": answer.hits.iter().map(Hit::points).collect::<Vec<_>>(),
        "micros": u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX),
    });
    if let (true, Some(object)) = (args.explain, out.as_object_mut()) {
        object.insert(
            "explain".to_owned(),
            explain::explanation_json(shortlist, &query.query, answer),
        );
    }
    out
}

fn parse_query(path: &Path, number: usize, line: &str) -> Result<Query, Failure> {
    serde_json::from_str(line).map_err(|error| {
        let message = format!("{}:{number}: this is not a query: {error}", path.display());
        Failure::new(Exit::Invalid, "route.query", message)
            .with_next_step("write {\"id\", \"query\"} in one object a line")
    })
}
