//! How long it takes to build an index, to ask it, and to change it, and how much room it takes.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use contextweaver::catalog::SelectableItem;
use contextweaver::route::{Router, TokenTable};
use serde_json::{Value, json};
use weaver_types::CapabilityId;

use super::{Bm25, Corpus, text_bytes};
use crate::Failure;
use crate::measure::thread;

/// How many items are asked for.
const K: usize = 10;
/// How many changes are made.
const CHANGES: usize = 200;

/// How much is done.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// How often every request is made.
    pub rounds: usize,
    /// How many requests there are at the most.
    pub requests: usize,
}

/// The figures of one size, as an object: times in microseconds and in milliseconds, all of them
/// processor time of this thread.
///
/// # Errors
/// When the catalog cannot be built.
pub fn measure(corpus: &Corpus, size: usize, effort: Effort) -> Result<Value, Failure> {
    let catalog = corpus.catalog(size)?;
    let requests = corpus.requests.get(..effort.requests).unwrap_or(&corpus.requests);
    let text = text_bytes(&catalog);
    let began = thread();
    let router = Router::new(catalog.clone())?;
    let build = thread() - began;
    let words = times(requests, effort.rounds, |request| {
        black_box(router.route(request, K));
    });
    let began = thread();
    let with_table = router.clone().with_table(TokenTable::built_in()?);
    let table_build = thread() - began;
    let table = times(requests, effort.rounds, |request| {
        black_box(with_table.route(request, K));
    });
    let growth = growth(&router, &with_table, requests, effort.rounds);
    let changes = changes(&router)?;
    let mut plain = Bm25::new(&catalog);
    let bm25 = times(requests, effort.rounds, |request| {
        black_box(plain.best(request, K));
    });
    let (bytes, vectors) = with_table.bytes();
    let ratio = bytes as f64 / text.max(1) as f64;
    Ok(json!({
        "tools": size, "requests": requests.len(), "build_ms": millis(build),
        "table_build_ms": millis(table_build),
        "words": both(&words), "table": both(&table), "bm25": both(&bm25),
        "table_over_words_us": at(&table, 50) - at(&words, 50),
        "change": both(&changes), "text_bytes": text, "index_bytes": bytes,
        "vector_bytes": vectors, "index_of_text": ratio, "growth_bytes_a_request": growth,
    }))
}

/// Every request in turn, so many times over, after one round that does not count; sorted.
fn times(requests: &[String], rounds: usize, mut ask: impl FnMut(&str)) -> Vec<Duration> {
    requests.iter().for_each(|request| ask(request));
    let mut times = Vec::with_capacity(requests.len() * rounds);
    for request in std::iter::repeat_n(requests, rounds).flatten() {
        let began = thread();
        ask(request);
        times.push(thread().saturating_sub(began));
    }
    times.sort_unstable();
    times
}

/// What a router takes for one item more, and for one item in the place of another.
fn changes(router: &Router) -> Result<Vec<Duration>, Failure> {
    let all: Vec<SelectableItem> = router.catalog().iter().take(CHANGES / 2).cloned().collect();
    let (mut router, mut times) = (Arc::new(router.clone()), Vec::new());
    for (number, item) in all.iter().enumerate() {
        let mut other = item.clone();
        other.description += " Now with a preview.";
        let mut new = item.clone();
        new.id = CapabilityId::parse(format!("new.{number}"))?;
        for item in [other, new] {
            let began = thread();
            let changed = router.with_item(item)?;
            router = Arc::new(changed);
            times.push(thread().saturating_sub(began));
        }
    }
    times.sort_unstable();
    Ok(times)
}

/// By how many bytes a request lets the process grow, once every one was made.
fn growth(words: &Router, table: &Router, requests: &[String], rounds: usize) -> Option<f64> {
    let before = crate::measure::resident()?;
    for request in std::iter::repeat_n(requests, rounds * 4).flatten() {
        black_box((words.route(request, K), table.route(request, K)));
    }
    let grown = crate::measure::resident()?.saturating_sub(before);
    Some(grown as f64 / (requests.len() * rounds * 8).max(1) as f64)
}

fn at(times: &[Duration], percent: usize) -> f64 {
    let time = times.get(times.len() * percent / 100).or(times.last()).copied();
    time.unwrap_or_default().as_secs_f64() * 1e6
}

fn both(times: &[Duration]) -> Value {
    json!({ "p50_us": at(times, 50), "p99_us": at(times, 99) })
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
