use contextweaver::catalog::SelectableItem;
use contextweaver::route::{ChoiceCard, MAX_CARD_TOKENS, Notice, Router, render_cards};
use proptest::prelude::*;
use serde_json::json;
use weaver_text::token::{CharsPerFour, Tiktoken, TokenCounter};
use weaver_types::Effects;

use crate::items::{catalog, id};

fn card(item: SelectableItem, counter: &dyn TokenCounter) -> ChoiceCard {
    let query = item.id.to_string();
    let mut item = item;
    item.name = query.clone();
    let router = Router::new(catalog([item])).unwrap();
    router.cards(&router.route(&query, 1), counter).remove(0)
}

#[test]
fn a_card_says_what_a_chooser_needs() {
    let mut item =
        SelectableItem::new(id("gh.close"), "Close an issue", "Closes one\n issue.\u{202e}");
    item.tags = vec!["issues".to_owned(), "write".to_owned()];
    item.effects = Some(Effects::WRITE_OPEN);
    let router = Router::new(catalog([item])).unwrap();
    let cards = router.cards(&router.route("close issue", 5), &CharsPerFour);
    assert_eq!(
        render_cards(&cards),
        "- gh.close (Close an issue): Closes one issue.\\u{202e} [issues, write] {writes outside}\n"
    );
    let json: serde_json::Value = serde_json::from_str(&cards[0].json()).unwrap();
    assert_eq!(json["id"], "gh.close");
    assert_eq!(json["effects"], "writes_outside");
    assert_eq!(json["tags"], json!(["issues", "write"]));
    assert!(json["score"].as_u64().unwrap() > 0);
}

#[test]
fn nothing_of_a_schema_reaches_a_card() {
    let schema = json!({"type": "object", "properties": {
        "zebra": {"type": "string", "description": "quagga", "enum": ["okapi"]}}});
    let item = SelectableItem::new(id("zoo.feed"), "feed", "Feeds").with_schema(&schema);
    let router = Router::new(catalog([item])).unwrap();
    let hits = router.route("quagga", 1);
    assert_eq!(hits.len(), 1);
    let card = router.cards(&hits, &CharsPerFour).remove(0);
    for word in ["zebra", "quagga", "okapi", "type", "properties"] {
        assert!(!card.text().contains(word) && !card.json().contains(word), "{word}");
    }
}

#[test]
fn undeclared_effects_are_never_shown_as_harmless() {
    let item = SelectableItem::new(id("a"), "a", "b");
    assert_eq!(card(item, &CharsPerFour).effects, Notice::Undeclared);
    assert_eq!(Notice::of(Some(Effects::UNDECLARED)), Notice::Destructive);
    assert_eq!(Notice::of(Some(Effects::READ_LOCAL)).as_str(), "reads");
}

#[test]
fn an_id_is_never_cut() {
    let long = "x1-".repeat(170);
    let card = card(SelectableItem::new(id(&long), "n", "d"), &CharsPerFour);
    assert_eq!(card.id.as_str(), long);
    assert!(card.name.is_empty() && card.description.is_empty() && card.tags.is_empty());
}

proptest! {
    #[test]
    fn a_card_stays_within_its_bound(
        name in "[a-z_]{1,60}",
        description in "\\PC{0,600}",
        tags in prop::collection::vec("\\PC{0,40}", 0..9),
        exact: bool,
    ) {
        let counter: &dyn TokenCounter = if exact { &Tiktoken::CL100K } else { &CharsPerFour };
        let mut item = SelectableItem::new(id(&name), "", description);
        item.tags = tags;
        let card = card(item, counter);
        for rendering in [card.text(), card.json()] {
            prop_assert!(counter.within(&rendering, MAX_CARD_TOKENS), "{}", rendering);
            prop_assert!(!rendering.chars().any(weaver_text::escape::needs_escape));
        }
    }
}
