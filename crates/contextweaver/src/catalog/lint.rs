//! What is wrong with a catalog, as findings that tell what to do.
//!
//! | code | severity | what |
//! |---|---|---|
//! | `catalog.duplicate` | error | two entries have one id |
//! | `catalog.confusable` | error | a reader takes two ids for one another, or two names of one namespace |
//! | `catalog.dangling` | error | `depends_on` names an item that is not there |
//! | `catalog.dependency_cycle` | error | an item depends on itself, over others |
//! | `catalog.dangling_requirement` | warning | no item provides what one requires |
//! | `catalog.near_duplicate` | warning | two items say nearly the same |
//! | `catalog.same_name` | warning | two items of one namespace have one name |
//! | `catalog.missing_description` | warning | nothing says what the item does |
//! | `catalog.hidden_text` | warning | a text has characters that no reader sees |
//! | `catalog.undeclared_effects` | note | nothing says what a tool does to the world |
//!
//! Beside these stand the codes of [`CatalogError`], each an error, for entries that are no items.
//! Words that speak to a model are not looked for here: `weaver catalog lint` asks the firewall, and
//! reports them as `catalog.suspicious_text`.

mod links;
mod twins;

use std::collections::BTreeMap;

use serde::Serialize;
use weaver_text::{confusable, escape};

use crate::catalog::load::LoadedCatalog;
use crate::catalog::{ItemKind, SelectableItem, shown};
use crate::error::CatalogError;

/// How much a finding matters, from least to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// It will be found less well than it could be.
    Warning,
    /// It cannot be used as it is.
    Error,
}

impl Severity {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// The stable code.
    pub code: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// The id of the item, made visible; the place of an entry that has none.
    pub item: String,
    /// What is wrong, in one line.
    pub message: String,
    /// What to do.
    pub next: &'static str,
}

impl LoadedCatalog {
    /// Everything that is wrong with what was read: entries that are no items, items over a bound,
    /// and what [`lint()`] finds in the rest.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let mut items = Vec::new();
        let mut found = Vec::new();
        for entry in &self.entries {
            let (item, flaw) = match &entry.item {
                Err(error) => (entry.place.clone(), Some(error.code_and_text())),
                Ok(item) => {
                    let flaw = item.check().err().map(|error| error.code_and_text());
                    if flaw.is_none() {
                        items.push(item);
                    }
                    (shown(item.source_id()), flaw)
                }
            };
            if let Some((code, message)) = flaw {
                let next = "mend the entry, or take it out";
                found.push(Finding { code, severity: Severity::Error, item, message, next });
            }
        }
        found.extend(lint(items));
        found
    }
}

impl CatalogError {
    fn code_and_text(&self) -> (&'static str, String) {
        (self.code(), escape::line(&self.to_string()).into_owned())
    }
}

/// What is wrong with these items, in the order of their ids, then of the codes.
pub fn lint<'a>(items: impl IntoIterator<Item = &'a SelectableItem>) -> Vec<Finding> {
    let mut items: Vec<&SelectableItem> = items.into_iter().collect();
    items.sort_by(|a, b| a.id.cmp(&b.id));
    let mut found = Vec::new();
    let distinct = duplicates(&items, &mut found);
    confusables(&distinct, &mut found);
    links::check(&distinct, &mut found);
    twins::check(&distinct, &mut found);
    for item in &distinct {
        texts(item, &mut found);
    }
    found.sort_by(|a, b| (&a.item, a.code, &a.message).cmp(&(&b.item, b.code, &b.message)));
    found
}

fn duplicates<'a>(
    items: &[&'a SelectableItem],
    found: &mut Vec<Finding>,
) -> Vec<&'a SelectableItem> {
    let mut distinct = Vec::with_capacity(items.len());
    for same in items.chunk_by(|a, b| a.id == b.id) {
        let Some(first) = same.first() else { continue };
        distinct.push(*first);
        if same.len() > 1 {
            let message = format!("{} entries have this id", same.len());
            found.push(Finding {
                code: "catalog.duplicate",
                severity: Severity::Error,
                item: shown(first.source_id()),
                message,
                next: "keep one of them, or give each an id of its own",
            });
        }
    }
    distinct
}

/// Ids that look alike, whatever their case; names that do within one namespace.
fn confusables(items: &[&SelectableItem], found: &mut Vec<Finding>) {
    let mut ids: BTreeMap<String, &SelectableItem> = BTreeMap::new();
    let mut names: BTreeMap<(&str, String), &SelectableItem> = BTreeMap::new();
    for item in items {
        let id = confusable::folded(item.source_id());
        let other = *ids.entry(id).or_insert(item);
        if other.id != item.id {
            let next = "rename one of the two; a kernel refuses the second";
            found.push(confused(item, "its id", other.source_id(), next));
            continue;
        }
        if item.name.trim().is_empty() {
            continue;
        }
        let key = (item.namespace.as_str(), confusable::folded(&item.name));
        let other = *names.entry(key).or_insert(item);
        if other.id != item.id && other.name == item.name {
            found.push(Finding {
                code: "catalog.same_name",
                severity: Severity::Warning,
                item: shown(item.source_id()),
                message: format!("it has the name of `{}`", shown(other.source_id())),
                next: "say in the name what sets the two apart",
            });
        } else if other.id != item.id {
            let next = "rename one of the two";
            found.push(confused(item, "its name", other.source_id(), next));
        }
    }
}

fn confused(item: &SelectableItem, what: &str, other: &str, next: &'static str) -> Finding {
    Finding {
        code: "catalog.confusable",
        severity: Severity::Error,
        item: shown(item.source_id()),
        message: format!("{what} can be taken for that of `{}`", shown(other)),
        next,
    }
}

fn texts(item: &SelectableItem, found: &mut Vec<Finding>) {
    let mut add = |code, severity, message: &str, next| {
        let (item, message) = (shown(item.source_id()), message.to_owned());
        found.push(Finding { code, severity, item, message, next });
    };
    if item.description.trim().is_empty() {
        let message = "it has no description";
        let next = "say in a sentence what it does and to what";
        add("catalog.missing_description", Severity::Warning, message, next);
    }
    let odd = |text: &String| text.chars().any(|c| !c.is_whitespace() && escape::needs_escape(c));
    if [&item.name, &item.description, &item.namespace].into_iter().any(odd)
        || item.tags.iter().any(odd)
    {
        let message = "a text of it holds characters that no reader sees";
        let next = "find out who wrote them, then take them out";
        add("catalog.hidden_text", Severity::Warning, message, next);
    }
    if item.kind == ItemKind::Tool && item.effects.is_none() {
        let message = "nothing says whether it reads, writes or destroys";
        let next = "declare its `effects`; undeclared is treated as the most dangerous";
        add("catalog.undeclared_effects", Severity::Note, message, next);
    }
}
