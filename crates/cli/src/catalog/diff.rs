//! `weaver catalog diff`.

use std::collections::BTreeMap;

use contextweaver::catalog::{Catalog, SelectableItem, Snapshot};
use serde_json::{Value, json};
use weaver_policy::DriftClass;
use weaver_text::escape;
use weaver_types::CapabilityId;

use super::args::Diff;
use super::item_change::{FieldChange, ItemChange};
use super::{Exit, Failure, output, source};

/// The differences between two catalogs.
struct CatalogChanges<'a> {
    added: Vec<&'a str>,
    removed: Vec<&'a str>,
    changed: Vec<ItemChange>,
}

pub(super) fn run(args: &Diff) -> Result<Exit, Failure> {
    let before = source::load_catalog(&args.before, &args.input)?;
    let after = source::load_catalog(&args.after, &args.input)?;
    let changes = CatalogChanges::between(&before, &after);
    let class = changes.class();
    let good = class.is_none_or(|class| class < args.fail_on.drift());
    let exit = if good { Exit::Ok } else { Exit::Failed };
    if args.output.json {
        let side = |path: &std::path::Path, catalog: &Catalog| -> Result<Value, Failure> {
            let taken = Snapshot::from_catalog(catalog)
                .map_err(|error| source::catalog_failure(path, &error))?;
            Ok(json!({ "digest": taken.digest().to_string(), "items": taken.len() }))
        };
        output::json(&json!({
            "ok": good,
            "class": class.map(DriftClass::as_str),
            "before": side(&args.before, &before)?,
            "after": side(&args.after, &after)?,
            "added": changes.added,
            "removed": changes.removed,
            "changed": changes.changed.iter().map(ItemChange::as_json).collect::<Vec<_>>(),
        }))?;
    } else {
        output::text(&changes.to_text(class, exit))?;
    }
    Ok(exit)
}

impl<'a> CatalogChanges<'a> {
    fn between(before: &'a Catalog, after: &'a Catalog) -> Self {
        let by_id = |catalog: &'a Catalog| -> BTreeMap<&'a CapabilityId, &'a SelectableItem> {
            catalog.iter().map(|item| (&item.id, item)).collect()
        };
        let (a, b) = (by_id(before), by_id(after));
        let missing = |from: &BTreeMap<&'a CapabilityId, &'a SelectableItem>,
                       to: &BTreeMap<&'a CapabilityId, &'a SelectableItem>| {
            let gone = from.iter().filter(|(id, _)| !to.contains_key(*id));
            gone.map(|(_, item)| item.source_id()).collect::<Vec<_>>()
        };
        let both = a.iter().filter_map(|(id, one)| Some((*one, *b.get(id)?)));
        let changed = both.filter_map(|(one, other)| ItemChange::between(one, other)).collect();
        Self { added: missing(&b, &a), removed: missing(&a, &b), changed }
    }

    /// The most serious class of all changes.
    fn class(&self) -> Option<DriftClass> {
        let added = (!self.added.is_empty()).then_some(DriftClass::AuthorityWidening);
        let removed = (!self.removed.is_empty()).then_some(DriftClass::Breaking);
        let changed = self.changed.iter().map(ItemChange::class).max();
        added.max(removed).max(changed)
    }

    fn to_text(&self, class: Option<DriftClass>, exit: Exit) -> String {
        let mut out = String::new();
        for (ids, what, class) in [
            (&self.added, "added", DriftClass::AuthorityWidening),
            (&self.removed, "removed", DriftClass::Breaking),
        ] {
            for id in ids {
                let id = output::bold(&escape::line(id));
                out.push_str(&format!("{id}: {what}, {}\n", class.as_str()));
            }
        }
        for changed in &self.changed {
            let id = output::bold(&escape::line(&changed.id));
            out.push_str(&format!("{id}: {}\n", changed.class().as_str()));
            for FieldChange { place, what, class } in &changed.changes {
                let place = escape::line(place).into_owned();
                out.push_str(&format!("  {}: {place}: {what}\n", class.as_str()));
            }
        }
        match class {
            None => out.push_str("nothing changed\n"),
            Some(class) => {
                let class = class.as_str();
                let verdict =
                    if exit == Exit::Ok { output::good(class) } else { output::bad(class) };
                out.push_str(&format!(
                    "{verdict}: {} added, {} removed, {} changed\n",
                    self.added.len(),
                    self.removed.len(),
                    self.changed.len()
                ));
            }
        }
        out
    }
}
