//! `weaver route`.

use std::io;
use std::path::Path;

use contextweaver::catalog::Catalog;
use contextweaver::route::Router;
use serde::Deserialize;
use serde_json::{Value, json};
use weaver_types::{Clock as _, SystemClock};

use super::args::Route;
use super::{Exit, Failure, output};
use crate::config::file;

/// The largest input file, in bytes.
const MAX_INPUT: usize = 256 * 1024 * 1024;

/// One query. Other keys of its line are left alone.
#[derive(Deserialize)]
struct Query {
    id: Value,
    query: String,
}

pub(super) fn run(args: &Route) -> Result<Exit, Failure> {
    if is_stdin(&args.tools) && is_stdin(&args.queries) {
        let failure = Failure::new(Exit::Usage, "route.stdin", "both inputs are standard input");
        return Err(failure.next("name a file for one of them"));
    }
    let tools = read(&args.tools)?;
    let catalog = Catalog::from_jsonl(&tools).and_then(Router::new);
    let router = catalog.map_err(|error| {
        let message = format!("{}: {error}", args.tools.display());
        Failure::new(Exit::Invalid, error.code(), message)
    })?;
    let queries = read(&args.queries)?;
    let clock = SystemClock::default();
    for (number, line) in queries.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let query = parse(&args.queries, number + 1, line)?;
        let began = clock.monotonic();
        let hits = router.route(&query.query, usize::from(args.k));
        let micros = clock.monotonic().saturating_sub(began).as_micros();
        let catalog = router.catalog();
        let id = |hit: &contextweaver::route::Hit| {
            catalog.get(&hit.id).map_or_else(|| hit.id.to_string(), |i| i.source_id().to_owned())
        };
        output::json(&json!({
            "id": query.id,
            "ranked": hits.iter().map(id).collect::<Vec<_>>(),
            "scores": hits.iter().map(|hit| hit.points()).collect::<Vec<_>>(),
            "micros": u64::try_from(micros).unwrap_or(u64::MAX),
        }))?;
    }
    Ok(Exit::Ok)
}

fn parse(path: &Path, number: usize, line: &str) -> Result<Query, Failure> {
    serde_json::from_str(line).map_err(|error| {
        let message = format!("{}:{number}: this is no query: {error}", path.display());
        Failure::new(Exit::Invalid, "route.query", message)
            .next("write {\"id\", \"query\"} in one object a line")
    })
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn read(path: &Path) -> Result<String, Failure> {
    let read = if is_stdin(path) {
        file::all(io::stdin().lock(), MAX_INPUT)
            .and_then(|bytes| String::from_utf8(bytes).map_err(|_| file::ReadError::NotText))
    } else {
        file::text(path, MAX_INPUT)
    };
    read.map_err(|error| {
        let message = format!("{}: {error}", path.display());
        Failure::new(Exit::Invalid, "route.unreadable", message).next("name a file, or `-`")
    })
}
