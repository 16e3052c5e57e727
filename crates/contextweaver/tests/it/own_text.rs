//! Nothing is out of reach of its own text.

use contextweaver::catalog::{Catalog, SelectableItem};
use contextweaver::route::Router;
use proptest::prelude::*;

use crate::items::{catalog, id};

fn lost(router: &Router, text: impl Fn(&SelectableItem) -> String) -> Vec<String> {
    let found =
        |item: &&SelectableItem| router.route(&text(item), 5).iter().any(|hit| hit.id == item.id);
    let lost = router.catalog().iter().filter(|item| !found(item));
    lost.map(|item| item.id.to_string()).collect()
}

fn own_text(item: &SelectableItem) -> String {
    format!("{} {}", item.display_name(), item.description)
}

#[test]
fn order_and_particles_tell_twins_apart() {
    let twins = [
        ("celsius_to_fahrenheit", "Converts a temperature from Celsius to Fahrenheit."),
        ("fahrenheit_to_celsius", "Converts a temperature from Fahrenheit to Celsius."),
        ("rgb_to_hsl", "Convert a color from RGB to HSL"),
        ("hsl_to_rgb", "Convert a color from HSL to RGB"),
        ("checkIn", "Check in a guest"),
        ("checkOut", "Check out a guest"),
        ("turn_on", "Turn the light on"),
        ("turn_off", "Turn the light off"),
    ];
    let items = twins.map(|(name, text)| SelectableItem::new(id(name), name, text));
    let router = Router::new(catalog(items)).unwrap();
    for (name, text) in twins {
        let hits = router.route(text, 2);
        let copies: Vec<bool> = hits.iter().map(|hit| hit.is_near_duplicate).collect();
        assert_eq!(copies, [false, false], "{name}");
        assert!(hits.iter().any(|hit| hit.id.as_str() == name), "{name}: {hits:?}");
    }
}

#[test]
fn what_says_the_same_is_found_by_its_own_text_too() {
    let copies = (0..4).map(|n| {
        SelectableItem::new(id(&format!("copy.{n}")), "export_log", "Export the audit log")
    });
    let others = (0..9).map(|n| {
        SelectableItem::new(id(&format!("log.{n}")), format!("log{n}"), "Look into the audit log")
    });
    let router = Router::new(catalog(copies.chain(others))).unwrap();
    assert!(lost(&router, own_text).is_empty(), "{:?}", lost(&router, own_text));
    // Any other request for them gives the place to other items.
    let hits = router.route("export the log of the audit", 5);
    assert_eq!(hits.iter().filter(|hit| hit.id.as_str().starts_with("copy")).count(), 1);
}

proptest! {
    /// Tools of a few words in every order, none with the text of another, and none that says a word
    /// twice.
    #[test]
    fn every_item_is_found_by_its_own_text(
        texts in prop::collection::btree_set(
            (
                2..6_usize,
                Just(vec!["to", "from", "convert", "red", "blue", "in", "out"]).prop_shuffle(),
            )
                .prop_map(|(count, words)| words[..count].to_vec()),
            1..40,
        ),
    ) {
        let items = texts.iter().enumerate().map(|(at, words)| {
            SelectableItem::new(id(&format!("tool.{at}")), words.join("_"), words.join(" "))
        });
        let router = Router::new(catalog(items)).unwrap();
        let lost = lost(&router, own_text);
        prop_assert!(lost.is_empty(), "{lost:?} of {texts:?}");
    }
}

#[test]
fn variants_are_found_by_their_numbers() {
    let items = (0..12).map(|n| {
        let text = format!("Create a custom role (variant {n})");
        SelectableItem::new(id(&format!("roles.{n}")), format!("roles_create_v{n}"), text)
    });
    let router = Router::new(catalog(items)).unwrap();
    assert!(lost(&router, own_text).is_empty(), "{:?}", lost(&router, own_text));
}

#[test]
fn every_tool_of_public_servers_is_found_by_its_own_text() {
    for tools in crate::goals::TOOLS {
        let catalog = Catalog::from_jsonl(tools).unwrap();
        let lost = lost(&Router::new(catalog).unwrap(), own_text);
        assert!(lost.is_empty(), "{lost:?}");
    }
}
