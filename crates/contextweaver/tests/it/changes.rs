use std::collections::BTreeMap;
use std::sync::Arc;

use contextweaver::catalog::{Catalog, SelectableItem};
use contextweaver::route::{LiveRouter, Router};
use proptest::prelude::*;

use crate::items::{catalog, id, query, some_items};

/// What is done to one item.
#[derive(Debug, Clone)]
enum Step {
    Put(Box<SelectableItem>),
    Remove(String),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let one =
        (some_items(), any::<prop::sample::Index>(), 0..3_u8).prop_map(|(items, at, kind)| {
            let item = at.get(&items).clone();
            if kind == 0 { Step::Remove(item.id.to_string()) } else { Step::Put(item.into()) }
        });
    prop::collection::vec(one, 0..20)
}

fn after(items: &[SelectableItem], steps: &[Step]) -> Catalog {
    let mut left: BTreeMap<String, SelectableItem> =
        items.iter().map(|item| (item.id.to_string(), item.clone())).collect();
    for step in steps {
        match step {
            Step::Put(item) => drop(left.insert(item.id.to_string(), SelectableItem::clone(item))),
            Step::Remove(id) => drop(left.remove(id)),
        }
    }
    catalog(left.into_values())
}

proptest! {
    #[test]
    fn changes_answer_as_an_index_built_anew(
        (items, steps, query) in (some_items(), steps(), query()),
        hidden: u32,
    ) {
        let live = LiveRouter::new(Router::new(catalog(items.clone())).unwrap());
        for step in &steps {
            match step {
                Step::Put(item) => live.put(SelectableItem::clone(item)).unwrap(),
                Step::Remove(name) => drop(live.remove(&id(name))),
            }
        }
        let (changed, built) = (live.snapshot(), Router::new(after(&items, &steps)).unwrap());
        let seen = |name: &weaver_types::CapabilityId| {
            name.as_str().trim_start_matches('t').parse::<u32>().is_ok_and(|n| hidden >> n & 1 == 0)
        };
        for router in [&*changed, &changed.merged().unwrap()] {
            prop_assert_eq!(router.route(&query, 40), built.route(&query, 40));
            prop_assert_eq!(
                router.route_where(&query, 40, seen), built.route_where(&query, 40, seen)
            );
            let items: Vec<_> = router.catalog().iter().collect();
            prop_assert_eq!(items, built.catalog().iter().collect::<Vec<_>>());
        }
    }
}

fn tool(name: &str, text: &str) -> SelectableItem {
    SelectableItem::new(id(name), name, text)
}

#[test]
fn a_snapshot_stays_as_it_was() {
    let live = LiveRouter::new(Router::new(catalog([tool("a", "read mail")])).unwrap());
    let before = live.snapshot();
    live.put(tool("b", "read mail aloud")).unwrap();
    live.put(tool("a", "write mail")).unwrap();
    assert!(!live.remove(&id("c")));
    assert_eq!(before.route("read", 5).len(), 1);
    assert_eq!(before.item(&id("a")).unwrap().description, "read mail");
    assert_eq!(live.snapshot().route("read", 5)[0].id, id("b"));
    assert_eq!(live.snapshot().item(&id("a")).unwrap().description, "write mail");
    assert!(live.remove(&id("b")));
    assert!(live.snapshot().route("read", 5).is_empty());
    assert!(live.snapshot().item(&id("b")).is_none());
}

#[test]
fn a_selection_of_another_state_shows_nothing() {
    let router = Router::new(catalog([tool("a", "read mail"), tool("b", "read news")])).unwrap();
    let selection = router.select(|name| name.as_str() == "a");
    assert_eq!(router.route_among(&selection, "read", 5).len(), 1);
    let changed = router.with_item(tool("c", "read books")).unwrap();
    assert!(changed.route_among(&selection, "read", 5).is_empty());
}

#[test]
fn a_refused_item_changes_nothing() {
    let live = LiveRouter::new(Router::new(catalog([tool("a", "read mail")])).unwrap());
    let long = tool("a", &"x".repeat(1 << 20));
    assert_eq!(live.put(long).unwrap_err().code(), "catalog.too_large");
    assert_eq!(live.snapshot().route("mail", 5).len(), 1);
}

#[test]
fn what_changes_during_a_merge_is_kept_and_all_threads_read_the_same() {
    let items = (0..3_000).map(|n| tool(&format!("t{n}"), &format!("does the thing number {n}")));
    let live = Arc::new(LiveRouter::new(Router::new(catalog(items)).unwrap()));
    let merging = Arc::clone(&live);
    let merger =
        std::thread::spawn(move || (0..4).map(|_| merging.merge().unwrap()).collect::<Vec<_>>());
    let readers: Vec<_> = (0..4)
        .map(|_| {
            let live = Arc::clone(&live);
            std::thread::spawn(move || {
                (0..40).all(|n| {
                    let wanted = id(&format!("t{n}"));
                    live.snapshot().route(&format!("number {n}"), 1)[0].id == wanted
                })
            })
        })
        .collect();
    for n in 3_000..3_100 {
        live.put(tool(&format!("t{n}"), &format!("does the thing number {n}"))).unwrap();
        live.remove(&id(&format!("t{}", n - 2_000)));
    }
    assert!(merger.join().unwrap().iter().all(|merged| *merged));
    assert!(readers.into_iter().all(|reader| reader.join().unwrap()));
    let now = live.snapshot();
    assert_eq!(now.catalog().len(), 3_000);
    assert_eq!(now.route("number 3099", 1)[0].id, id("t3099"));
    let anew = Router::new(now.catalog().clone()).unwrap();
    for n in (0..3_100).step_by(97) {
        let query = format!("the thing with the number {n}");
        assert_eq!(now.route(&query, 20), anew.route(&query, 20));
    }
    assert!(live.merge().unwrap());
    assert_eq!(live.snapshot().change_count(), 0);
}
