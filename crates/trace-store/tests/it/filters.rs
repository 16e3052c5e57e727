//! Filters: how terms are read, what they refuse, and which events they find.

use std::fmt::Write as _;

use serde_json::{Value, json};
use weaver_trace_store::query::{
    EventFacts, EventFilter, EventOrder, FilterField, MAX_WORD_CHARS, PageCursor, QueryError,
};
use weaver_trace_store::verify::LogSource;
use weaver_types::{EventKind, Timestamp};

use crate::support::{ledger_of, told};

const NOW: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

fn parse(terms: &str) -> Result<EventFilter, QueryError> {
    EventFilter::parse([terms], NOW)
}

fn refused(terms: &str) -> String {
    parse(terms).unwrap_err().to_string()
}

fn facts(kind: EventKind, payload: &Value) -> EventFacts {
    let log = ledger_of(&[told(kind, NOW.micros(), ("run_1", "call_1"), payload)]);
    EventFacts::from_event(&log.rows(0, 1).unwrap()[0].event)
}

#[test]
fn the_last_of_so_many_terms_is_taken_and_one_more_is_not() {
    let terms = |count: usize| {
        (0..count).fold(String::new(), |mut terms, n| {
            write!(terms, "run:run_{n} ").unwrap();
            terms
        })
    };
    assert!(parse(&terms(64)).is_ok());
    assert_eq!(refused(&terms(65)), "the filter is too large: it has more than 64 terms");
    let long = |bytes: usize| format!("run:{}", "x".repeat(bytes - 4));
    assert!(parse(&long(1024)).is_ok());
    assert_eq!(refused(&long(1025)), "the filter is too large: a term has more than 1024 bytes");
}

#[test]
fn times_are_read_as_moments_days_and_spans() {
    let at = |micros: i64| Some(Timestamp::from_micros(micros));
    let seconds = |before: i64| at(NOW.micros() - before * 1_000_000);
    for (text, wanted) in [
        ("1970-01-02", at(86_400_000_000)),
        ("1970-01-01T00:00:01Z", at(1_000_000)),
        ("3s", seconds(3)),
        ("2m", seconds(120)),
        ("2h", seconds(7_200)),
        ("2d", seconds(172_800)),
        ("0s", seconds(0)),
    ] {
        let since = parse(&format!("since:{text}")).unwrap();
        assert_eq!((since.since(), since.until()), (wanted, None), "{text}");
        let until = parse(&format!("until:{text}")).unwrap();
        assert_eq!((until.since(), until.until()), (None, wanted), "{text}");
        assert!(!since.has_field_terms() && !until.has_field_terms());
    }
    for text in ["", "h", "2w", "-2h", "2.5h", "18446744073709551615d", "1970-13-01", "soon"] {
        let said = refused(&format!("since:{text}"));
        let expected = "write RFC 3339, a day such as 2027-01-31, or a span such as 2h";
        assert_eq!(said, format!("`{text}` is not a value of `since`; {expected}"));
        assert!(refused(&format!("until:{text}")).contains("of `until`"));
    }
}

#[test]
fn of_several_times_the_narrowest_count() {
    let filter = parse("since:3h since:1h since:2h until:1m until:3m until:2m").unwrap();
    let before = |seconds: i64| Some(Timestamp::from_micros(NOW.micros() - seconds * 1_000_000));
    assert_eq!((filter.since(), filter.until()), (before(3_600), before(180)));
    let within = filter.clone().within(before(60), before(30));
    assert_eq!((within.since(), within.until()), (before(60), before(30)));
    let within = filter.within(before(7_200), None);
    assert_eq!((within.since(), within.until()), (before(3_600), before(180)));
}

#[test]
fn an_event_counts_from_the_first_moment_on_and_before_the_second() {
    let facts = facts(EventKind::Intent, &json!({}));
    let moment = |micros: i64| Some(Timestamp::from_micros(NOW.micros() + micros));
    for (since, until, found) in [
        (None, None, true),
        (moment(0), None, true),
        (moment(1), None, false),
        (None, moment(0), false),
        (None, moment(1), true),
        (moment(0), moment(1), true),
    ] {
        let filter = EventFilter::default().within(since, until);
        assert_eq!(filter.matches(&facts), found, "{since:?} {until:?}");
    }
    let unreadable = EventFacts { header: None, ..facts };
    assert!(EventFilter::default().matches(&unreadable));
    assert!(!EventFilter::default().within(moment(-9), None).matches(&unreadable));
}

#[test]
fn quotation_marks_keep_a_term_together_and_say_that_it_is_no_field() {
    let payload = json!({"goal": "weekly report: run 7", "principal": "ann"});
    let facts = facts(EventKind::Intent, &payload);
    for (terms, found) in [
        ("weekly report", true),
        ("  weekly \t report  ", true),
        ("\"weekly report\"", true),
        ("text:\"weekly report\"", true),
        ("text:weekly principal:ann", true),
        ("\"report: run\"", true),
        ("\"principal:ann\"", false),
        ("principal:\"ann\"", true),
        ("principal:bob", false),
        ("principal:bob,ann", true),
        ("principal:a*", true),
        ("principal:b*,a*", true),
        ("principal:a", false),
        ("week*", true),
        ("week", false),
        ("\"weekly rep*\"", true),
        ("\"week* report\"", false),
        ("WEEKLY", true),
        ("event:call.intent run:run_1 call:call_1", true),
        ("event:call.intent run:run_2", false),
    ] {
        assert_eq!(parse(terms).unwrap().matches(&facts), found, "{terms}");
    }
    assert_eq!(parse("\"weekly"), Err(QueryError::Quote));
    assert_eq!(parse("a \"b\" \""), Err(QueryError::Quote));
    assert_eq!(parse(""), Ok(EventFilter::default()));
    assert_eq!(parse("   "), Ok(EventFilter::default()));
}

#[test]
fn the_order_in_which_terms_are_written_does_not_matter() {
    let (one, other) = (parse("b run:run_1 a").unwrap(), parse("a b run:run_1").unwrap());
    assert_eq!(one, other);
    assert_eq!(
        PageCursor::new(3, EventOrder::Oldest, &one),
        PageCursor::new(3, EventOrder::Oldest, &other)
    );
}

#[test]
fn what_no_field_has_is_refused_with_what_it_may_be() {
    for (terms, said) in [
        (
            "verdict:denied",
            "`denied` is not a value of `verdict`; it may be allow, ask, hold, deny",
        ),
        (
            "outcome:ok",
            "`ok` is not a value of `outcome`; it may be success, failure, partial, unknown",
        ),
        (
            "label:secret",
            "`secret` is not a value of `label`; it may be public, internal, confidential, restricted, \
             trusted, untrusted",
        ),
        ("run:", "`` is not a value of `run`; write what it is to be, such as `files.*`"),
        (
            "event:nonsense",
            "`nonsense` is not a value of `event`; docs/reference/events.md lists them",
        ),
        ("event:", "`` is not a value of `event`; docs/reference/events.md lists them"),
        ("reason:zz", "`zz` is not a value of `reason`; `weaver reasons` lists them"),
        (
            "event:upstrea",
            "`upstrea` is not a value of `event`; it may be upstream.ready, upstream.lost",
        ),
        (
            "event:upstreams",
            "`upstreams` is not a value of `event`; it may be upstream.ready, upstream.lost",
        ),
        ("event:la", "`la` is not a value of `event`; it may be call.late"),
        ("event:my.late", "`my.late` is not a value of `event`; it may be call.late"),
        ("reason:rated", "`rated` is not a value of `reason`; it may be rate_limited"),
        ("text:...", "`...` is not a value of `text`; it looks for words of letters and digits"),
        ("text:", "`` is not a value of `text`; it looks for words of letters and digits"),
    ] {
        assert_eq!(refused(terms), said);
    }
    let near = refused("event:approval");
    assert_eq!(near.matches("approval.").count(), 8, "no more than eight: {near}");
    let said = refused("nofield:x");
    assert!(
        said.starts_with("there is no field `nofield`; the fields are agent, call, capability,")
    );
    assert!(said.contains("verdict, since, until, and a text with a colon"), "{said}");
    let long = refused(&format!("{}:x", "é\u{1}".repeat(50)));
    assert!(long.chars().count() < 400 && !long.contains('\u{1}'), "escaped and cut: {long}");
}

#[test]
fn the_one_value_that_a_field_must_have_is_known() {
    for (terms, only) in [
        ("run:run_1", Some("run_1")),
        ("run:run_1 principal:ann", Some("run_1")),
        ("run:run_1,run_2", None),
        ("run:run_*", None),
        ("principal:ann", None),
        ("", None),
    ] {
        assert_eq!(parse(terms).unwrap().single_value(FilterField::Run), only, "{terms}");
    }
    let filter = EventFilter::default().with(FilterField::Run, "run_*");
    assert_eq!(filter.single_value(FilterField::Run), Some("run_*"), "taken as it is");
    assert!(filter.has_field_terms() && !EventFilter::default().has_field_terms());
}

#[test]
fn a_cursor_says_what_is_wrong_with_it() {
    let filter = parse("verdict:deny").unwrap();
    let cursor = PageCursor::new(255, EventOrder::Oldest, &filter).to_string();
    assert!(cursor.starts_with("1o") && cursor.ends_with("-ff") && cursor.len() == 13, "{cursor}");
    let newest = PageCursor::new(255, EventOrder::Newest, &filter).to_string();
    assert_eq!(newest, cursor.replacen("1o", "1n", 1));
    let made = "the cursor is not one that this build made; ask without it to begin again";
    for wrong in ["", "1n00000000", "1x00000000-1", "1n0000000-1", "1n000000000-1", "1n00000000-F"]
    {
        assert_eq!(wrong.parse::<PageCursor>().unwrap_err().to_string(), made, "{wrong}");
    }
}

#[test]
fn words_longer_than_the_longest_are_told_apart_by_their_beginning() {
    let word = |end: &str| format!("{}{end}", "x".repeat(MAX_WORD_CHARS));
    let facts = facts(EventKind::Intent, &json!({"goal": word("a")}));
    assert!(parse(&word("b")).unwrap().matches(&facts));
    assert!(!parse(&"x".repeat(MAX_WORD_CHARS - 1)).unwrap().matches(&facts));
}

#[test]
fn texts_that_are_json_are_looked_into_once() {
    let inner = json!({"note": "inside", "deep": "{\"word\":\"deeper\"}"}).to_string();
    let payload =
        json!({"a": inner, "b": "[\"listed\"]", "c": "{broken", "n": 12, "salt": "hidden"});
    let facts = facts(EventKind::Intent, &payload);
    for (word, found) in [
        ("inside", true),
        ("note", false),
        ("deeper", true),
        ("word", true),
        ("listed", true),
        ("broken", true),
        ("12", false),
        ("hidden", false),
    ] {
        assert_eq!(parse(word).unwrap().matches(&facts), found, "{word}");
    }
}
