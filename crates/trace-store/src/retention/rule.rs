//! Rules of retention.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Value, json};
use weaver_types::{EventKind, PrincipalId, Timestamp};

use super::RetentionError;
use crate::entry::EventHeader;
use crate::prune::{PruneReason, is_never_pruned};

/// The default minimum age of a payload that may be pruned: one day.
pub const MIN_AGE: Duration = Duration::from_secs(24 * 60 * 60);
/// The most rules.
pub(super) const MAX_RULES: usize = 1_000;

/// A rule: payloads that match all of it are pruned.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RetentionRule {
    /// The minimum age.
    pub older_than: Duration,
    /// The principal they belong to: the field `principal`.
    pub principal: Option<PrincipalId>,
    /// A tag of the capability they are about: one of the field `tags`.
    pub tag: Option<String>,
    /// The event kinds; empty for all.
    pub kinds: Vec<EventKind>,
}

impl RetentionRule {
    /// Everything of that age.
    #[must_use]
    pub fn older_than(age: Duration) -> Self {
        Self { older_than: age, ..Self::default() }
    }

    pub(super) fn reason(&self) -> PruneReason {
        match (&self.principal, &self.tag) {
            (Some(_), _) => PruneReason::Principal,
            (None, Some(_)) => PruneReason::Tag,
            (None, None) if !self.kinds.is_empty() => PruneReason::Kind,
            (None, None) => PruneReason::Age,
        }
    }

    /// Whether the rule is about this event, whatever its age.
    fn matches(&self, kind: EventKind, payload: &Value) -> bool {
        let whose = payload.get("principal").and_then(Value::as_str);
        let tags = payload.get("tags").and_then(Value::as_array);
        let tagged = |tag: &str| tags.is_some_and(|tags| tags.iter().any(|has| has == tag));
        (self.kinds.is_empty() || self.kinds.contains(&kind))
            && self.principal.as_ref().is_none_or(|id| whose == Some(id.as_str()))
            && self.tag.as_deref().is_none_or(tagged)
    }
}

/// How long payloads of a kind are kept, whatever the rules say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MinimumRetention {
    /// For at least this long.
    AtLeast(Duration),
    /// Forever.
    Forever,
}

/// Which payloads are pruned, and when.
///
/// ```
/// use std::time::Duration;
/// use weaver_trace_store::retention::{MinimumRetention, MIN_AGE, Retention, RetentionRule};
/// use weaver_types::EventKind;
///
/// let day = Duration::from_secs(24 * 60 * 60);
/// let rules = vec![
///     RetentionRule { tag: Some("PII".to_owned()), ..RetentionRule::older_than(30 * day) },
///     RetentionRule::older_than(365 * day),
/// ];
/// let retention = Retention::new(rules, MIN_AGE)?
///     .keeping(EventKind::Intent, MinimumRetention::AtLeast(730 * day))
///     .keeping(EventKind::ApprovalGranted, MinimumRetention::Forever);
/// assert_eq!(retention.rules().len(), 2);
/// # Ok::<(), weaver_trace_store::retention::RetentionError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retention {
    rules: Vec<RetentionRule>,
    least: Duration,
    keep: BTreeMap<EventKind, MinimumRetention>,
}

impl Retention {
    /// A retention with rules, none of which prunes anything younger than `least`. A payload is
    /// pruned once it is old enough for any rule that is about it, so the order of the rules has no
    /// meaning, and a rule never keeps what another prunes. [`Retention::keeping`] does.
    ///
    /// # Errors
    /// [`RetentionError`], when a rule would prune something younger, or when there are over a
    /// thousand.
    pub fn new(rules: Vec<RetentionRule>, least: Duration) -> Result<Self, RetentionError> {
        if rules.len() > MAX_RULES {
            return Err(RetentionError::TooMany { found: rules.len(), most: MAX_RULES });
        }
        if let Some((rule, young)) = rules.iter().enumerate().find(|(_, r)| r.older_than < least) {
            let (after, least) = (young.older_than.as_secs(), least.as_secs());
            return Err(RetentionError::TooYoung { rule, after, least });
        }
        Ok(Self { rules, least, keep: BTreeMap::new() })
    }

    /// Keeps payloads of a kind for a minimum time.
    #[must_use]
    pub fn keeping(mut self, kind: EventKind, keep: MinimumRetention) -> Self {
        self.keep.insert(kind, keep);
        self
    }

    /// The rules.
    #[must_use]
    pub fn rules(&self) -> &[RetentionRule] {
        &self.rules
    }

    /// All ages at which an event may become due, the highest first: those of the rules, each
    /// raised to what a kind is kept for. Between two of them nothing changes for an event.
    pub(super) fn ages(&self) -> Vec<Duration> {
        let kept = self.keep.values().filter_map(|keep| match keep {
            MinimumRetention::AtLeast(age) => Some(*age),
            MinimumRetention::Forever => None,
        });
        let kept: BTreeSet<Duration> = kept.chain([self.least]).collect();
        let of_rule = |rule: &RetentionRule| {
            let after = rule.older_than;
            kept.iter().map(move |kept| after.max(*kept)).collect::<Vec<_>>()
        };
        let ages: BTreeSet<Duration> = self.rules.iter().flat_map(of_rule).collect();
        ages.into_iter().rev().collect()
    }

    /// Why the payload of an event is due; `None` if it is kept, or is too young.
    pub(super) fn due_reason(
        &self,
        header: &EventHeader,
        payload: &Value,
        now: Timestamp,
    ) -> Option<PruneReason> {
        let kept = match self.keep.get(&header.kind) {
            Some(MinimumRetention::Forever) => return None,
            Some(MinimumRetention::AtLeast(age)) => *age,
            None => self.least,
        };
        if is_never_pruned(header.kind) {
            return None;
        }
        let old = age(header.at, now);
        let mut due = self.rules.iter().filter(|rule| old >= rule.older_than.max(kept));
        due.find(|rule| rule.matches(header.kind, payload)).map(RetentionRule::reason)
    }

    /// The whole retention as a value, which identifies it.
    pub(super) fn identity_value(&self) -> Value {
        let micros = |age: &Duration| age.as_micros().to_string();
        let rules = self.rules.iter().map(|rule| {
            let kinds: Vec<&str> = rule.kinds.iter().map(|kind| kind.as_str()).collect();
            json!([micros(&rule.older_than), rule.principal, rule.tag, kinds])
        });
        let rules: Vec<Value> = rules.collect();
        let keep = self.keep.iter().map(|(kind, keep)| match keep {
            MinimumRetention::AtLeast(age) => json!([kind.as_str(), micros(age)]),
            MinimumRetention::Forever => json!([kind.as_str(), Value::Null]),
        });
        let keep: Vec<Value> = keep.collect();
        json!({ "v": 1, "rules": rules, "least": micros(&self.least), "keep": keep })
    }
}

/// The age of an event; zero if its time lies in the future.
pub(super) fn age(at: Timestamp, now: Timestamp) -> Duration {
    let micros = now.micros().saturating_sub(at.micros());
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}
