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
        let is_pseudo = number == engine.long_run_rule() || number == engine.unread_rule();
        assert_eq!(examples.is_empty(), is_pseudo, "{}", name.id);
        assert!(examples.iter().all(|(text, value)| text.contains(value)), "{}", name.id);
    }
}

#[test]
fn every_pattern_compiles() {
    for rule in builtin_rules::data_rules().unwrap() {
        assert_eq!(rule.pattern.check(), Ok(()), "{}", rule.id);
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

/// The heading of a column is kept as the lines are read: no number looks for it anew.
#[test]
fn a_table_of_numbers_costs_what_one_line_of_them_does() {
    let numbers = |per_line: usize| -> String {
        let number = |n: usize| 1_000_000 + n * 7_919 % 9_000_000;
        let end = |n: usize| if n % per_line == per_line - 1 { '\n' } else { ',' };
        (0..5_000).map(|n| format!("{}{}", number(n), end(n))).collect()
    };
    let cost = |text: String| work_meter::measure(|| drop(masked(&text)));
    let (line, lines) = (cost(numbers(5_000)), cost(numbers(10)));
    assert!(lines <= line + line / 2, "{line} bytes of work in one line, {lines} in many");
}

#[test]
fn hostile_text_costs_linear_work() {
    for unit in [
        "a",
        "@",
        "eyJ",
        "1",
        "1 ",
        "eyJa.",
        "-----BEGIN PRIVATE KEY-----!",
        "://a:",
        "postgres://a:",
        ",password\n",
        "name\tpassword\tcity\n",
        "{\"f\":\"hp\",\"e\":1000018},",
        "1234567,",
        "1234567,7654321,1726354\n",
        "insert into a (a, a, ",
        "password of a ",
        "password=",
        "sk-",
        "key=",
        "+1 ",
        "a@b.",
        "GB82",
        "\u{200b}a",
        "bearer ",
        "[REDACTED]",
        "x@y.zz ",
        "AKIA",
        "ghp_",
        "%41",
        "&#49;",
        "\\u0041",
        "{\"password\":\"",
        "1.1.",
        "127.0.0.1.",
        "4242 ",
        "://u:p@h.io ",
        "://u.",
        "git@h.io:/a/",
        "x@1.2.",
        "-",
        ":",
    ] {
        let cost = |bytes: usize| {
            let text = unit.repeat(bytes / unit.len());
            work_meter::measure(|| drop(masked(&text)))
        };
        let (small, large) = (cost(20_000), cost(60_000));
        assert!(large <= small * 4 + 100_000, "{unit:?}: {small} bytes, then {large}");
        assert!(large <= 60_000 * 400, "{unit:?}: {large} bytes of work");
    }
}

#[test]
fn a_url_without_a_password_is_not_searched_for_one() {
    let work = |unit: &str| {
        let text = unit.repeat(60_000 / unit.len());
        work_meter::measure(|| drop(masked(&text)))
    };
    let (plain, users) = (work("postgres//a: "), work("postgres://a:"));
    assert!(users <= plain + 60_000 * 8, "{plain} bytes, then {users}");
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

#[test]
fn a_stream_that_is_json_stays_json() {
    let far = " ".repeat(30_000);
    for text in [
        r#"{"homePhone":5551234567}"#.to_owned(),
        r#" [ "phone", -4155526714 ] "#.to_owned(),
        format!("{far}{{{far}\"homePhone\": 5551234567, \"a\": \"{}\"}}", "b ".repeat(20_000)),
    ] {
        let shown = streamed(&text, &[1, 3, 4_000]);
        let json: serde_json::Value = serde_json::from_str(&shown).unwrap();
        assert!(json.to_string().contains("\"[REDACTED]\"") && shown == masked(&text), "{json}");
    }
}

#[test]
fn a_token_run_is_shown_up_to_its_limit() {
    for unit in ["a", "eyJ", "x9-"] {
        let text = format!("see {} end", unit.repeat(30_000));
        let out = masked(&text);
        assert!(out.len() < 17_000 && out.ends_with("[REDACTED] end"), "{unit}: {}", out.len());
        assert_eq!(streamed(&text, &[64]), out);
        assert_eq!(masked(&out), out);
    }
}

#[test]
fn a_private_key_without_an_end_is_masked_as_far_as_it_looks_like_one() {
    let text = format!(
        "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----\n(done)",
        "MIIEowIBAAKCAQEA7v8w\n".repeat(2_000)
    );
    assert_eq!(masked(&text), "[REDACTED]\n(done)");
    assert_eq!(streamed(&text, &[100]), "[REDACTED]\n(done)");
}

#[test]
fn rule_files_are_refused_with_a_reason() {
    let rule = |more: &str| {
        format!(
            "[[rule]]\nid = \"r\"\ntype = \"t\"\nanchors = [\"abc\"]\npattern = 'abc[0-9]'\n\
             masks = [[\"abc1\", \"abc1\"]]\nkeeps = [\"abd\"]\n{more}"
        )
    };
    let why = |text: String| Redactor::new(&[text], &BTreeSet::new()).unwrap_err().to_string();
    assert!(Redactor::new(&[rule("")], &BTreeSet::new()).is_ok());
    assert!(why(rule("patern = 'x'")).contains("patern"));
    assert!(why(rule("validate = [\"lunh\"]")).contains("did you mean `luhn`"));
    assert!(why(rule("reach = 5000")).contains("1024"));
    assert!(why(rule("").replace("abc[0-9]", "abc[0-9")).contains("rule `r`"));
    assert!(why(rule("").replace("abc[0-9]", "abc[5-9]")).contains("masks"));
    assert!(why(rule("").replace("\"abc\"", "\"ab\"")).contains("3 bytes"));
    assert!(why(rule("").replace("abd", "abc1")).contains("not nothing"));
    for without in [
        rule("").replace("masks = [[\"abc1\", \"abc1\"]]", "masks = []"),
        rule("").replace("keeps = [\"abd\"]", "keeps = []"),
    ] {
        assert!(why(without).contains("it needs examples"));
    }
    assert!(why(rule("family = \"private\"")).contains("\"secret\" or \"personal\""));
    let email = rule("family = \"secret\"").replace("\"t\"", "\"email\"");
    assert!(why(email).contains("are personal"));
    let twice = format!("{}{}", rule(""), rule("family = \"personal\"").replace("\"r\"", "\"q\""));
    assert!(why(twice).contains("a type has one family"));
}

#[test]
fn a_rule_of_an_operator_finds_secrets_unless_it_says_otherwise() {
    let rule = |more: &str| {
        format!(
            "[[rule]]\nid = \"badge\"\ntype = \"badge\"\nanchors = [\"badge-\"]\n\
             pattern = 'badge-[0-9]+'\nmasks = [[\"badge-1\", \"badge-1\"]]\n\
             keeps = [\"badge\"]\n{more}"
        )
    };
    let shown = |file: String| {
        let redactor = Redactor::new(&[file], &BTreeSet::new()).unwrap();
        redactor
            .with_disclosure(Disclosure::Personal)
            .redact_text("my badge-77", &mut Counts::new())
            .into_owned()
    };
    assert_eq!(shown(rule("")), "my [REDACTED]");
    assert_eq!(shown(rule("family = \"personal\"")), "my badge-77");
    // What it covers and shows hides no secret.
    let wide = rule("family = \"personal\"").replace("[0-9]+'", "[0-9a-z=]+'");
    let redactor = Redactor::new(&[wide], &BTreeSet::new()).unwrap();
    let shown = redactor.with_disclosure(Disclosure::Personal);
    let shown = shown.redact_text("badge-1password=hunter2", &mut Counts::new()).into_owned();
    assert_eq!(shown, "badge-1password=[REDACTED]");
}

#[test]
fn only_the_kinds_that_are_named_are_masked() {
    let kinds = BTreeSet::from(["email".to_owned()]);
    let redactor = Redactor::new(&[], &kinds).unwrap();
    let out =
        redactor.redact_text("jane@corp.example.com 536-22-1234", &mut Counts::new()).into_owned();
    assert_eq!(out, "[REDACTED] 536-22-1234");
    let wrong = Redactor::new(&[], &BTreeSet::from(["emial".to_owned()])).unwrap_err();
    assert!(wrong.to_string().contains("did you mean `email`"), "{wrong}");
    // A rule that is left out covers nothing.
    let redactor = Redactor::new(&[], &BTreeSet::from(["password".to_owned()])).unwrap();
    let token = "password=ghp_0123456789abcdefghij0123456789abcdef";
    assert_eq!(redactor.redact_text(token, &mut Counts::new()), "password=[REDACTED]");
}

#[test]
fn spans_name_place_rule_and_kind() {
    let spans = REDACTOR.value_spans("é jane@corp.example.com");
    assert_eq!(spans.len(), 1);
    assert_eq!((spans[0].range.clone(), &*spans[0].kind), (3..24, "email"));
}

#[test]
fn masks_tell_values_apart_and_stay() {
    let redactor = REDACTOR.with_masks(Arc::new(MaskTable::new()), None);
    let mut counts = Counts::new();
    let text = "jane@corp.example.com, joe@corp.example.com, jane@corp.example.com";
    let once = redactor.redact_text(text, &mut counts).into_owned();
    assert_eq!(once, "[EMAIL_1], [EMAIL_2], [EMAIL_1]");
    assert_eq!(redactor.for_redacted_text().redact_text(&once, &mut counts), once);
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

#[test]
fn personal_data_is_shown_and_a_secret_in_it_is_not() {
    let kinds = |kinds: &[&str]| {
        Disclosure::Kinds(Arc::new(kinds.iter().map(|kind| (*kind).to_owned()).collect()))
    };
    let shown = |disclosure: Disclosure, text: &str| {
        REDACTOR.with_disclosure(disclosure).redact_text(text, &mut Counts::new()).into_owned()
    };
    let text = "jane.roe@corp.example.com 4539 1488 0343 6467 password=hunter2";
    assert_eq!(shown(Disclosure::Nothing, text), "[REDACTED] [REDACTED] password=[REDACTED]");
    let email = "jane.roe@corp.example.com [REDACTED] password=[REDACTED]";
    assert_eq!(shown(kinds(&["email"]), text), email);
    let all = "jane.roe@corp.example.com 4539 1488 0343 6467 password=[REDACTED]";
    assert_eq!(shown(Disclosure::Personal, text), all);
    // The kind of a secret shows nothing, whoever names it.
    assert_eq!(shown(kinds(&["password", "email"]), text), email);
    // A token in an address, and an address as a password.
    let token = "ghp_0123456789abcdefghij0123456789abcdef";
    let inside = shown(Disclosure::Personal, &format!("mail {token}@corp.example.com"));
    assert!(!inside.contains(token), "{inside}");
    let around = shown(Disclosure::Personal, "password=\"jane.roe1@corp.net\"");
    assert!(!around.contains("jane.roe1"), "{around}");
    // What is shown hides nothing that is encoded in it: base64 of a password and its name.
    let encoded = "ZGIgcGFzc3dvcmQ9cThWbjJMbVo3cktkMFhiTDUg";
    let hidden = shown(Disclosure::Personal, &format!("{encoded}@corp.example.com"));
    assert!(!hidden.contains(encoded), "{hidden}");
}

#[test]
fn every_kind_has_a_family_and_every_personal_rule_is_personal() {
    let personal = personal::scanner().rules;
    for name in builtin_rules::build_engine(&[], &BTreeSet::new()).unwrap().identities() {
        let is_personal = personal.iter().any(|rule| rule.id == &*name.id)
            || &*name.id == "date-of-birth-written";
        let lists: [&[&str]; 2] = [&PERSONAL_KINDS, &SECRET_KINDS];
        let [listed, secret] = lists.map(|list| list.contains(&&*name.kind));
        assert_eq!((listed, secret), (is_personal, !is_personal), "{}: {}", name.id, name.kind);
        assert_eq!(name.family == ValueFamily::Personal, is_personal, "{}", name.id);
    }
    for kind in PERSONAL_KINDS {
        assert!(personal.iter().any(|rule| rule.kind == kind), "{kind}");
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

#[test]
fn what_a_field_hides_has_the_kind_of_the_value_that_it_is() {
    let masks = Arc::new(MaskTable::new());
    let redactor = REDACTOR.with_masks(masks, None);
    for (value, mask) in [
        (json!("jane@corp.net"), "[EMAIL_1]"),
        (json!("plover"), "[FIELD_1]"),
        (json!("mail jane@corp.net"), "[FIELD_2]"),
        (json!("jane@corp.net joe@corp.net"), "[FIELD_3]"),
        (json!(17), "[FIELD_4]"),
        (json!("17"), "[FIELD_5]"),
        (json!(["jane@corp.net"]), "[FIELD_6]"),
        (json!(4_539_148_803_436_467_u64), "[FIELD_7]"),
        (json!("plover"), "[FIELD_1]"),
    ] {
        let shown = redactor.mask_field(&value, HiddenBy::Personal(None));
        assert_eq!(shown.as_deref(), Some(mask), "{value}");
    }
    assert_eq!(REDACTOR.mask_field(&json!("plover"), HiddenBy::Secret), None);
}

#[test]
fn a_number_that_is_masked_has_the_kind_of_its_rule() {
    let redactor = REDACTOR.with_masks(Arc::new(MaskTable::new()), None);
    let mask = |value: Value| redactor.mask_number(value.as_number().unwrap());
    assert_eq!(mask(json!(4_539_148_803_436_467_u64)).as_deref(), Some("[CARD_1]"));
    assert_eq!(mask(json!(17)).as_deref(), Some("[FIELD_1]"));
    assert!(redactor.has_masks() && !redactor.without_masks().has_masks());
    assert!(redactor.mask_table_version().is_some() && REDACTOR.mask_table_version().is_none());
    assert!(redactor.mask_table_version() == redactor.for_redacted_text().mask_table_version());
    let other = REDACTOR.with_masks(Arc::new(MaskTable::new()), None);
    assert!(redactor.mask_table_version() != other.mask_table_version());
    let own = |redactor: &Redactor| redactor.is_mask_of_run("[CARD_1]");
    assert!(
        !own(&redactor)
            && own(&redactor.for_redacted_text())
            && !own(&other.for_redacted_text())
            && !own(&REDACTOR)
    );
    assert!(!redactor.for_redacted_text().is_mask_of_run("CARD_1"));
}

#[test]
fn a_value_that_was_given_out_changes_what_is_masked() {
    let table = Arc::new(MaskTable::new());
    let run = || REDACTOR.with_masks(Arc::clone(&table), None);
    let before = run();
    let mail = before.redact_text("mail jane@corp.net", &mut Counts::new());
    assert_eq!(mail, "mail [EMAIL_1]");
    assert!(before.mask_table_version() == run().mask_table_version());
    table.mark_disclosed(["[EMAIL_1]"]);
    let after = run();
    assert!(
        before.mask_table_version() != after.mask_table_version()
            && after.mask_table_version() != before.mask_table_version()
    );
    assert!(after.mask_table_version() == run().mask_table_version());
    assert!(
        after.is_disclosed_value("jane@corp.net") && !before.is_disclosed_value("jane@corp.net")
    );
    assert!(!after.is_disclosed_value("jane"));
}

/// Words that hold no value, with the given number of bytes.
fn filler(length: usize) -> String {
    "lorem ipsum dolor ".chars().cycle().take(length).collect()
}

#[test]
fn a_value_is_masked_wherever_a_step_begins() {
    for before in [
        14_300, 14_320, 14_330, 14_335, 14_336, 14_337, 14_350, 15_360, 16_384, 16_400, 28_660,
        28_672,
    ] {
        let text = format!("{} jane.roe@corp.net {}", filler(before), filler(3_000));
        let wanted = text.replace("jane.roe@corp.net", MASK);
        assert_eq!(masked(&text), wanted, "{before}");
        assert_eq!(streamed(&text, &[777]), wanted, "{before}");
    }
}

#[test]
fn a_key_is_masked_as_one_across_many_steps() {
    let lines = format!("{}\n", "A".repeat(64)).repeat(600);
    let head = "-----BEGIN RSA PRIVATE KEY-----";
    let text = format!("{}\n{head}\n{lines}-----END RSA PRIVATE KEY-----\nthe end", filler(100));
    let wanted = format!("{}\n{MASK}\nthe end", filler(100));
    assert_eq!(masked(&text), wanted);
    for piece in [100, 1_000, 5_000] {
        assert_eq!(streamed(&text, &[piece]), wanted, "{piece}");
    }
}

#[test]
fn what_follows_a_key_is_shown_to_whoever_watches_however_its_end_is_cut() {
    let (head, tail) = ("-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----");
    for lines in [1, 30] {
        let lines = "MIIEowIBAAKCAQEA7v8w\n".repeat(lines);
        let text = format!("the key\n{head}\n{lines}{tail}\nthe end");
        for size in 1..40 {
            let mut stream = StreamRedactor::new(Arc::new(REDACTOR.clone()));
            let pieces = text.as_bytes().chunks(size).map(|piece| str::from_utf8(piece).unwrap());
            let mut out: String = pieces.map(|piece| stream.push_to_open_tail(piece)).collect();
            out += &stream.finish();
            assert!(!out.contains("MIIE") && out.ends_with("\nthe end"), "{size}: {out}");
        }
    }
}

#[test]
fn of_a_run_without_a_blank_16_kibibytes_are_shown() {
    for length in [16_383, 16_384] {
        let text = format!("start {} end", "x".repeat(length));
        assert_eq!(masked(&text), text);
        assert_eq!(streamed(&text, &[999]), text);
    }
    for length in [16_385, 16_390, 40_000] {
        let text = format!("start {} end", "x".repeat(length));
        let wanted = format!("start {}{MASK} end", "x".repeat(16_384));
        assert!(masked(&text) == wanted && streamed(&text, &[999]) == wanted, "{length}");
    }
}

#[test]
fn what_is_sure_is_given_out_and_what_may_go_on_is_held_back() {
    let first = |text: &str| {
        let mut stream = StreamRedactor::new(Arc::new(REDACTOR.clone()));
        let shown = stream.push_to_open_tail(text);
        let rest = stream.finish();
        (shown, rest)
    };
    let (shown, rest) = first("mail jane.roe@corp.net about the lines of it and more words");
    assert!(shown.starts_with("mail [REDACTED] about"), "{shown}");
    assert_eq!(shown + &rest, "mail [REDACTED] about the lines of it and more words");
    let (shown, rest) = first("mail jane.roe@corp.net");
    assert!("mail ".starts_with(&shown), "{shown}");
    assert_eq!(shown + &rest, "mail [REDACTED]");
}

#[cfg(feature = "work-meter")]
#[test]
fn the_work_of_a_text_is_counted() {
    let work = |text: &str| scanned_bytes(|| drop(masked(text)));
    assert_eq!(scanned_bytes(|| ()), 0);
    let (one, two) = (work("token=q8Vn2LmZ7rKd"), work("token=q8Vn2LmZ7rKd token=Lm7rKdq8Vn2Z"));
    assert!(one > 0 && two > one, "{one} {two}");
}
