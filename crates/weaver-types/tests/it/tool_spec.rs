//! `ToolSpec`: the pattern, the bounds, the defaults and the wire names.

use serde_json::{Value, json};
use weaver_types::{
    AgentId, AllowedAgents, Effects, SafetyClass, TelemetrySettings, ToolReturnSchema, ToolSpec,
    ToolSpecError,
};

fn refused(spec: ToolSpec) -> &'static str {
    spec.build().unwrap_err().code()
}

#[test]
fn the_id_matches_the_pattern_or_is_refused() {
    for id in ["ab", "a.", "a-_.9", "notes.search", "a_b-c.d2"] {
        assert!(ToolSpec::new(id, "a tool").build().is_ok(), "{id}");
    }
    let long = "a".repeat(513);
    for id in ["", "a", "A.b", "1a", ".a", "_a", "-a", "aB", "a b", "a\n", "a/b", "ä.b", "aé"] {
        assert_eq!(refused(ToolSpec::new(id, "a tool")), "tool_spec.pattern", "{id:?}");
    }
    assert_eq!(refused(ToolSpec::new(long, "a tool")), "id.malformed");
}

#[test]
fn retries_and_timeout_stay_within_their_bounds() {
    let with = |max_retries, timeout_ms| ToolSpec {
        max_retries,
        timeout_ms,
        ..ToolSpec::new("notes.search", "Search notes")
    };
    for (retries, timeout) in [(0, 100), (5, 3_600_000)] {
        let built = with(retries, timeout).build().unwrap();
        assert_eq!((built.spec().max_retries, built.spec().timeout_ms), (retries, timeout));
    }
    for (retries, timeout) in [(6, 5_000), (255, 5_000), (2, 0), (2, 99), (2, 3_600_001)] {
        assert_eq!(
            refused(with(retries, timeout)),
            "capability.out_of_bounds",
            "{retries} {timeout}"
        );
    }
}

#[test]
fn what_is_left_out_has_the_kernels_defaults() {
    let least: ToolSpec =
        serde_json::from_value(json!({ "tool_id": "notes.search", "name": "Search" })).unwrap();
    assert_eq!(least, ToolSpec::new("notes.search", "Search"));
    assert_eq!(least.description, "");
    assert_eq!((least.safety_class, least.effects), (SafetyClass::ReadOnly, None));
    assert!(least.idempotent.is_none() && least.emit_trace && least.emit_metric);
    assert!(least.args_schema.is_empty() && least.requires_permission.is_empty());
    assert_eq!(least.returns_schema, ToolReturnSchema::default());
    assert_eq!((least.max_retries, least.timeout_ms), (2, 5_000));
    let built = least.build().unwrap();
    assert_eq!(built.spec().agents, AllowedAgents::Any, "an empty list means every agent");
    assert_eq!(built.spec().effects, Effects::READ_LOCAL);
    assert_eq!(built.spec().output_schema, None);
}

fn full() -> Value {
    json!({
        "tool_id": "mail.send",
        "name": "Send mail",
        "description": "Sends a mail.",
        "safety_class": "network",
        "effects": { "impact": "write", "world": "open" },
        "idempotent": false,
        "args_schema": [
            { "name": "to", "type": "string", "required": true, "description": "whom" },
            { "name": "copies", "type": "integer", "required": false, "description": "" }
        ],
        "returns_schema": { "type": "object", "description": "a receipt" },
        "requires_permission": ["mail"],
        "allowlisted_agents": ["planner", "writer"],
        "emit_trace": false,
        "emit_metric": false,
        "max_retries": 0,
        "timeout_ms": 100
    })
}

#[test]
fn the_wire_names_are_the_kernels() {
    let spec: ToolSpec = serde_json::from_value(full()).unwrap();
    assert_eq!(serde_json::to_value(&spec).unwrap(), full());
    let built = spec.build().unwrap();
    let spec = built.spec();
    let agents = ["planner", "writer"].map(|name| AgentId::parse(name).unwrap());
    assert_eq!(spec.agents, AllowedAgents::Only(agents.into()));
    assert_eq!(spec.permissions, ["mail".to_owned()].into());
    assert_eq!(spec.emit, TelemetrySettings { trace: false, metric: false });
    assert_eq!(
        spec.output_schema,
        Some(json!({ "type": "object", "description": "a receipt" }).into())
    );
    let wanted = json!({
        "type": "object",
        "required": ["to"],
        "properties": {
            "to": { "type": "string", "description": "whom" },
            "copies": { "type": "integer" }
        }
    });
    assert_eq!(spec.input_schema, Some(wanted.into()));
}

#[test]
fn an_unknown_field_is_refused() {
    let mut wrong = full();
    wrong["allowed_agents"] = json!([]);
    let error = serde_json::from_value::<ToolSpec>(wrong).unwrap_err();
    assert!(error.to_string().contains("allowed_agents"), "{error}");
}

#[test]
fn effects_outside_of_the_declared_class_are_refused() {
    let spec = ToolSpec {
        effects: Some(Effects::WRITE_OPEN),
        ..ToolSpec::new("notes.search", "Search notes")
    };
    let wanted = ToolSpecError::Class {
        tool: "notes.search".to_owned(),
        found: SafetyClass::Network,
        declared: SafetyClass::ReadOnly,
    };
    assert_eq!(spec.build().unwrap_err(), wanted);
    assert_eq!(wanted.code(), "tool_spec.class");
    let agrees = ToolSpec::new("notes.search", "Search notes").with_effects(Effects::WRITE_OPEN);
    assert_eq!(agrees.build().unwrap().class(), SafetyClass::Network);
}

#[test]
fn a_class_alone_means_the_most_dangerous_effects_in_it() {
    for (class, effects) in [
        (SafetyClass::ReadOnly, Effects::READ_LOCAL),
        (SafetyClass::LocalWrite, Effects::WRITE_LOCAL),
        (SafetyClass::Network, Effects::WRITE_OPEN),
        (SafetyClass::Destructive, Effects::UNDECLARED),
    ] {
        let spec = ToolSpec { safety_class: class, ..ToolSpec::new("a.tool", "A tool") };
        assert_eq!(spec.build().unwrap().spec().effects, effects);
    }
}

/// Otherwise a write whose answer was lost would be made again, and so done twice.
#[test]
fn what_writes_is_repeated_only_where_its_declaration_says_so() {
    let built = |spec: ToolSpec| spec.build().unwrap().spec().idempotent;
    assert!(built(ToolSpec::new("notes.search", "Search")));
    let write = ToolSpec::new("orders.refund", "Refund").with_effects(Effects::WRITE_OPEN);
    assert!(!built(write.clone()));
    assert!(built(ToolSpec { idempotent: Some(true), ..write }));
    let read: ToolSpec = serde_json::from_value(json!({
        "tool_id": "orders.refund", "name": "Refund", "safety_class": "local_write"
    }))
    .unwrap();
    assert!(!built(read));
}
