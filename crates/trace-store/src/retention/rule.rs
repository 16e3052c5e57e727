//! Rules of retention.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use weaver_types::{EventKind, PrincipalId, Timestamp};

use super::RetentionError;
use crate::entry::Header;
use crate::prune::{Reason, never};

/// The least age of a payload that may go, where nothing else is said: one day.
pub const LEAST_AGE: Duration = Duration::from_secs(24 * 60 * 60);
/// The most rules.
pub(super) const MAX_RULES: usize = 1_000;

/// A rule: payloads that fit all of it go.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rule {
    /// How old they are at least.
    pub older_than: Duration,
    /// Whose they are: the field `principal`.
    pub principal: Option<PrincipalId>,
    /// A tag of the capability they are about: one of the field `tags`.
    pub tag: Option<String>,
    /// Of which kinds they are; none for all.
    pub kinds: Vec<EventKind>,
}

impl Rule {
    /// Everything of that age.
    #[must_use]
    pub fn older_than(age: Duration) -> Self {
        Self { older_than: age, ..Self::default() }
    }

    pub(super) fn reason(&self) -> Reason {
        match (&self.principal, &self.tag) {
            (Some(_), _) => Reason::Principal,
            (None, Some(_)) => Reason::Tag,
            (None, None) if !self.kinds.is_empty() => Reason::Kind,
            (None, None) => Reason::Age,
        }
    }

    /// Whether it is about this event, whatever its age.
    fn fits(&self, kind: EventKind, payload: &Value) -> bool {
        let whose = payload.get("principal").and_then(Value::as_str);
        let tags = payload.get("tags").and_then(Value::as_array);
        let tagged = |tag: &str| tags.is_some_and(|tags| tags.iter().any(|has| has == tag));
        (self.kinds.is_empty() || self.kinds.contains(&kind))
            && self.principal.as_ref().is_none_or(|id| whose == Some(id.as_str()))
            && self.tag.as_deref().is_none_or(tagged)
    }
}

/// How long payloads of a kind stay, whatever the rules say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// At least this long.
    AtLeast(Duration),
    /// For ever.
    Forever,
}

/// Which payloads go, and when.
///
/// ```
/// use std::time::Duration;
/// use weaver_trace_store::retention::{Keep, LEAST_AGE, Retention, Rule};
/// use weaver_types::EventKind;
///
/// let day = Duration::from_secs(24 * 60 * 60);
/// let rules = vec![
///     Rule { tag: Some("PII".to_owned()), ..Rule::older_than(30 * day) },
///     Rule::older_than(365 * day),
/// ];
/// let retention = Retention::new(rules, LEAST_AGE)?
///     .keeping(EventKind::Intent, Keep::AtLeast(730 * day))
///     .keeping(EventKind::ApprovalGranted, Keep::Forever);
/// assert_eq!(retention.rules().len(), 2);
/// # Ok::<(), weaver_trace_store::retention::RetentionError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retention {
    rules: Vec<Rule>,
    least: Duration,
    keep: BTreeMap<EventKind, Keep>,
}

/// What a retention says of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RetentionVerdict {
    /// No rule is about it, or its kind stays for ever.
    Stays,
    /// A rule is about it, and it is too young.
    Later,
    /// It goes.
    Goes(Reason),
}

impl Retention {
    /// Rules, of which the first that fits decides; none prunes what is younger than `least`.
    ///
    /// # Errors
    /// [`RetentionError`], when a rule would, or when there are more than a thousand.
    pub fn new(rules: Vec<Rule>, least: Duration) -> Result<Self, RetentionError> {
        if rules.len() > MAX_RULES {
            return Err(RetentionError::TooMany { found: rules.len(), most: MAX_RULES });
        }
        if let Some((rule, young)) = rules.iter().enumerate().find(|(_, r)| r.older_than < least) {
            let (after, least) = (young.older_than.as_secs(), least.as_secs());
            return Err(RetentionError::TooYoung { rule, after, least });
        }
        Ok(Self { rules, least, keep: BTreeMap::new() })
    }

    /// The same, with payloads of a kind kept.
    #[must_use]
    pub fn keeping(mut self, kind: EventKind, keep: Keep) -> Self {
        self.keep.insert(kind, keep);
        self
    }

    /// The rules.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The least age that any rule has: nothing younger can go.
    pub(super) fn youngest(&self) -> Option<Duration> {
        self.rules.iter().map(|rule| rule.older_than.max(self.least)).min()
    }

    pub(super) fn fate(
        &self,
        header: &Header,
        payload: &Value,
        now: Timestamp,
    ) -> RetentionVerdict {
        let kept = match self.keep.get(&header.kind) {
            Some(Keep::Forever) => return RetentionVerdict::Stays,
            Some(Keep::AtLeast(age)) => *age,
            None => self.least,
        };
        if never(header.kind) {
            return RetentionVerdict::Stays;
        }
        let old = age(header.at, now);
        let mut fate = RetentionVerdict::Stays;
        for rule in self.rules.iter().filter(|rule| rule.fits(header.kind, payload)) {
            if old >= rule.older_than.max(kept) {
                return RetentionVerdict::Goes(rule.reason());
            }
            fate = RetentionVerdict::Later;
        }
        fate
    }

    /// All of it as a value, by which two are told apart.
    pub(super) fn form(&self) -> Value {
        let micros = |age: &Duration| age.as_micros().to_string();
        let rules = self.rules.iter().map(|rule| {
            let kinds: Vec<&str> = rule.kinds.iter().map(|kind| kind.as_str()).collect();
            json!([micros(&rule.older_than), rule.principal, rule.tag, kinds])
        });
        let rules: Vec<Value> = rules.collect();
        let keep = self.keep.iter().map(|(kind, keep)| match keep {
            Keep::AtLeast(age) => json!([kind.as_str(), micros(age)]),
            Keep::Forever => json!([kind.as_str(), Value::Null]),
        });
        let keep: Vec<Value> = keep.collect();
        json!({ "v": 1, "rules": rules, "least": micros(&self.least), "keep": keep })
    }
}

/// How old something is; nothing where it lies ahead.
pub(super) fn age(at: Timestamp, now: Timestamp) -> Duration {
    let micros = now.micros().saturating_sub(at.micros());
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}
