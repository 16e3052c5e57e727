//! Checks of the references between items.

use std::collections::{BTreeMap, BTreeSet};

use weaver_types::CapabilityId;

use super::{Finding, Severity};
use crate::catalog::{SelectableItem, printable};

pub(super) fn check_references(items: &[&SelectableItem], findings: &mut Vec<Finding>) {
    let ids: BTreeMap<&CapabilityId, &SelectableItem> =
        items.iter().map(|item| (&item.id, *item)).collect();
    let provided: BTreeSet<&String> = items.iter().flat_map(|item| &item.provides).collect();
    for item in items {
        for other in item.depends_on.iter().filter(|id| !ids.contains_key(id)) {
            findings.push(Finding {
                code: "catalog.dangling",
                severity: Severity::Error,
                item: printable(item.source_id()),
                message: format!(
                    "it depends on `{}`, which is not there",
                    printable(other.as_str())
                ),
                next: "add that item, or take it out of `depends_on`",
            });
        }
        for need in item.requires.iter().filter(|need| !provided.contains(need)) {
            findings.push(Finding {
                code: "catalog.dangling_requirement",
                severity: Severity::Warning,
                item: printable(item.source_id()),
                message: format!("it requires `{}`, which no item provides", printable(need)),
                next: "name it in `provides` of the item that brings it about",
            });
        }
    }
    report_cycles(items, &ids, findings);
}

/// Finds dependency cycles by Kahn's topological sort: items without open dependencies are removed
/// repeatedly, and whatever remains lies on a cycle or depends on one.
fn report_cycles(
    items: &[&SelectableItem],
    ids: &BTreeMap<&CapabilityId, &SelectableItem>,
    findings: &mut Vec<Finding>,
) {
    let mut open_dependencies: BTreeMap<&CapabilityId, usize> = BTreeMap::new();
    let mut dependents: BTreeMap<&CapabilityId, Vec<&CapabilityId>> = BTreeMap::new();
    for item in items {
        let known: Vec<_> = item.depends_on.iter().filter(|id| ids.contains_key(id)).collect();
        open_dependencies.insert(&item.id, known.len());
        for other in known {
            dependents.entry(other).or_default().push(&item.id);
        }
    }
    let mut ready: Vec<&CapabilityId> =
        open_dependencies.iter().filter(|(_, count)| **count == 0).map(|(id, _)| *id).collect();
    while let Some(id) = ready.pop() {
        open_dependencies.remove(id);
        for dependent in dependents.get(id).into_iter().flatten() {
            if let Some(count) = open_dependencies.get_mut(*dependent) {
                *count -= 1;
                if *count == 0 {
                    ready.push(dependent);
                }
            }
        }
    }
    for id in open_dependencies.keys() {
        let source = ids.get(*id).map_or(id.as_str(), |item| item.source_id());
        findings.push(Finding {
            code: "catalog.dependency_cycle",
            severity: Severity::Error,
            item: printable(source),
            message: "it depends on itself, or on items that do".to_owned(),
            next: "take one `depends_on` out of the circle",
        });
    }
}
