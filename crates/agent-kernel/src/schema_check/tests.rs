//! What is checked against schemas, and what is left out of them.

use serde_json::json;
use weaver_types::{AllowedAgents, CapabilityDraft, CapabilityId, Effects};

use super::*;

#[test]
fn a_pattern_of_a_server_that_cannot_run_costs_no_tool() {
    let id = CapabilityId::parse("mail.send").unwrap();
    let schema = json!({"type": "object", "properties": {
        "to": {"type": "string", "pattern": "^(?!\\.)[^@]+@[^@]+$"}, "copies": {"type": "integer"}}});
    let draft = |upstream_digest| CapabilityDraft {
        description: "Sends a mail.".to_owned(),
        timeout_ms: 1_000,
        input_schema: Some(schema.clone().into()),
        upstream_digest,
        ..CapabilityDraft::new(id.clone(), "send", Effects::WRITE_OPEN, AllowedAgents::Any)
    };
    let own = Arc::new(draft(None).build().unwrap());
    assert!(SchemaCheck::of_arguments(&own).is_err(), "its author can correct it");
    let digest = weaver_types::Digest::from_bytes([1; 32]);
    let theirs = Arc::new(draft(Some(digest)).build().unwrap());
    let check = SchemaCheck::of_arguments(&theirs).unwrap();
    assert_eq!(check.violation(&json!({"to": "a@b.org", "copies": 1}), "arguments"), None);
    assert!(check.violation(&json!({"to": "a@b.org", "copies": "x"}), "arguments").is_some());
}

/// A state machine of thousands of states goes through a text step by step.
#[test]
fn patterns_that_would_take_too_long_are_left_to_their_server() {
    let id = CapabilityId::parse("mail.send").unwrap();
    let patterns: Vec<Value> =
        (0..60).map(|n| json!({ "pattern": format!("a[ab]{{{}}}c", 1_500 + n) })).collect();
    let schema =
        json!({ "properties": { "text": { "anyOf": patterns }, "n": { "type": "integer" } } });
    let check = |upstream_digest| {
        let draft = CapabilityDraft {
            description: "Sends a mail.".to_owned(),
            timeout_ms: 1_000,
            input_schema: Some(schema.clone().into()),
            upstream_digest,
            ..CapabilityDraft::new(id.clone(), "send", Effects::WRITE_OPEN, AllowedAgents::Any)
        };
        SchemaCheck::of_arguments(&Arc::new(draft.build().unwrap())).unwrap()
    };
    let theirs = check(Some(weaver_types::Digest::from_bytes([1; 32])));
    let short = json!({ "text": "ab" });
    assert!(theirs.violation(&short, "arguments").is_some(), "a short text is checked");
    let long = |n: Value| json!({ "text": "ab".repeat(10_000), "n": n });
    assert_eq!(theirs.violation(&long(json!(1)), "arguments"), None);
    assert!(theirs.violation(&long(json!("x")), "arguments").is_some(), "the rest is checked");
    let refusal = check(None).violation(&long(json!(1)), "arguments").unwrap();
    assert!(refusal.contains("too long for the patterns"), "{refusal}");
}

/// A schema that refers to each of its parts twice by name, and so visits the last 2^40 times.
fn doubling(name: &str, reference: &str) -> Value {
    let part = |n: usize| format!("a{n}");
    let mut parts = serde_json::Map::new();
    for n in 0..40 {
        let next = json!({"$ref": format!("{reference}{}", part(n + 1))});
        parts.insert(part(n), json!({name: part(n), "allOf": [next, next]}));
    }
    parts.insert(part(40), json!({name: part(40), "minLength": 0}));
    json!({"$id": "http://x.example/", "type": "object", "$defs": parts,
        "properties": {"z": {"$ref": format!("{reference}{}", part(0))}}})
}

#[test]
fn what_a_schema_reaches_by_name_is_not_visited() {
    let id = CapabilityId::parse("notes.read").unwrap();
    for schema in [doubling("$anchor", "#"), doubling("$dynamicAnchor", "#"), doubling("$id", "")] {
        let draft = |upstream_digest| CapabilityDraft {
            description: "Reads a note.".to_owned(),
            timeout_ms: 1_000,
            output_schema: Some(schema.clone().into()),
            upstream_digest,
            ..CapabilityDraft::new(id.clone(), "read", Effects::READ_OPEN, AllowedAgents::Any)
        };
        let own = Arc::new(draft(None).build().unwrap());
        assert!(SchemaCheck::of_results(&own).is_err(), "its author can write a pointer");
        let digest = weaver_types::Digest::from_bytes([1; 32]);
        let theirs = Arc::new(draft(Some(digest)).build().unwrap());
        let check = SchemaCheck::of_results(&theirs).unwrap();
        assert_eq!(check.violation(&json!({"z": "x"}), "it"), None);
        assert!(check.violation(&json!([]), "it").is_some(), "the rest is still checked");
    }
}

#[test]
fn all_choices_are_told_up_to_a_bound() {
    let said = |choices: Vec<String>| {
        let draft = CapabilityDraft {
            description: "Formats a time.".to_owned(),
            timeout_ms: 1_000,
            input_schema: Some(json!({"properties": {"format": {"enum": choices}}}).into()),
            ..CapabilityDraft::new(
                CapabilityId::parse("time.format").unwrap(),
                "format",
                Effects::READ_LOCAL,
                AllowedAgents::Any,
            )
        };
        let check = SchemaCheck::of_arguments(&Arc::new(draft.build().unwrap())).unwrap();
        check.violation(&json!({"format": "x"}), "the arguments").unwrap()
    };
    let nine = said((1..10).map(|n| format!("h:mm {n}")).collect());
    assert!(nine.starts_with("`/format`: it is none of \"h:mm 1\", \"h:mm 2\""), "{nine}");
    assert!(nine.ends_with("\"h:mm 9\""), "{nine}");
    let many = said((0..1_000).map(|n| format!("choice {n}")).collect());
    assert!(many.contains(" or 9") && many.ends_with(" more") && many.len() < 900, "{many}");
}

#[test]
fn a_missing_parameter_is_told_beside_those_there_are() {
    let id = CapabilityId::parse("files.read").unwrap();
    let schema = json!({"type": "object", "required": ["path"], "properties": {
        "head": {"type": "integer"}, "path": {"type": "string"}, "a\u{202e}b": {}}});
    let draft = CapabilityDraft {
        description: "Reads a file.".to_owned(),
        timeout_ms: 1_000,
        input_schema: Some(schema.into()),
        ..CapabilityDraft::new(id, "read", Effects::READ_LOCAL, AllowedAgents::Any)
    };
    let capability = Arc::new(draft.build().unwrap());
    let check = SchemaCheck::of_arguments(&capability).unwrap();
    let said = |value: Value| check.violation(&value, "the arguments").unwrap();
    assert_eq!(
        said(json!({"file": "a"})),
        "the arguments: \"path\" is a required property; the parameters are path, \
         a\\u{202e}b?, head?"
    );
    assert!(!said(json!({"path": 1})).contains("parameters"));
}

#[test]
fn rows_in_parts_fit_where_the_whole_value_fits() {
    let id = CapabilityId::parse("crm.list").unwrap();
    let item =
        json!({"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}});
    let around = |list: Value| {
        json!({"type": "object", "required": ["rows"], "properties": {"rows": list},
            "additionalProperties": {"type": "integer"}})
    };
    let schemas = [
        around(json!({"type": "array", "items": item})),
        around(json!({"type": "array", "items": item, "maxItems": 1_500})),
        around(json!({"type": "object"})),
        json!({"type": "array", "items": item}),
        json!({"enum": [1]}),
    ];
    let row = |id: u64| json!({"id": id});
    let rows = |count: u64| -> Vec<Value> { (0..count).map(row).collect() };
    let mut odd = rows(2_100);
    odd[2_050] = json!({"id": "x"});
    let values = [
        json!({"rows": rows(1_200)}),
        json!({"rows": rows(2_100), "total": 2_100}),
        json!({"rows": odd.clone()}),
        json!({"rows": [row(1)], "total": "one"}),
        json!({"others": rows(3)}),
        Value::Array(rows(2_100)),
        Value::Array(odd),
    ];
    let mut fitting = 0;
    for schema in schemas {
        let draft = CapabilityDraft {
            description: "Lists people.".to_owned(),
            output_schema: Some(schema.clone().into()),
            timeout_ms: 1_000,
            ..CapabilityDraft::new(id.clone(), "list", Effects::READ_OPEN, AllowedAgents::Any)
        };
        let check = SchemaCheck::of_results(&Arc::new(draft.build().unwrap())).unwrap();
        for value in &values {
            let subject = check.violation(value, "it");
            let parts = JsonRows::parse(value.to_string()).unwrap();
            assert_eq!(check.violation_in_rows(&parts, "it"), subject, "{schema}");
            fitting += usize::from(subject.is_none());
        }
    }
    assert_eq!(fitting, 4);
}

#[test]
fn a_value_and_its_schema_are_checked_up_to_so_much_work() {
    // A schema of 10,000 nodes, and values of so many.
    let schema = json!({
        "type": "array", "items": { "type": "object" }, "examples": vec![json!(0); 9_995],
    });
    assert_eq!(expanded_nodes(&schema), Ok(10_000));
    let id = CapabilityId::parse("crm.list").unwrap();
    let draft = CapabilityDraft {
        description: "Lists people.".to_owned(),
        output_schema: Some(schema.into()),
        timeout_ms: 1_000,
        ..CapabilityDraft::new(id, "list", Effects::READ_OPEN, AllowedAgents::Any)
    };
    let check = SchemaCheck::of_results(&Arc::new(draft.build().unwrap())).unwrap();
    let outcome = |small: usize, large: usize| {
        let mut rows = vec![json!({ "id": 1 }); small];
        rows.extend(vec![json!({ "id": 1, "n": 2 }); large]);
        let subject = Value::Array(rows);
        let parts = JsonRows::parse(subject.to_string()).unwrap();
        let outcome = check.violation(&subject, "it");
        assert_eq!(check.violation_in_rows(&parts, "it"), outcome);
        (count_nodes(&subject), outcome)
    };
    assert_eq!(outcome(4_998, 1), (10_000, None));
    let refused = "it: too many values for so large a schema".to_owned();
    assert_eq!(outcome(5_000, 0), (10_001, Some(refused)));
}

#[test]
fn a_schema_is_checked_only_where_there_is_one() {
    let id = CapabilityId::parse("crm.list").unwrap();
    let draft = CapabilityDraft {
        description: "Lists people.".to_owned(),
        output_schema: Some(json!({ "type": "array" }).into()),
        timeout_ms: 1_000,
        ..CapabilityDraft::new(id, "list", Effects::READ_OPEN, AllowedAgents::Any)
    };
    let capability = Arc::new(draft.build().unwrap());
    let arguments = SchemaCheck::of_arguments(&capability).unwrap();
    let results = SchemaCheck::of_results(&capability).unwrap();
    assert_eq!((arguments.is_declared(), results.is_declared()), (false, true));
    assert_eq!(arguments.violation(&json!(1), "it"), None);
    let rows = JsonRows::parse("[{\"a\":1}]".to_owned()).unwrap();
    assert_eq!(arguments.violation_in_rows(&rows, "it"), None);
    assert!(results.violation(&json!(1), "it").is_some());
}

#[test]
fn a_pattern_is_compiled_and_asked() {
    let id = CapabilityId::parse("crm.find").unwrap();
    let schema = json!({ "properties": { "code": { "pattern": "^[a-z]{3}-[0-9]{1,5}$" } } });
    let draft = CapabilityDraft {
        description: "Finds somebody.".to_owned(),
        input_schema: Some(schema.into()),
        timeout_ms: 1_000,
        ..CapabilityDraft::new(id, "find", Effects::READ_LOCAL, AllowedAgents::Any)
    };
    let check = SchemaCheck::of_arguments(&Arc::new(draft.build().unwrap())).unwrap();
    assert_eq!(check.violation(&json!({ "code": "abc-12" }), "the arguments"), None);
    assert!(check.violation(&json!({ "code": "abc12" }), "the arguments").is_some());
}
