use serde_json::json;

use super::*;

#[test]
fn references_that_double_are_refused() {
    let mut defs = Map::new();
    for n in 0..60 {
        let next = json!({ "$ref": format!("#/$defs/a{}", n + 1) });
        defs.insert(format!("a{n}"), json!({ "allOf": [next, next] }));
    }
    defs.insert("a60".to_owned(), json!(true));
    assert!(expanded_nodes(&json!({ "$ref": "#/$defs/a0", "$defs": defs })).is_err());
}

#[test]
fn one_place_written_in_two_ways_is_one_place() {
    let twice = json!({ "allOf": [{ "$ref": "#/%24defs/a" }, { "$ref": "#/$defs/%61" }] });
    assert!(expanded_nodes(&json!({ "$defs": { "a": twice } })).is_err());
    let doubling: Map<String, Value> = (0..30)
        .map(|n| {
            let next = json!({ "$ref": format!("#/%24defs/a{}", n + 1) });
            (format!("a{n}"), json!({ "allOf": [next, next] }))
        })
        .chain([("a30".to_owned(), json!({}))])
        .collect();
    assert!(expanded_nodes(&json!({ "$defs": doubling })).is_err());
}

#[test]
fn a_walk_ends_with_the_first_node_too_many() {
    let wide = vec![json!(0); 49_000];
    let again = vec![json!({ "$ref": "#/$defs/b" }); 6_500];
    // One reference back, after which nothing behind a reference is known in advance.
    let schema = json!({
        "$defs": { "a": { "$ref": "#" }, "b": wide },
        "items": { "prefixItems": again },
    });
    let mut estimate = CostEstimate::new(&schema);
    let walked = estimate.walk_value(&schema, WalkPosition { depth: 0, single_visit: true });
    assert_eq!((walked, estimate.nodes), (Err(SchemaFault::TooManyNodes), MAX_NODES + 1));
}

#[test]
fn recursion_that_visits_a_value_twice_is_refused() {
    let twice = json!({ "properties": { "c": { "allOf": [{ "$ref": "#" }, { "$ref": "#" }] } } });
    assert!(expanded_nodes(&twice).is_err());
    let beside = json!({
        "properties": { "c": { "$ref": "#" } },
        "patternProperties": { "c": { "$ref": "#" } },
    });
    assert!(expanded_nodes(&beside).is_err());
    let sibling = json!({
        "$defs": { "n": { "properties": {
            "c": { "$ref": "#/$defs/n", "properties": { "c": { "$ref": "#/$defs/n" } } },
        } } },
        "$ref": "#/$defs/n",
    });
    assert!(expanded_nodes(&sibling).is_err());
}

#[test]
fn trees_and_filters_pass() {
    let tree =
        json!({ "properties": { "children": { "type": "array", "items": { "$ref": "#" } } } });
    assert!(expanded_nodes(&tree).is_ok());
    let filter = json!({
        "$defs": { "f": { "type": "object", "properties": {
            "and": { "items": { "$ref": "#/$defs/f" } },
            "or": { "items": { "$ref": "#/$defs/f" } },
            "not": { "$ref": "#/$defs/f" },
        } } },
        "properties": { "filter": { "$ref": "#/$defs/f" } },
    });
    assert_eq!(expanded_nodes(&filter).map(|nodes| nodes < 100), Ok(true));
}

#[test]
fn many_patterns_and_large_schemas_are_refused() {
    let many: Map<String, Value> =
        (0..300).map(|n| (format!("p{n}"), json!({ "pattern": "a" }))).collect();
    assert!(expanded_nodes(&json!({ "properties": many })).is_err());
    assert!(expanded_nodes(&json!({ "description": "x".repeat(300_000) })).is_err());
}

/// A schema inside the given number of nested lists.
fn nested(lists: usize) -> Value {
    (0..lists).fold(json!(true), |inner, _| json!([inner]))
}

#[test]
fn every_schema_list_and_reference_is_a_node() {
    for (schema, nodes) in [
        (json!(true), 1),
        (json!({}), 1),
        (json!({ "type": "object", "title": "x" }), 3),
        (json!({ "items": {} }), 2),
        (json!({ "allOf": [true, {}] }), 4),
        (json!({ "pattern": "a" }), 2),
        (json!({ "pattern": { "a": 1 } }), 3),
        (json!({ "properties": {} }), 2),
        (json!({ "properties": { "pattern": {}, "b": true } }), 4),
        (json!({ "patternProperties": { "a": {} } }), 3),
        (json!({ "$ref": "#" }), 2),
        (json!({ "$ref": "#/$defs/a", "$defs": { "a": { "items": {} } } }), 6),
        (json!({ "$defs": { "a": {} }, "x": { "$ref": "#/$defs/a" } }), 5),
    ] {
        assert_eq!(expanded_nodes(&schema), Ok(nodes), "{schema}");
    }
}

#[test]
fn a_schema_has_at_most_256_kib() {
    let sized = |bytes: usize| {
        let around = json!({ "title": "" }).to_string().len();
        expanded_nodes(&json!({ "title": "x".repeat(bytes - around) })).err()
    };
    assert_eq!((sized(262_144), sized(262_145)), (None, Some(SchemaFault::TooLarge)));
}

#[test]
fn a_schema_has_at_most_200_patterns_of_both_sorts_together() {
    let patterns = |plain: usize, names: usize| {
        let plain: Vec<Value> = (0..plain).map(|_| json!({ "pattern": "a" })).collect();
        let names: Map<String, Value> = (0..names).map(|n| (n.to_string(), json!({}))).collect();
        expanded_nodes(&json!({ "oneOf": plain, "patternProperties": names })).err()
    };
    let refused = Some(SchemaFault::TooManyPatterns);
    assert_eq!([patterns(200, 0), patterns(0, 200), patterns(120, 80)], [None; 3]);
    assert_eq!([patterns(201, 0), patterns(0, 201), patterns(120, 81)], [refused; 3]);
}

#[test]
fn a_schema_nests_at_most_64_levels() {
    let deep = Some(SchemaFault::TooDeep);
    assert_eq!(
        (expanded_nodes(&nested(64)).err(), expanded_nodes(&nested(65)).err()),
        (None, deep)
    );
    let objects = |levels: usize| {
        expanded_nodes(&(0..levels).fold(json!({}), |inner, _| json!({ "items": inner }))).err()
    };
    assert_eq!((objects(64), objects(65)), (None, deep));
    // Properties are a level of their own.
    let properties = |levels: usize| {
        let fold = |inner, _| json!({ "properties": { "a": inner } });
        expanded_nodes(&(0..levels).fold(json!({}), fold)).err()
    };
    assert_eq!((properties(32), properties(33)), (None, deep));
}

#[test]
fn a_schema_has_at_most_50_000_nodes_with_its_references_written_out() {
    let wide = |items: usize| expanded_nodes(&json!({ "allOf": vec![json!(true); items] }));
    assert_eq!(wide(49_998), Ok(50_000));
    assert_eq!(wide(49_999), Err(SchemaFault::TooManyNodes));
    let reference = json!({ "$ref": "#/$defs/wide" });
    let twice = |items: usize| {
        expanded_nodes(&json!({
            "$defs": { "wide": vec![json!(true); items] },
            "allOf": vec![reference.clone(); 3],
        }))
    };
    assert!(twice(12_000).is_ok());
    assert_eq!(twice(13_000), Err(SchemaFault::TooManyNodes));
}

#[test]
fn a_reference_leads_to_a_place_that_is_there() {
    let to = |target: &str| expanded_nodes(&json!({ "$defs": { "a": {} }, "$ref": target })).err();
    assert_eq!((to("#/$defs/a"), to("#/$defs/b")), (None, Some(SchemaFault::DanglingReference)));
    for elsewhere in
        ["https://example.com/s", "#a", "a", "https://json-schema.org/draft-07/schema#"]
    {
        assert_eq!(to(elsewhere), Some(SchemaFault::DanglingReference), "{elsewhere}");
    }
    let named = json!({ "properties": { "a": { "$dynamicRef": "#/nowhere" } } });
    assert_eq!(expanded_nodes(&named), Err(SchemaFault::DanglingReference));
}

#[test]
fn each_reference_is_a_level_deeper() {
    let chain = |links: usize| {
        let mut defs: Map<String, Value> = (0..links)
            .map(|n| (format!("a{n}"), json!({ "$ref": format!("#/$defs/a{}", n + 1) })))
            .collect();
        defs.insert(format!("a{links}"), json!(true));
        expanded_nodes(&json!({ "$defs": defs })).err()
    };
    assert_eq!((chain(62), chain(63)), (None, Some(SchemaFault::TooDeep)));
}

#[test]
fn one_way_back_is_a_tree_and_two_are_tangled_where_a_value_is_visited_again() {
    let back = || json!({ "$ref": "#" });
    let tangled = Some(SchemaFault::AmbiguousRecursion);
    for (schema, fault) in [
        (json!({ "properties": { "a": back(), "b": back() } }), None),
        (json!({ "items": back(), "additionalProperties": back() }), None),
        (json!({ "anyOf": [back(), { "type": "null" }] }), None),
        (json!({ "anyOf": [back(), back()] }), tangled),
        (json!({ "properties": { "a": back() }, "not": back() }), tangled),
        (json!({ "properties": { "a": back(), "b": { "if": back() } } }), tangled),
        (json!({ "properties": { "not": back(), "if": back() } }), None),
        (json!({ "x-own": back(), "items": back() }), None),
        (json!({ "items": { "$ref": "#", "x": {} }, "properties": { "a": back() } }), tangled),
        (json!({ "items": { "$ref": "#", "x": 1 }, "properties": { "a": back() } }), None),
    ] {
        assert_eq!(expanded_nodes(&schema).err(), fault, "{schema}");
    }
    for key in [
        "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "contains", "prefixItems",
        "patternProperties", "propertyNames", "dependentSchemas", "dependencies",
        "unevaluatedItems", "unevaluatedProperties", "additionalItems",
    ] {
        let schema = json!({ key: { "x": back() }, "items": back() });
        assert_eq!(expanded_nodes(&schema).err(), tangled, "{key}");
    }
}
