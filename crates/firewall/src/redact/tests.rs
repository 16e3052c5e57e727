mod costs;
mod kinds;
mod rule_files;
mod streams;

use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::json;
use weaver_types::{PERSONAL_KINDS, SECRET_KINDS, ValueFamily};

use super::*;

static REDACTOR: LazyLock<Redactor> = LazyLock::new(Redactor::builtin);

fn masked(text: &str) -> String {
    REDACTOR.redact_text(text, &mut Counts::new()).into_owned()
}

fn scan_rules() -> Vec<scanner::ScanRule> {
    builtin_rules::scanners().iter().flat_map(|s| s.rules.iter().copied()).collect()
}

fn found_by<'t>(engine: &DetectionEngine, id: &str, text: &'t str) -> Vec<&'t str> {
    let mut hits = Vec::new();
    engine.all_rules().find_all(&mut scan_window::ScanWindow::new(text), &mut hits, |_| {});
    hits.retain(|hit| &*engine.identity(hit.rule).unwrap().id == id);
    hits.into_iter().filter_map(|hit| text.get(hit.range)).collect()
}

#[test]
fn every_name_stands_once() {
    let engine = builtin_rules::build_engine(&[], &BTreeSet::new()).unwrap();
    let mut ids = BTreeSet::new();
    for name in engine.identities() {
        assert!(ids.insert(name.id.clone()), "{} stands twice", name.id);
    }
}

#[test]
fn every_rule_that_finds_something_has_an_example() {
    let engine = builtin_rules::build_engine(&[], &BTreeSet::new()).unwrap();
    for (number, name) in engine.identities().iter().enumerate() {
        let examples = engine.examples(number);
        let is_pseudo = number == engine.unread_rule();
        assert_eq!(examples.is_empty(), is_pseudo, "{}", name.id);
        assert!(examples.iter().all(|(text, value)| text.contains(value)), "{}", name.id);
    }
}

#[test]
fn every_pattern_compiles() {
    for rule in builtin_rules::data_rules().unwrap() {
        assert_eq!(rule.finder.check(), Ok(()), "{}", rule.id);
    }
}

#[test]
fn every_rule_masks_and_keeps_its_examples() {
    let mut wrong = Vec::new();
    for rule in builtin_rules::data_rules().unwrap() {
        wrong.extend(
            rule_self_test::verify_examples(vec![rule]).err().map(|error| error.to_string()),
        );
    }
    let engine =
        DetectionEngine::new(Vec::new(), &builtin_rules::scanners(), &BTreeSet::new()).unwrap();
    for rule in scan_rules() {
        for (text, value) in rule.masks {
            let found = rule_self_test::masked_values(&engine, text);
            if !found.iter().any(|f| f.contains(value)) {
                wrong.push(format!("{}: in {text:?} {found:?}, not {value:?}", rule.id));
            }
        }
        for text in rule.keeps {
            let found = found_by(&engine, rule.id, text);
            if !found.is_empty() {
                wrong.push(format!("{}: in {text:?} {found:?}", rule.id));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn values_are_masked_in_their_surroundings() {
    for (text, expected) in [
        ("Authorization: Bearer abc.DEF-123_~+/==", "Authorization: Bearer [REDACTED]"),
        ("api_key=ABCDEFGH12345678", "api_key=[REDACTED]"),
        ("access_key=short", "access_key=short"),
        (
            "postgres://user:p4ss@db.internal:5432/app",
            "postgres://user:[REDACTED]@db.internal:5432/app",
        ),
        ("postgres://user:p4ss@db/app", "postgres://user:[REDACTED]@db/app"),
        ("https://user@host/path", "https://user@host/path"),
        ("redis://:pw@h", "redis://:[REDACTED]@h"),
        ("total tokens: 123456", "total tokens: 123456"),
        ("4539 1488 0343 6467", "[REDACTED]"),
        ("3472 481902 55718", "[REDACTED]"),
        ("password=hunter2", "password=[REDACTED]"),
        (
            "{\"a\":1,\"password\": \"x y\",\"b\":2}",
            "{\"a\":1,\"password\": \"[REDACTED]\",\"b\":2}",
        ),
    ] {
        assert_eq!(masked(text), expected, "{text}");
    }
}

#[test]
fn what_is_left_between_masks_is_looked_at_again() {
    let text = "536-22-1234 419-06-3188 536-22-1235 419-06-3189";
    let once = masked(text);
    assert_eq!(once, "[REDACTED] [REDACTED] [REDACTED] [REDACTED]");
    assert_eq!(masked(&once), once);
}

#[test]
fn what_stands_beside_a_mask_that_grew_past_a_value_is_looked_at_again() {
    // The name before the blank is the header's value, the whole address another's. What stands
    // behind that mask is the rest of the header's value to whoever reads the masked text.
    let once = masked("Authorization: Bearer jane.roe (at) corp.example.com!\u{ffc2}");
    assert_eq!(once, "Authorization: Bearer [REDACTED]");
    assert_eq!(masked(&once), once);
}

#[test]
fn no_value_falls_between_two_windows() {
    for n in 0..140 {
        let text = format!("pwd {}password=\"correct horse battery\"", "x ".repeat(n));
        assert!(!masked(&text).contains("horse"), "{n}");
    }
}

#[test]
fn hidden_characters_hide_nothing() {
    for text in [
        "value: jane.roe@cor\u{200b}p.example.com",
        "jane\u{ad}.roe@corp.example.com",
        "4539\u{2060}148803436467",
        "４５３９１４８８０３４３６４６７",
        "pass\u{200b}word=hunter2",
    ] {
        let out = masked(text);
        assert!(out.ends_with(MASK), "{text} became {out}");
    }
}

#[test]
fn keys_numbers_and_fields_of_values_are_masked() {
    let value = json!({
        "jane.roe@corp.example.com": 1,
        "pan": 4_539_148_803_436_467_u64,
        "at": 1_714_000_000_000_u64,
        "token": 12345,
        "total_tokens": 123_456,
        "nested": [{"apiKey": {"a": 1}}, "call +14155552671"],
    });
    let mut counts = Counts::new();
    let out = REDACTOR.redact_value(&value, &mut counts);
    assert_eq!(
        out,
        json!({
            MASK: 1,
            "pan": MASK,
            "at": 1_714_000_000_000_u64,
            "token": MASK,
            "total_tokens": 123_456,
            "nested": [{"apiKey": MASK}, "call [REDACTED]"],
        })
    );
    assert_eq!(counts["field"], 2);
    assert_eq!(counts["email"], 1);
}

#[test]
fn what_nests_too_deep_is_left_out() {
    let mut value = json!("jane.roe@corp.example.com");
    for _ in 0..200 {
        value = json!([value]);
    }
    let out = REDACTOR.redact_value(&value, &mut Counts::new()).to_string();
    assert!(out.contains("[cut: deeper than 128 levels]") && !out.contains("jane"));
}

#[test]
fn without_rules_everything_is_masked() {
    let closed = Redactor { engine: None, ..Redactor::builtin() };
    assert_eq!(closed.redact_text("anything", &mut Counts::new()), MASK);
    assert_eq!(closed.redact_text("", &mut Counts::new()), "");
    let mut stream = StreamRedactor::new(Arc::new(closed));
    assert_eq!(stream.push("any") + &stream.push("thing") + &stream.finish(), MASK.repeat(2));
    assert_eq!(stream.counts().get("unscanned"), Some(&2));
}

#[test]
fn what_hides_more_than_can_be_read_is_masked() {
    let unit = format!("\u{e0041}{}%252541 {} ", "a".repeat(30), "b".repeat(32));
    let unread = |text: &str| REDACTOR.value_spans(text).iter().any(|span| &*span.rule == "unread");
    assert!(unread(&unit.repeat(20)));
    // In a text with room for all its readings, the neighbourhood of a mask may have none.
    let lead = "lorem ipsum ".repeat(700);
    let near = unit.repeat(30);
    assert!(!unread(&format!("{lead}{near}")));
    assert!(unread(&format!("{lead}{near} jane@corp.example.com {near}")));
}

/// Examples of all rules: a text, and the value in it.
fn examples_of_rules() -> Vec<(String, String)> {
    let data = builtin_rules::data_rules().unwrap();
    let written = data.into_iter().flat_map(|rule| rule.masks);
    let scanned = scan_rules()
        .into_iter()
        .flat_map(|rule| rule.masks.iter())
        .map(|(text, value)| ((*text).to_owned(), (*value).to_owned()));
    written.chain(scanned).collect()
}

static EXAMPLES: LazyLock<Vec<(String, String)>> = LazyLock::new(examples_of_rules);

fn texts() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        any::<String>(),
        "[a-z0-9@.:/ =\"'+-]{0,40}",
        prop::sample::select(&EXAMPLES[..]).prop_map(|(text, _)| text),
        Just(MASK.to_owned()),
        Just("[REDACTED".to_owned()),
        Just("password=".to_owned()),
        Just("Authorization: Bearer ".to_owned()),
        Just("\u{200b}".to_owned()),
    ];
    prop::collection::vec(part, 0..6).prop_map(|parts| parts.concat())
}

/// Texts of several steps.
fn long_texts() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => texts(),
        1 => ("[a-zA-Z0-9 é\u{200b}=/+]{1,12}", 1_usize..3_000).prop_map(|(s, n)| s.repeat(n)),
        1 => Just("-----BEGIN RSA PRIVATE KEY-----\nMIIE".to_owned()),
        1 => Just("AbC9/".repeat(2_000)),
    ];
    prop::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}

fn streamed(text: &str, sizes: &[usize]) -> String {
    streamed_by(&REDACTOR, text, sizes)
}

fn streamed_by(redactor: &Redactor, text: &str, sizes: &[usize]) -> String {
    let mut stream = StreamRedactor::new(Arc::new(redactor.clone()));
    let mut out = String::new();
    let mut rest = text;
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at(rest.ceil_char_boundary((*size).min(rest.len())));
        out += &stream.push(piece);
        rest = after;
    }
    out + &stream.finish()
}

#[test]
fn values_deep_in_a_text_are_masked_there_too_and_in_a_stream() {
    let mut long = String::new();
    for (n, (text, _)) in EXAMPLES.iter().enumerate() {
        long += &"lorem ipsum dolor ".repeat(17 + n % 29);
        long += &format!("\n{text}\n");
    }
    let whole = masked(&long);
    for (text, value) in EXAMPLES.iter() {
        let alone = masked(text).contains(value.as_str());
        assert!(alone || !whole.contains(value.as_str()), "{value:?} deep in a text");
    }
    assert_eq!(streamed(&long, &[1_000, 7]), whole);
}

/// What two readers may see, the second at least what the first may.
fn disclosures() -> impl Strategy<Value = (Disclosure, Disclosure)> {
    let kinds = || prop::collection::btree_set(prop::sample::select(&PERSONAL_KINDS[..]), 0..5);
    let of = |kinds: BTreeSet<&str>| {
        Disclosure::Kinds(Arc::new(kinds.into_iter().map(str::to_owned).collect()))
    };
    prop_oneof![
        kinds().prop_map(move |more| (Disclosure::Nothing, of(more))),
        kinds().prop_map(move |few| (of(few), Disclosure::Personal)),
        Just((Disclosure::Nothing, Disclosure::Personal)),
        (kinds(), kinds()).prop_map(move |(few, more)| (of(few.clone()), of(&few | &more))),
    ]
}

/// The bytes of a text that are masked.
fn places(redactor: &Redactor, text: &str) -> BTreeSet<usize> {
    redactor.value_spans(text).into_iter().flat_map(|span| span.range).collect()
}

proptest! {
    #[test]
    fn masking_twice_is_masking_once(text in texts()) {
        let once = masked(&text);
        prop_assert_eq!(masked(&once), once);
    }

    #[test]
    fn whoever_may_see_more_sees_no_secret((few, more) in disclosures(), text in texts()) {
        let (few, more) = (REDACTOR.with_disclosure(few), REDACTOR.with_disclosure(more));
        let secrets = REDACTOR.with_disclosure(Disclosure::Personal);
        for reader in [&few, &more] {
            let once = reader.redact_text(&text, &mut Counts::new()).into_owned();
            prop_assert_eq!(&reader.redact_text(&once, &mut Counts::new()), &once);
            prop_assert_eq!(&secrets.redact_text(&once, &mut Counts::new()), &once);
        }
        let (hidden, less) = (places(&few, &text), places(&more, &text));
        prop_assert!(less.is_subset(&hidden), "{less:?} of {hidden:?} in {text:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_stream_agrees_with_the_whole(
        text in long_texts(),
        sizes in prop::collection::vec(1_usize..5_000, 1..6),
    ) {
        prop_assert_eq!(streamed(&text, &sizes), masked(&text));
    }

    #[test]
    fn a_stream_agrees_with_the_whole_whatever_may_be_seen(
        text in long_texts(),
        sizes in prop::collection::vec(1_usize..5_000, 1..6),
        (reader, _) in disclosures(),
    ) {
        let redactor = REDACTOR.with_disclosure(reader);
        let whole = redactor.redact_text(&text, &mut Counts::new()).into_owned();
        prop_assert_eq!(streamed_by(&redactor, &text, &sizes), whole);
    }

    // Of letters that form no word such as `id`, which says that a number is something else.
    #[test]
    fn an_example_between_blanks_is_always_masked(
        before in "[x-z ]{0,20}",
        after in "[x-z ]{0,20}",
        n in any::<prop::sample::Index>(),
    ) {
        let (text, value) = n.get(&EXAMPLES);
        let out = masked(&format!("{before} \n{text}\n {after}"));
        prop_assert!(!out.contains(value.as_str()), "{:?} in {:?}", value, out);
    }
}

#[test]
fn brackets_of_anybody_hide_no_value() {
    for value in ["jane.roe@corp.example.com", "4539 1488 0343 6467", "AKIAIOSFODNN7EXAMPLQ"] {
        let shown = masked(&format!("[REDACTED: {value}]"));
        assert_eq!(shown, "[REDACTED: [REDACTED]]");
    }
    // A mask at the beginning makes no JSON of a text, whose numbers would stand in quotes.
    let cells = masked("[REDACTED]lead,+8222120497,warm");
    assert_eq!(cells, "[REDACTED]lead,[REDACTED],warm");
    let existing_masks = "[EMAIL_12] [REDACTED] [cut: deeper than 128 levels]";
    assert_eq!(masked(existing_masks), existing_masks);
}
