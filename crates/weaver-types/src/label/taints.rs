//! The calls that made a label untrusted.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::MAX_TAINTS;
use crate::id::CallId;

static NONE: BTreeSet<CallId> = BTreeSet::new();

/// The calls whose output made a label untrusted: the last [`MAX_TAINTS`] that were added, lowest
/// ids first. The most recent calls are kept so that comparing two labels of a run shows whether a
/// call tainted it in between, however many came before. Clones share the set, because labels are
/// cloned several times per call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Taints(Option<Arc<BTreeSet<CallId>>>);

impl Taints {
    /// No call.
    #[must_use]
    pub const fn none() -> Self {
        Self(None)
    }

    /// True when no call is named; consistent with the set that it derefs to.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Adds a call, replacing another one when there are [`MAX_TAINTS`].
    pub(super) fn add(&mut self, call: &CallId) {
        self.join(&Self::from(BTreeSet::from([call.clone()])));
    }

    /// Adds the calls of another set; when there are more than [`MAX_TAINTS`], those of `other`
    /// win.
    pub(super) fn join(&mut self, other: &Self) {
        if self.is_empty() && other.len() <= MAX_TAINTS {
            self.0.clone_from(&other.0);
            return;
        }
        if other.is_subset(self) {
            return;
        }
        let calls = Arc::make_mut(self.0.get_or_insert_default());
        calls.extend(other.iter().take(MAX_TAINTS).cloned());
        while calls.len() > MAX_TAINTS {
            let Some(older) = calls.iter().find(|call| !other.contains(*call)).cloned() else {
                break;
            };
            calls.remove(&older);
        }
    }
}

impl Deref for Taints {
    type Target = BTreeSet<CallId>;

    fn deref(&self) -> &Self::Target {
        self.0.as_deref().unwrap_or(&NONE)
    }
}

impl From<BTreeSet<CallId>> for Taints {
    fn from(calls: BTreeSet<CallId>) -> Self {
        Self((!calls.is_empty()).then(|| Arc::new(calls)))
    }
}

impl Serialize for Taints {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Taints {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        BTreeSet::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(n: usize) -> CallId {
        CallId::parse(format!("call_{n:03}")).unwrap()
    }

    #[test]
    fn a_copy_is_not_changed_by_what_is_added_to_the_other() {
        let mut one = Taints::none();
        one.add(&call(2));
        let copy = one.clone();
        one.add(&call(1));
        assert_eq!(copy.iter().collect::<Vec<_>>(), [&call(2)]);
        assert_eq!(one.iter().collect::<Vec<_>>(), [&call(1), &call(2)]);
    }

    #[test]
    fn a_set_reads_back_as_it_was_written() {
        let mut some = Taints::none();
        some.add(&call(1));
        for taints in [Taints::none(), some] {
            let text = serde_json::to_string(&taints).unwrap();
            let read: Taints = serde_json::from_str(&text).unwrap();
            assert_eq!(read, taints);
            assert_eq!(read.is_empty(), BTreeSet::is_empty(&read));
        }
    }

    #[test]
    fn a_full_set_has_those_that_came_last() {
        let mut full = Taints::none();
        (0..MAX_TAINTS).for_each(|n| full.add(&call(n)));
        for last in [call(99), CallId::parse("a").unwrap()] {
            let mut joined = full.clone();
            joined.join(&Taints::from(BTreeSet::from([last.clone()])));
            assert!(joined.contains(&last) && joined.len() == MAX_TAINTS);
            assert_eq!(joined.difference(&full).count(), 1);
        }
        let mut same = full.clone();
        same.add(&call(3));
        assert_eq!(same, full);
        // One that is too long, as only a changed file can have it, is cut when it is joined.
        let long = Taints::from((0..100).map(call).collect::<BTreeSet<_>>());
        let mut cut = Taints::none();
        cut.join(&long);
        assert_eq!(cut, full);
    }
}
