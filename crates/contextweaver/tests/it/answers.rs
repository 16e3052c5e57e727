use contextweaver::catalog::SelectableItem;
use contextweaver::filter::{Filter, Visibility};
use contextweaver::route::{
    Hit, Reranker, Retriever, RouteAnswer, RouteRequest, Router, WithoutPleasantries,
};
use proptest::prelude::*;
use std::cell::RefCell;
use weaver_types::CapabilityId;

use crate::items::{catalog, id, query, some_items};

fn mail() -> Router {
    let item = |name: &str, text: &str| SelectableItem::new(id(name), name, text);
    Router::new(catalog([
        item("mail.send", "Send a mail to somebody"),
        item("mail.read", "Read a mail"),
        item("file.delete", "Delete a file from disk"),
        item("file.copy", "Copy a file"),
    ]))
    .unwrap()
}

fn ids(answer: &RouteAnswer) -> Vec<&str> {
    answer.hits.iter().map(|hit| hit.id.as_str()).collect()
}

#[test]
fn a_good_answer_is_sure_and_a_bad_one_abstains() {
    let router = mail();
    let sure = router.answer(&RouteRequest::new("delete a file from the disk", 3));
    let unsure = router.answer(&RouteRequest::new("a file about the history of ancient Rome", 3));
    let nothing = router.answer(&RouteRequest::new("quantum chromodynamics", 3));
    assert_eq!(ids(&sure).first(), Some(&"file.delete"));
    assert!(sure.confidence > 500 && !sure.abstained && !sure.ambiguous, "{sure:?}");
    assert!(unsure.confidence < sure.confidence && unsure.abstained, "{unsure:?}");
    assert!(nothing.abstained && nothing.confidence == 0 && nothing.hits.is_empty());
}

/// One item has all words of the request, so associations imply nothing.
#[cfg(feature = "token-table")]
#[test]
fn rules_count_less_where_items_are_not_compared_by_meaning() {
    let item = |name: &str, text: &str| SelectableItem::new(id(name), name, text);
    let diary = item("diary.write", "Remember that Anna works at Siemens");
    let items = [diary, item("graph.create_entities", "Create entities"), item("clock", "Time")];
    let words = Router::new(catalog(items)).unwrap();
    let table = contextweaver::route::TokenTable::built_in().unwrap();
    let meant = |router: &Router| {
        let request = RouteRequest::new("remember that Anna works at Siemens", 3).with_trace();
        let trace = router.answer(&request).trace.unwrap();
        let found = trace.candidates.into_iter().find(|one| one.id == "graph.create_entities");
        let terms = found.unwrap().terms.into_iter();
        terms.filter(|term| term.by == "meant").map(|term| term.score).sum::<u64>()
    };
    let (by_words, with_table) = (meant(&words), meant(&words.clone().with_table(table)));
    let expected = with_table * 8 / 10;
    assert!(
        by_words > 0 && by_words.abs_diff(expected) * 100 <= expected,
        "{by_words} {with_table}"
    );
}

#[test]
fn two_equals_are_asked_about() {
    let answer = mail().answer(&RouteRequest::new("mail", 3));
    assert!(answer.ambiguous);
    assert_eq!(answer.question.as_deref(), Some("Which is meant: `mail.read` or `mail.send`?"));
    let one = mail().answer(&RouteRequest::new("delete the file on disk", 3));
    assert!(!one.ambiguous && one.question.is_none());
}

#[test]
fn a_trace_says_what_each_term_brought() {
    let router = mail();
    let request = RouteRequest::new("remove a file from disk", 2).with_trace();
    let trace = router.answer(&request).trace.unwrap();
    let json = trace.to_json().unwrap();
    let first = trace.candidates.first().unwrap();
    assert_eq!((first.id.as_str(), trace.items, trace.version), ("file.delete", 4, 1));
    let said: Vec<_> =
        first.terms.iter().map(|t| (t.term.as_str(), t.by, t.fields.join(" "))).collect();
    let (meant, said): (Vec<_>, Vec<_>) = said.into_iter().partition(|(_, by, _)| *by == "meant");
    assert_eq!(meant, [("", "meant", String::new())]);
    assert_eq!(
        said,
        [
            ("disk", "word", "description".to_owned()),
            ("file", "word", "name description".to_owned()),
            ("remov", "instead", "name description".to_owned()),
            ("filedisk", "pair", "description".to_owned()),
        ]
    );
    // What the terms bring is the whole score of the words.
    assert_eq!(first.terms.iter().map(|t| t.score).sum::<u64>(), u64::from(first.words));
    assert_eq!(router.answer(&request).trace.unwrap().to_json().unwrap(), json);
    assert!(json.starts_with(r#"{"version":1,"terms":["remov","file","disk"],"parts":[],"#));
}

#[test]
fn a_filter_is_told_of_and_what_is_hidden_is_not() {
    let filter = Filter {
        exclude_ids: [id("mail.read")].into(),
        visibility: Visibility::new(|item: &SelectableItem| item.id.as_str() != "file.copy"),
        ..Filter::default()
    };
    let router = mail();
    let answer =
        router.answer(&RouteRequest::new("mail or file", 9).with_filter(&filter).with_trace());
    assert_eq!(ids(&answer), ["mail.send", "file.delete"]);
    let json = answer.trace.unwrap().to_json().unwrap();
    assert!(json.contains(r#""items":2,"left_out":{"excluded_id":1}"#), "{json}");
    assert!(!json.contains("copy\"") || !json.contains("file.copy"), "{json}");
    let pinned = Filter { pins: vec![id("file.copy")], ..filter };
    let answer = router.answer(&RouteRequest::new("mail", 9).with_filter(&pinned));
    assert_eq!(ids(&answer), ["mail.send"], "a pin does not show what is hidden");
}

struct Liking(&'static str);

impl Retriever for Liking {
    fn similarities(&self, _: &str, items: &[&CapabilityId]) -> Vec<i64> {
        items.iter().map(|id| if id.as_str() == self.0 { i64::MAX } else { 0 }).collect()
    }
}

impl Reranker for Liking {
    fn scores(&self, _: &str, items: &[(&Hit, &SelectableItem)]) -> Vec<u64> {
        items.iter().map(|(hit, _)| u64::from(hit.id.as_str() == self.0)).collect()
    }
}

/// Notes how many items it is asked about.
#[derive(Default)]
struct Counting(RefCell<Vec<usize>>);

impl Retriever for Counting {
    fn similarities(&self, _: &str, items: &[&CapabilityId]) -> Vec<i64> {
        self.0.borrow_mut().push(items.len());
        Vec::new()
    }
}

#[test]
fn so_many_items_are_compared_for_the_whole_and_more_for_each_part() {
    let tool = |n: usize| SelectableItem::new(id(&format!("t{n}")), "mail", format!("kind{n}"));
    let router = Router::new(catalog((0..500).map(tool))).unwrap();
    let asked = |query: &str, k: usize| {
        let counting = Counting::default();
        let answer = router.answer(&RouteRequest::new(query, k).with_retriever(&counting));
        assert_eq!(answer.hits.len(), k);
        counting.0.into_inner()
    };
    assert_eq!(asked("mail", 5), [64]);
    assert_eq!(asked("mail", 300), [64]);
    assert_eq!(asked("Send the mail now. Then read the mail again.", 5), [128; 3]);
    // No item has any of these words, so it is asked about more.
    assert_eq!(asked("symphony", 5), [500, 400]);
}

#[test]
fn a_host_plugs_in_its_own() {
    let router = mail();
    let liking = Liking("mail.send");
    let request = RouteRequest::new("mail", 2);
    assert_eq!(ids(&router.answer(&request)), ["mail.read", "mail.send"]);
    assert_eq!(ids(&router.answer(&request.with_retriever(&liking))).first(), Some(&"mail.send"));
    assert_eq!(ids(&router.answer(&request.with_reranker(&liking))).first(), Some(&"mail.send"));
    let polite = RouteRequest::new("Hello there! Read my mail.", 1);
    let plain = router.answer(&polite.with_transform(&WithoutPleasantries));
    assert_eq!(ids(&plain), ["mail.read"]);
}

proptest! {
    #[test]
    fn the_whole_answer_is_that_of_a_catalog_without_what_is_hidden(
        items in some_items(), hidden: u32, query in query(),
    ) {
        let seen = |n: usize| hidden >> n & 1 == 0;
        let open: Vec<_> =
            items.iter().enumerate().filter(|(n, _)| seen(*n)).map(|(_, i)| i.clone()).collect();
        let visible: Vec<_> = open.iter().map(|item| item.id.clone()).collect();
        let (all, without) =
            (Router::new(catalog(items)).unwrap(), Router::new(catalog(open)).unwrap());
        let filter = Filter {
            visibility: Visibility::new(move |item: &SelectableItem| visible.contains(&item.id)),
            ..Filter::default()
        };
        let request = RouteRequest::new(&query, 30).with_trace();
        prop_assert_eq!(all.answer(&request.with_filter(&filter)), without.answer(&request));
    }
}
