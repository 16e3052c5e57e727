//! Filters the items that may answer a request, and arranges the ranked hits.
//!
//! A [`Filter`] works in two steps. Before scoring, [`Filter::admitted`] determines which items take
//! part. Only these are counted, so that the others influence no rank, score or number. After
//! scoring, [`Filter::arrange`] puts pins first, adjusts scores by history and applies the quota.
//! Neither grants permission: an admitted item may still be denied.
//!
//! ```
//! use contextweaver::catalog::{ItemKind, SelectableItem};
//! use contextweaver::filter::{Filter, FilterRule};
//! use contextweaver::types::CapabilityId;
//!
//! let item = SelectableItem::new(CapabilityId::parse("mail.send")?, "send", "Send a mail");
//! let filter = Filter { kinds: [ItemKind::Prompt].into(), ..Filter::default() };
//! assert_eq!(filter.admits(&item), Err(FilterRule::Kind));
//! # Ok::<(), contextweaver::types::IdError>(())
//! ```

mod arrange;
mod chain;
mod history;
mod visibility;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

use serde::Serialize;
use weaver_types::CapabilityId;

use crate::catalog::{ItemKind, SelectableItem};

pub use history::History;
pub use visibility::Visibility;

/// Why an item does not take part. If several rules apply, the first in this order counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FilterRule {
    /// The item is not visible. This is never revealed to whoever made the request.
    Hidden,
    /// The item has another kind.
    Kind,
    /// The item is in another namespace.
    Namespace,
    /// The item has none of the requested tags.
    Tag,
    /// The item's id is excluded.
    ExcludedId,
    /// The item has an excluded tag.
    ExcludedTag,
}

weaver_types::words! { FilterRule: "The stable word for the rule.";
    Hidden = "hidden", Kind = "kind", Namespace = "namespace", Tag = "tag",
    ExcludedId = "excluded_id", ExcludedTag = "excluded_tag",
}

/// Which items take part, and how the hits are arranged. The default admits everything and changes
/// nothing.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Admit only these kinds; empty for all.
    pub kinds: BTreeSet<ItemKind>,
    /// Admit only these namespaces and those below them (`github` and `github.issues`); empty for
    /// all.
    pub namespaces: BTreeSet<String>,
    /// Admit only items with at least one of these tags; empty for all.
    pub tags: BTreeSet<String>,
    /// Exclude these items.
    pub exclude_ids: BTreeSet<CapabilityId>,
    /// Exclude items with one of these tags.
    pub exclude_tags: BTreeSet<String>,
    /// These items come first, in this order, if the filter admits them.
    pub pins: Vec<CapabilityId>,
    /// Whether the unmet dependencies of the first item follow directly after it: the items that it
    /// depends on, and the best providers of what it requires, unless they were used before.
    pub chained: bool,
    /// The most hits from one namespace. Pins count, but are never dropped for it.
    pub quota: Option<NonZeroUsize>,
    /// The items that were used before.
    pub history: History,
    /// Which items are visible at all.
    pub visibility: Visibility,
}

/// The result of filtering a list of items.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AdmittedItems {
    /// For each item of the list, whether it takes part.
    pub items: Vec<bool>,
    /// How many items each rule left out. Hidden items are not counted.
    pub left_out: BTreeMap<FilterRule, usize>,
}

impl Filter {
    /// Whether every item takes part.
    #[must_use]
    pub fn admits_all(&self) -> bool {
        self.visibility.is_open()
            && self.kinds.is_empty()
            && self.namespaces.is_empty()
            && self.tags.is_empty()
            && self.exclude_ids.is_empty()
            && self.exclude_tags.is_empty()
    }

    /// Whether [`Filter::arrange`] leaves the ranking unchanged.
    #[must_use]
    pub fn keeps_order(&self) -> bool {
        self.pins.is_empty() && self.quota.is_none() && self.history.is_empty() && !self.chained
    }

    /// Whether an item takes part.
    ///
    /// # Errors
    /// The first rule that leaves the item out. [`FilterRule::Hidden`] is for the host alone.
    pub fn admits(&self, item: &SelectableItem) -> Result<(), FilterRule> {
        let any = |tags: &BTreeSet<String>| item.tags.iter().any(|tag| tags.contains(tag));
        let left_out = if !self.visibility.sees(item) {
            FilterRule::Hidden
        } else if !self.kinds.is_empty() && !self.kinds.contains(&item.kind) {
            FilterRule::Kind
        } else if !self.namespaces.is_empty() && !self.is_in_namespaces(&item.namespace) {
            FilterRule::Namespace
        } else if !self.tags.is_empty() && !any(&self.tags) {
            FilterRule::Tag
        } else if self.exclude_ids.contains(&item.id) {
            FilterRule::ExcludedId
        } else if any(&self.exclude_tags) {
            FilterRule::ExcludedTag
        } else {
            return Ok(());
        };
        Err(left_out)
    }

    /// Which of these items take part.
    #[must_use]
    pub fn admitted<'a>(
        &self,
        items: impl IntoIterator<Item = &'a SelectableItem>,
    ) -> AdmittedItems {
        let mut out = AdmittedItems::default();
        for item in items {
            let admitted = self.admits(item);
            out.items.push(admitted.is_ok());
            match admitted {
                Ok(()) | Err(FilterRule::Hidden) => {}
                Err(rule) => *out.left_out.entry(rule).or_default() += 1,
            }
        }
        out
    }

    /// Whether the namespace is one of the requested ones, or below one.
    fn is_in_namespaces(&self, namespace: &str) -> bool {
        self.namespaces.contains(namespace)
            || namespace.match_indices(['.', '/']).any(|(end, _)| {
                namespace.get(..end).is_some_and(|parent| self.namespaces.contains(parent))
            })
    }
}
