use contextweaver::card::{
    ChoiceCard, EffectsNotice, MAX_CARD_TOKENS, SelectionError, SelectionFormat,
    TARGET_CARD_TOKENS, full_id, render_cards, selection_schema, validate_selection,
};
use contextweaver::catalog::SelectableItem;
use contextweaver::route::Router;
use proptest::prelude::*;
use serde_json::json;
use weaver_text::token::{CharsPerFour, Count, Tiktoken, TokenCounter};
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
    let (whole, part) = (cards[0].score / 1000, cards[0].score % 1000);
    let line =
        "- gh.close (Close an issue): Closes one issue.\\u{202e} [issues, write] {writes outside}";
    assert_eq!(render_cards(&cards), format!("{line} score={whole}.{part:03}\n"));
    let json: serde_json::Value = serde_json::from_str(&cards[0].json()).unwrap();
    assert_eq!(json["id"], "gh.close");
    assert_eq!(json["effects"], "write_open");
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
    assert_eq!(card(item, &CharsPerFour).effects, EffectsNotice::Undeclared);
    assert_eq!(EffectsNotice::from_effects(Some(Effects::UNDECLARED)), EffectsNotice::Destructive);
    assert_eq!(EffectsNotice::from_effects(Some(Effects::READ_LOCAL)).as_str(), "reads");
}

#[test]
fn a_long_id_is_cut_and_leads_back() {
    let counters: [&dyn TokenCounter; 2] = [&CharsPerFour, &Tiktoken::CL100K];
    for counter in counters {
        let long = "x1-".repeat(166);
        let ids = ["one", "two"].map(|end| id(&format!("{long}{end}")));
        let cards = ids.clone().map(|id| card(SelectableItem::new(id, "n", "Does it"), counter));
        for (card, id) in cards.iter().zip(&ids) {
            assert_eq!(&card.id, id);
            assert!(counter.within(&card.text(), TARGET_CARD_TOKENS), "{}", card.text());
            assert!(counter.within(&card.json(), TARGET_CARD_TOKENS), "{}", card.json());
            assert!(card.json().contains(card.display_id()) && card.description == "Does it");
            assert_eq!(full_id(card.display_id(), &ids), Some(id));
            assert_eq!(validate_selection(&cards, card.display_id()).unwrap().id, *id);
            assert_eq!(validate_selection(&cards, id.as_str()).unwrap().id, *id);
        }
        assert_ne!(cards[0].display_id(), cards[1].display_id());
        // Somebody names a tool as the cut id of another: it is cut too, to something else.
        let forged = id(cards[0].display_id());
        let forged = card(SelectableItem::new(forged, "n", "Steals it"), counter);
        assert_ne!(forged.display_id(), cards[0].display_id());
        assert_eq!(full_id(forged.display_id(), ids.iter().chain([&forged.id])), Some(&forged.id));
    }
    // One that fits stays whole, though little else is left.
    let whole = id(&"ab.".repeat(40));
    let card = card(SelectableItem::new(whole.clone(), "n", "Does it"), &CharsPerFour);
    assert_eq!(card.display_id(), whole.as_str());
}

fn cards_of(ids: &[&str]) -> Vec<ChoiceCard> {
    let items = ids.iter().map(|text| SelectableItem::new(id(text), "", "d"));
    items.map(|item| ChoiceCard::new(&item, 65_536, &CharsPerFour)).collect()
}

#[test]
fn a_selection_is_exact_or_the_only_one_that_fits() {
    let cards = cards_of(&["mail.send", "mail.sendAll", "Mail.Send", "fs.read", "FS.list"]);
    let says = |answer: &str| validate_selection(&cards, answer).map(|card| card.id.to_string());
    for (answer, id) in [
        ("mail.send", "mail.send"),
        (" Mail.Send\n", "Mail.Send"),
        ("FS.READ", "fs.read"),
        ("fs.l", "FS.list"),
        ("MAIL.SENDA", "mail.sendAll"),
    ] {
        assert_eq!(says(answer).as_deref(), Ok(id), "{answer}");
    }
    let ambiguous = |answer: &str, expected: &[&str]| match says(answer) {
        Err(SelectionError::Ambiguous { candidates, .. }) => assert_eq!(candidates, expected),
        other => panic!("{answer}: {other:?}"),
    };
    ambiguous("MAIL.SEND", &["mail.send", "Mail.Send"]);
    ambiguous("mail.", &["mail.send", "mail.sendAll", "Mail.Send"]);
    ambiguous("fs", &["fs.read", "FS.list"]);
    assert_eq!(says("  "), Err(SelectionError::Empty));
    let unknown = says("fs.raed").unwrap_err();
    assert_eq!(unknown.to_string(), "no card has the id `fs.raed`: did you mean `fs.read`?");
    assert_eq!(says(&"x".repeat(1 << 20)).unwrap_err().code(), "selection.unknown");
    let odd = says("a\u{202e}b").unwrap_err().to_string();
    assert!(odd.contains("a\\u{202e}b"), "{odd}");
}

#[test]
fn each_provider_gets_an_enum_of_the_ids_and_no_schema_of_a_tool() {
    let cards = cards_of(&["b.two", "a.one"]);
    let places = [
        (SelectionFormat::JsonSchema, ""),
        (SelectionFormat::OpenAi, "/function/parameters"),
        (SelectionFormat::OpenAiResponses, "/parameters"),
        (SelectionFormat::Anthropic, "/input_schema"),
        (SelectionFormat::Gemini, "/parameters"),
    ];
    for (format, place) in places {
        let schema = selection_schema(&cards, format).unwrap();
        let inner = schema.pointer(place).unwrap();
        assert_eq!(inner["properties"]["selection"]["enum"], json!(["b.two", "a.one"]));
        assert_eq!(inner["required"], json!(["selection"]));
        assert_eq!(selection_schema(&[], format), None);
    }
}

/// A counter for which everything fits.
struct Boundless;

impl TokenCounter for Boundless {
    fn name(&self) -> &str {
        "boundless"
    }

    fn count(&self, _: &str) -> Count {
        Count::Tokens(0)
    }
}

#[test]
fn each_part_of_a_card_is_bounded_however_tokens_are_counted() {
    let name = "n".repeat(100);
    let mut item = SelectableItem::new(id("a.b"), name, "described at length ".repeat(40));
    item.tags = (0..9).map(|n| format!("{n}{}", "t".repeat(40))).collect();
    let card = ChoiceCard::new(&item, 3 << 15, &Boundless);
    let chars = |text: &str| text.chars().count();
    assert!((60..=64).contains(&chars(&card.name)), "{}", card.name);
    assert!((200..=240).contains(&chars(&card.description)), "{}", card.description);
    assert_eq!(card.tags.len(), 5);
    assert!(card.tags.iter().all(|tag| (20..=24).contains(&chars(tag))), "{:?}", card.tags);
    assert_eq!(card.score, 1_500, "in thousandths");
    assert!(card.text().ends_with(" score=1.500"), "{}", card.text());
}

#[test]
fn what_a_model_is_asked_with_fits_its_provider_and_leads_back() {
    let long = "x1-".repeat(166);
    let cards = cards_of(&["fs.read", &long]);
    for format in [SelectionFormat::JsonSchema, SelectionFormat::OpenAi, SelectionFormat::Gemini] {
        let schema = selection_schema(&cards, format).unwrap().to_string();
        assert!(schema.contains(cards[1].display_id()) && !schema.contains(&long), "{schema}");
        // Gemini knows no such keyword; strict functions need it.
        let closed = schema.contains("\"additionalProperties\":false");
        assert_eq!(closed, format != SelectionFormat::Gemini, "{schema}");
    }
}

#[test]
fn a_cut_id_is_plain_and_the_whole_one_is_told_from_its_look_alike() {
    let wide = card(SelectableItem::new(id(&"\u{6570}".repeat(150)), "n", "d"), &Tiktoken::CL100K);
    assert!(wide.display_id().is_ascii(), "{}", wide.display_id());
    let long = "x1-".repeat(166);
    let cards = cards_of(&[&format!("{long}A"), &format!("{long}a")]);
    for card in &cards {
        assert_eq!(validate_selection(&cards, card.id.as_str()), Ok(card));
        assert_eq!(validate_selection(&cards, card.display_id()), Ok(card));
    }
}

#[test]
fn a_refusal_names_no_more_than_twenty() {
    let ids: Vec<String> = (0..30).map(|n| format!("mail.t{n:02}")).collect();
    let cards = cards_of(&ids.iter().map(String::as_str).collect::<Vec<_>>());
    match validate_selection(&cards, "mail.t") {
        Err(SelectionError::Ambiguous { candidates, .. }) => assert_eq!(candidates, ids[..20]),
        other => panic!("{other:?}"),
    }
    let long = validate_selection(&cards, &"mail.t00 ".repeat(400)).unwrap_err().to_string();
    assert!(long.len() < 300, "{long}");
}

proptest! {
    #[test]
    fn a_card_stays_within_its_bound(
        name in "[a-z_]{1,60}|[!-~]{1,512}|[\\u{4e00}-\\u{4eff}]{1,170}",
        description in "\\PC{0,600}",
        tags in prop::collection::vec("\\PC{0,40}", 0..9),
        exact: bool,
    ) {
        let counter: &dyn TokenCounter = if exact { &Tiktoken::CL100K } else { &CharsPerFour };
        let mut item = SelectableItem::new(id(&name), "", description);
        item.tags = tags;
        let card = card(item, counter);
        let limit = if card.name.is_empty() && card.description.is_empty() {
            MAX_CARD_TOKENS
        } else {
            TARGET_CARD_TOKENS
        };
        for rendering in [card.text(), card.json()] {
            prop_assert!(counter.within(&rendering, limit), "{}", rendering);
            prop_assert!(!rendering.chars().any(weaver_text::escape::needs_escape));
        }
    }
}
