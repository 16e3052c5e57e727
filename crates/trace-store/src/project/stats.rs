//! Statistics: sums over events that can be added to each other.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weaver_types::EventKind;

use crate::query::{
    CandidateLookup, EventFacts, EventFilter, QueryError, for_each_event, range_of_filter, rows_in,
};
use crate::verify::LogSource;

/// How many events are read at once; it divides the size of a block.
const ROWS_PER_READ: u64 = 500;
/// How many names a count distinguishes; later ones count as `other`.
const MAX_NAMES: usize = 256;

/// Sums over some events.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogStats {
    /// Events.
    pub events: u64,
    /// Events whose payload is pruned: they count above and nowhere else.
    pub pruned: u64,
    /// Events by kind.
    pub kinds: BTreeMap<String, u64>,
    /// Calls that were allowed and started.
    pub grants: u64,
    /// Refusals by verdict: ask, hold, deny.
    pub refusals: BTreeMap<String, u64>,
    /// Refusals by their first reason.
    pub denials_by_reason: BTreeMap<String, u64>,
    /// Calls that ended, by outcome: success, failure, partial, unknown.
    pub outcomes: BTreeMap<String, u64>,
    /// Calls that ended without success, by reason.
    pub failures_by_reason: BTreeMap<String, u64>,
    /// Redactions in results and views, by warning kind that begins with `redacted`.
    pub redactions: BTreeMap<String, u64>,
    /// Held calls.
    pub holds: HoldStats,
    /// Results that were stored behind a handle.
    pub handles: u64,
    /// Later views of these results.
    pub views: u64,
    /// Calls charged to runs.
    pub tool_calls: u64,
    /// Repeated attempts.
    pub retries: u64,
    /// Microseconds of execution.
    pub latency_us: u64,
    /// Tokens of what was shown.
    pub prompt_tokens: u64,
}

/// Counts of approval requests.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HoldStats {
    /// Opened.
    pub requested: u64,
    /// Granted.
    pub granted: u64,
    /// Refused.
    pub denied: u64,
    /// Past their deadline.
    pub expired: u64,
    /// Taken back.
    pub revoked: u64,
    /// Given way to another.
    pub superseded: u64,
    /// Requests whose waiting time until a grant, a refusal or the deadline is known.
    pub answered: u64,
    /// The total waiting time of these, in microseconds.
    pub waited_us: u64,
    /// The longest waiting time of these, in microseconds.
    pub longest_us: u64,
}

impl LogStats {
    /// Adds an event.
    pub fn add(&mut self, facts: &EventFacts) {
        self.events += 1;
        let kind = facts.kind();
        add_count(&mut self.kinds, kind.map_or("unreadable", EventKind::as_str), 1);
        let Some(kind) = kind else { return };
        if facts.payload.is_none() {
            self.pruned += 1;
            return;
        }
        self.add_usage(facts);
        match kind {
            EventKind::Intent => self.grants += 1,
            EventKind::Refused => {
                add_count(&mut self.refusals, facts.verdict().unwrap_or("unknown"), 1);
                add_count(&mut self.denials_by_reason, facts.reason().unwrap_or("unknown"), 1);
            }
            EventKind::Outcome | EventKind::OutcomeUnknown => self.add_outcome(facts),
            EventKind::HandleResolved => {
                self.views += 1;
                self.add_redactions(facts, &["warnings"]);
            }
            _ => self.holds.add(kind, facts),
        }
    }

    fn add_usage(&mut self, facts: &EventFacts) {
        let charged = |name| facts.number(&["run", name]).unwrap_or_default();
        add_saturating(&mut self.tool_calls, charged("tool_calls"));
        add_saturating(&mut self.latency_us, charged("latency_us"));
        add_saturating(&mut self.prompt_tokens, charged("prompt_tokens"));
        add_saturating(&mut self.retries, facts.number(&["retries"]).unwrap_or_default());
    }

    fn add_outcome(&mut self, facts: &EventFacts) {
        let outcome = facts.outcome().unwrap_or("unknown");
        add_count(&mut self.outcomes, outcome, 1);
        if outcome != "success" {
            add_count(&mut self.failures_by_reason, facts.reason().unwrap_or("unknown"), 1);
        }
        self.handles += u64::from(facts.handle().is_some());
        self.add_redactions(facts, &["frame", "warnings"]);
    }

    fn add_redactions(&mut self, facts: &EventFacts, place: &[&str]) {
        for warning in facts.list(place).into_iter().flatten() {
            let kind = warning.get("kind").and_then(serde_json::Value::as_str).unwrap_or_default();
            if kind.starts_with("redacted") {
                let many = warning.get("count").and_then(serde_json::Value::as_u64).unwrap_or(1);
                add_count(&mut self.redactions, kind, many);
            }
        }
    }

    /// Adds other sums.
    pub fn join(&mut self, other: &Self) {
        let Self { events, pruned, kinds, grants, refusals, denials_by_reason, .. } = other;
        let Self { outcomes, failures_by_reason, redactions, holds, handles, views, .. } = other;
        let Self { tool_calls, retries, latency_us, prompt_tokens, .. } = other;
        for (own, others) in [
            (&mut self.kinds, kinds),
            (&mut self.refusals, refusals),
            (&mut self.denials_by_reason, denials_by_reason),
            (&mut self.outcomes, outcomes),
            (&mut self.failures_by_reason, failures_by_reason),
            (&mut self.redactions, redactions),
        ] {
            others.iter().for_each(|(name, many)| add_count(own, name, *many));
        }
        for (own, others) in [
            (&mut self.events, events),
            (&mut self.pruned, pruned),
            (&mut self.grants, grants),
            (&mut self.handles, handles),
            (&mut self.views, views),
            (&mut self.tool_calls, tool_calls),
            (&mut self.retries, retries),
            (&mut self.latency_us, latency_us),
            (&mut self.prompt_tokens, prompt_tokens),
        ] {
            add_saturating(own, *others);
        }
        self.holds.join(holds);
    }

    /// Sums over the events that match a filter. Uses the stored sums of a lookup where the filter
    /// restricts only the time, and reads events otherwise.
    ///
    /// # Errors
    /// [`QueryError`], when the log cannot be read.
    pub fn from_log(
        source: &dyn LogSource,
        lookup: Option<&dyn CandidateLookup>,
        filter: &EventFilter,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Self, QueryError> {
        let mut stats = Self::default();
        if filter.has_field_terms() {
            for_each_event(source, lookup, filter, &mut |facts| {
                stats.add(&facts);
                Ok::<_, QueryError>(())
            })?;
            return Ok(stats);
        }
        let span = range_of_filter(source, filter)?;
        let mut at = span.start;
        while at < span.end {
            let kept = lookup.and_then(|lookup| lookup.sums(at));
            if let Some((sums, end)) = kept.filter(|(_, end)| (at + 1..=span.end).contains(end)) {
                stats.join(&sums);
                at = end;
                continue;
            }
            // Up to the beginning of the next block, from which stored sums can be used again.
            let end = (at / ROWS_PER_READ + 1).saturating_mul(ROWS_PER_READ).min(span.end);
            for row in rows_in(source, at..end)? {
                stats.add(&EventFacts::from_event(&row.event));
            }
            at = end;
            progress(at - span.start, span.end - span.start);
        }
        Ok(stats)
    }
}

impl HoldStats {
    fn add(&mut self, kind: EventKind, facts: &EventFacts) {
        let (number, answered) = match kind {
            EventKind::ApprovalRequested => (&mut self.requested, false),
            EventKind::ApprovalGranted => (&mut self.granted, true),
            EventKind::ApprovalDenied => (&mut self.denied, true),
            EventKind::ApprovalExpired => (&mut self.expired, true),
            EventKind::ApprovalRevoked => (&mut self.revoked, false),
            EventKind::ApprovalSuperseded => (&mut self.superseded, false),
            _ => return,
        };
        *number += 1;
        let opened = facts.at_path(&["opened_at"]).and_then(serde_json::Value::as_i64);
        if let (true, Some(opened), Some(at)) = (answered, opened, facts.at()) {
            let waited = u64::try_from(at.micros().saturating_sub(opened)).unwrap_or_default();
            self.answered += 1;
            add_saturating(&mut self.waited_us, waited);
            self.longest_us = self.longest_us.max(waited);
        }
    }

    fn join(&mut self, other: &Self) {
        for (own, others) in [
            (&mut self.requested, other.requested),
            (&mut self.granted, other.granted),
            (&mut self.denied, other.denied),
            (&mut self.expired, other.expired),
            (&mut self.revoked, other.revoked),
            (&mut self.superseded, other.superseded),
            (&mut self.answered, other.answered),
            (&mut self.waited_us, other.waited_us),
        ] {
            add_saturating(own, others);
        }
        self.longest_us = self.longest_us.max(other.longest_us);
    }
}

fn add_count(counts: &mut BTreeMap<String, u64>, name: &str, many: u64) {
    match counts.get_mut(name) {
        Some(count) => add_saturating(count, many),
        None => {
            let name = if counts.len() < MAX_NAMES { name } else { "other" };
            add_saturating(counts.entry(name.to_owned()).or_default(), many);
        }
    }
}

fn add_saturating(number: &mut u64, by: u64) {
    *number = number.saturating_add(by);
}
