//! The registry: what is in it, what is refused, and what is replaced.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::sync::Arc;

use serde_json::{Value, json};
use weaver_agent_kernel::{Driver, FnDriver, Registry, RegistryError};
use weaver_types::{
    AgentId, AllowedAgents, Capability, CapabilityDraft, CapabilityId, Effects, RawResult,
    SafetyClass,
};

use crate::support::draft;

fn driver() -> Arc<dyn Driver> {
    Arc::new(FnDriver::inline(|_| Ok(RawResult::text("done"))))
}

fn id(text: &str) -> CapabilityId {
    CapabilityId::parse(text).unwrap()
}

fn agent(name: &str) -> AgentId {
    AgentId::parse(name).unwrap()
}

fn tool(id: &str) -> Capability {
    draft(id, Effects::READ_LOCAL).build().unwrap()
}

fn registry(drafts: impl IntoIterator<Item = CapabilityDraft>) -> Registry {
    let registry = Registry::new();
    for draft in drafts {
        registry.register(draft.build().unwrap(), driver()).unwrap();
    }
    registry
}

fn ids(registry: &Registry) -> Vec<String> {
    registry.list_ids().iter().map(ToString::to_string).collect()
}

#[test]
fn lists_are_sorted_whatever_the_order_of_registration() {
    let registry =
        registry(["fs.write", "desk.find", "fs.read"].map(|id| draft(id, Effects::DESTROY_LOCAL)));
    let sorted = ["desk.find", "fs.read", "fs.write"];
    assert_eq!(ids(&registry), sorted);
    let all = registry.list_all();
    let all: Vec<&str> = all.iter().map(|entry| entry.capability().id().as_str()).collect();
    assert_eq!(all, sorted);
    assert_eq!((registry.len(), registry.is_empty()), (3, false));
    assert!(registry.contains(&id("fs.read")) && !registry.contains(&id("fs.rea")));
    assert!(registry.get(&id("fs.readx")).is_none());
    assert_eq!((Registry::new().len(), Registry::new().is_empty()), (0, true));
}

/// The callable of an id is the one that was registered with it, in whichever way. That it cannot be
/// called past the kernel is a matter of types: see the documentation of `AuthorizedCall`.
#[test]
fn a_callable_is_found_by_the_id_that_it_was_registered_under() {
    let registry = Registry::new();
    let own = driver();
    registry.register(tool("fs.read"), Arc::clone(&own)).unwrap();
    registry.register_fn(tool("fs.list"), |_| Ok(RawResult::text("listed"))).unwrap();
    registry.register_namespace("late", || Ok(vec![(tool("late.one"), driver())])).unwrap();
    assert!(Arc::ptr_eq(&registry.get_callable(&id("fs.read")).unwrap(), &own));
    let other = registry.get_callable(&id("fs.list")).unwrap();
    assert!(!Arc::ptr_eq(&other, &own) && !other.name().is_empty());
    assert!(registry.get_callable(&id("late.one")).is_some(), "its namespace is loaded for it");
    assert!(registry.get_callable(&id("fs.write")).is_none());
}

#[test]
fn the_fingerprint_is_that_of_the_registration() {
    let registry = registry([draft("fs.read", Effects::READ_LOCAL)]);
    let entry = registry.get(&id("fs.read")).unwrap();
    assert_eq!(entry.fingerprint(), tool("fs.read").fingerprint());
    assert_ne!(entry.fingerprint(), tool("fs.reads").fingerprint());
}

#[test]
fn a_ceiling_takes_its_class_and_what_lies_below() {
    let registry = registry([
        draft("a.read", Effects::READ_LOCAL),
        draft("b.write", Effects::WRITE_LOCAL),
        draft("c.fetch", Effects::READ_OPEN),
        draft("d.wipe", Effects::DESTROY_LOCAL),
    ]);
    for (ceiling, count) in [
        (SafetyClass::ReadOnly, 1),
        (SafetyClass::LocalWrite, 2),
        (SafetyClass::Network, 3),
        (SafetyClass::Destructive, 4),
    ] {
        let found = registry.filter_by_safety(ceiling);
        let found: Vec<String> = found.iter().map(|e| e.capability().id().to_string()).collect();
        assert_eq!(found, ids(&registry).into_iter().take(count).collect::<Vec<_>>());
    }
}

#[test]
fn an_agent_is_offered_what_admits_it() {
    let of = |id, agents| CapabilityDraft { agents, ..draft(id, Effects::READ_LOCAL) };
    let registry = registry([
        of("a.any", AllowedAgents::Any),
        of("b.planner", AllowedAgents::Only([agent("planner")].into())),
        of("c.nobody", AllowedAgents::Only(BTreeSet::new())),
    ]);
    let offered = |name| -> Vec<String> {
        let found = registry.filter_for_agent(&agent(name));
        found.iter().map(|entry| entry.capability().id().to_string()).collect()
    };
    assert_eq!(offered("planner"), ["a.any", "b.planner"]);
    assert_eq!(offered("writer"), ["a.any"]);
}

#[test]
fn an_id_is_registered_once() {
    let registry = registry([draft("fs.read", Effects::READ_LOCAL)]);
    let again = draft("fs.read", Effects::DESTROY_LOCAL).build().unwrap();
    let refused = registry.register(again, driver());
    assert_eq!(refused, Err(RegistryError::Duplicate { id: id("fs.read") }));
    let kept = registry.get(&id("fs.read")).unwrap();
    assert_eq!(kept.capability().class(), SafetyClass::ReadOnly);
}

#[test]
fn ids_that_look_alike_are_refused_with_the_pair_named() {
    let registry = registry([draft("pay.send", Effects::READ_LOCAL)]);
    for twin in ["p\u{430}y.send", "Pay.Send", "pay\u{2024}send"] {
        let refused = registry.register(tool(twin), driver()).unwrap_err();
        let other = id("pay.send");
        assert_eq!(refused, RegistryError::Confusable { id: id(twin), other });
        assert_eq!(refused.code(), "registry.confusable");
        assert!(refused.to_string().contains("`pay.send`"), "{refused}");
    }
    assert_eq!(ids(&registry), ["pay.send"]);
    registry.register(tool("pay.sends"), driver()).unwrap();
}

#[test]
fn a_server_cannot_put_a_twin_beside_or_in_the_place_of_a_tool() {
    let registry = registry([draft("pay.send", Effects::READ_LOCAL)]);
    let twins = || vec![(tool("p\u{430}y.send"), driver()), (tool("p\u{430}y.list"), driver())];
    let refused = registry.replace_prefix("p\u{430}y.", twins()).unwrap();
    let other = id("pay.send");
    assert_eq!(refused, [RegistryError::Confusable { id: id("p\u{430}y.send"), other }]);
    assert_eq!(ids(&registry), ["pay.send", "p\u{430}y.list"]);
    // Within one server, the tool that was there stays, in whatever order they are listed.
    let set = vec![(tool("pay.5end"), driver()), (tool("pay.Send"), driver())];
    let mixed: Vec<_> = set.into_iter().chain([(tool("pay.send"), driver())]).collect();
    let refused = registry.replace_prefix("pay.", mixed).unwrap();
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert_eq!(ids(&registry), ["pay.5end", "pay.send", "p\u{430}y.list"]);
    // What is gone leaves its name free.
    assert!(registry.replace_prefix("pay.", Vec::new()).unwrap().is_empty());
    assert!(registry.replace_prefix("p\u{430}y.", twins()).unwrap().is_empty());
}

#[test]
fn one_registry_does_not_see_what_another_holds() {
    let first = Registry::new();
    first.register(tool("fs.only_here"), driver()).unwrap();
    assert!(first.contains(&id("fs.only_here")) && !Registry::new().contains(&id("fs.only_here")));
}

/// What replaces a function in a test is another registration of the same capability, in a
/// registry of the test: the driver is no part of what a token or an approval names.
#[test]
fn a_test_registers_another_function_for_the_same_capability() {
    let capability = tool("fs.read");
    let (real, test) = (Registry::new(), Registry::new());
    real.register(capability.clone(), driver()).unwrap();
    test.register_fn(capability, |_| Ok(RawResult::text("canned"))).unwrap();
    let of = |registry: &Registry| registry.get(&id("fs.read")).unwrap().fingerprint();
    assert_eq!(of(&real), of(&test));
    assert_eq!(real.register(tool("fs.read"), driver()).unwrap_err().code(), "registry.duplicate");
}

#[test]
fn a_prefix_is_replaced_whole_and_nothing_else() {
    let drafts = ["fs.old", "fs.read", "fsx.read", "mail.send"];
    let registry = registry(drafts.map(|id| draft(id, Effects::READ_LOCAL)));
    let broken = CapabilityDraft {
        input_schema: Some(json!({ "type": "no such type" }).into()),
        ..draft("fs.broken", Effects::READ_LOCAL)
    };
    let set = vec![
        (tool("fs.new"), driver()),
        (draft("fs.read", Effects::DESTROY_LOCAL).build().unwrap(), driver()),
        (tool("fs.new"), driver()),
        (tool("mail.read"), driver()),
        (broken.build().unwrap(), driver()),
    ];
    let refused = registry.replace_prefix("fs.", set).unwrap();
    let codes: Vec<&str> = refused.iter().map(RegistryError::code).collect();
    assert_eq!(codes, ["registry.duplicate", "registry.misplaced", "registry.schema"]);
    assert_eq!(ids(&registry), ["fs.new", "fs.read", "fsx.read", "mail.send"]);
    let replaced = registry.get(&id("fs.read")).unwrap();
    assert_eq!(replaced.capability().class(), SafetyClass::Destructive);
    assert!(registry.replace_prefix("fs.", Vec::new()).unwrap().is_empty());
    assert_eq!(ids(&registry), ["fsx.read", "mail.send"]);
}

#[test]
fn a_schema_that_points_elsewhere_is_refused_and_nothing_is_fetched() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let remote = format!("http://{}/schema.json", listener.local_addr().unwrap());
    let registry = Registry::new();
    let refuse = |schema: Value| {
        let spec = CapabilityDraft {
            input_schema: Some(schema.into()),
            ..draft("fs.read", Effects::READ_LOCAL)
        };
        registry.register(spec.build().unwrap(), driver()).unwrap_err().code()
    };
    assert_eq!(refuse(json!({ "$ref": remote })), "registry.schema");
    let nested = json!({ "type": "object", "properties": { "path": { "$ref": remote } } });
    assert_eq!(refuse(nested), "registry.schema");
    assert_eq!(refuse(json!({ "$ref": "file:///etc/hostname" })), "registry.schema");
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    assert!(registry.is_empty());
    let local = json!({ "$ref": "#/$defs/path", "$defs": { "path": { "type": "object" } } });
    let spec = CapabilityDraft {
        input_schema: Some(local.into()),
        ..draft("fs.read", Effects::READ_LOCAL)
    };
    assert_eq!(registry.register(spec.build().unwrap(), driver()), Ok(()));
}

#[test]
fn a_schema_that_asks_for_endless_work_is_refused() {
    let mut defs = serde_json::Map::new();
    for n in 0..60 {
        let next = serde_json::json!({ "$ref": format!("#/$defs/a{}", n + 1) });
        defs.insert(format!("a{n}"), serde_json::json!({ "allOf": [next, next] }));
    }
    defs.insert("a60".to_owned(), serde_json::json!(true));
    let mut draft = weaver_types::ToolSpec::new("a.b", "b").build().unwrap().into_draft();
    draft.input_schema = Some(serde_json::json!({ "$ref": "#/$defs/a0", "$defs": defs }).into());
    let refused = weaver_agent_kernel::Registry::new()
        .register_fn(draft.build().unwrap(), |_| Ok(weaver_types::RawResult::text("")))
        .unwrap_err();
    assert_eq!(refused.code(), "registry.schema");
}

#[test]
fn of_two_new_ones_that_look_alike_none_is_taken_and_each_is_told_of_the_other() {
    let registry = registry(["fs.old"].map(|id| draft(id, Effects::READ_LOCAL)));
    let set = ["fs.read", "fs.Read", "fs.write", "fs.get-it", "fs.get_it"];
    let set = set.map(|id| (tool(id), driver())).into();
    let refused = registry.replace_prefix("fs.", set).unwrap();
    let mut pairs: Vec<(String, String)> = refused
        .into_iter()
        .map(|error| match error {
            RegistryError::Confusable { id, other } => (id.to_string(), other.to_string()),
            other => panic!("{other}"),
        })
        .collect();
    pairs.sort();
    let expected = [
        ("fs.Read", "fs.read"),
        ("fs.get-it", "fs.get_it"),
        ("fs.get_it", "fs.get-it"),
        ("fs.read", "fs.Read"),
    ];
    assert_eq!(pairs, expected.map(|(id, other)| (id.to_owned(), other.to_owned())));
    assert_eq!(ids(&registry), ["fs.write"]);
}
