//! The differences between two versions of an item.

use contextweaver::catalog::SelectableItem;
use serde_json::{Value, json};
use weaver_policy::{Drift, DriftClass};
use weaver_types::CapabilityDraft;

use DriftClass::{AuthorityWidening, Breaking, Compatible, Documentation};

/// One item that changed.
pub(super) struct ItemChange {
    pub(super) id: String,
    pub(super) changes: Vec<FieldChange>,
}

/// One difference between the versions.
pub(super) struct FieldChange {
    /// The field that changed.
    pub(super) place: String,
    /// What changed, in words.
    pub(super) what: String,
    pub(super) class: DriftClass,
}

impl FieldChange {
    fn new(place: &str, what: &str, class: DriftClass) -> Self {
        Self { place: place.to_owned(), what: what.to_owned(), class }
    }
}

impl ItemChange {
    /// The changes between two versions; `None` if they are equal.
    pub(super) fn between(before: &SelectableItem, after: &SelectableItem) -> Option<Self> {
        if before == after {
            return None;
        }
        let mut changes = Vec::new();
        let built = |item| CapabilityDraft::from(item).build();
        match (built(before), built(after)) {
            (Ok(a), Ok(b)) => {
                let drift = Drift::between(&a, &b);
                let drift_changes = drift.changes().iter();
                changes.extend(drift_changes.map(|c| FieldChange::new(&c.place, c.what, c.class)));
                // The drift lists only a limited number of changes, but its class covers all of
                // them.
                if drift.class() > changes.iter().map(|change| change.class).max()
                    && let Some(class) = drift.class()
                {
                    changes.push(FieldChange::new("…", "more changed than is told", class));
                }
            }
            // An item that is no valid capability cannot be compared as one.
            _ => {
                let what =
                    "cannot be compared: the old or the new version is not a valid capability";
                changes.push(FieldChange::new("item", what, AuthorityWidening));
            }
        }
        add_item_changes(before, after, &mut changes);
        Some(Self { id: after.source_id().to_owned(), changes })
    }

    pub(super) fn class(&self) -> DriftClass {
        self.changes.iter().map(|change| change.class).max().unwrap_or(Documentation)
    }

    pub(super) fn as_json(&self) -> Value {
        let changes = self.changes.iter().map(|FieldChange { place, what, class }| {
            json!({ "place": place, "what": what, "class": class.as_str() })
        });
        json!({
            "id": self.id,
            "class": self.class().as_str(),
            "changes": changes.collect::<Vec<_>>(),
        })
    }
}

/// Adds changes in the fields that an item has and a capability does not.
fn add_item_changes(a: &SelectableItem, b: &SelectableItem, changes: &mut Vec<FieldChange>) {
    let mut add = |differs: bool, place: &str, class| {
        if differs {
            changes.push(FieldChange::new(place, &format!("{place} changed"), class));
        }
    };
    add(a.kind != b.kind, "kind", Breaking);
    add(a.namespace != b.namespace, "namespace", Documentation);
    add(a.examples != b.examples, "examples", Documentation);
    add(a.cost_hint != b.cost_hint, "cost_hint", Compatible);
    add(a.depends_on != b.depends_on, "depends_on", Compatible);
    add(a.provides != b.provides, "provides", Compatible);
    add(a.requires != b.requires, "requires", Compatible);
    // Only the host knows what constraints mean.
    add(a.constraints != b.constraints, "constraints", AuthorityWidening);
    add(a.metadata != b.metadata, "metadata", Documentation);
    // Undeclared effects count as the most dangerous ones for a capability, but a reader sees a
    // difference.
    let declared = a.effects.is_some() != b.effects.is_some();
    let is_reported = changes.iter().any(|change| change.place == "effects");
    if declared && !is_reported {
        changes.push(FieldChange::new("effects", "effects declared, or no longer", Documentation));
    }
}
