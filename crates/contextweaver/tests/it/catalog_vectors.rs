//! The cases of contextweaver (Python) that are about catalogs, graphs, cards and paths. A case
//! that is marked as a quirk there is asserted the other way round.

use contextweaver::card::{ChoiceCard, MAX_CARD_TOKENS, TARGET_CARD_TOKENS};
use contextweaver::catalog::load::{self, CatalogFormat, LoadOptions};
use contextweaver::catalog::{Catalog, SelectableItem, Snapshot};
use contextweaver::graph::{ChoiceGraph, GraphOptions, Strategy};
use serde_json::{Value, json};
use weaver_text::token::{Tiktoken, TokenCounter as _};

fn case(id: &str) -> Value {
    let all: Value = serde_json::from_str(include_str!("../data/catalog_vectors.json")).unwrap();
    let cases = all["cases"].as_array().unwrap();
    cases.iter().find(|case| case["id"] == id).unwrap().clone()
}

fn catalog(items: &Value) -> Catalog {
    let source = LoadOptions::for_format(CatalogFormat::Json);
    load::read_value(items, source).unwrap().into_catalog().unwrap()
}

/// `routing.tree.lost_items` (quirk): 30 of these 60 are lost there.
#[test]
fn no_item_is_lost_between_namespaces_with_the_same_names() {
    let case = case("routing.tree.lost_items");
    let catalog = catalog(&case["input"]);
    let lost = case["output"]["items_not_in_graph"].as_array().unwrap();
    assert_eq!((catalog.len(), lost.len()), (60, 30));
    for strategy in [Strategy::Auto, Strategy::Namespace, Strategy::Alphabetical] {
        let options = GraphOptions { strategy, ..GraphOptions::default() };
        let graph = ChoiceGraph::build(catalog.iter(), options).unwrap();
        for item in catalog.iter() {
            let page = graph.browse(&graph.path_of(&item.id).unwrap()).unwrap();
            assert!(page.items.contains(&item.id), "{}", item.id);
        }
    }
}

/// `routing.cards`, with our own form of a card.
#[test]
fn cards_hold_what_theirs_hold_and_stay_smaller() {
    let case = case("routing.cards");
    let catalog = catalog(&case["input"]["items"]);
    for (item, theirs) in catalog.iter().zip(case["output"]["cards"].as_array().unwrap()) {
        let card = ChoiceCard::new(item, 65_536, &Tiktoken::CL100K);
        assert_eq!(card.display_id(), theirs["id"]);
        assert!(Tiktoken::CL100K.within(&card.json(), TARGET_CARD_TOKENS));
        assert!(!card.json().contains("\"schema\"") && card.tags.len() <= 5);
        let begins: String = theirs["description"].as_str().unwrap().chars().take(20).collect();
        assert!(card.description.starts_with(&begins), "{card:?}");
    }
}

/// `routing.cards.hard_cap` (quirk): one such id makes the whole list fail there.
#[test]
fn a_long_id_spoils_nothing() {
    let message = case("routing.cards.hard_cap")["output"]["message"].to_string();
    assert!(message.contains("exceeds hard cap"), "{message}");
    let id = format!("ns:{}", "very_long_identifier_segment_".repeat(12));
    let mut item = SelectableItem::from_source_id(&id, "", "Does it").unwrap();
    item.tags = (0..5).map(|n| format!("a_rather_long_tag_{n}")).collect();
    let card = ChoiceCard::new(&item, 65_536, &Tiktoken::CL100K);
    assert!(Tiktoken::CL100K.within(&card.json(), MAX_CARD_TOKENS), "{}", card.json());
    assert_eq!(card.id.as_str(), id);
}

/// `ids.mcp` and `ids.parse`: our ids are the names as the server spells them, without a hash.
#[test]
fn ids_are_names_as_they_are_spelled() {
    let case = case("ids.mcp");
    for name in case["input"]["names"].as_array().unwrap() {
        let tools = json!({"tools": [{"name": name, "inputSchema": case["input"]["schema"]}]});
        let loaded = load::read_value(&tools, LoadOptions::default()).unwrap();
        let catalog = loaded.into_catalog().unwrap();
        assert_eq!(catalog.iter().next().unwrap().id.as_str(), name);
    }
}

/// `ids.path`: what is no path there is none here, but for the names of namespaces (quirk).
#[test]
fn paths_are_refused_alike_and_every_namespace_has_one() {
    let case = case("ids.path");
    let names = ["github.issues", "a.1b", "1abc", "A", "billing.invoices"];
    let items = (0..100).map(|n| {
        let mut item = SelectableItem::from_source_id(&format!("t{n}"), "", "").unwrap();
        item.namespace = names[n % 5].to_owned();
        item
    });
    let items: Vec<_> = items.collect();
    let graph = ChoiceGraph::build(&items, GraphOptions::default()).unwrap();
    for item in &items {
        let path = graph.path_of(&item.id).unwrap();
        assert!(graph.browse(&path).unwrap().items.contains(&item.id), "{path}");
    }
    let answers = case["output"].as_array().unwrap();
    for (path, theirs) in case["input"].as_array().unwrap().iter().zip(answers) {
        let path = path.as_str().unwrap();
        let begins = |c: char| c.is_ascii_digit() || c.is_ascii_uppercase();
        let quirk =
            path.contains('.') || path.strip_prefix('/').is_some_and(|p| p.starts_with(begins));
        let refused = graph.browse(path).is_err_and(|error| error.code() == "path.invalid");
        assert_eq!(refused, theirs.get("ok").is_none() && !quirk, "{path}");
    }
}

/// `catalog.hash_blind_to_schema` (quirk).
#[test]
fn a_changed_schema_is_another_digest() {
    let case = case("catalog.hash_blind_to_schema");
    assert_eq!(case["output"]["a"], case["output"]["b"]);
    let digest = |item: &Value| Snapshot::from_catalog(&catalog(&json!([item]))).unwrap().digest();
    assert_ne!(digest(&case["input"]["a"]), digest(&case["input"]["b"]));
}
