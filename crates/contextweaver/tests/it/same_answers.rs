//! A router answers the same whatever it was asked before, on however many threads, and whatever
//! became of its items meanwhile.

use std::sync::Arc;

use contextweaver::catalog::SelectableItem;
use contextweaver::route::{Hit, Router};
use proptest::prelude::*;

use crate::items::{catalog, id, query, some_items};

const WORDS: [&str; 12] = [
    "invoice", "ticket", "weather", "report", "delete", "create", "open", "weekly", "mail", "file",
    "customer", "search",
];

fn word(n: usize) -> &'static str {
    WORDS[n % WORDS.len()]
}

/// Tools of a few words each, some of them with words of their own.
fn many(count: usize) -> Vec<SelectableItem> {
    let tool = |n: usize| {
        let name = format!("{}_{}", word(n), word(n / 5 + 3));
        let text =
            format!("{} the {} of {} number{}", word(n / 7), word(n / 3), word(n * n), n % 97);
        let mut item = SelectableItem::new(id(&format!("server{}.t{n}", n % 9)), name, text);
        item.namespace = format!("server{}", n % 9);
        item
    };
    (0..count).map(tool).collect()
}

fn requests() -> Vec<String> {
    (0..60)
        .map(|n| match n % 3 {
            0 => format!("please {} the {} number{n}", word(n), word(n + 4)),
            1 => format!(
                "{} each weekly {}. Then mail the {} file.",
                word(n),
                word(n + 1),
                word(n + 2)
            ),
            _ => format!("number{n} nowhere else {}", word(n / 3)),
        })
        .collect()
}

#[test]
fn answers_are_the_same_on_any_number_of_threads() {
    let router = Router::new(catalog(many(3_000))).unwrap();
    let alone: Vec<Vec<Hit>> =
        requests().iter().map(|request| router.clone().route(request, 20)).collect();
    for threads in [2, 8] {
        let router = Arc::new(Router::new(catalog(many(3_000))).unwrap());
        let workers: Vec<_> = (0..threads)
            .map(|worker| {
                let router = Arc::clone(&router);
                std::thread::spawn(move || {
                    let mut asked: Vec<_> = requests().into_iter().enumerate().collect();
                    asked.rotate_left(worker * 7);
                    let mut answers: Vec<_> =
                        asked.iter().map(|(n, text)| (*n, router.route(text, 20))).collect();
                    answers.sort_by_key(|(n, _)| *n);
                    answers.into_iter().map(|(_, hits)| hits).collect::<Vec<_>>()
                })
            })
            .collect();
        for worker in workers {
            assert_eq!(worker.join().unwrap(), alone);
        }
    }
}

proptest! {
    #[test]
    fn what_was_asked_before_leaves_no_trace(
        items in some_items(),
        asked in prop::collection::vec(query(), 1..8),
        hidden: u32,
        gone in any::<prop::sample::Index>(),
    ) {
        let used = Router::new(catalog(items.clone())).unwrap();
        let taken = gone.get(&items).id.clone();
        let seen = |name: &weaver_types::CapabilityId| {
            name.as_str().trim_start_matches('t').parse::<u32>().is_ok_and(|n| hidden >> n & 1 == 0)
        };
        let less = used.without_item(&taken).unwrap();
        for query in &asked {
            let fresh = Router::new(catalog(items.clone())).unwrap();
            prop_assert_eq!(used.route(query, 30), fresh.route(query, 30));
            let fresh = Router::new(catalog(items.clone())).unwrap();
            prop_assert_eq!(used.route_where(query, 30, seen), fresh.route_where(query, 30, seen));
            let left = items.iter().filter(|item| item.id != taken).cloned();
            let fresh = Router::new(catalog(left)).unwrap();
            prop_assert_eq!(less.route(query, 30), fresh.route(query, 30));
        }
    }
}

#[cfg(feature = "token-table")]
mod with_the_table {
    use contextweaver::route::TokenTable;

    use super::*;

    fn with_table(items: Vec<SelectableItem>) -> Router {
        Router::new(catalog(items)).unwrap().with_table(TokenTable::built_in().unwrap())
    }

    /// In a small catalog an item is found that shares no word with the request, however many others
    /// do.
    #[test]
    fn a_small_catalog_is_searched_by_meaning_too() {
        let row = |n: usize| {
            SelectableItem::new(id(&format!("row{n}")), format!("row{n}"), "Number of the row")
        };
        let mut items: Vec<_> = (0..200).map(row).collect();
        items.push(SelectableItem::new(id("z.kennel"), "kennel", "Dogs and their breeds"));
        let request = "the number of a poodle";
        let found = |router: &Router| {
            router.route(request, 5).into_iter().any(|hit| hit.id.as_str() == "z.kennel")
        };
        assert!(!found(&Router::new(catalog(items.clone())).unwrap()));
        assert!(found(&with_table(items)));
    }

    /// A request whose words no tool has, nor a word that stands for one of them, is compared with
    /// all, however many there are.
    #[test]
    fn what_means_the_same_is_found_among_many() {
        let mut items = many(2_000);
        items.push(SelectableItem::new(id("z.song"), "play_music", "Start a melody"));
        let request = "symphony of a choir";
        let router = with_table(items);
        let ids: Vec<_> = router.route(request, 10).into_iter().map(|hit| hit.id).collect();
        assert!(ids.contains(&id("z.song")), "{ids:?}");
    }

    #[test]
    fn changes_answer_as_an_index_built_anew() {
        let all = many(900);
        let (first, later) = all.split_at(850);
        let mut changed = with_table(first.to_vec());
        for item in later {
            changed = changed.with_item(item.clone()).unwrap();
        }
        let mut left = all.clone();
        for n in [3, 400, 870] {
            changed = changed.without_item(&all[n].id).unwrap();
            left.retain(|item| item.id != all[n].id);
        }
        left.reverse();
        let (merged, anew) = (changed.merged().unwrap(), with_table(left));
        for request in requests().iter().chain(&["symphony of a choir".to_owned()]) {
            assert_eq!(changed.route(request, 40), anew.route(request, 40), "{request}");
            assert_eq!(merged.route(request, 40), anew.route(request, 40));
        }
    }
}
