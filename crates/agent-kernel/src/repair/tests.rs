use serde_json::json;
use weaver_types::{AllowedAgents, CapabilityDraft, CapabilityId, Effects};

use super::*;

fn mend(repairs: Repairs, critical: &[&str], arguments: Value) -> Option<(Value, Value)> {
    let schema = json!({
        "type": "object",
        "required": ["n", "unit", "rate"],
        "properties": {
            "n": { "type": "integer" },
            "rate": { "type": "number", "default": 1 },
            "on": { "type": "boolean" },
            "unit": { "type": "string", "default": "kg" },
            "rows": { "type": "array", "items": {
                "type": "object", "properties": { "n": { "type": "integer" } },
            } },
        },
        "additionalProperties": false,
    });
    let id = CapabilityId::parse("a.b").unwrap();
    let draft = CapabilityDraft {
        input_schema: Some(schema.into()),
        critical_arguments: critical.iter().map(|at| JsonPointer::parse(at).unwrap()).collect(),
        ..CapabilityDraft::new(id, "b", Effects::READ_LOCAL, AllowedAgents::Any)
    };
    let capability = std::sync::Arc::new(draft.build().unwrap());
    let check = SchemaCheck::of_arguments(&capability).unwrap();
    repaired_arguments(repairs, &capability, &check, &arguments)
        .map(|done| (done.arguments, done.changes))
}

#[test]
fn small_and_certain_things_are_mended_and_named() {
    let given = json!({ "n": "7", "on": "true", "extra": 1, "rows": [{ "n": "8" }] });
    let (mended, done) = mend(Repairs::all(), &[], given).unwrap();
    let wanted = json!({ "n": 7, "on": true, "rate": 1, "unit": "kg", "rows": [{ "n": 8 }] });
    assert_eq!(mended, wanted);
    let wanted = json!([
        { "at": "/n", "what": "converted" },
        { "at": "/on", "what": "converted" },
        { "at": "/rate", "what": "filled" },
        { "at": "/rows/*/n", "what": "converted" },
        { "at": "/unit", "what": "filled" },
        { "at": "/extra", "what": "dropped" },
    ]);
    let sorted = |value: &Value| {
        let mut all: Vec<String> =
            value.as_array().unwrap().iter().map(ToString::to_string).collect();
        all.sort();
        all
    };
    assert_eq!(sorted(&done), sorted(&wanted));
}

#[test]
fn each_sort_is_switched_on_by_itself_and_nothing_else_is_touched() {
    let given = json!({ "n": "7", "unit": "kg", "rate": 1, "extra": 1 });
    for repairs in [
        Repairs::none(),
        Repairs { drop_unknown: false, ..Repairs::all() },
        Repairs { convert: false, ..Repairs::all() },
    ] {
        assert_eq!(mend(repairs, &[], given.clone()), None, "{repairs:?}");
    }
    assert!(mend(Repairs { fill: false, ..Repairs::all() }, &[], given).is_some());
    let fits = json!({ "n": 7, "unit": "kg", "rate": 1 });
    assert_eq!(mend(Repairs::all(), &[], fits), None, "what fits is left alone");
    for vague in ["7.0", " 7", "07", "+7", "seven", "9223372036854775808", "1e3"] {
        let given = json!({ "n": vague, "unit": "kg", "rate": 1 });
        assert_eq!(mend(Repairs::all(), &[], given), None, "{vague}");
    }
}

#[test]
fn a_critical_argument_is_never_repaired() {
    let given = |extra: Value| json!({ "n": "7", "unit": "kg", "rate": 1, "x": extra });
    assert_eq!(mend(Repairs::all(), &["/n"], given(json!(1))), None);
    assert_eq!(mend(Repairs::all(), &["/x"], given(json!(1))), None);
    assert_eq!(mend(Repairs::all(), &[""], given(json!(1))), None);
    let rows = json!({ "n": 7, "unit": "kg", "rate": 1, "rows": [{ "n": "8" }] });
    assert_eq!(mend(Repairs::all(), &["/rows/*/n"], rows.clone()), None);
    assert!(mend(Repairs::all(), &["/rate"], rows).is_some());
    let missing = json!({ "n": 7, "rate": 1 });
    assert_eq!(mend(Repairs::all(), &["/unit"], missing), None);
}

fn repaired_by(schema: Value, arguments: Value) -> Option<Value> {
    let id = CapabilityId::parse("a.b").unwrap();
    let draft = CapabilityDraft {
        input_schema: Some(schema.into()),
        ..CapabilityDraft::new(id, "b", Effects::READ_LOCAL, AllowedAgents::Any)
    };
    let capability = std::sync::Arc::new(draft.build().unwrap());
    let check = SchemaCheck::of_arguments(&capability).unwrap();
    repaired_arguments(Repairs::all(), &capability, &check, &arguments).map(|done| done.arguments)
}

#[test]
fn all_three_sorts_are_off_until_they_are_switched_on() {
    let off = Repairs { convert: false, fill: false, drop_unknown: false };
    assert_eq!((Repairs::none(), Repairs::default()), (off, off));
    assert_eq!(Repairs::all(), Repairs { convert: true, fill: true, drop_unknown: true });
}

#[test]
fn only_what_is_required_is_filled() {
    let schema = json!({
        "required": ["unit"],
        "properties": { "unit": { "default": "kg" }, "rate": { "default": 1 }, "n": {} },
    });
    assert_eq!(repaired_by(schema, json!({ "n": 7 })), Some(json!({ "unit": "kg", "n": 7 })));
    let without = json!({ "required": ["n"], "properties": { "n": { "type": "integer" } } });
    assert_eq!(repaired_by(without, json!({})), None, "there is no default");
}

#[test]
fn the_default_of_a_critical_argument_or_of_one_that_holds_one_is_not_taken() {
    for (critical, filled) in [
        ("/unit", false),
        ("/unit/in", false),
        ("", false),
        ("/uni", true),
        ("/units", true),
        ("/unit2/in", true),
    ] {
        let given = json!({ "n": 7, "rate": 1 });
        assert_eq!(mend(Repairs::all(), &[critical], given).is_some(), filled, "{critical:?}");
    }
}

#[test]
fn what_holds_a_critical_argument_is_not_dropped() {
    for (critical, dropped) in [("/x", false), ("/x/y/z", false), ("/xy", true), ("/x~1y", true)] {
        let given = json!({ "n": 7, "unit": "kg", "rate": 1, "x": { "y": 1 } });
        assert_eq!(mend(Repairs::all(), &[critical], given).is_some(), dropped, "{critical:?}");
    }
}

#[test]
fn what_lies_in_a_critical_argument_is_not_repaired() {
    for (critical, mended) in [
        ("/rows", false),
        ("/rows/*", false),
        ("/row", true),
        ("/rows/*/n/deep", true),
        ("/rows/*/m", true),
    ] {
        let given = json!({ "n": 7, "unit": "kg", "rate": 1, "rows": [{ "n": "8" }] });
        assert_eq!(mend(Repairs::all(), &[critical], given).is_some(), mended, "{critical:?}");
    }
}

#[test]
fn only_a_closed_schema_without_patterns_loses_what_it_does_not_know() {
    let schema = |more: Value| {
        let mut schema = json!({ "properties": { "n": { "type": "integer" } } });
        schema.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        schema
    };
    let closed = schema(json!({ "additionalProperties": false }));
    assert_eq!(repaired_by(closed, json!({ "n": 1, "x": 2 })), Some(json!({ "n": 1 })));
    for open in [
        json!({ "additionalProperties": { "type": "null" } }),
        json!({ "additionalProperties": false, "patternProperties": { "^y": {} } }),
    ] {
        assert_eq!(repaired_by(schema(open.clone()), json!({ "n": 1, "x": 2 })), None, "{open}");
    }
}

#[test]
fn a_call_is_repaired_at_up_to_64_places_and_16_levels() {
    let numbers = json!({ "properties": { "n": { "items": { "type": "integer" } } } });
    let given = |count: usize| json!({ "n": vec![json!("7"); count] });
    let mended = |count| repaired_by(numbers.clone(), given(count)).is_some();
    assert!(mended(64) && !mended(65));
    let nested = |levels: usize| {
        let fold = |inner, _| json!({ "properties": { "n": inner } });
        let schema = (0..levels).fold(json!({ "type": "integer" }), fold);
        let given = (0..levels).fold(json!("7"), |inner, _| json!({ "n": inner }));
        repaired_by(schema, given).is_some()
    };
    assert!(nested(16) && !nested(17));
    let lists = |levels: usize| {
        let schema = (0..levels).fold(json!({ "type": "integer" }), |of, _| json!({ "items": of }));
        let given = (0..levels).fold(json!("7"), |inner, _| json!([inner]));
        let schema = json!({ "properties": { "n": schema } });
        repaired_by(schema, json!({ "n": given })).is_some()
    };
    assert!(lists(15) && !lists(16));
}

#[test]
fn a_place_is_named_by_its_escaped_names_and_at_most_200_characters() {
    assert_eq!(child_pointer("/a", "b/c~d"), "/a/b~1c~0d");
    let mut walk = RepairWalk {
        repairs: Repairs::all(),
        sink: SinkKind::None,
        critical: BTreeSet::new(),
        changes: Vec::new(),
    };
    walk.record_change(&"\u{e9}".repeat(300), "dropped");
    assert_eq!(walk.changes, [json!({ "at": "\u{e9}".repeat(200), "what": "dropped" })]);
}

#[test]
fn a_text_spells_a_value_in_one_way_only() {
    for (text, kind, value) in [
        ("true", "boolean", Some(json!(true))),
        ("false", "boolean", Some(json!(false))),
        ("True", "boolean", None),
        ("1", "boolean", None),
        ("-7", "integer", Some(json!(-7))),
        ("7.5", "integer", None),
        ("7.5", "number", Some(json!(7.5))),
        ("7", "number", Some(json!(7))),
        (" 7", "number", None),
        ("7", "string", None),
    ] {
        assert_eq!(parse_scalar(text, kind), value, "{text:?} as {kind}");
    }
}
