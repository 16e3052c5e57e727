use proptest::prelude::*;
use serde_json::{Map, Value, json};
use weaver_firewall::{FrameBudget, HandleQuery, MASK};
use weaver_types::{Constraints, Frame, RawResult, ResponseMode};

use crate::support::{FIREWALL, capability, chars, spec};

const SECRETS: &[&str] = &[
    "jane.roe@corp.example.com",
    "4539148803436467",
    "419-06-3188",
    "GB82WEST12345698765432",
    "ghp_0123456789abcdefghij0123456789abcdef",
    "AKIAIOSFODNN7EXAMPLE",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "+14155552671",
];
const MODES: [ResponseMode; 3] =
    [ResponseMode::Summary, ResponseMode::Table, ResponseMode::HandleOnly];

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z_]{1,12}",
        any::<String>(),
        Just("email".to_owned()),
        Just("note".to_owned()),
        prop::sample::select(SECRETS).prop_map(str::to_owned),
    ]
}

/// Arbitrary JSON, with secrets between blanks in it.
fn value() -> impl Strategy<Value = Value> {
    let secret = prop::sample::select(SECRETS);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[ -~]{0,300}".prop_map(Value::from),
        Just(json!(4_012_888_888_881_881_u64)),
        // Of rare letters: after a word such as `upc` or `ddt` a number is rightly no card.
        ("[jqvxz ]{0,90}", secret, "[a-z ]{0,600}")
            .prop_map(|(before, secret, after)| json!(format!("{before} {secret} {after}"))),
    ];
    leaf.prop_recursive(5, 120, 12, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..12).prop_map(Value::from),
            prop::collection::vec((key(), inner.clone()), 0..12)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
            prop::collection::vec((key(), inner), 1..6).prop_map(|fields| {
                let row = Value::Object(fields.into_iter().collect::<Map<_, _>>());
                Value::from(vec![row; 9])
            }),
        ]
    })
}

fn raw() -> impl Strategy<Value = RawResult> {
    (value(), any::<bool>()).prop_map(|(value, as_text)| {
        if as_text { RawResult::text(value.to_string()) } else { RawResult::json(value) }
    })
}

#[derive(Debug)]
struct Wanted {
    budget: FrameBudget,
    mode: ResponseMode,
    fields: Vec<String>,
    goal: Option<String>,
    pii_reader: bool,
    strict: bool,
}

fn wanted() -> impl Strategy<Value = Wanted> {
    let budget = (0_u32..60, 0_u32..25, 0_u32..6_000, 0_u32..9);
    let budget = budget.prop_map(|(max_rows, max_fields, max_chars, max_depth)| FrameBudget {
        max_rows,
        max_fields,
        max_chars,
        max_depth,
        ..FrameBudget::default()
    });
    let fields = prop::collection::vec("[a-z]{1,3}", 0..3);
    let goal = prop::option::of("[a-z ]{0,30}");
    let mode = prop::sample::select(&MODES);
    (budget, mode, fields, goal, any::<bool>(), any::<bool>()).prop_map(
        |(budget, mode, fields, goal, pii_reader, strict)| Wanted {
            budget,
            mode,
            fields,
            goal,
            pii_reader,
            strict,
        },
    )
}

proptest! {
    #[test]
    fn a_frame_never_exceeds_its_budget(raw in raw(), more in 0_usize..3_000, mode in prop::sample::select(&MODES)) {
        let mut spec = spec(mode);
        let max = FIREWALL.min_chars(&spec) + more;
        spec.budget = FrameBudget { max_chars: u32::try_from(max).unwrap(), ..FrameBudget::default() };
        let frame = FIREWALL.frame(&raw, &spec);
        prop_assert!(chars(&frame) <= max, "{} of {max}: {frame:?}", chars(&frame));
        let page = FIREWALL.expand(&raw, &HandleQuery::default(), &spec).unwrap();
        prop_assert!(chars(&page) <= max);
    }

    #[test]
    fn no_setting_breaks_the_budget(raw in raw(), wanted in wanted()) {
        let Wanted { budget, mode, fields, goal, pii_reader, strict } = wanted;
        let capability = capability(&fields.iter().map(String::as_str).collect::<Vec<_>>());
        let constraints = Constraints { mode: strict.then_some(ResponseMode::Summary), ..Constraints::default() };
        let mut spec = spec(mode);
        (spec.budget, spec.goal, spec.pii_reader) = (budget, goal.as_deref(), pii_reader);
        (spec.capability, spec.constraints) = (&capability, &constraints);
        let most = FIREWALL.min_chars(&spec).max(budget.max_chars as usize);
        let frame = FIREWALL.frame(&raw, &spec);
        prop_assert!(chars(&frame) <= most, "{} of {most}: {frame:?}", chars(&frame));
        prop_assert!(frame.facts.len() <= 20 && frame.table.len() <= budget.max_rows as usize);
        prop_assert!(frame.table.iter().all(|row| row.len() <= (budget.max_fields as usize).max(1)));
        prop_assert_eq!(&frame, &FIREWALL.frame(&raw, &spec));
        let text = serde_json::to_string(&frame).unwrap();
        prop_assert_eq!(serde_json::from_str::<Frame>(&text).unwrap(), frame);
    }

    #[test]
    fn what_the_redactor_masks_whole_is_nowhere_in_the_frame(value in value(), wanted in wanted()) {
        let mut spec = spec(wanted.mode);
        (spec.budget, spec.goal) = (wanted.budget, wanted.goal.as_deref());
        let frame = FIREWALL.frame(&RawResult::json(value.clone()), &spec);
        let shown = serde_json::to_string(&frame).unwrap();
        let mut left = vec![&value];
        while let Some(value) = left.pop() {
            match value {
                Value::String(text) if text.len() >= 9 && FIREWALL.redact_text(text).text == MASK => {
                    prop_assert!(!shown.contains(text.as_str()), "{text} in {shown}");
                }
                Value::Array(items) => left.extend(items),
                Value::Object(map) => left.extend(map.values()),
                _ => {}
            }
        }
    }

    #[test]
    fn below_the_floor_the_smallest_frame_comes(raw in raw(), max in 0_u32..200, mode in prop::sample::select(&MODES)) {
        let mut spec = spec(mode);
        spec.budget = FrameBudget { max_chars: max, ..FrameBudget::default() };
        let frame = FIREWALL.frame(&raw, &spec);
        prop_assert!(chars(&frame) <= FIREWALL.min_chars(&spec));
    }

    #[test]
    fn a_planted_secret_is_never_shown(raw in raw(), mode in prop::sample::select(&MODES), max in 300_u32..20_000, strict in any::<bool>()) {
        let mut spec = spec(mode);
        spec.strict = strict;
        spec.budget = FrameBudget { max_chars: max, max_depth: 8, ..FrameBudget::default() };
        let frames = [
            FIREWALL.frame(&raw, &spec),
            FIREWALL.expand(&raw, &HandleQuery::default(), &spec).unwrap(),
        ];
        for frame in frames {
            let text = serde_json::to_string(&frame).unwrap();
            for secret in SECRETS {
                prop_assert!(!text.contains(secret), "{secret} in {text}");
            }
        }
    }

    #[test]
    fn a_redacted_value_holds_no_planted_secret(value in value()) {
        let (once, _) = FIREWALL.redact_value(&value);
        let text = once.to_string();
        for secret in SECRETS {
            prop_assert!(!text.contains(secret), "{secret} in {text}");
        }
        let (twice, _) = FIREWALL.redact_value(&once);
        prop_assert_eq!(twice, once);
    }

    #[test]
    fn a_frame_is_a_function_of_its_result(raw in raw(), mode in prop::sample::select(&MODES)) {
        prop_assert_eq!(FIREWALL.frame(&raw, &spec(mode)), FIREWALL.frame(&raw, &spec(mode)));
    }
}
