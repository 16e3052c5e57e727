//! A catalog of many tools, and goals that some of them fit.

use contextweaver::catalog::{Catalog, SelectableItem};
use weaver_types::CapabilityId;

use crate::{Failure, Numbers};

const VERBS: [(&str, &str); 10] = [
    ("list", "List all"),
    ("get", "Get one of the"),
    ("create", "Create a new entry among the"),
    ("update", "Change an entry of the"),
    ("delete", "Delete an entry of the"),
    ("search", "Search by words in the"),
    ("export", "Export to a file the"),
    ("import", "Import from a file the"),
    ("archive", "Put into the archive the"),
    ("share", "Share with a person the"),
];
const NOUNS: [&str; 20] = [
    "invoices",
    "tickets",
    "customers",
    "contracts",
    "orders",
    "shipments",
    "payments",
    "refunds",
    "meetings",
    "notes",
    "files",
    "photos",
    "messages",
    "contacts",
    "tasks",
    "projects",
    "reports",
    "alerts",
    "servers",
    "backups",
];
const SYSTEMS: [&str; 5] = ["billing", "desk", "crm", "storage", "office"];

/// A catalog of a thousand tools: ten verbs, twenty nouns, five systems.
///
/// # Errors
/// When an item is malformed.
pub fn catalog() -> Result<Catalog, Failure> {
    let mut catalog = Catalog::new();
    for system in SYSTEMS {
        for noun in NOUNS {
            for (verb, says) in VERBS {
                let id = CapabilityId::parse(format!("{system}.{noun}.{verb}"))?;
                let description = format!("{says} {noun} of the {system} system.");
                let mut item = SelectableItem::new(id, format!("{verb}_{noun}"), description);
                item.namespace = system.to_owned();
                catalog.insert(item)?;
            }
        }
    }
    Ok(catalog)
}

/// A hundred goals as people put them.
#[must_use]
pub fn goals() -> Vec<String> {
    let mut numbers = Numbers::new(7);
    (0..100)
        .map(|_| {
            let (verb, _) = numbers.pick(&VERBS);
            let (noun, system) = (numbers.pick(&NOUNS), numbers.pick(&SYSTEMS));
            format!("please {verb} the {noun} from {system} that are overdue since last week")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use contextweaver::route::Router;

    use super::{catalog, goals};

    #[test]
    fn there_are_a_thousand_tools_and_the_goals_find_some() {
        let router = Router::new(catalog().unwrap()).unwrap();
        assert_eq!(router.catalog().len(), 1_000);
        assert!(goals().iter().all(|goal| router.route(goal, 10).len() == 10));
    }
}
