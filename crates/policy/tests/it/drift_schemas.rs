//! What a change of one keyword of a schema comes to, in the input and in the output of a tool.

use serde_json::{Value, json};
use weaver_policy::{Drift, DriftClass};
use weaver_types::{AgentId, AllowedAgents, Capability, CapabilityDraft, Effects};

use crate::support::draft;
use DriftClass::{AuthorityWidening, Breaking, Compatible, Documentation};

/// A change: its place below the schema, and words and class for an input and for an output.
type Change = (&'static str, [&'static str; 2], [DriftClass; 2]);

/// A condition that was tightened.
fn tighter(place: &'static str, what: &'static str) -> Change {
    (place, [what; 2], [Breaking, Compatible])
}

/// A condition that was loosened.
fn looser(place: &'static str, what: &'static str) -> Change {
    (place, [what; 2], [AuthorityWidening, Breaking])
}

/// Something that counts as the worst.
fn unknown(place: &'static str) -> Change {
    let what = "schema changed in a way that cannot be compared";
    (place, [what; 2], [AuthorityWidening, Breaking])
}

fn tool(input: Option<Value>, output: Option<Value>) -> Capability {
    CapabilityDraft {
        input_schema: input.map(Into::into),
        output_schema: output.map(Into::into),
        ..draft("notes.write", Effects::WRITE_LOCAL)
    }
    .build()
    .unwrap()
}

/// Compares two schemas of a member `x`, as an input and as an output.
#[track_caller]
fn check(before: Value, after: Value, expected: &[Change]) {
    let within = |schema: &Value| Some(json!({ "properties": { "x": schema } }));
    let sides = [
        ("input", tool(within(&before), None), tool(within(&after), None)),
        ("output", tool(None, within(&before)), tool(None, within(&after))),
    ];
    for (side, (name, old, new)) in sides.iter().enumerate() {
        let drift = Drift::between(old, new);
        let found: Vec<_> =
            drift.changes().iter().map(|one| (one.place.as_str(), one.what, one.class)).collect();
        let places: Vec<_> =
            expected.iter().map(|(place, ..)| format!("{name}/properties/x{place}")).collect();
        let mut wanted: Vec<_> = places
            .iter()
            .zip(expected)
            .map(|(place, (_, what, class))| (place.as_str(), what[side], class[side]))
            .collect();
        if wanted.is_empty() && old.fingerprint() != new.fingerprint() {
            let same = "written otherwise, with the same meaning";
            wanted.push(("schemas", same, Documentation));
        }
        assert_eq!(found, wanted, "{before} -> {after}");
    }
}

#[test]
fn types_are_compared_as_sets() {
    let (narrowed, widened) = (tighter("/type", "type narrowed"), looser("/type", "type widened"));
    let kind = |kind: Value| json!({ "type": kind });
    check(kind(json!("string")), kind(json!(["string", "null"])), &[widened]);
    check(kind(json!(["string", "null"])), kind(json!("string")), &[narrowed]);
    check(kind(json!("string")), kind(json!("number")), &[narrowed, widened]);
    check(kind(json!("number")), kind(json!("integer")), &[narrowed]);
    check(kind(json!("integer")), kind(json!("number")), &[widened]);
    check(json!({}), kind(json!("string")), &[narrowed]);
    check(kind(json!("string")), json!({}), &[widened]);
    let all = json!(["array", "boolean", "null", "number", "object", "string"]);
    check(json!({}), kind(all), &[]);
    check(kind(json!(1)), kind(json!("string")), &[unknown("/type")]);
    check(kind(json!("string")), kind(json!(["string", 1])), &[unknown("/type")]);
}

#[test]
fn values_are_compared_as_sets() {
    let removed = tighter("/enum", "allowed value removed");
    let added = looser("/enum", "allowed value added");
    check(json!({}), json!({ "enum": ["a"] }), &[removed]);
    check(json!({ "enum": ["a"] }), json!({}), &[added]);
    check(json!({ "enum": ["a"] }), json!({ "enum": ["a", 1] }), &[added]);
    check(json!({ "enum": ["a", 1] }), json!({ "enum": [1] }), &[removed]);
    check(json!({ "enum": ["a"] }), json!({ "enum": ["b"] }), &[removed, added]);
    check(json!({ "enum": ["a", "b"] }), json!({ "enum": ["b", "a"] }), &[]);
    check(json!({ "enum": "a" }), json!({ "enum": ["a"] }), &[unknown("/enum")]);
}

#[test]
fn a_least_tightens_as_it_rises_and_a_most_as_it_falls() {
    let least = [
        ("minimum", "/minimum"),
        ("exclusiveMinimum", "/exclusiveMinimum"),
        ("minLength", "/minLength"),
        ("minItems", "/minItems"),
        ("minProperties", "/minProperties"),
    ];
    let most = [
        ("maximum", "/maximum"),
        ("exclusiveMaximum", "/exclusiveMaximum"),
        ("maxLength", "/maxLength"),
        ("maxItems", "/maxItems"),
        ("maxProperties", "/maxProperties"),
    ];
    let tight = |place| tighter(place, "bound added or tightened");
    let loose = |place| looser(place, "bound removed or widened");
    for (key, place) in least {
        check(json!({ key: 1 }), json!({ key: 2 }), &[tight(place)]);
        check(json!({ key: 2 }), json!({ key: 1 }), &[loose(place)]);
    }
    for (key, place) in most {
        check(json!({ key: 1 }), json!({ key: 2 }), &[loose(place)]);
        check(json!({ key: 2 }), json!({ key: 1 }), &[tight(place)]);
    }
    for (key, place) in least.into_iter().chain(most) {
        check(json!({}), json!({ key: 1 }), &[tight(place)]);
        check(json!({ key: 1 }), json!({}), &[loose(place)]);
        check(json!({ key: "1" }), json!({ key: 1 }), &[unknown(place)]);
    }
}

#[test]
fn bounds_that_doubles_cannot_tell_apart_are_not_compared() {
    let minimum = |value: Value| json!({ "minimum": value });
    check(minimum(json!(1)), minimum(json!(1.0)), &[]);
    let exact = 9_007_199_254_740_991_i64;
    check(minimum(json!(exact)), minimum(json!(9_007_199_254_740_991.0)), &[]);
    for (old, new) in [(exact + 1, exact + 2), (-exact - 1, -exact - 2)] {
        check(minimum(json!(old)), minimum(json!(new)), &[unknown("/minimum")]);
    }
}

#[test]
fn the_form_of_a_text_is_restricted_or_not_and_else_unknown() {
    for (key, place) in [
        ("const", "/const"),
        ("multipleOf", "/multipleOf"),
        ("pattern", "/pattern"),
        ("format", "/format"),
    ] {
        let restricted = tighter(place, "form of a text restricted");
        let free = looser(place, "form of a text no longer restricted");
        check(json!({}), json!({ key: "a" }), &[restricted]);
        check(json!({ key: "a" }), json!({}), &[free]);
        check(json!({ key: "a" }), json!({ key: "b" }), &[unknown(place)]);
    }
    check(json!({ "x-own": 1 }), json!({}), &[unknown("/x-own")]);
}

#[test]
fn unique_items_are_no_condition_unless_it_is_true() {
    let tight = tighter("/uniqueItems", "bound added or tightened");
    let loose = looser("/uniqueItems", "bound removed or widened");
    let unique = |value: Value| json!({ "uniqueItems": value });
    check(json!({}), unique(json!(true)), &[tight]);
    check(unique(json!(false)), unique(json!(true)), &[tight]);
    check(unique(json!(true)), json!({}), &[loose]);
    check(unique(json!(true)), unique(json!(false)), &[loose]);
    check(json!({}), unique(json!(false)), &[]);
    check(unique(json!(false)), json!({}), &[]);
    check(unique(json!("yes")), unique(json!(true)), &[unknown("/uniqueItems")]);
    check(unique(json!(true)), unique(json!(1)), &[unknown("/uniqueItems")]);
}

#[test]
fn texts_and_defaults_have_classes_of_their_own() {
    let text = ["text of the input schema changed", "text of the output schema changed"];
    for (key, place) in [
        ("description", "/description"),
        ("title", "/title"),
        ("examples", "/examples"),
        ("$comment", "/$comment"),
        ("deprecated", "/deprecated"),
    ] {
        check(json!({ key: "a" }), json!({ key: "b" }), &[(place, text, [Documentation; 2])]);
    }
    let default = ("/default", ["default changed"; 2], [Breaking; 2]);
    check(json!({ "default": 1 }), json!({ "default": 2 }), &[default]);
}

#[test]
fn true_says_as_little_as_an_empty_schema_and_false_lets_nothing_through() {
    let string = || json!({ "type": "string" });
    for (key, place, inner) in [
        ("items", "/items", "/items/type"),
        ("additionalProperties", "/additionalProperties", "/additionalProperties/type"),
    ] {
        let (narrowed, widened) = (tighter(inner, "type narrowed"), looser(inner, "type widened"));
        check(json!({ key: true }), json!({ key: string() }), &[narrowed]);
        check(json!({}), json!({ key: string() }), &[narrowed]);
        check(json!({ key: string() }), json!({ key: true }), &[widened]);
        check(json!({ key: string() }), json!({}), &[widened]);
        check(json!({ key: true }), json!({}), &[]);
        let closed = tighter(place, "closed to other arguments");
        let open = looser(place, "open to other arguments");
        check(json!({ key: {} }), json!({ key: false }), &[closed]);
        check(json!({}), json!({ key: false }), &[closed]);
        check(json!({ key: false }), json!({ key: string() }), &[open]);
        check(json!({ key: 1 }), json!({ key: {} }), &[unknown(place)]);
    }
}

#[test]
fn members_come_and_go() {
    let added = ("/properties/y", ["optional argument added", "field added"], [Compatible; 2]);
    let removed = ("/properties/y", ["argument removed", "field removed"], [Breaking; 2]);
    let y = || json!({ "properties": { "y": {} } });
    check(json!({}), y(), &[added]);
    check(
        json!({ "properties": { "z": {} } }),
        json!({ "properties": { "z": {}, "y": {} } }),
        &[added],
    );
    check(y(), json!({}), &[removed]);
    check(json!({ "properties": 1 }), y(), &[unknown("/properties")]);
    let required = ["argument made required", "field made certain"];
    let required = ("/required/y", required, [Breaking, Compatible]);
    let free = ["argument no longer required", "field no longer certain"];
    let free = ("/required/y", free, [Compatible, Breaking]);
    let new = ["required argument added", "certain field added"];
    let new = ("/required/y", new, [Breaking, Compatible]);
    let both = || json!({ "properties": { "y": {} }, "required": ["y"] });
    check(y(), both(), &[required]);
    check(both(), y(), &[free]);
    check(json!({}), both(), &[new]);
    check(json!({}), json!({ "required": ["y"] }), &[new]);
    // What was required before it was described is not told by `required`.
    check(json!({ "required": ["y"] }), both(), &[added]);
    check(json!({ "required": "y" }), json!({ "required": [] }), &[unknown("/required")]);
    check(json!({ "required": [1] }), json!({ "required": [] }), &[unknown("/required")]);
}

#[test]
fn lists_of_schemas_are_compared_one_by_one_or_by_what_was_added() {
    let (a, b) = (json!({ "type": "string" }), json!({ "type": "null" }));
    let of = |key: &str, list: &[&Value]| json!({ key: list });
    for (key, place, first) in
        [("anyOf", "/anyOf", "/anyOf/1/type"), ("allOf", "/allOf", "/allOf/1/type")]
    {
        let (narrowed, widened) = (tighter(place, "type narrowed"), looser(place, "type widened"));
        check(json!({}), of(key, &[&a]), &[narrowed]);
        check(of(key, &[&a]), json!({}), &[widened]);
        let both = [tighter(first, "type narrowed"), looser(first, "type widened")];
        check(of(key, &[&a, &b]), of(key, &[&a, &a]), &both);
        let (more, fewer) = if key == "anyOf" { (widened, narrowed) } else { (narrowed, widened) };
        check(of(key, &[&a]), of(key, &[&a, &b]), &[more]);
        check(of(key, &[&a, &b]), of(key, &[&a]), &[fewer]);
        check(of(key, &[&a, &b]), of(key, &[&b]), &[unknown(place)]);
        check(of(key, &[&b]), of(key, &[&a, &b]), &[unknown(place)]);
        check(json!({ key: {} }), of(key, &[&a]), &[unknown(place)]);
        check(of(key, &[&a]), json!({ key: {} }), &[unknown(place)]);
    }
}

#[test]
fn what_is_referred_to_is_compared_under_its_own_name() {
    let most = |n: u8| json!({ "maximum": n });
    for (key, place, bound) in [
        ("$defs", "/$defs", "/$defs/a/maximum"),
        ("definitions", "/definitions", "/definitions/a/maximum"),
    ] {
        let tight = tighter(bound, "bound added or tightened");
        check(json!({ key: { "a": most(2) } }), json!({ key: { "a": most(1) } }), &[tight]);
        // What came or went matters where it is referred to.
        check(json!({}), json!({ key: { "a": most(1) } }), &[]);
        check(json!({ key: { "a": most(1), "b": {} } }), json!({ key: { "a": most(1) } }), &[]);
        check(json!({ key: 1 }), json!({ key: {} }), &[unknown(place)]);
    }
}

const TIGHT: &str = "bound added or tightened";

/// A schema with a bound in a part that may be referred to, beside something else.
fn beside(key: &str, value: &Value, most: u8) -> Value {
    json!({ "$defs": { "a": { "maximum": most } }, key: value })
}

#[test]
fn beside_a_negation_a_change_of_what_is_referred_to_may_mean_the_opposite() {
    let bound = tighter("/$defs/a/maximum", TIGHT);
    let both = [bound, unknown("/$defs/a")];
    for key in [
        "not", "if", "oneOf", "contains", "dependentSchemas", "propertyNames",
        "unevaluatedProperties", "unevaluatedItems", "$dynamicRef",
    ] {
        check(beside(key, &json!({}), 2), beside(key, &json!({}), 1), &both);
        let deeper = json!([{ "properties": { "y": { key: {} } } }]);
        check(beside("allOf", &deeper, 2), beside("allOf", &deeper, 1), &both);
    }
    check(beside("items", &json!({}), 2), beside("items", &json!({}), 1), &[bound]);
    let [bound, worst] = both;
    let without = |most: u8| json!({ "$defs": { "a": { "maximum": most } } });
    check(beside("not", &json!({}), 2), without(1), &[bound, worst, unknown("/not")]);
    check(without(2), beside("not", &json!({}), 1), &[bound, worst, unknown("/not")]);
    // A text alone means the same either way.
    let text = ["text of the input schema changed", "text of the output schema changed"];
    let text = ("/$defs/b/title", text, [Documentation; 2]);
    let titled = |most: u8, title: &str| json!({ "$defs": { "a": { "maximum": most }, "b": { "title": title } }, "not": {} });
    check(titled(2, "x"), titled(1, "y"), &[bound, worst, text]);
}

#[test]
fn what_is_too_deep_to_be_read_may_hold_a_negation() {
    let bound = tighter("/$defs/a/maximum", TIGHT);
    let deep = |levels, wrap: fn(Value) -> Value| (0..levels).fold(json!({}), |in_, _| wrap(in_));
    let items: fn(Value) -> Value = |inner| json!({ "items": inner });
    let lists: fn(Value) -> Value = |inner| json!({ "allOf": [inner] });
    // The member `x` lies two levels down.
    for (inner, wrap, negated) in
        [(61, items, false), (62, items, true), (30, lists, false), (31, lists, true)]
    {
        let deep = deep(inner, wrap);
        let expected = [bound, unknown("/$defs/a")];
        let expected = if negated { &expected[..] } else { &expected[..1] };
        check(beside("items", &deep, 2), beside("items", &deep, 1), expected);
    }
}

#[test]
fn schemas_are_compared_down_to_a_depth() {
    let wraps: [fn(Value) -> Value; 6] = [
        |inner| json!({ "items": inner }),
        |inner| json!({ "additionalProperties": inner }),
        |inner| json!({ "properties": { "y": inner } }),
        |inner| json!({ "$defs": { "y": inner } }),
        |inner| json!({ "anyOf": [inner] }),
        |inner| json!({ "allOf": [inner] }),
    ];
    let of = |end: &str, last: fn(Value) -> Value, levels| {
        let deep = (0..levels).fold(json!({ "title": end }), |inner, _| last(inner));
        tool(None, Some((0..60).fold(deep, |inner, _| json!({ "items": inner }))))
    };
    for (n, last) in wraps.into_iter().enumerate() {
        let class = |levels| Drift::between(&of("a", last, levels), &of("b", last, levels)).class();
        assert_eq!(class(4), Some(Documentation), "{n}");
        assert_eq!(class(5), Some(Breaking), "{n}");
    }
}

#[test]
fn the_same_change_in_two_places_is_counted() {
    let of = |kind: &str| {
        let one = json!({ "type": kind });
        tool(Some(json!({ "properties": { "x": one, "y": one, "z": one, "b": {} } })), None)
    };
    let drift = Drift::between(&of("number"), &of("integer"));
    assert_eq!(drift.summary(), "breaking: type narrowed (3 times)");
    let mut titled = of("integer").spec().clone();
    titled.title = Some("T".to_owned());
    let drift = Drift::between(&of("number"), &titled.build().unwrap());
    assert_eq!(drift.summary(), "breaking: type narrowed (3 times), title changed");
}

#[test]
fn fields_of_a_capability_are_compared_one_by_one() {
    let base = || draft("notes.write", Effects::WRITE_LOCAL);
    let names = |all: &[&str]| all.iter().map(|name| (*name).to_owned()).collect();
    let only = |all: &[&str]| {
        AllowedAgents::Only(all.iter().map(|name| AgentId::parse(*name).unwrap()).collect())
    };
    let summary = |before: CapabilityDraft, after: CapabilityDraft| {
        Drift::between(&before.build().unwrap(), &after.build().unwrap()).summary()
    };
    let fields = |all: &[&str]| CapabilityDraft { allowed_fields: names(all), ..base() };
    assert_eq!(summary(fields(&[]), fields(&["a"])), "breaking: shown fields restricted");
    assert_eq!(summary(fields(&["a"]), fields(&[])), "authority widening: every field shown");
    assert_eq!(
        summary(fields(&["a"]), fields(&["a", "b"])),
        "authority widening: shown field added"
    );
    assert_eq!(summary(fields(&["a", "b"]), fields(&["a"])), "breaking: shown field removed");
    let agents = |agents| CapabilityDraft { agents, ..base() };
    assert_eq!(
        summary(agents(AllowedAgents::Any), agents(only(&["a"]))),
        "breaking: agents restricted"
    );
    assert_eq!(
        summary(agents(only(&["a"])), agents(AllowedAgents::Any)),
        "authority widening: open to every agent"
    );
    assert_eq!(
        summary(agents(only(&["a"])), agents(only(&["b"]))),
        "authority widening: agent added, agent removed"
    );
    let scopes = |all: &[&str]| CapabilityDraft { identity_scopes: names(all), ..base() };
    assert_eq!(summary(scopes(&[]), scopes(&["a"])), "authority widening: identity scope added");
    assert_eq!(summary(scopes(&["a"]), scopes(&[])), "compatible: identity scope no longer needed");
    let repeated = |idempotent| CapabilityDraft { idempotent, ..base() };
    assert_eq!(
        summary(repeated(false), repeated(true)),
        "authority widening: claims that it can be repeated"
    );
    assert_eq!(
        summary(repeated(true), repeated(false)),
        "compatible: no longer says that it can be repeated"
    );
    let timeout = |timeout_ms| CapabilityDraft { timeout_ms, ..base() };
    assert_eq!(summary(timeout(1_000), timeout(1_001)), "compatible: longer timeout");
    assert_eq!(summary(timeout(1_001), timeout(1_000)), "breaking: shorter timeout");
    let retries = |max_retries| CapabilityDraft { max_retries, ..base() };
    assert_eq!(summary(retries(1), retries(2)), "authority widening: more attempts");
    assert_eq!(summary(retries(2), retries(1)), "compatible: fewer attempts");
    let output =
        |schema: Option<Value>| CapabilityDraft { output_schema: schema.map(Into::into), ..base() };
    assert_eq!(summary(output(None), output(Some(json!({})))), "compatible: output schema added");
    let input =
        |schema: Option<Value>| CapabilityDraft { input_schema: schema.map(Into::into), ..base() };
    assert_eq!(summary(input(None), input(Some(json!({})))), "breaking: input schema added");
}
