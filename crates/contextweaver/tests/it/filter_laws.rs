//! What holds for every filter over every catalog.

use std::collections::{BTreeMap, BTreeSet};

use contextweaver::catalog::SelectableItem;
use contextweaver::filter::{Filter, History};
use contextweaver::route::{Hit, MAX_K, RouteRequest, Router};
use proptest::prelude::*;
use weaver_types::CapabilityId;

use crate::items::{catalog, id, query, some_items};

/// Items that depend on one another, in three namespaces.
fn linked(items: Vec<SelectableItem>) -> Vec<SelectableItem> {
    let count = items.len();
    let other = |n: usize| id(&format!("t{:02}", n % count.max(1)));
    items
        .into_iter()
        .enumerate()
        .map(|(n, mut item)| {
            item.namespace = format!("ns{}", n % 3);
            item.provides.insert(format!("p{}", n % 5));
            item.requires.insert(format!("p{}", (n + 1) % 5));
            item.depends_on.insert(other(n * 7 + 3));
            item.tags.push(format!("g{}", n % 4));
            item
        })
        .collect()
}

fn ids(picks: &[usize]) -> Vec<CapabilityId> {
    picks.iter().map(|n| id(&format!("t{n:02}"))).collect()
}

fn found(router: &Router, filter: &Filter, query: &str, k: usize) -> Vec<Hit> {
    router.answer(&RouteRequest::new(query, k).with_filter(filter)).hits
}

proptest! {
    #[test]
    fn what_is_excluded_is_never_listed_and_nothing_is_listed_twice(
        items in some_items(),
        picks in prop::collection::vec(0..24_usize, 0..9),
        quota in 0..4_usize,
        chained: bool,
        query in query(),
        k in 0..30_usize,
    ) {
        let router = Router::new(catalog(linked(items))).unwrap();
        let filter = Filter {
            exclude_ids: ids(&picks[..picks.len() / 2]).into_iter().collect(),
            exclude_tags: picks.first().map(|n| format!("g{}", n % 9)).into_iter().collect(),
            namespaces: picks.last().map(|n| format!("ns{}", n % 4)).into_iter().collect(),
            pins: ids(&picks),
            history: History { used: ids(&picks[picks.len() / 3..]) },
            quota: std::num::NonZeroUsize::new(quota),
            chained,
            ..Filter::default()
        };
        let hits = found(&router, &filter, &query, k);
        prop_assert!(hits.len() <= k);
        let listed: BTreeSet<_> = hits.iter().map(|hit| &hit.id).collect();
        prop_assert_eq!(listed.len(), hits.len());
        for hit in &hits {
            prop_assert!(filter.admits(router.item(&hit.id).unwrap()).is_ok(), "{:?}", hit);
        }
        // A short list begins a long one.
        prop_assert_eq!(&hits[..], &found(&router, &filter, &query, 40)[..hits.len()]);
    }

    #[test]
    fn no_namespace_has_more_than_its_quota_but_for_pins(
        items in some_items(),
        pins in prop::collection::vec(0..24_usize, 0..5),
        quota in 1..4_usize,
        query in query(),
    ) {
        let router = Router::new(catalog(linked(items))).unwrap();
        let pins = ids(&pins);
        let filter = Filter {
            pins: pins.clone(),
            quota: std::num::NonZeroUsize::new(quota),
            ..Filter::default()
        };
        let hits = found(&router, &filter, &query, MAX_K);
        let mut taken: BTreeMap<String, usize> = BTreeMap::new();
        for hit in hits.iter().filter(|hit| !pins.contains(&hit.id)) {
            *taken.entry(router.item(&hit.id).unwrap().namespace.clone()).or_default() += 1;
        }
        prop_assert!(taken.values().all(|count| *count <= quota), "{:?}", taken);
        // It leaves out no more than it has to.
        let open = found(&router, &Filter { quota: None, ..filter }, &query, MAX_K);
        for (namespace, _) in taken {
            let of = |hits: &[Hit]| {
                let here = |hit: &&Hit| router.item(&hit.id).unwrap().namespace == namespace;
                hits.iter().filter(here).count()
            };
            prop_assert!(of(&hits) == of(&open) || of(&hits) >= quota);
        }
    }

    #[test]
    fn pins_stand_first_in_their_order(
        items in some_items(),
        pins in prop::collection::vec(0..24_usize, 0..5),
        query in query(),
    ) {
        let router = Router::new(catalog(linked(items))).unwrap();
        let mut expected = Vec::new();
        for pin in ids(&pins).into_iter().filter(|pin| router.item(pin).is_some()) {
            if !expected.contains(&pin) {
                expected.push(pin);
            }
        }
        let filter = Filter { pins: ids(&pins), ..Filter::default() };
        let hits = found(&router, &filter, &query, MAX_K);
        let first: Vec<_> = hits.iter().take(expected.len()).map(|hit| hit.id.clone()).collect();
        prop_assert_eq!(&first, &expected);
        // The others stand as they would without pins.
        let rest: Vec<_> = hits.into_iter().skip(expected.len()).collect();
        let plain = found(&router, &Filter::default(), &query, MAX_K);
        let plain: Vec<_> = plain.into_iter().filter(|hit| !expected.contains(&hit.id)).collect();
        prop_assert_eq!(rest, plain);
    }

    #[test]
    fn history_weighs_each_item_by_what_happened(
        items in some_items(),
        used in prop::collection::vec(0..24_usize, 0..6),
        query in query(),
    ) {
        let router = Router::new(catalog(linked(items))).unwrap();
        let used = ids(&used);
        let filter = Filter { history: History { used: used.clone() }, ..Filter::default() };
        let plain = found(&router, &Filter::default(), &query, MAX_K);
        let hits = found(&router, &filter, &query, MAX_K);
        prop_assert_eq!(hits.len(), plain.len());
        let given = used.iter().filter_map(|id| router.item(id)).flat_map(|item| &item.provides);
        let given: BTreeSet<_> = given.collect();
        for hit in &plain {
            let item = router.item(&hit.id).unwrap();
            let mut expected = hit.score;
            if used.contains(&hit.id) {
                expected = expected * 500 / 1000;
            }
            if item.requires.iter().any(|need| given.contains(need)) {
                expected = expected * 1200 / 1000;
            }
            if item.depends_on.iter().any(|id| !used.contains(id)) && !used.is_empty() {
                expected = expected * 800 / 1000;
            }
            let now = hits.iter().find(|now| now.id == hit.id).unwrap();
            prop_assert_eq!(now.score, expected);
        }
        let order = |two: &[Hit]| (two[0].is_near_duplicate, std::cmp::Reverse(two[0].score))
            <= (two[1].is_near_duplicate, std::cmp::Reverse(two[1].score));
        prop_assert!(hits.windows(2).all(order));
    }

    #[test]
    fn what_the_first_needs_comes_behind_it_and_nothing_else_moves(
        items in some_items(),
        used in prop::collection::vec(0..24_usize, 0..6),
        query in query(),
    ) {
        let router = Router::new(catalog(linked(items))).unwrap();
        let used = ids(&used);
        let history = History { used: used.clone() };
        let open = Filter { history, ..Filter::default() };
        let plain = found(&router, &open, &query, MAX_K);
        let hits = found(&router, &Filter { chained: true, ..open }, &query, MAX_K);
        prop_assert_eq!(hits.first(), plain.first());
        let Some(first) = hits.first() else { return Ok(()) };
        for need in router.item(&first.id).unwrap().depends_on.iter().filter(|n| **n != first.id) {
            if router.item(need).is_some() && !used.contains(need) {
                prop_assert_eq!(&hits[1].id, need);
            }
        }
        let without = |hits: &[Hit], needed: &[Hit]| {
            let left = hits.iter().filter(|hit| needed.iter().all(|need| need.id != hit.id));
            left.map(|hit| hit.id.clone()).collect::<Vec<_>>()
        };
        let needed = |count: usize| hits.get(1..=count).unwrap_or_default();
        let explains = |n: &usize| without(&hits, needed(*n)) == without(&plain, needed(*n));
        prop_assert!((0..=3).any(|count| explains(&count)));
    }
}

#[test]
fn what_is_required_comes_from_the_best_that_provides_it() {
    let item = |name: &str, text: &str| SelectableItem::new(id(name), name, text);
    let mut pay = item("pay", "pay an invoice from the account");
    pay.requires.insert("session".to_owned());
    let mut login = item("login", "open a session for the account");
    login.provides.insert("session".to_owned());
    login.depends_on.insert(id("secret"));
    let (other, secret) = (item("list", "list every invoice of the account"), item("secret", "x"));
    let router = Router::new(catalog([pay, login, other, secret])).unwrap();
    let list = |filter: &Filter| {
        let hits = found(&router, filter, "pay the invoice from the account", 9);
        hits.into_iter().map(|hit| hit.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(list(&Filter::default()), ["pay", "list", "login"]);
    let chained = Filter { chained: true, ..Filter::default() };
    assert_eq!(list(&chained), ["pay", "login", "secret", "list"]);
    let hidden = Filter { exclude_ids: [id("secret")].into(), ..chained.clone() };
    assert_eq!(list(&hidden), ["pay", "login", "list"]);
    let history = History { used: vec![id("login")] };
    assert_eq!(list(&Filter { history, ..chained }), ["pay", "list", "login"]);
}

#[test]
fn what_was_used_already_is_not_put_behind_what_depends_on_it() {
    let item = |name: &str, text: &str| SelectableItem::new(id(name), name, text);
    let mut pay = item("pay", "pay an invoice from the account");
    pay.depends_on.insert(id("login"));
    let (login, other) = (item("login", "x"), item("list", "list every invoice of the account"));
    let router = Router::new(catalog([pay, login, other])).unwrap();
    let list = |used: Vec<CapabilityId>| {
        let filter = Filter { chained: true, history: History { used }, ..Filter::default() };
        let hits = found(&router, &filter, "pay the invoice from the account", 9);
        hits.into_iter().map(|hit| hit.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(list(Vec::new()), ["pay", "login", "list"]);
    assert_eq!(list(vec![id("login")]), ["pay", "list"]);
}
