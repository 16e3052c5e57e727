//! What a request may be answered with, and how the answer stands beside what has happened.
//!
//! A [`Filter`] has two halves. Before anything is scored, [`Filter::admitted`] says which items
//! take part: whoever scores counts only these, so that the others leave no trace in a rank, a
//! score or a number. After it, [`Filter::arrange`] puts pins first, weighs history and keeps the
//! quota. Neither permits anything: what a filter lets through may still be denied.
//!
//! ```
//! use contextweaver::catalog::{ItemKind, SelectableItem};
//! use contextweaver::filter::{Filter, Rule};
//! use contextweaver::types::CapabilityId;
//!
//! let item = SelectableItem::new(CapabilityId::parse("mail.send")?, "send", "Send a mail");
//! let filter = Filter { kinds: [ItemKind::Prompt].into(), ..Filter::default() };
//! assert_eq!(filter.admits(&item), Err(Rule::Kind));
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

/// Why an item takes no part. The first that applies, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Rule {
    /// It may not be seen. Never told to whoever asked.
    Hidden,
    /// It is of another kind.
    Kind,
    /// It stands in another namespace.
    Namespace,
    /// It has none of the tags asked for.
    Tag,
    /// Its id is excluded.
    ExcludedId,
    /// It has a tag that is excluded.
    ExcludedTag,
}

impl Rule {
    /// The stable word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hidden => "hidden",
            Self::Kind => "kind",
            Self::Namespace => "namespace",
            Self::Tag => "tag",
            Self::ExcludedId => "excluded_id",
            Self::ExcludedTag => "excluded_tag",
        }
    }
}

/// Which items take part, and how those that do are arranged. The default lets everything through
/// and changes nothing.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// These kinds only; empty for all.
    pub kinds: BTreeSet<ItemKind>,
    /// These namespaces only, with what is below them (`github` and `github.issues`); empty for
    /// all.
    pub namespaces: BTreeSet<String>,
    /// Items with at least one of these tags; empty for all.
    pub tags: BTreeSet<String>,
    /// Not these items.
    pub exclude_ids: BTreeSet<CapabilityId>,
    /// No item with one of these tags.
    pub exclude_tags: BTreeSet<String>,
    /// These come first, in this order, where the rest of the filter lets them through.
    pub pins: Vec<CapabilityId>,
    /// Whether what the first item needs comes right behind it: the items it depends on, and the
    /// best that provides what it requires, unless they were used.
    pub chained: bool,
    /// Most items of one namespace. Pins count, and are never dropped for it.
    pub quota: Option<NonZeroUsize>,
    /// What has been used before.
    pub history: History,
    /// Which items may be seen at all.
    pub visibility: Visibility,
}

/// What takes part.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AdmittedItems {
    /// For each item in the order given, whether it takes part.
    pub items: Vec<bool>,
    /// How many were left out by which rule. What is hidden is not counted here.
    pub left_out: BTreeMap<Rule, usize>,
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

    /// Whether the hits stand as they were ranked.
    #[must_use]
    pub fn keeps_order(&self) -> bool {
        self.pins.is_empty() && self.quota.is_none() && self.history.is_empty() && !self.chained
    }

    /// Whether an item takes part.
    ///
    /// # Errors
    /// The first rule that leaves it out. [`Rule::Hidden`] is for the host alone.
    pub fn admits(&self, item: &SelectableItem) -> Result<(), Rule> {
        let any = |tags: &BTreeSet<String>| item.tags.iter().any(|tag| tags.contains(tag));
        let left_out = if !self.visibility.sees(item) {
            Rule::Hidden
        } else if !self.kinds.is_empty() && !self.kinds.contains(&item.kind) {
            Rule::Kind
        } else if !self.namespaces.is_empty() && !self.within(&item.namespace) {
            Rule::Namespace
        } else if !self.tags.is_empty() && !any(&self.tags) {
            Rule::Tag
        } else if self.exclude_ids.contains(&item.id) {
            Rule::ExcludedId
        } else if any(&self.exclude_tags) {
            Rule::ExcludedTag
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
                Ok(()) | Err(Rule::Hidden) => {}
                Err(rule) => *out.left_out.entry(rule).or_default() += 1,
            }
        }
        out
    }

    /// Whether the namespace is one of those asked for, or below one.
    fn within(&self, namespace: &str) -> bool {
        self.namespaces.contains(namespace)
            || namespace.match_indices(['.', '/']).any(|(end, _)| {
                namespace.get(..end).is_some_and(|above| self.namespaces.contains(above))
            })
    }
}
