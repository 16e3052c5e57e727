//! The report of a replay: the calls with a different verdict, and counts by rule.

use std::collections::BTreeMap;

use serde::Serialize;
use weaver_types::{ReasonCode, Timestamp, Verdict};

use super::draft_evaluator::DraftVerdict;
use super::{UnjudgedReason, recorded_verdict};
use crate::history::RecordedCall;

/// The maximum number of listed calls; all are counted.
const MAX_LISTED: usize = 1_000;
const DAY_MICROS: i64 = 86_400_000_000;

/// The number of calls with each verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct ReplayCounts {
    /// Allowed.
    pub allow: usize,
    /// Sent back to the requester.
    pub ask: usize,
    /// Held for approval.
    pub hold: usize,
    /// Denied.
    pub deny: usize,
}

impl ReplayCounts {
    fn count(&mut self, verdict: Verdict) {
        let place = match verdict {
            Verdict::Allow => &mut self.allow,
            Verdict::Ask => &mut self.ask,
            Verdict::Hold => &mut self.hold,
            Verdict::Deny => &mut self.deny,
        };
        *place = place.saturating_add(1);
    }
}

/// The verdicts that come from one rule of the draft, or from one reason if there is no rule.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct RuleCounts {
    /// The verdicts with the draft.
    pub now: ReplayCounts,
    /// How many of these calls were recorded with another verdict.
    pub changed: usize,
}

/// A call with a different verdict under the draft.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReplayedCall {
    /// The call.
    pub call: String,
    /// When it was made.
    pub at: String,
    /// The capability.
    pub capability: String,
    /// The recorded verdict, as enforced.
    pub then: Verdict,
    /// The verdict of the recorded policy, if it only observed and differed from the enforced one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub would_have: Option<Verdict>,
    /// The verdict with the draft.
    pub now: Verdict,
    /// Its reason.
    pub reason: ReasonCode,
    /// The rule that it comes from, or the reason if there is no rule.
    pub source: String,
}

/// How a draft would have decided recorded calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DraftReplay {
    /// The number of calls that were judged.
    pub judged: usize,
    /// The recorded verdicts, as enforced.
    pub then: ReplayCounts,
    /// The verdicts of the draft.
    pub now: ReplayCounts,
    /// How many calls that the draft allows were held before.
    pub allowed_of_held: usize,
    /// How many calls that the draft allows were denied or sent back before.
    pub allowed_of_denied: usize,
    /// Counts by rule of the draft, or by reason if there is no rule.
    pub by_rule: BTreeMap<String, RuleCounts>,
    /// The first thousand calls with a different verdict.
    pub changed: Vec<ReplayedCall>,
    /// The number of calls with a different verdict.
    pub changed_total: usize,
    /// The number of calls that cannot be judged, by reason.
    pub not_judged: BTreeMap<UnjudgedReason, usize>,
    /// The number of days that the calls span.
    pub days: u64,
}

impl DraftReplay {
    pub(super) fn between(since: Timestamp, now: Timestamp) -> Self {
        let span = now.micros().saturating_sub(since.micros());
        Self {
            judged: 0,
            then: ReplayCounts::default(),
            now: ReplayCounts::default(),
            allowed_of_held: 0,
            allowed_of_denied: 0,
            by_rule: BTreeMap::new(),
            changed: Vec::new(),
            changed_total: 0,
            not_judged: BTreeMap::new(),
            days: u64::try_from(span.saturating_add(DAY_MICROS / 2) / DAY_MICROS).unwrap_or(0),
        }
    }

    pub(super) fn add(&mut self, call: &RecordedCall, draft: Result<DraftVerdict, UnjudgedReason>) {
        let draft = match draft {
            Ok(draft) => draft,
            Err(reason) => {
                *self.not_judged.entry(reason).or_default() += 1;
                return;
            }
        };
        let then = recorded_verdict(call);
        self.judged += 1;
        self.then.count(then);
        self.now.count(draft.verdict);
        if draft.verdict == Verdict::Allow {
            self.allowed_of_held += usize::from(then == Verdict::Hold);
            self.allowed_of_denied += usize::from(matches!(then, Verdict::Deny | Verdict::Ask));
        }
        let rule = self.by_rule.entry(draft.source.clone()).or_default();
        rule.now.count(draft.verdict);
        if then == draft.verdict {
            return;
        }
        rule.changed += 1;
        self.changed_total += 1;
        if self.changed.len() < MAX_LISTED {
            let would_have = call.would_have.as_ref().map(|would| would.verdict);
            self.changed.push(ReplayedCall {
                call: call.id.clone(),
                at: call.at.rfc3339(),
                capability: call.capability.to_string(),
                then,
                would_have: would_have.filter(|would| *would != then),
                now: draft.verdict,
                reason: draft.reason,
                source: draft.source,
            });
        }
    }

    /// The number of calls that cannot be judged.
    #[must_use]
    pub fn unjudged_total(&self) -> usize {
        self.not_judged.values().sum()
    }

    /// Whether every call was judged and has its recorded verdict.
    #[must_use]
    pub fn is_unchanged(&self) -> bool {
        self.changed_total == 0 && self.unjudged_total() == 0
    }

    /// A summary in one line.
    #[must_use]
    pub fn summary(&self) -> String {
        let days = match self.days {
            0 => "less than a day".to_owned(),
            1 => "1 day".to_owned(),
            many => format!("{many} days"),
        };
        let left = match self.unjudged_total() {
            0 => String::new(),
            many => format!("; {} cannot be judged again", calls(many)),
        };
        if self.judged == 0 {
            return format!("no calls in {days}{left}");
        }
        let times =
            if self.now.hold == 1 { "once".to_owned() } else { format!("{} times", self.now.hold) };
        let mut out = format!(
            "would have asked you {times} in {days}, denied {}, allowed {} that were held",
            calls(self.now.deny),
            self.allowed_of_held
        );
        if self.allowed_of_denied > 0 {
            out.push_str(&format!(" and {} that were denied", self.allowed_of_denied));
        }
        if self.now.ask > 0 {
            out.push_str(&format!(", sent back {}", calls(self.now.ask)));
        }
        format!("{out} (of {}){left}", calls(self.judged))
    }
}

fn calls(many: usize) -> String {
    if many == 1 { "1 call".to_owned() } else { format!("{many} calls") }
}
