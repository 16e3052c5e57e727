//! Checks of the references between items.

use std::collections::{BTreeMap, BTreeSet};

use weaver_types::CapabilityId;

use super::{Finding, Severity};
use crate::catalog::{SelectableItem, shown};

pub(super) fn check(items: &[&SelectableItem], found: &mut Vec<Finding>) {
    let ids: BTreeMap<&CapabilityId, &SelectableItem> =
        items.iter().map(|item| (&item.id, *item)).collect();
    let provided: BTreeSet<&String> = items.iter().flat_map(|item| &item.provides).collect();
    for item in items {
        for other in item.depends_on.iter().filter(|id| !ids.contains_key(id)) {
            found.push(Finding {
                code: "catalog.dangling",
                severity: Severity::Error,
                item: shown(item.source_id()),
                message: format!("it depends on `{}`, which is not there", shown(other.as_str())),
                next: "add that item, or take it out of `depends_on`",
            });
        }
        for need in item.requires.iter().filter(|need| !provided.contains(need)) {
            found.push(Finding {
                code: "catalog.dangling_requirement",
                severity: Severity::Warning,
                item: shown(item.source_id()),
                message: format!("it requires `{}`, which no item provides", shown(need)),
                next: "name it in `provides` of the item that brings it about",
            });
        }
    }
    cycles(items, &ids, found);
}

/// Items that are left when those without open dependencies are taken away, again and again.
fn cycles(
    items: &[&SelectableItem],
    ids: &BTreeMap<&CapabilityId, &SelectableItem>,
    found: &mut Vec<Finding>,
) {
    let mut open: BTreeMap<&CapabilityId, usize> = BTreeMap::new();
    let mut used_by: BTreeMap<&CapabilityId, Vec<&CapabilityId>> = BTreeMap::new();
    for item in items {
        let known: Vec<_> = item.depends_on.iter().filter(|id| ids.contains_key(id)).collect();
        open.insert(&item.id, known.len());
        for other in known {
            used_by.entry(other).or_default().push(&item.id);
        }
    }
    let mut free: Vec<&CapabilityId> =
        open.iter().filter(|(_, count)| **count == 0).map(|(id, _)| *id).collect();
    while let Some(id) = free.pop() {
        open.remove(id);
        for user in used_by.get(id).into_iter().flatten() {
            if let Some(count) = open.get_mut(*user) {
                *count -= 1;
                if *count == 0 {
                    free.push(user);
                }
            }
        }
    }
    for id in open.keys() {
        let source = ids.get(*id).map_or(id.as_str(), |item| item.source_id());
        found.push(Finding {
            code: "catalog.dependency_cycle",
            severity: Severity::Error,
            item: shown(source),
            message: "it depends on itself, or on items that do".to_owned(),
            next: "take one `depends_on` out of the circle",
        });
    }
}
