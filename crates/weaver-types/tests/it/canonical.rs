//! Canonical bytes against the vectors, a second implementation, and properties.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde::Serialize;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use weaver_types::PrincipalId;
use weaver_types::canonical::{self, CanonicalFault, MAX_DEPTH, Profile};
use weaver_types::digest::{Digest, DomainTag};

const AGREED: &str = include_str!("../data/canon/jcs_agree.jsonl");
const HOSTILE: &str = include_str!("../data/canon/hostile.jsonl");
const PROFILES: [Profile; 3] = [Profile::Record, Profile::Document, Profile::Foreign];

fn rewrite(bytes: &[u8], profile: Profile) -> Result<Vec<u8>, CanonicalFault> {
    let value = canonical::parse(bytes, profile).map_err(|e| e.fault())?;
    canonical::to_bytes(&value, profile).map_err(|e| e.fault())
}

fn fault(text: &str) -> Option<CanonicalFault> {
    canonical::parse(text.as_bytes(), Profile::Foreign).err().map(|e| e.fault())
}

#[test]
fn every_case_on_which_two_implementations_agree_comes_out_the_same() {
    let mut count = 0;
    for line in AGREED.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let (input, want) = (case["input"].as_str().unwrap(), case["canonical"].as_str().unwrap());
        let got =
            rewrite(input.as_bytes(), Profile::Foreign).map(|b| String::from_utf8(b).unwrap());
        assert_eq!(got.as_deref(), Ok(want), "{input}");
        assert_eq!(
            rewrite(want.as_bytes(), Profile::Foreign),
            Ok(want.as_bytes().to_vec()),
            "again {want}"
        );
        match rewrite(input.as_bytes(), Profile::Document) {
            Ok(bytes) => assert_eq!(bytes, want.as_bytes(), "{input}"),
            Err(fault) => assert_eq!(fault, CanonicalFault::IntegerRange, "{input}"),
        }
        count += 1;
    }
    assert_eq!(count, 3000);
}

/// What a hostile case must come to, read from its `expect` and `why`.
enum Want {
    Fault(CanonicalFault),
    AnyFaultOf(&'static [CanonicalFault]),
    Text(String),
    Same,
}

fn want(expect: &str, why: &str, raw: &[u8]) -> Want {
    match (expect, why) {
        ("reject", "duplicate key") => Want::Fault(CanonicalFault::DuplicateKey),
        ("reject", "invalid UTF-8") => Want::Fault(CanonicalFault::Utf8),
        ("reject", "lone surrogate") => Want::Fault(CanonicalFault::Surrogate),
        ("reject", "not RFC 8259") if raw.starts_with(&[0xef, 0xbb, 0xbf]) => {
            Want::Fault(CanonicalFault::ByteOrderMark)
        }
        ("reject", "not RFC 8259") => {
            Want::AnyFaultOf(&[CanonicalFault::Syntax, CanonicalFault::Trailing])
        }
        ("accept_canonicalise", why) => {
            Want::Text(why.strip_prefix("canonical ").unwrap().to_owned())
        }
        ("bounded", why) => match why.split([':', ' ']).collect::<Vec<_>>().as_slice() {
            ["depth", "64", ..] | ["object", "depth", "64"] => Want::Same,
            ["depth", ..] | ["object", "depth", ..] => Want::Fault(CanonicalFault::Depth),
            ["1e6", "digits", ..] => Want::Fault(CanonicalFault::IntegerRange),
            _ => Want::Same,
        },
        other => panic!("unknown expectation {other:?}"),
    }
}

/// The cases too large to keep as text, made again and checked against their digest.
fn generated(why: &str) -> String {
    let nested = |open: &str, close: &str, n: usize, core: &str| {
        format!("{}{core}{}", open.repeat(n), close.repeat(n))
    };
    match why {
        "depth 1000: no stack overflow, documented limit" => nested("[", "]", 1000, ""),
        "object depth 1000" => nested("{\"a\":", "}", 1000, "1"),
        "depth 100000: no stack overflow, documented limit" => nested("[", "]", 100_000, ""),
        "object depth 100000" => nested("{\"a\":", "}", 100_000, "1"),
        "string 1000000" => format!("\"{}\"", "a".repeat(1_000_000)),
        "string 10000000" => format!("\"{}\"", "a".repeat(10_000_000)),
        "1e6 elements" => format!("[{}1]", "1,".repeat(1_000_000)),
        "1e6 digits number (quadratic bigint parse)" => "1".repeat(1_000_000),
        "1e5 keys" => {
            let keys: Vec<String> = (0..100_000).map(|n| format!("\"k{n}\":1")).collect();
            format!("{{{}}}", keys.join(","))
        }
        other => panic!("unknown generated case {other}"),
    }
}

fn raw_of(case: &Value, why: &str) -> Vec<u8> {
    if let Some(text) = case["raw_b64"].as_str() {
        return STANDARD.decode(text).unwrap();
    }
    let raw = generated(why).into_bytes();
    let digest: String = Sha256::digest(&raw).iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(case["sha256"], digest, "{why}");
    raw
}

#[test]
fn every_hostile_case_ends_as_expected() {
    let mut count = 0;
    for line in HOSTILE.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let (expect, why) = (case["expect"].as_str().unwrap(), case["why"].as_str().unwrap());
        count += 1;
        if expect == "distinct_principals" {
            distinct(case["pair"][0].as_str().unwrap(), case["pair"][1].as_str().unwrap());
            continue;
        }
        let raw = raw_of(&case, why);
        if expect == "reject_or_exact" {
            exact_or_refused(&raw);
            continue;
        }
        for profile in [Profile::Document, Profile::Foreign] {
            let got = rewrite(&raw, profile);
            match want(expect, why, &raw) {
                Want::Fault(fault) => assert_eq!(got, Err(fault), "{line}"),
                Want::AnyFaultOf(faults) => assert!(faults.contains(&got.unwrap_err()), "{line}"),
                Want::Text(text) => assert_eq!(got, Ok(text.into_bytes()), "{line}"),
                Want::Same if why == "1e5 keys" => assert_eq!(got.unwrap().len(), raw.len()),
                Want::Same => assert!(got.unwrap() == raw, "{why}"),
            }
        }
    }
    assert_eq!(count, 75);
}

/// 64-bit integers from elsewhere come out digit for digit; anything else is refused.
fn exact_or_refused(raw: &[u8]) {
    match rewrite(raw, Profile::Foreign) {
        Ok(bytes) => assert_eq!(bytes, raw),
        Err(f) => assert!(matches!(f, CanonicalFault::IntegerRange | CanonicalFault::Precision)),
    }
    assert!(rewrite(raw, Profile::Document).is_err());
    assert!(rewrite(raw, Profile::Record).is_err());
}

/// Look-alikes keep different bytes and digests, or are no identifier at all.
fn distinct(a: &str, b: &str) {
    let bytes = |text: &str| canonical::serialize(&json!({ "id": text }), Profile::Record).unwrap();
    assert_ne!(bytes(a), bytes(b));
    assert_ne!(Digest::of(DomainTag::POLICY, &bytes(a)), Digest::of(DomainTag::POLICY, &bytes(b)));
    if let (Ok(a), Ok(b)) = (PrincipalId::parse(a), PrincipalId::parse(b)) {
        assert_ne!(a, b);
    }
}

#[test]
fn the_sample_of_rfc_8785_section_3_2_is_written_as_it_says() {
    let input = r#"{
        "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
        "literals": [null, true, false]
    }"#;
    let want = r#"{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}"#;
    assert_eq!(rewrite(input.as_bytes(), Profile::Document), Ok(want.as_bytes().to_vec()));
}

#[test]
fn keys_are_sorted_by_utf_16_units() {
    let input = r#"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}"#;
    let want = "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}";
    assert_eq!(rewrite(input.as_bytes(), Profile::Document), Ok(want.as_bytes().to_vec()));
}

#[test]
fn the_depth_limit_is_exactly_as_documented_both_ways() {
    let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    let read = |n: usize, profile| canonical::parse(nested(n).as_bytes(), profile);
    for profile in PROFILES {
        assert!(read(MAX_DEPTH, profile).is_ok());
        assert_eq!(read(MAX_DEPTH + 1, profile).unwrap_err().fault(), CanonicalFault::Depth);
        assert_eq!(
            rewrite(nested(MAX_DEPTH).as_bytes(), profile),
            Ok(nested(MAX_DEPTH).into_bytes())
        );
    }
    let deep = (0..=MAX_DEPTH).fold(Value::Null, |inner, _| json!([inner]));
    let error = canonical::to_bytes(&deep, Profile::Foreign).unwrap_err();
    assert_eq!((error.fault(), error.offset()), (CanonicalFault::Depth, None));
}

#[test]
fn every_control_character_and_half_pair_is_refused_in_a_string() {
    for c in 0..0x20_u8 {
        let text = format!("\"a{}b\"", char::from(c));
        assert_eq!(fault(&text), Some(CanonicalFault::Syntax), "{c:02x}");
        let escaped = format!("\"\\u{c:04x}\"");
        let again = rewrite(escaped.as_bytes(), Profile::Foreign).unwrap();
        assert!(!again.contains(&c), "{c:02x} is written as itself");
    }
    for half in [
        r"\ud800", r"\udfff", r"\ud800\ud800", r"\ud800\u0041", r"\ud800x", r"\ud800\n",
        r"\udc00\udc00",
    ] {
        assert_eq!(fault(&format!("\"{half}\"")), Some(CanonicalFault::Surrogate), "{half}");
    }
    assert_eq!(fault(r#""\ud800\u""#), Some(CanonicalFault::Syntax));
    assert_eq!(rewrite(br#""\uDBFF\uDFFF""#, Profile::Foreign), Ok("\"\u{10ffff}\"".into()));
}

#[test]
fn an_error_names_code_byte_and_place() {
    let error = canonical::parse(br#"{"a":[0,{"b/c":1,"b\/c":2}]}"#, Profile::Foreign).unwrap_err();
    assert_eq!(error.code(), "canonical.duplicate_key");
    assert_eq!((error.offset(), error.place().as_str()), (Some(17), "/a/1/b~1c"));
    assert_eq!(error.to_string(), "duplicate key: keep one (at `/a/1/b~1c`) (byte 17)");
}

#[test]
fn an_error_never_repeats_more_than_a_little_of_a_hostile_text() {
    let key = "k".repeat(10_000);
    let text = (0..100).fold("nul".to_owned(), |inner, _| format!("{{\"{key}\":{inner}}}"));
    let error = canonical::parse(text.as_bytes(), Profile::Foreign).unwrap_err();
    assert!(error.to_string().len() < 1000 && error.place().starts_with('…'), "{error}");
    let value = canonical::parse(br#"{"password":"hunter2","n":1e999}"#, Profile::Foreign);
    assert!(!value.unwrap_err().to_string().contains("hunter2"));
}

#[test]
fn what_serde_hides_is_refused() {
    #[derive(Serialize)]
    struct Twice {
        id: u8,
        #[serde(flatten)]
        rest: Map<String, Value>,
    }
    let mut rest = Map::new();
    rest.insert("id".to_owned(), json!(2));
    let error = canonical::serialize(&Twice { id: 1, rest }, Profile::Record).unwrap_err();
    assert_eq!(error.fault(), CanonicalFault::DuplicateKey);
    for n in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(
            canonical::serialize(&[n], Profile::Foreign).unwrap_err().fault(),
            CanonicalFault::Precision
        );
        assert_eq!(
            canonical::serialize(&[n as f32], Profile::Document).unwrap_err().fault(),
            CanonicalFault::Precision
        );
    }
    assert_eq!(
        canonical::serialize(&1.0_f64, Profile::Record).unwrap_err().fault(),
        CanonicalFault::Float
    );
    assert_eq!(canonical::serialize(&1.0_f64, Profile::Document).unwrap(), b"1");
    assert_eq!(canonical::serialize(&u64::MAX, Profile::Foreign).unwrap(), b"18446744073709551615");
    assert_eq!(
        canonical::serialize(&u64::MAX, Profile::Document).unwrap_err().fault(),
        CanonicalFault::IntegerRange
    );
}

/// Doubles of every size, with many whose shortest text is a tie.
fn double() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |v| v.is_finite()),
        (any::<i64>(), 0..5).prop_map(|(n, k)| (n >> 10) as f64 / f64::from(1 << k)),
        (-400..400_i32, 1..10_u8).prop_map(|(e, d)| format!("{d}e{e}").parse().unwrap_or(0.0)),
        (-1074..1024_i32).prop_map(|e| 2_f64.powi(e)),
    ]
    .prop_filter("finite", |v| v.is_finite())
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        double().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 48, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..8)
                .prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

/// Text that is nearly JSON.
fn nearly_json() -> impl Strategy<Value = String> {
    prop::collection::vec(
        prop_oneof![
            prop::sample::select(vec![
                "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u", "d800", "dc00", "0", "1", "-",
                "+", ".", "e", "E9", "true", "null", " ", "\n", "\"a\":", "1.5", "\u{e9}",
                "\u{1f600}", "\t",
            ])
            .prop_map(str::to_owned),
            any::<char>().prop_map(String::from),
        ],
        0..24,
    )
    .prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn what_is_written_is_read_back_to_the_same_bytes(value in value()) {
        for profile in PROFILES {
            if let Ok(bytes) = canonical::to_bytes(&value, profile) {
                let read = canonical::parse(&bytes, profile).unwrap();
                prop_assert_eq!(canonical::to_bytes(&read, profile).unwrap(), bytes.clone());
                prop_assert_eq!(canonical::parse(&bytes, profile).unwrap(), read.clone());
                prop_assert_eq!(canonical::serialize(&value, profile).unwrap(), bytes);
            }
        }
        prop_assert!(canonical::to_bytes(&value, Profile::Foreign).is_ok());
    }

    #[test]
    fn doubles_are_written_as_a_second_implementation_writes_them(value in double()) {
        let want = serde_json_canonicalizer::to_vec(&value).unwrap();
        prop_assert_eq!(canonical::serialize(&value, Profile::Foreign).unwrap(), want);
        let text = canonical::serialize(&value, Profile::Foreign).unwrap();
        prop_assert_eq!(str::from_utf8(&text).unwrap().parse::<f64>().unwrap(), value);
    }

    #[test]
    fn values_are_written_as_a_second_implementation_writes_them(value in value()) {
        // Where the document profile accepts a value, no integer is beyond what both write exactly.
        if let Ok(bytes) = canonical::to_bytes(&value, Profile::Document) {
            prop_assert_eq!(bytes, serde_json_canonicalizer::to_vec(&value).unwrap());
        }
    }

    #[test]
    fn any_bytes_end_in_a_value_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        for profile in PROFILES {
            let _ = canonical::parse(&bytes, profile);
        }
    }

    #[test]
    fn what_is_accepted_here_is_json_elsewhere_and_means_the_same(text in nearly_json()) {
        let theirs = serde_json::from_str::<Value>(&text);
        match (canonical::parse(text.as_bytes(), Profile::Foreign), theirs) {
            (Ok(ours), Ok(theirs)) => prop_assert_eq!(
                canonical::to_bytes(&ours, Profile::Foreign).unwrap(),
                canonical::to_bytes(&theirs, Profile::Foreign).unwrap()
            ),
            (Ok(_), Err(e)) => prop_assert!(false, "accepted {text:?}, elsewhere {e}"),
            (Err(e), Ok(_)) => prop_assert!(
                matches!(e.fault(), CanonicalFault::DuplicateKey | CanonicalFault::IntegerRange | CanonicalFault::Precision),
                "refused {text:?}: {e}"
            ),
            (Err(_), Err(_)) => {}
        }
    }

    #[test]
    fn the_stricter_profile_accepts_nothing_more(value in value()) {
        let text = serde_json::to_vec(&value).unwrap();
        let [record, document, foreign] = PROFILES.map(|p| rewrite(&text, p).ok());
        prop_assert!(record.is_none() || record == document);
        prop_assert!(document.is_none() || document == foreign);
    }
}
