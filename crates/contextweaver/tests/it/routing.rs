use contextweaver::catalog::{Catalog, SelectableItem};
use contextweaver::route::{MAX_K, Router, Thesaurus};
use proptest::prelude::*;

use crate::items::{catalog, id, query, some_items};

fn ranked(router: &Router, query: &str, k: usize) -> Vec<String> {
    router.route(query, k).into_iter().map(|hit| hit.id.to_string()).collect()
}

fn small() -> Router {
    let mut read = SelectableItem::new(id("fs.read"), "read_file", "Read a file from disk");
    read.parameters.push(contextweaver::catalog::Parameter {
        name: "byteOffset".to_owned(),
        description: "where to begin".to_owned(),
    });
    let mut send = SelectableItem::new(id("mail.send"), "sendMail", "Deliver a message");
    send.examples.push("tell my colleague that I am late".to_owned());
    send.tags.push("correspondence".to_owned());
    let mut list = SelectableItem::new(id("gh.issues"), "list_issues", "Show open issues");
    list.namespace = "GitHub".to_owned();
    Router::new(catalog([read, send, list])).unwrap()
}

#[test]
fn every_field_is_searched() {
    let router = small();
    for (query, first) in [
        ("reading files", "fs.read"),
        ("byte offset", "fs.read"),
        ("begin where", "fs.read"),
        ("send mail", "mail.send"),
        ("e-mail a colleague", "mail.send"),
        ("correspondence", "mail.send"),
        ("git hub", "gh.issues"),
        ("open an issue on GitHub", "gh.issues"),
    ] {
        assert_eq!(ranked(&router, query, 3).first().map(String::as_str), Some(first), "{query}");
    }
}

#[test]
fn a_query_without_a_shared_word_finds_nothing() {
    let router = small();
    assert!(router.route("quantum chromodynamics", 5).is_empty());
    assert!(router.route("", 5).is_empty());
    assert!(router.route("read", 0).is_empty());
    assert!(Router::new(Catalog::new()).unwrap().route("read", 5).is_empty());
}

#[test]
fn a_request_finds_its_tool_by_what_its_words_imply() {
    let items =
        [("mute", "mute_output", "Silences an output"), ("log", "shush_log", "Counts every shush")];
    let items = items.map(|(i, name, text)| SelectableItem::new(id(i), name, text));
    let router = Router::new(catalog(items)).unwrap();
    // Although another item has the word.
    assert_eq!(ranked(&router, "shush that gadget", 5), ["log", "mute"]);
    // Where an item has all words, nothing is implied.
    assert_eq!(ranked(&router, "shush", 5), ["log"]);
}

#[test]
fn a_request_for_two_things_lifts_what_answers_one_of_them() {
    let texts = ["weekly sales report with regional growth chart", "reserve a restaurant table"];
    let items = texts.iter().zip(["report", "book"]);
    let items = items.map(|(text, name)| SelectableItem::new(id(name), name, *text));
    let noise = (0..40).map(|n| SelectableItem::new(id(&format!("n{n}")), "table", "restaurant"));
    let router = Router::new(catalog(items.chain(noise))).unwrap();
    let points = |query: &str, name: &str| {
        router.route(query, 50).iter().find(|hit| hit.id.as_str() == name).unwrap().score
    };
    let one = "Weekly sales report, regional growth chart, reserve a nice restaurant table";
    let two = "Weekly sales report, regional growth chart. Reserve a nice restaurant table";
    assert!(points(two, "book") > points(one, "book"));
    assert_eq!(ranked(&router, two, 2), ["report", "book"]);
}

#[test]
fn another_word_for_the_same_is_found_and_counts_less() {
    let items = [("a.cancel", "cancel a reservation"), ("b.cancel", "cancel a booking")];
    let items = items.map(|(name, text)| SelectableItem::new(id(name), name, text));
    let noise = (0..20).map(|n| SelectableItem::new(id(&format!("n{n}")), "x", format!("n{n}")));
    let router = Router::new(catalog(items.into_iter().chain(noise))).unwrap();
    assert_eq!(ranked(&router, "my booking", 9), ["b.cancel", "a.cancel"]);
    assert_eq!(ranked(&router, "my reservation", 9), ["a.cancel", "b.cancel"]);
    // Where both words are asked for, neither stands for the other.
    let both = router.route("reservation booking", 9);
    assert_eq!(both[0].score, both[1].score);
    let plain = router.with_thesaurus(Thesaurus::default().into());
    assert_eq!(ranked(&plain, "my booking", 9), ["b.cancel"]);
}

#[test]
fn near_copies_do_not_fill_the_list() {
    let copies = (0..12).map(|n| {
        let name = if n == 0 { "export_log".to_owned() } else { format!("export_log.v{n}") };
        SelectableItem::new(id(&format!("audit.{name}")), name, "Export the audit log")
    });
    let other = SelectableItem::new(id("audit.query"), "query_log", "Search in the audit log");
    let router = Router::new(catalog(copies.chain([other]))).unwrap();
    let hits = router.route("export the audit log", 5);
    let ids: Vec<_> = hits.iter().map(|hit| hit.id.as_str()).collect();
    assert_eq!(ids.first(), Some(&"audit.export_log"));
    assert_eq!(ids.get(1), Some(&"audit.query"));
    assert_eq!(
        hits.iter().map(|hit| hit.is_near_duplicate).collect::<Vec<_>>(),
        [false, false, true, true, true]
    );
    // A copy is still found by its own name.
    assert_eq!(ranked(&router, "export_log.v7", 1), ["audit.export_log.v7"]);
}

#[test]
fn names_that_say_nothing_are_found_all_the_same() {
    let names = ["🚀", "please help me", "\u{200b}", "---", "", "a"];
    let items = names
        .iter()
        .enumerate()
        .map(|(n, name)| SelectableItem::new(id(&format!("tool.number{n}")), *name, ""));
    let odd = SelectableItem::new(id("†"), "†", "");
    let router = Router::new(catalog(items.chain([odd]))).unwrap();
    for item in router.catalog().iter() {
        let found = ranked(&router, item.display_name(), 3);
        assert!(found.contains(&item.id.to_string()), "{item:?}");
    }
    for n in [0, 2, 3, 4] {
        let own = format!("tool.number{n}");
        assert!(ranked(&router, &own, 1).contains(&own), "{n}");
    }
}

#[test]
fn names_of_a_path_and_stop_words_are_found() {
    for name in ["/E S", "the /tmp", "get me bob@example.com", "what is 4f3a2b1"] {
        let item = SelectableItem::new(id("tool.a"), name, "");
        let router = Router::new(catalog([item])).unwrap();
        assert_eq!(ranked(&router, name, 1), ["tool.a"], "{name}");
    }
}

#[test]
fn equal_scores_go_to_the_shorter_name_then_the_lower_id() {
    let items = [("c", "x_find"), ("b", "find"), ("a", "find")]
        .map(|(i, name)| SelectableItem::new(id(i), name, format!("entry {i}{i}")));
    let router = Router::new(catalog(items)).unwrap();
    assert_eq!(ranked(&router, "entry", 3), ["a", "b", "c"]);
}

#[test]
fn scores_are_the_same_everywhere() {
    let scores: Vec<_> = small()
        .route("Read the open file. Send a mail to open issues, then list files", 3)
        .into_iter()
        .map(|hit| (hit.id.to_string(), hit.score))
        .collect();
    let expected = [("fs.read", 364_087), ("gh.issues", 349_087), ("mail.send", 338_416)];
    assert_eq!(scores, expected.map(|(id, score)| (id.to_owned(), score)));
}

#[test]
fn hostile_queries_are_bounded() {
    let router = small();
    for query in ["read ".repeat(2_000_000), "ﷺ".repeat(500_000), "a.".repeat(1_000_000)] {
        assert!(router.route(&query, usize::MAX).len() <= MAX_K);
    }
}

proptest! {
    #[test]
    fn the_order_of_insertion_leaves_no_trace(
        (items, shuffled) in some_items().prop_flat_map(|items| {
            (Just(items.clone()), Just(items).prop_shuffle())
        }),
        query in query(),
    ) {
        let a = Router::new(catalog(items)).unwrap();
        let b = Router::new(catalog(shuffled)).unwrap();
        prop_assert_eq!(a.route(&query, 30), b.route(&query, 30));
    }

    #[test]
    fn every_item_is_found_by_its_own_name(items in some_items()) {
        let router = Router::new(catalog(items)).unwrap();
        for item in router.catalog().iter() {
            let own = item.id.to_string();
            let found = ranked(&router, item.display_name(), MAX_K);
            prop_assert!(found.contains(&own), "{:?} not in {:?}", item, found);
            if weaver_text::split::words(item.display_name()).is_empty() {
                prop_assert!(ranked(&router, &own, MAX_K).contains(&own), "{:?} by id", item);
            }
        }
    }

    #[test]
    fn what_is_hidden_leaves_no_trace(items in some_items(), hidden: u32, query in query()) {
        let seen = |n: usize| hidden & (1 << n) == 0;
        let open: Vec<_> =
            items.iter().enumerate().filter(|(n, _)| seen(*n)).map(|(_, i)| i.clone()).collect();
        let visible: Vec<_> = open.iter().map(|item| item.id.clone()).collect();
        let all = Router::new(catalog(items)).unwrap();
        let without = Router::new(catalog(open)).unwrap();
        let masked = all.route_where(&query, 30, |id| visible.contains(id));
        prop_assert_eq!(masked, without.route(&query, 30));
        prop_assert_eq!(all.select(|id| visible.contains(id)).count(), visible.len() as u64);
    }

    #[test]
    fn a_short_ranking_begins_a_long_one(items in some_items(), query in query(), k in 0usize..20) {
        let router = Router::new(catalog(items)).unwrap();
        let hits = router.route(&query, 20);
        for pair in hits.windows(2) {
            let better = pair[0].score >= pair[1].score && pair[0].is_near_duplicate == pair[1].is_near_duplicate;
            prop_assert!(better || (!pair[0].is_near_duplicate && pair[1].is_near_duplicate));
        }
        prop_assert_eq!(&hits[..k.min(hits.len())], &router.route(&query, k)[..]);
    }
}
