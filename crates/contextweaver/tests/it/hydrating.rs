use contextweaver::catalog::SelectableItem;
use contextweaver::hydrate::{ContextValue, hydrate};
use proptest::prelude::*;
use serde_json::{Value, json};
use weaver_types::{Effects, Integrity, Label};

use crate::items::id;

fn item() -> SelectableItem {
    let schema = json!({"type": "object", "properties": {
        "user_id": {"type": "string", "description": "whose"},
        "limit": {"type": ["integer", "null"]},
        "state": {"enum": ["open", "closed"]},
        "any": {},
        "nested": {"type": "object", "properties": {"token": {"type": "string"}}},
    }, "required": ["user_id"]});
    let mut item =
        SelectableItem::new(id("tickets.list"), "list", "List tickets").with_schema(&schema);
    item.output_schema = Some(json!({"type": "array"}).into());
    item.examples = vec!["what is open".to_owned()];
    item.effects = Some(Effects::READ_OPEN);
    item.depends_on.insert(id("users.find"));
    item.requires.insert("a session".to_owned());
    item.constraints.insert("max".to_owned(), json!(50));
    item
}

fn known(name: &str, value: Value) -> ContextValue {
    ContextValue::new(name, value, format!("fact:{name}"), Label::clean())
}

#[test]
fn one_item_in_full() {
    let found = hydrate(&item(), &[]);
    assert_eq!(found.schema.as_ref(), item().schema.as_deref());
    assert_eq!((found.output_schema.is_some(), found.examples.len()), (true, 1));
    assert_eq!(found.constraints["max"], 50);
    assert_eq!(found.sources, ["catalog"]);
    let begins = "List tickets\nEffects: reads outside.\nUsed first: users.find.\n\
                  Requires: a session.\n- any";
    assert!(found.description.starts_with(begins), "{}", found.description);
    assert!(found.description.contains("- user_id: whose"), "{}", found.description);
}

#[test]
fn trusted_values_that_fit_are_suggested_with_their_sources() {
    let values = [
        known("userId", json!("u-1")),
        known("user-id", json!("u-2")),
        known("limit", json!("ten")),
        known("state", json!("ajar")),
        known("STATE", json!("open")),
        known("any", json!(1)),
        known("token", json!("secret")),
    ];
    let found = hydrate(&item(), &values);
    let told: Vec<_> = found
        .suggested
        .iter()
        .map(|(name, s)| (name.as_str(), &s.value, s.source.as_str()))
        .collect();
    assert_eq!(
        told,
        [("state", &json!("open"), "fact:STATE"), ("user_id", &json!("u-2"), "fact:user-id")]
    );
    assert_eq!(found.sources, ["catalog", "fact:STATE", "fact:user-id"]);
}

#[test]
fn a_call_gets_what_the_context_knows_and_keeps_what_it_was_given() {
    let values = [known("user_id", json!("u-1")), known("state", json!("open"))];
    let found = hydrate(&item(), &values);
    let given = json!({ "state": "closed", "limit": 3 });
    let call = found.call(given.as_object().unwrap());
    assert_eq!(call.item, item().id);
    assert_eq!(json!(call.arguments), json!({ "user_id": "u-1", "state": "closed", "limit": 3 }));
    assert_eq!(call.filled, [("user_id".to_owned(), "fact:user_id".to_owned())].into());
    let mut doubtful = known("user_id", json!("u-9"));
    doubtful.label.integrity = Integrity::Untrusted;
    let call = hydrate(&item(), &[doubtful]).call(&serde_json::Map::new());
    assert!(call.arguments.is_empty() && call.filled.is_empty());
}

proptest! {
    /// Whatever is known and however it is labelled: only trusted values are suggested, and each
    /// is one that was given.
    #[test]
    fn no_untrusted_value_becomes_an_argument(
        values in prop::collection::vec(
            (prop::sample::select(vec!["user_id", "userId", "limit", "state", "nested", "x"]),
             prop_oneof![Just(json!("open")), Just(json!(3)), Just(json!({}))], any::<bool>()), 0..8),
    ) {
        let values: Vec<_> = values.into_iter().enumerate().map(|(n, (name, value, trusted))| {
            let mut value = known(name, value);
            value.source = n.to_string();
            if !trusted {
                value.label.integrity = Integrity::Untrusted;
            }
            value
        }).collect();
        let found = hydrate(&item(), &values);
        for suggestion in found.suggested.values() {
            let from = &values[suggestion.source.parse::<usize>().unwrap()];
            prop_assert_eq!(&from.value, &suggestion.value);
            prop_assert_eq!(from.label.integrity, Integrity::Trusted);
        }
    }
}
