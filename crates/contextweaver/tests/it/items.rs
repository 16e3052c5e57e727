//! Items and catalogs for the tests.

use contextweaver::catalog::{Catalog, SelectableItem};
use proptest::prelude::*;
use weaver_types::CapabilityId;

pub(crate) fn id(text: &str) -> CapabilityId {
    CapabilityId::parse(text).unwrap()
}

pub(crate) fn catalog(items: impl IntoIterator<Item = SelectableItem>) -> Catalog {
    let mut catalog = Catalog::new();
    for item in items {
        catalog.insert(item).unwrap();
    }
    catalog
}

/// Words that meet often, words that never meet, and names without words.
fn phrase() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "list", "issues", "GitHub", "git", "hub", "the", "please", "get", "🚀", "delete_file",
        "openPullRequest", "v2", "日本", "\u{202e}", "ticket.", "search?", "---",
    ]);
    prop_oneof![
        4 => prop::collection::vec(word, 0..7).prop_map(|words| words.join(" ")),
        1 => "\\PC{0,20}",
    ]
}

/// Items with ids `t00`, `t01`, …, in this order.
pub(crate) fn some_items() -> impl Strategy<Value = Vec<SelectableItem>> {
    let item = (phrase(), phrase(), phrase(), prop::collection::vec(phrase(), 0..3));
    prop::collection::vec(item, 1..24).prop_map(|items| {
        let items = items.into_iter().enumerate();
        items
            .map(|(n, (name, description, namespace, examples))| {
                let mut item = SelectableItem::new(id(&format!("t{n:02}")), name, description);
                item.namespace = namespace;
                item.examples = examples;
                item
            })
            .collect()
    })
}

pub(crate) fn query() -> impl Strategy<Value = String> {
    prop::collection::vec(phrase(), 1..4).prop_map(|phrases| phrases.join(". "))
}
