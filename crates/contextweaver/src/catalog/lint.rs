//! Checks a catalog and reports findings, each with a remedy.
//!
//! | code | severity | what |
//! |---|---|---|
//! | `catalog.duplicate` | error | two entries have the same id |
//! | `catalog.confusable` | error | two ids look the same to a reader, or two names of one namespace do |
//! | `catalog.dangling` | error | `depends_on` names an item that does not exist |
//! | `catalog.dependency_cycle` | error | an item depends on itself, directly or through others |
//! | `catalog.dangling_requirement` | warning | no item provides a condition that an item requires |
//! | `catalog.near_duplicate` | warning | two items say nearly the same |
//! | `catalog.same_name` | warning | two items of one namespace have the same name |
//! | `catalog.missing_description` | warning | nothing says what the item does |
//! | `catalog.hidden_text` | warning | a text has invisible characters |
//! | `catalog.undeclared_effects` | note | the effects of a tool are not declared |
//!
//! Entries that are not valid items are reported as errors under the codes of [`CatalogError`]. Text
//! that gives a model instructions is not looked for here: `weaver catalog lint` asks the firewall
//! and reports such text as `catalog.suspicious_text`.

mod near_duplicates;
mod references;

use std::collections::BTreeMap;

use serde::Serialize;
use weaver_text::{confusable, escape};

use crate::catalog::load::LoadedCatalog;
use crate::catalog::{ItemKind, SelectableItem, printable};
use crate::error::CatalogError;

/// The severity of a finding, from least to most severe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The item works, but somebody should know of this.
    Note,
    /// A search finds the item less well than it could.
    Warning,
    /// The item cannot be used as it is.
    Error,
}

weaver_types::words! { Severity: "The word for the severity.";
    Note = "note", Warning = "warning", Error = "error",
}

/// One problem of a catalog.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// The stable code.
    pub code: &'static str,
    /// How severe the problem is.
    pub severity: Severity,
    /// The id of the item, escaped; the location of an entry that has no id.
    pub item: String,
    /// What is wrong, in one line.
    pub message: String,
    /// What to do.
    pub next: &'static str,
}

impl LoadedCatalog {
    /// All problems of what was read: entries that are not valid items, items that exceed a bound,
    /// and what [`lint()`] finds in the rest.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let mut items = Vec::new();
        let mut findings = Vec::new();
        for entry in &self.entries {
            let (item, fault) = match &entry.item {
                Err(error) => (entry.location.clone(), Some(error.code_and_text())),
                Ok(item) => {
                    let fault = item.check_bounds().err().map(|error| error.code_and_text());
                    if fault.is_none() {
                        items.push(item);
                    }
                    (printable(item.source_id()), fault)
                }
            };
            if let Some((code, message)) = fault {
                let next = "mend the entry, or take it out";
                findings.push(Finding { code, severity: Severity::Error, item, message, next });
            }
        }
        findings.extend(lint(items));
        findings
    }
}

impl CatalogError {
    fn code_and_text(&self) -> (&'static str, String) {
        (self.code(), escape::line(&self.to_string()).into_owned())
    }
}

/// The problems of these items, in order of item id, then of code.
pub fn lint<'a>(items: impl IntoIterator<Item = &'a SelectableItem>) -> Vec<Finding> {
    let mut items: Vec<&SelectableItem> = items.into_iter().collect();
    items.sort_by(|a, b| a.id.cmp(&b.id));
    let mut findings = Vec::new();
    let distinct = report_duplicates(&items, &mut findings);
    report_confusables(&distinct, &mut findings);
    references::check_references(&distinct, &mut findings);
    near_duplicates::report_near_duplicates(&distinct, &mut findings);
    for item in &distinct {
        check_texts(item, &mut findings);
    }
    findings.sort_by(|a, b| (&a.item, a.code, &a.message).cmp(&(&b.item, b.code, &b.message)));
    findings
}

fn report_duplicates<'a>(
    items: &[&'a SelectableItem],
    findings: &mut Vec<Finding>,
) -> Vec<&'a SelectableItem> {
    let mut distinct = Vec::with_capacity(items.len());
    for same in items.chunk_by(|a, b| a.id == b.id) {
        let Some(first) = same.first() else { continue };
        distinct.push(*first);
        if same.len() > 1 {
            let message = format!("{} entries have this id", same.len());
            findings.push(Finding {
                code: "catalog.duplicate",
                severity: Severity::Error,
                item: printable(first.source_id()),
                message,
                next: "keep one of them, or give each an id of its own",
            });
        }
    }
    distinct
}

/// Reports ids that look alike without regard to case, and names that do within one namespace.
fn report_confusables(items: &[&SelectableItem], findings: &mut Vec<Finding>) {
    let mut ids: BTreeMap<String, &SelectableItem> = BTreeMap::new();
    let mut names: BTreeMap<(&str, String), &SelectableItem> = BTreeMap::new();
    for item in items {
        let id = confusable::folded_skeleton(item.source_id());
        let other = *ids.entry(id).or_insert(item);
        if other.id != item.id {
            let next = "rename one of the two; a kernel refuses the second";
            findings.push(confusable_finding(item, "its id", other.source_id(), next));
            continue;
        }
        if item.name.trim().is_empty() {
            continue;
        }
        let key = (item.namespace.as_str(), confusable::folded_skeleton(&item.name));
        let other = *names.entry(key).or_insert(item);
        if other.id != item.id && other.name == item.name {
            findings.push(Finding {
                code: "catalog.same_name",
                severity: Severity::Warning,
                item: printable(item.source_id()),
                message: format!("it has the name of `{}`", printable(other.source_id())),
                next: "say in the name what sets the two apart",
            });
        } else if other.id != item.id {
            let next = "rename one of the two";
            findings.push(confusable_finding(item, "its name", other.source_id(), next));
        }
    }
}

fn confusable_finding(
    item: &SelectableItem,
    what: &str,
    other: &str,
    next: &'static str,
) -> Finding {
    Finding {
        code: "catalog.confusable",
        severity: Severity::Error,
        item: printable(item.source_id()),
        message: format!("{what} can be taken for that of `{}`", printable(other)),
        next,
    }
}

fn check_texts(item: &SelectableItem, findings: &mut Vec<Finding>) {
    let mut add = |code, severity, message: &str, next| {
        let (item, message) = (printable(item.source_id()), message.to_owned());
        findings.push(Finding { code, severity, item, message, next });
    };
    if item.description.trim().is_empty() {
        let message = "it has no description";
        let next = "say in a sentence what it does and to what";
        add("catalog.missing_description", Severity::Warning, message, next);
    }
    let has_hidden_character =
        |text: &String| text.chars().any(|c| !c.is_whitespace() && escape::needs_escape(c));
    if [&item.name, &item.description, &item.namespace].into_iter().any(has_hidden_character)
        || item.tags.iter().any(has_hidden_character)
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
