//! Routes that were accepted, and words that are misspelt.

use contextweaver::catalog::SelectableItem;
use contextweaver::route::{Lessons, MAX_K, RouteRequest, Router, Thesaurus};
use proptest::prelude::*;
use weaver_types::{CapabilityId, Label, Timestamp};

use crate::items::{catalog, id, query, some_items};

const NOW: Timestamp = Timestamp::from_micros(0);

fn reports() -> Router {
    let items = [
        ("reports.weekly", "weekly", "Compile the numbers of the week"),
        ("reports.yearly", "yearly", "Compile the numbers of the year"),
        ("mail.send", "send", "Send a message to somebody"),
    ];
    let items = items.map(|(name, short, text)| SelectableItem::new(id(name), short, text));
    Router::new(catalog(items)).unwrap()
}

fn taught(router: &Router, lessons: &Lessons, query: &str, now: Timestamp) -> Vec<String> {
    let answer = router.answer(&RouteRequest::new(query, 9).with_lessons(lessons, now));
    answer.hits.into_iter().map(|hit| hit.id.to_string()).collect()
}

fn accepted(query: &str, name: &str, times: usize) -> Lessons {
    let mut lessons = Lessons::default();
    for _ in 0..times {
        lessons.accept(query, &id(name), &Label::clean(), NOW).unwrap();
    }
    lessons
}

#[test]
fn what_was_accepted_is_found_by_the_words_of_the_request() {
    let router = reports();
    let query = "wobble the flummox wibble";
    assert!(router.route(query, 9).is_empty());
    let lessons = accepted(query, "reports.weekly", 1);
    assert_eq!(taught(&router, &lessons, "the flummox wibble", NOW), ["reports.weekly"]);
    // Only where a request brings them.
    assert!(router.route(query, 9).is_empty());
    // It fades.
    let later = Timestamp::from_micros(400 * 24 * 3600 * 1_000_000);
    assert!(taught(&router, &lessons, query, later).is_empty());
}

#[test]
fn what_was_accepted_rises_and_the_trace_says_by_how_much() {
    let router = reports();
    let query = "compile the numbers";
    assert_eq!(router.route(query, 1)[0].id.as_str(), "reports.weekly");
    let lessons = accepted(query, "reports.yearly", 2);
    let request = RouteRequest::new(query, 9).with_lessons(&lessons, NOW).with_trace();
    let answer = router.answer(&request);
    assert_eq!(answer.hits[0].id.as_str(), "reports.yearly");
    assert_eq!(answer.hits.len(), 2);
    let candidates = &answer.trace.as_ref().unwrap().candidates;
    assert!(candidates[0].learned > 0 && candidates[1].learned == 0);
    let plain = router.answer(&RouteRequest::new(query, 9));
    let before = plain.hits.iter().find(|hit| hit.id.as_str() == "reports.yearly").unwrap();
    let gained = answer.hits[0].score - before.score;
    assert_eq!(gained, candidates[0].learned);
    assert!(gained <= plain.hits[0].score);
    // Without lessons a trace has no word of them.
    let trace = router.answer(&RouteRequest::new(query, 9).with_trace()).trace.unwrap();
    assert!(!trace.to_json().unwrap().contains("learned"));
}

#[test]
fn a_word_that_is_misspelt_is_put_right_and_a_known_one_is_left_alone() {
    let items = [
        ("a.invoice", "create_invoice", "Create an invoice for a customer"),
        ("b.calendar", "list_calendar", "List the calendar of a team"),
        ("c.calender", "calender", "Press paper between the rolls of a calender"),
        ("d.mail", "send_mail", "Send a mail"),
    ];
    let items = items.map(|(name, short, text)| SelectableItem::new(id(name), short, text));
    let router = Router::new(catalog(items)).unwrap();
    let first = |query: &str| {
        let hits = router.route(query, 9);
        hits.first().map(|hit| hit.id.to_string())
    };
    for query in ["make an invocie", "invoce", "an invooice please", "innvoice"] {
        assert_eq!(first(query).as_deref(), Some("a.invoice"), "{query}");
    }
    // Somebody has this word, so it is no error.
    assert_eq!(first("calender").as_deref(), Some("c.calender"));
    let known = router.route("calendar", 9);
    assert!(known.iter().all(|hit| hit.id.as_str() != "c.calender"), "{known:?}");
    for query in ["4711", "mial9", "xnvoice", "quantum", "mmm"] {
        assert_eq!(first(query), None, "{query}");
    }
    // The trace says what was meant.
    let answer = router.answer(&RouteRequest::new("invocie", 9).with_trace());
    let share = &answer.trace.unwrap().candidates[0].terms[0];
    assert_eq!(
        (share.term.as_str(), share.by, &share.fields[..2]),
        ("invoci", "spelling", &["name", "description"][..])
    );
    // A word of the thesaurus is no error either.
    let group = Thesaurus::parse("invocie bill\n");
    assert!(router.with_thesaurus(group.into()).route("invocie", 9).is_empty());
}

/// Words of the catalogs below with one letter wrong, and words that are right.
fn misspelt() -> impl Strategy<Value = String> {
    let words = vec!["isues", "delte", "serach", "ticekt", "reqeust", "plul", "githbu", "list"];
    prop::collection::vec(prop::sample::select(words), 1..4).prop_map(|words| words.join(" "))
}

fn some_lessons() -> impl Strategy<Value = Vec<(usize, String, i64)>> {
    prop::collection::vec((0..24_usize, query(), 0..90_i64), 0..12)
}

fn lessons_of(all: &[(usize, String, i64)], seen: impl Fn(&CapabilityId) -> bool) -> Lessons {
    let mut lessons = Lessons::default();
    for (n, query, day) in all {
        let (id, at) = (id(&format!("t{n:02}")), Timestamp::from_micros(day * 86_400_000_000));
        if seen(&id) {
            // A request without words teaches nothing.
            let _ = lessons.accept(query, &id, &Label::clean(), at);
        }
    }
    lessons
}

proptest! {
    /// Hidden items are as if they were not there: their words put nothing right, and what was
    /// learned of them lifts nothing.
    #[test]
    fn what_is_hidden_spells_and_teaches_nothing(
        items in some_items(), hidden: u32, taught in some_lessons(), wrong in misspelt(),
        query in query(),
    ) {
        let seen = |n: usize| hidden & (1 << n) == 0;
        let open: Vec<_> =
            items.iter().enumerate().filter(|(n, _)| seen(*n)).map(|(_, i)| i.clone()).collect();
        let visible: Vec<_> = open.iter().map(|item| item.id.clone()).collect();
        let all = Router::new(catalog(items)).unwrap();
        let without = Router::new(catalog(open)).unwrap();
        let selection = all.select(|id| visible.contains(id));
        let (lessons, less) =
            (lessons_of(&taught, |_| true), lessons_of(&taught, |id| visible.contains(id)));
        let now = Timestamp::from_micros(90 * 86_400_000_000);
        for query in [&query, &wrong] {
            let request = RouteRequest::new(query, 30).with_trace();
            let masked = all.answer(&request.with_selection(&selection).with_lessons(&lessons, now));
            prop_assert_eq!(masked, without.answer(&request.with_lessons(&less, now)));
        }
    }

    /// Words that came later, or went, put right as in an index that was built anew.
    #[test]
    fn changes_spell_as_an_index_built_anew(
        items in some_items(), later in some_items(), keep: u32, wrong in misspelt(),
    ) {
        let mut router = Router::new(catalog(items)).unwrap();
        for item in later {
            router = router.with_item(item).unwrap();
        }
        for n in (0..24).filter(|n| keep & (1 << n) == 0) {
            router = router.without_item(&id(&format!("t{n:02}"))).unwrap_or(router);
        }
        let anew = router.merged().unwrap();
        let request = RouteRequest::new(&wrong, MAX_K).with_trace();
        prop_assert_eq!(router.answer(&request), anew.answer(&request));
    }

    /// Lessons hide nothing, and a short list begins a long one.
    #[test]
    fn lessons_only_lift(items in some_items(), taught in some_lessons(), query in query(), k in 0..9_usize) {
        let router = Router::new(catalog(items)).unwrap();
        let lessons = lessons_of(&taught, |_| true);
        let plain = router.route(&query, MAX_K);
        let request = |k| RouteRequest::new(&query, k).with_lessons(&lessons, NOW);
        let hits = router.answer(&request(MAX_K)).hits;
        for hit in &plain {
            let now = hits.iter().find(|now| now.id == hit.id).unwrap();
            prop_assert!(now.score >= hit.score);
        }
        prop_assert!(hits.windows(2).all(|two| (!two[0].is_near_duplicate && two[1].is_near_duplicate)
            || two[0].is_near_duplicate == two[1].is_near_duplicate && two[0].score >= two[1].score));
        prop_assert_eq!(&router.answer(&request(k)).hits[..], &hits[..k.min(hits.len())]);
    }
}
