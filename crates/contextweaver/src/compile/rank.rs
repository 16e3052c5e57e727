//! How much each item matters now.

use std::collections::{BTreeMap, BTreeSet};

use weaver_text::escape;

use crate::compile::{ContextItem, ContextLog, ItemKind};
use crate::route::stems;

/// Characters of an item that are compared with the query.
const MAX_READ: usize = 4096;
/// Words of the query that are compared.
const MAX_QUERY: usize = 256;

/// Weights in thousandths: age, words shared with the query, kind.
const RECENCY: usize = 300;
const MATCH: usize = 350;
const KIND: usize = 350;

/// A score in thousandths for every place.
pub(super) fn scores(
    log: &ContextLog,
    kept: &BTreeSet<usize>,
    query: &str,
) -> BTreeMap<usize, usize> {
    let query: BTreeSet<String> =
        stems(escape::truncate(query, MAX_READ)).into_iter().take(MAX_QUERY).collect();
    let total = kept.len().max(1);
    let score = |(age, place): (usize, &usize)| {
        let item = log.at(*place)?;
        let recency = RECENCY * (age + 1) / total;
        let kind = KIND * importance(item.kind()) / 100;
        Some((*place, recency + MATCH * shared(item, &query) / 1000 + kind))
    };
    kept.iter().enumerate().filter_map(score).collect()
}

/// The part of the query's words that the item holds, in thousandths.
fn shared(item: &ContextItem, query: &BTreeSet<String>) -> usize {
    if query.is_empty() {
        return 0;
    }
    let words: BTreeSet<String> =
        stems(escape::truncate(item.text(), MAX_READ)).into_iter().collect();
    1000 * query.intersection(&words).count() / query.len()
}

/// How much a kind matters by itself, in hundredths.
fn importance(kind: ItemKind) -> usize {
    match kind {
        ItemKind::Policy => 100,
        ItemKind::PlanState => 90,
        ItemKind::UserTurn => 85,
        ItemKind::AgentMessage => 70,
        ItemKind::ToolCall => 60,
        ItemKind::ToolResult => 55,
        ItemKind::MemoryFact => 50,
        ItemKind::Doc => 40,
    }
}
