//! Statistics: sums over events, which can be added to one another.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weaver_types::EventKind;

use crate::query::{Facts, Filter, Lookup, QueryError, each, rows_of, span_of};
use crate::verify::Source;

/// How many events are read at once; a block of sums is a whole number of these.
const STRIDE: u64 = 500;
/// How many names a count tells apart; what comes later is counted as `other`.
const MAX_NAMES: usize = 256;

/// Sums over some events.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stats {
    /// Events.
    pub events: u64,
    /// Events whose payload is gone: they count above and nowhere else.
    pub pruned: u64,
    /// Events by kind.
    pub kinds: BTreeMap<String, u64>,
    /// Calls that were decided with allow and begun.
    pub grants: u64,
    /// Refusals by verdict: ask, hold, deny.
    pub refusals: BTreeMap<String, u64>,
    /// Refusals by their first reason.
    pub denials_by_reason: BTreeMap<String, u64>,
    /// Calls that ended, by outcome: success, failure, partial, unknown.
    pub outcomes: BTreeMap<String, u64>,
    /// Calls that ended without success, by reason.
    pub failures_by_reason: BTreeMap<String, u64>,
    /// What was hidden in results and views, by kind of warning that begins with `redacted`.
    pub redactions: BTreeMap<String, u64>,
    /// Held calls.
    pub holds: Holds,
    /// Results that were stored behind a handle.
    pub handles: u64,
    /// Later looks at them.
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

/// Requests for approvals.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Holds {
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
    /// Requests of which is known how long they waited for a grant, a refusal or their deadline.
    pub answered: u64,
    /// Microseconds that these waited, together.
    pub waited_us: u64,
    /// Microseconds that the longest of them waited.
    pub longest_us: u64,
}

impl Stats {
    /// Counts an event in.
    pub fn add(&mut self, facts: &Facts) {
        self.events += 1;
        let kind = facts.kind();
        count(&mut self.kinds, kind.map_or("unreadable", EventKind::as_str), 1);
        let Some(kind) = kind else { return };
        if facts.payload.is_none() {
            self.pruned += 1;
            return;
        }
        self.charge(facts);
        match kind {
            EventKind::Intent => self.grants += 1,
            EventKind::Refused => {
                count(&mut self.refusals, facts.verdict().unwrap_or("unknown"), 1);
                count(&mut self.denials_by_reason, facts.reason().unwrap_or("unknown"), 1);
            }
            EventKind::Outcome | EventKind::OutcomeUnknown => self.ended(facts),
            EventKind::HandleResolved => {
                self.views += 1;
                self.hidden(facts, &["warnings"]);
            }
            _ => self.holds.add(kind, facts),
        }
    }

    fn charge(&mut self, facts: &Facts) {
        let charged = |name| facts.number(&["run", name]).unwrap_or_default();
        grow(&mut self.tool_calls, charged("tool_calls"));
        grow(&mut self.latency_us, charged("latency_us"));
        grow(&mut self.prompt_tokens, charged("prompt_tokens"));
        grow(&mut self.retries, facts.number(&["retries"]).unwrap_or_default());
    }

    fn ended(&mut self, facts: &Facts) {
        let outcome = facts.outcome().unwrap_or("unknown");
        count(&mut self.outcomes, outcome, 1);
        if outcome != "success" {
            count(&mut self.failures_by_reason, facts.reason().unwrap_or("unknown"), 1);
        }
        self.handles += u64::from(facts.handle().is_some());
        self.hidden(facts, &["frame", "warnings"]);
    }

    fn hidden(&mut self, facts: &Facts, place: &[&str]) {
        for warning in facts.list(place).into_iter().flatten() {
            let kind = warning.get("kind").and_then(serde_json::Value::as_str).unwrap_or_default();
            if kind.starts_with("redacted") {
                let many = warning.get("count").and_then(serde_json::Value::as_u64).unwrap_or(1);
                count(&mut self.redactions, kind, many);
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
            others.iter().for_each(|(name, many)| count(own, name, *many));
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
            grow(own, *others);
        }
        self.holds.join(holds);
    }

    /// Sums over the events of a filter: from the sums of a lookup where it keeps them and the
    /// filter asks about nothing but the time, from the events otherwise.
    ///
    /// # Errors
    /// [`QueryError`], when the log cannot be read.
    pub fn of(
        source: &dyn Source,
        lookup: Option<&dyn Lookup>,
        filter: &Filter,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Self, QueryError> {
        let mut stats = Self::default();
        if filter.names_fields() {
            each(source, lookup, filter, &mut |facts| {
                stats.add(&facts);
                Ok::<_, QueryError>(())
            })?;
            return Ok(stats);
        }
        let span = span_of(source, filter)?;
        let mut at = span.start;
        while at < span.end {
            let kept = lookup.and_then(|lookup| lookup.sums(at));
            if let Some((sums, end)) = kept.filter(|(_, end)| (at + 1..=span.end).contains(end)) {
                stats.join(&sums);
                at = end;
                continue;
            }
            // To where the next block begins, so that its sums serve again.
            let end = (at / STRIDE + 1).saturating_mul(STRIDE).min(span.end);
            for row in rows_of(source, at..end)? {
                stats.add(&Facts::of(&row.event));
            }
            at = end;
            progress(at - span.start, span.end - span.start);
        }
        Ok(stats)
    }
}

impl Holds {
    fn add(&mut self, kind: EventKind, facts: &Facts) {
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
            grow(&mut self.waited_us, waited);
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
            grow(own, others);
        }
        self.longest_us = self.longest_us.max(other.longest_us);
    }
}

fn count(counts: &mut BTreeMap<String, u64>, name: &str, many: u64) {
    match counts.get_mut(name) {
        Some(count) => grow(count, many),
        None => {
            let name = if counts.len() < MAX_NAMES { name } else { "other" };
            grow(counts.entry(name.to_owned()).or_default(), many);
        }
    }
}

fn grow(number: &mut u64, by: u64) {
    *number = number.saturating_add(by);
}
