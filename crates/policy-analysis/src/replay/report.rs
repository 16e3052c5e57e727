//! What a replay found: the calls that get another verdict, and the counts by rule.

use std::collections::BTreeMap;

use serde::Serialize;
use weaver_types::{ReasonCode, Timestamp, Verdict};

use super::verdict::DraftVerdict;
use super::{NotJudged, verdict_then};
use crate::history::RecordedCall;

/// The most calls that are listed; all are counted.
const MAX_LISTED: usize = 1_000;
const DAY_MICROS: i64 = 86_400_000_000;

/// How many calls got each verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct ReplayCounts {
    /// Allowed.
    pub allow: usize,
    /// Sent back to whoever asked.
    pub ask: usize,
    /// Held until somebody releases them.
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

/// What one rule of the draft, or one reason where no rule speaks, makes of the calls.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct RuleCounts {
    /// How many calls it allows, holds, denies.
    pub now: ReplayCounts,
    /// How many of them got another verdict then.
    pub changed: usize,
}

/// A call that gets another verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReplayedCall {
    /// The call.
    pub call: String,
    /// When it was made.
    pub at: String,
    /// The capability.
    pub capability: String,
    /// The verdict then: what was enforced.
    pub then: Verdict,
    /// What the policy of then said, where it observed and said something else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub would_have: Option<Verdict>,
    /// The verdict with the draft.
    pub now: Verdict,
    /// Its reason.
    pub reason: ReasonCode,
    /// The rule that gives it, or the reason where no rule does.
    pub source: String,
}

/// What a draft would have made of recorded calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DraftReplay {
    /// How many calls were judged.
    pub judged: usize,
    /// What was enforced then.
    pub then: ReplayCounts,
    /// What the draft says.
    pub now: ReplayCounts,
    /// How many of the calls that the draft allows were held then.
    pub allowed_of_held: usize,
    /// How many of the calls that the draft allows were denied or sent back then.
    pub allowed_of_denied: usize,
    /// By the rule of the draft, or by the reason where no rule speaks.
    pub by_rule: BTreeMap<String, RuleCounts>,
    /// The calls that get another verdict, the first thousand.
    pub changed: Vec<ReplayedCall>,
    /// How many calls get another verdict.
    pub changed_total: usize,
    /// How many calls cannot be judged again, by the reason.
    pub not_judged: BTreeMap<NotJudged, usize>,
    /// How many days the calls span.
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

    pub(super) fn add(&mut self, call: &RecordedCall, draft: Result<DraftVerdict, NotJudged>) {
        let draft = match draft {
            Ok(draft) => draft,
            Err(reason) => {
                *self.not_judged.entry(reason).or_default() += 1;
                return;
            }
        };
        let then = verdict_then(call);
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

    /// How many calls could not be judged again.
    #[must_use]
    pub fn not_judged_total(&self) -> usize {
        self.not_judged.values().sum()
    }

    /// Whether every call was judged and got the verdict that it got then.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.changed_total == 0 && self.not_judged_total() == 0
    }

    /// The replay in one line.
    #[must_use]
    pub fn summary(&self) -> String {
        let days = match self.days {
            0 => "less than a day".to_owned(),
            1 => "1 day".to_owned(),
            many => format!("{many} days"),
        };
        let left = match self.not_judged_total() {
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
