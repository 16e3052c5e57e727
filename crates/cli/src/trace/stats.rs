//! `weaver trace stats`.

use std::collections::BTreeMap;

use serde_json::json;
use weaver_text::escape;
use weaver_trace_store::project::LogStats;
use weaver_types::ledger::LedgerError;

use super::args;
use super::log::{Log, parse_filter};
use super::progress::Progress;
use crate::{Exit, Failure, output};

pub(super) fn run(args: &args::Stats) -> Result<Exit, Failure> {
    let filter = parse_filter(&args.terms)?;
    let mut log = Log::open(&args.store)?;
    log.update_index()?;
    let mut progress = Progress::new("counted");
    let stats = LogStats::from_log(&log.reader, log.lookup(), &filter, &mut |done, all| {
        progress.at(done, all);
    });
    progress.end();
    let stats = stats.map_err(|error| log.failed(error))?;
    if args.output.json {
        let mut value = serde_json::to_value(&stats)
            .map_err(|error| LedgerError::Damaged(error.to_string()))
            .map_err(|error| Failure::store(&args.store.ledger.store, &error))?;
        if let Some(fields) = value.as_object_mut() {
            fields.insert("invocations".to_owned(), invocations(&stats).into());
            fields.insert("failures".to_owned(), failures(&stats).into());
        }
        output::json(&json!({ "stats": value }))?;
    } else {
        output::text(&stats_text(&stats))?;
    }
    Ok(Exit::Ok)
}

/// Calls that ended, with any outcome.
fn invocations(stats: &LogStats) -> u64 {
    stats.outcomes.values().copied().fold(0, u64::saturating_add)
}

/// Calls that ended without success.
fn failures(stats: &LogStats) -> u64 {
    let success = stats.outcomes.get("success").copied().unwrap_or_default();
    invocations(stats).saturating_sub(success)
}

fn stats_text(stats: &LogStats) -> String {
    let mut out = String::new();
    let mut row = |name: &str, value: String| out.push_str(&format!("{name:<12} {value}\n"));
    let pruned =
        if stats.pruned > 0 { format!(", {} pruned", stats.pruned) } else { String::new() };
    row("events", format!("{}{pruned}", stats.events));
    row("grants", stats.grants.to_string());
    row("refusals", counts(&stats.refusals));
    row("  by reason", counts(&stats.denials_by_reason));
    row("invocations", format!("{}, {} failed", invocations(stats), failures(stats)));
    row("  outcomes", counts(&stats.outcomes));
    row("  failures", counts(&stats.failures_by_reason));
    row("redactions", counts(&stats.redactions));
    let holds = &stats.holds;
    row(
        "holds",
        format!(
            "{} requested, {} granted, {} denied, {} expired, {} revoked, {} superseded",
            holds.requested,
            holds.granted,
            holds.denied,
            holds.expired,
            holds.revoked,
            holds.superseded
        ),
    );
    if let Some(mean) = holds.waited_us.checked_div(holds.answered) {
        let (mean, longest) = (seconds(mean), seconds(holds.longest_us));
        row("  waited", format!("{mean} on average, {longest} at most"));
    }
    row("handles", format!("{} stored, {} later looks", stats.handles, stats.views));
    // Tokens are counted only where a budget limits them.
    let tokens = match stats.prompt_tokens {
        0 => "tokens not counted".to_owned(),
        tokens => format!("{tokens} tokens shown"),
    };
    row(
        "budgets",
        format!(
            "{} calls, {} retries, {} of execution, {tokens}",
            stats.tool_calls,
            stats.retries,
            seconds(stats.latency_us),
        ),
    );
    out
}

fn counts(counts: &BTreeMap<String, u64>) -> String {
    if counts.is_empty() {
        return "none".to_owned();
    }
    let parts: Vec<String> =
        counts.iter().map(|(name, many)| format!("{} {many}", escape::line(name))).collect();
    parts.join(", ")
}

fn seconds(micros: u64) -> String {
    format!("{}.{:03} s", micros / 1_000_000, micros / 1_000 % 1_000)
}
