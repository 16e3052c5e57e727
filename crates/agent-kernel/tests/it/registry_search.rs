//! The search by words, and the namespaces, with the recorded cases of the Python kernel.

use std::sync::Arc;

use weaver_agent_kernel::{FnDriver, Registry};
use weaver_types::{CapabilityDraft, Effects, RawResult};

use crate::recorded::recorded;
use crate::support::draft;

/// Four capabilities like those of the recorded case.
fn registry() -> Registry {
    let registry = Registry::new();
    let tools = [
        ("billing.invoices.list", "List invoices", "List the invoices of a customer", "billing"),
        ("billing.invoices.delete", "Delete invoice", "Delete an invoice", "billing"),
        ("tickets.list", "List tickets", "List support tickets of a customer", "customer"),
        ("docs.search", "Search docs", "Search the documentation", "docs"),
    ];
    for (id, name, description, tag) in tools {
        let capability = CapabilityDraft {
            name: name.to_owned(),
            description: description.to_owned(),
            tags: [tag.to_owned()].into(),
            ..draft(id, Effects::READ_LOCAL)
        };
        let driver = Arc::new(FnDriver::inline(|_| Ok(RawResult::text(""))));
        registry.register(capability.build().unwrap(), driver).unwrap();
    }
    registry
}

fn found(registry: &Registry, goal: &str, max: usize, offset: usize) -> Vec<String> {
    let found = registry.search(goal, max, offset);
    found.iter().map(|entry| entry.capability().id().to_string()).collect()
}

#[test]
fn the_recorded_searches_are_answered_alike() {
    let (case, registry) = (recorded("C01"), registry());
    for goal in case["input"]["queries"].as_array().unwrap() {
        let goal = goal.as_str().unwrap();
        let theirs: Vec<&str> =
            case["output"][goal].as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect();
        assert_eq!(found(&registry, goal, 10, 0), theirs, "{goal}");
    }
    let namespaces: Vec<String> = registry.namespaces().into_iter().map(|n| n.name).collect();
    assert_eq!(serde_json::json!(namespaces), case["output"]["namespaces"]);
    let billing = registry.namespace("billing").unwrap();
    let mut billing: Vec<String> =
        billing.iter().map(|entry| entry.capability().id().to_string()).collect();
    // Ours are sorted by id, theirs by registration.
    billing.reverse();
    assert_eq!(serde_json::json!(billing), case["output"]["billing"]);
    assert_eq!(case["output"]["unknown"]["error"]["type"], "NamespaceNotFound");
    assert_eq!(registry.namespace("nope").err().unwrap().code(), "registry.unknown_namespace");
}

#[test]
fn pages_of_a_search_fit_together() {
    let registry = registry();
    let whole = found(&registry, "list invoices", 10, 0);
    assert_eq!(whole.len(), 3);
    let pages: Vec<String> =
        (0..4).flat_map(|at| found(&registry, "list invoices", 1, at)).collect();
    assert_eq!(pages, whole);
    assert!(found(&registry, "list invoices", 0, 0).is_empty());
}

#[test]
fn words_inside_of_names_are_found_and_case_means_nothing() {
    let registry = Registry::new();
    for id in ["crm.getUserByMail", "crm.dropTable"] {
        let driver = Arc::new(FnDriver::inline(|_| Ok(RawResult::text(""))));
        registry.register(draft(id, Effects::READ_LOCAL).build().unwrap(), driver).unwrap();
    }
    assert_eq!(found(&registry, "USER", 10, 0), ["crm.getUserByMail"]);
    assert!(found(&registry, "", 10, 0).is_empty());
}
