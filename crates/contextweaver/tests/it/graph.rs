use std::collections::{BTreeMap, BTreeSet};

use contextweaver::catalog::{Catalog, SelectableItem};
use contextweaver::graph::{BEAM_WIDTH, ChoiceGraph, GraphOptions, PathError, Strategy};
use contextweaver::route::{MAX_K, Router};
use proptest::prelude::*;
use weaver_types::{CapabilityId, Random as _, SeededRandom};

use crate::items::{catalog, id, query, some_items};

const STRATEGIES: [Strategy; 4] =
    [Strategy::Auto, Strategy::Namespace, Strategy::Clustering, Strategy::Alphabetical];

/// Walks every page as a model would, and holds each against the bounds.
fn walk(graph: &ChoiceGraph) -> Vec<String> {
    let options = graph.options();
    let mut found = Vec::new();
    let mut open = vec![("/".to_owned(), 1)];
    while let Some((path, depth)) = open.pop() {
        assert!(depth <= options.max_depth, "{path} is {depth} choices deep");
        let page = graph.browse(&path).unwrap();
        assert!(page.groups.len() + page.items.len() <= options.max_children, "{path}");
        assert!(page.groups.is_empty() || page.items.is_empty(), "{path}");
        let labels: BTreeSet<_> = page.groups.iter().map(|group| &group.label).collect();
        assert_eq!(labels.len(), page.groups.len(), "{path}");
        for id in &page.items {
            assert_eq!(graph.path_of(id).as_ref(), Some(&path));
        }
        found.extend(page.items.iter().map(ToString::to_string));
        for group in page.groups {
            assert!(group.items > 0, "{} is empty", group.path);
            open.push((group.path, depth + 1));
        }
    }
    found.sort();
    found
}

fn ids(items: &[SelectableItem]) -> Vec<String> {
    let mut ids: Vec<_> = items.iter().map(|item| item.id.to_string()).collect();
    ids.sort();
    ids
}

/// Catalogs that break trees: everything in one namespace, names all equal, no words, ids of 500
/// characters, namespaces nested without end, one namespace an item.
fn hostile(shape: u8, count: usize, seed: u64) -> Vec<SelectableItem> {
    let random = SeededRandom::new(seed);
    let draw = |below: u64| {
        let mut bytes = [0; 8];
        random.fill(&mut bytes).unwrap();
        u64::from_le_bytes(bytes) % below
    };
    let words = ["list", "créer", "🚀", "日本", "the", "delete", "\u{202e}x", "issue", "---", "A"];
    let phrase = |n: u64| {
        let words = (0..n).map(|_| words[usize::try_from(draw(10)).unwrap()]);
        words.collect::<Vec<_>>().join(" ")
    };
    let item = |n: usize| {
        let (name, namespace) = match shape {
            0 => (format!("tool {n}"), if n < count / 2 { "one" } else { "two" }.to_owned()),
            1 => ("same".to_owned(), "same".to_owned()),
            2 => (String::new(), String::new()),
            3 => (phrase(2), format!("ns{n}")),
            4 => (phrase(1), vec!["a"; n % 200].join(".")),
            5 => ("🚀".to_owned(), format!("/{}*/..//\u{202e}", draw(3))),
            _ => (phrase(draw(4)), format!("{}.{}", phrase(1), draw(40))),
        };
        let source = match shape {
            2 => format!("{n}{}", "ü".repeat(496)),
            3 => format!("{}{n}", "x".repeat(490)),
            _ => format!("t{n}"),
        };
        let mut item = SelectableItem::from_source_id(&source, name, phrase(draw(6))).unwrap();
        item.namespace = namespace;
        item
    };
    (0..count).map(item).collect()
}

#[test]
fn every_item_of_large_hostile_catalogs_is_reached() {
    for shape in 0..7 {
        let mut items = hostile(shape, 20_000, u64::from(shape));
        for strategy in STRATEGIES {
            let options = GraphOptions { strategy, ..GraphOptions::default() };
            let count = if strategy == Strategy::Auto { 20_000 } else { 3_000 };
            let graph = ChoiceGraph::build(&items[..count], options).unwrap();
            assert_eq!(walk(&graph), ids(&items[..count]), "shape {shape}, {strategy:?}");
        }
        // One namespace of 10,000 and a few of one.
        items.truncate(10_050);
        items[..10_000].iter_mut().for_each(|item| item.namespace = "all".to_owned());
        let graph = ChoiceGraph::build(&items, GraphOptions::default()).unwrap();
        assert_eq!(walk(&graph), ids(&items), "shape {shape}");
    }
}

/// By a query of its own name: among the first, or, where many share its words, further down the
/// list. So many names are asked for, evenly chosen: when a router is built it proves of each item
/// that a query of its name meets it.
fn answers_to_names(items: &[SelectableItem], most: usize) {
    let router = Router::new(catalog(items.to_vec())).unwrap();
    let mut names: BTreeMap<&str, BTreeSet<&CapabilityId>> = BTreeMap::new();
    for item in items {
        names.entry(item.display_name()).or_default().insert(&item.id);
    }
    let step = names.len().div_ceil(most).max(1);
    for (name, mut ids) in names.into_iter().step_by(step) {
        for k in [64, MAX_K] {
            for hit in router.route(name, k) {
                ids.remove(&hit.id);
            }
            if ids.is_empty() {
                break;
            }
        }
        assert!(ids.is_empty(), "{name:?} does not find {ids:?}");
    }
}

/// Tools of two topics in turns by name; so many have a namespace.
fn two_topics(count: usize, named: usize) -> Vec<SelectableItem> {
    let item = |n: usize| {
        let (topic, text) = match n % 2 {
            0 => ("invoice", "the billing of an overdue payment"),
            _ => ("weather", "a forecast of storm and rainfall"),
        };
        let mut item = SelectableItem::new(id(&format!("{n:02}.{topic}")), topic, text);
        item.name = format!("tool{n:02} {topic}");
        if n < named {
            item.namespace = format!("server{}", n / 4);
        }
        item
    };
    (0..count).map(item).collect()
}

fn paths(items: &[SelectableItem], strategy: Strategy) -> Vec<Option<String>> {
    let options = GraphOptions { strategy, max_children: 8, max_depth: 8 };
    let graph = ChoiceGraph::build(items, options).unwrap();
    items.iter().map(|item| graph.path_of(&item.id)).collect()
}

#[test]
fn auto_goes_by_namespace_from_half_of_the_items_on_and_else_by_words() {
    for named in [0, 11] {
        let items = two_topics(24, named);
        let auto = paths(&items, Strategy::Auto);
        assert_eq!(auto, paths(&items, Strategy::Clustering), "{named} of 24");
        assert_ne!(auto, paths(&items, Strategy::Namespace), "{named} of 24");
    }
    for named in [12, 24] {
        let items = two_topics(24, named);
        let (auto, namespaces) =
            (paths(&items, Strategy::Auto), paths(&items, Strategy::Namespace));
        assert_ne!(auto, paths(&items, Strategy::Clustering), "{named} of 24");
        assert_eq!(auto[..named], namespaces[..named], "{named} of 24");
        // What has no namespace goes by words.
        assert!(named == 24 || auto[named..] != namespaces[named..]);
    }
}

#[test]
fn grouping_by_words_keeps_apart_what_says_something_else() {
    let items = two_topics(24, 0);
    let topics = |strategy| {
        let mut found: BTreeMap<Option<String>, BTreeSet<&str>> = BTreeMap::new();
        for (item, path) in items.iter().zip(paths(&items, strategy)) {
            let topic = item.id.as_str().split('.').next_back().unwrap();
            found.entry(path).or_default().insert(topic);
        }
        found
    };
    let by_words = topics(Strategy::Clustering);
    assert!(by_words.values().all(|topics| topics.len() == 1), "{by_words:?}");
    for (path, topics) in by_words {
        let (path, topic) = (path.unwrap(), topics.first().copied().unwrap());
        let word = if topic == "invoice" { "billing" } else { "forecast" };
        assert!(path.contains(word), "{path} holds what is about {topic}");
    }
    assert!(topics(Strategy::Alphabetical).values().all(|topics| topics.len() == 2));
}

#[test]
fn every_item_of_large_hostile_catalogs_answers_to_its_name() {
    for (shape, count) in (0..7).zip([6_000; 6].into_iter().chain([20_000])) {
        let mut items = hostile(shape, count, u64::from(shape));
        items[..count / 2].iter_mut().for_each(|item| item.namespace = "all".to_owned());
        answers_to_names(&items, 100);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_item_is_reached_whatever_the_bounds(
        shape in 0..7_u8,
        count in prop_oneof![0..60_usize, 0..3_000_usize],
        seed: u64,
        strategy in prop::sample::select(STRATEGIES.to_vec()),
        max_children in prop_oneof![2..6_usize, Just(20), 7..40_usize],
    ) {
        let items = hostile(shape, count, seed);
        let options = GraphOptions { strategy, max_children, max_depth: 12 };
        let graph = ChoiceGraph::build(&items, options).unwrap();
        prop_assert_eq!(walk(&graph), ids(&items));
        // The order in which items come leaves no trace, in any label or page.
        let again = ChoiceGraph::build(items.iter().rev(), options).unwrap();
        let mut open = vec!["/".to_owned()];
        while let Some(path) = open.pop() {
            let page = graph.browse(&path).unwrap();
            prop_assert_eq!(&page, &again.browse(&path).unwrap());
            open.extend(page.groups.into_iter().map(|group| group.path));
        }
    }

    #[test]
    fn every_item_answers_to_its_name(shape in 0..7_u8, count in 0..400_usize, seed: u64) {
        answers_to_names(&hostile(shape, count, seed), count.max(1));
    }

    #[test]
    fn a_walk_with_a_ranking_finds_its_first_first(
        items in some_items(),
        query in query(),
        strategy in prop::sample::select(STRATEGIES.to_vec()),
        width in 1..4_usize,
    ) {
        let router = Router::new(catalog(items.clone())).unwrap();
        let options = GraphOptions { strategy, max_children: 3, max_depth: 8 };
        let graph = ChoiceGraph::build(&items, options).unwrap();
        let ranked = router.route(&query, MAX_K);
        for k in [1, 3, 30] {
            let walked = graph.beam(&ranked, width, k);
            prop_assert_eq!(walked.first(), ranked.first());
            prop_assert_eq!(walked.len(), ranked.len().min(k));
            let places: Vec<_> = walked.iter().map(|hit| ranked.iter().position(|r| r == hit)).collect();
            prop_assert!(places.is_sorted() && places.iter().all(Option::is_some));
        }
        // With room for everything the walk is the ranking.
        prop_assert_eq!(graph.beam(&ranked, usize::MAX, MAX_K), ranked);
    }
}

#[test]
fn a_narrow_walk_looks_into_the_groups_with_the_best_items() {
    let items = (0..40).map(|n| {
        let mut item = SelectableItem::new(id(&format!("t{n:02}")), format!("n{n}"), "read mail");
        item.namespace = format!("ns{}", n % 10);
        item
    });
    let items: Vec<_> = items.collect();
    let router = Router::new(catalog(items.clone())).unwrap();
    let graph = ChoiceGraph::build(&items, GraphOptions::default()).unwrap();
    let ranked = router.route("read mail n7", MAX_K);
    let walked = graph.beam(&ranked, BEAM_WIDTH, 8);
    assert_eq!(walked[0].id, id("t07"));
    let homes: BTreeSet<_> = walked.iter().map(|hit| graph.path_of(&hit.id)).collect();
    assert_eq!(homes.len(), BEAM_WIDTH.min(homes.len()));
}

#[test]
fn groups_have_labels_that_say_what_is_in_them() {
    let lines: String = ["billing.invoices", "billing.payments", "mail"]
        .iter()
        .flat_map(|ns| {
            (0..15).map(move |n| format!("{{\"id\":\"{ns}.t{n}\",\"namespace\":\"{ns}\"}}\n"))
        })
        .collect();
    let catalog = Catalog::from_jsonl(&lines).unwrap();
    let graph = ChoiceGraph::build(catalog.iter(), GraphOptions::default()).unwrap();
    let labels = |path: &str| {
        let groups = graph.browse(path).unwrap().groups;
        groups.into_iter().map(|group| (group.path, group.items)).collect::<Vec<_>>()
    };
    let pair = |path: &str, items| (path.to_owned(), items);
    assert_eq!(labels("/"), [pair("/billing", 30), pair("/mail", 15)]);
    assert_eq!(labels("/billing"), [pair("/billing/invoices", 15), pair("/billing/payments", 15)]);
    let all = graph.browse("/billing/*").unwrap();
    assert_eq!((all.items.len(), all.groups.len(), all.more), (30, 0, 0));
}

#[test]
fn paths_are_read_strictly_and_tell_what_was_meant() {
    let items = (0..60).map(|n| {
        let mut item = SelectableItem::new(id(&format!("t{n}")), "", "");
        item.namespace = ["github", "Billing.Invoices"][n % 2].to_owned();
        item
    });
    let graph = ChoiceGraph::build(&items.collect::<Vec<_>>(), GraphOptions::default()).unwrap();
    for path in ["", "github", "/github/", "//x", "/*/github", "/a/*/b"] {
        assert_eq!(graph.browse(path).unwrap_err().code(), "path.invalid", "{path}");
    }
    for path in ["/", "/github", "/*", "/github/*", "/Billing"] {
        assert!(graph.browse(path).is_ok(), "{path}");
    }
    let error = graph.browse("/gitub").unwrap_err();
    let nearest = Some("github".to_owned());
    let (parent, label) = ("/".to_owned(), "gitub".to_owned());
    assert_eq!(error, PathError::NotFound { parent, label, nearest });
    assert_eq!(graph.browse(&"/x".repeat(9_000)).unwrap_err().code(), "path.invalid");
}

#[test]
fn bounds_that_cannot_hold_the_items_name_the_first_without_a_place() {
    let items = hostile(0, 9, 0);
    let options = |max_children, max_depth| GraphOptions {
        max_children,
        max_depth,
        ..GraphOptions::default()
    };
    let error = ChoiceGraph::build(&items, options(2, 3)).unwrap_err();
    assert_eq!(error.code(), "graph.too_many");
    assert!(error.to_string().starts_with("`t8` and what follows it do not fit"), "{error}");
    assert!(ChoiceGraph::build(&items, options(3, 2)).is_ok());
    assert!(ChoiceGraph::build(&items[..0], options(2, 1)).unwrap().is_empty());
    for bad in [options(1, 8), options(2000, 8), options(20, 0), options(20, 65)] {
        assert_eq!(ChoiceGraph::build(&items, bad).unwrap_err().code(), "graph.option");
    }
}
