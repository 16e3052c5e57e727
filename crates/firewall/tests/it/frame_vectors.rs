//! What agent-kernel (Python) 0.12.0 makes of the same results. Where we differ is asserted here
//! and listed in the table of deviations.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};
use weaver_firewall::{FrameBudget, MASK};
use weaver_types::{Constraints, RawResult, ResponseMode};

use crate::support::{FIREWALL, capability, names, spec, warned};

static RECORDED: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../data/agent_kernel_frames.json")).unwrap()
});

fn cases(id: &str) -> Vec<(Value, Value)> {
    let cases = RECORDED[id].as_array().unwrap();
    cases.iter().map(|case| (case[0].clone(), case[1].clone())).collect()
}

/// A value as the rows of a table.
fn rows(value: &Value) -> Value {
    let row = |item: &Value| {
        if item.is_object() { item.clone() } else { json!({ "value": item }) }
    };
    match value {
        Value::Array(items) => items.iter().map(row).collect(),
        other => json!([row(other)]),
    }
}

/// The same with our marker of a cut in place of theirs.
fn marked(rows: Value) -> Value {
    let theirs = "[REDACTED: nested data beyond depth limit]";
    let ours = rows.to_string().replace(theirs, "[cut: deeper than 3 levels]");
    serde_json::from_str(&ours).unwrap()
}

fn table(value: &Value, allowed: &[&str]) -> Value {
    let capability = capability(allowed);
    let mut spec = spec(ResponseMode::Table);
    spec.capability = &capability;
    json!(FIREWALL.frame(&RawResult::json(value.clone()), &spec).table)
}

fn summary(value: &Value) -> Vec<String> {
    FIREWALL.frame(&RawResult::json(value.clone()), &spec(ResponseMode::Summary)).facts
}

/// Cases: R04.
#[test]
fn values_are_redacted_at_every_depth() {
    for (at, (value, output)) in cases("R04").into_iter().enumerate() {
        let wanted = match at {
            // What was cut is no mask, and says how deep the cut is.
            3 | 5 | 6 => marked(rows(&output)),
            _ => rows(&output),
        };
        assert_eq!(table(&value, &[]), wanted, "R04[{at}]");
    }
}

/// Cases: R05.
#[test]
fn only_allowed_fields_are_shown() {
    for (at, (value, output)) in cases("R05").into_iter().enumerate() {
        let wanted = match at {
            // The list inside a wrapper is the rows.
            2 => json!([{ "id": 1 }]),
            // What has no fields cannot have an allowed one.
            3 => json!([]),
            _ => rows(&output),
        };
        assert_eq!(table(&value, &["id", "note"]), wanted, "R05[{at}]");
    }
}

/// Facts without their order, and keys in the order of their names.
fn unordered(facts: &[String]) -> Vec<String> {
    let mut facts: Vec<String> = facts
        .iter()
        .map(|fact| match fact.strip_prefix("Top keys: ") {
            Some(keys) => {
                let mut keys: Vec<&str> = keys.split(", ").collect();
                keys.sort_unstable();
                format!("Top keys: {}", keys.join(", "))
            }
            None => fact.clone(),
        })
        .collect();
    facts.sort();
    facts
}

/// Recorded facts, with JSON's words in place of Python's.
fn strings(value: &Value) -> Vec<String> {
    let in_json = |fact: &str| {
        let fact = fact.replace(": dict with", ": object with").replace(": True=", ": true=");
        let fact = fact.replace(", False=", ", false=");
        match fact.rsplit_once(": ") {
            Some((name, "None")) => format!("{name}: null"),
            Some((name, "True")) => format!("{name}: true"),
            Some((name, "False")) => format!("{name}: false"),
            _ => fact,
        }
    };
    value.as_array().unwrap().iter().map(|fact| in_json(fact.as_str().unwrap())).collect()
}

/// Cases: S01.
#[test]
fn rows_are_summed_up() {
    for (at, (value, output)) in cases("S01").into_iter().enumerate() {
        let facts = summary(&value);
        if at == 5 {
            // Keys of equal count stand in the order of their names, so other ten are first.
            assert_eq!(facts[1], "Top keys: k0, k1, k10, k11, k2, k3, k4, k5, k6, k7");
            assert_eq!(facts.len(), output.as_array().unwrap().len());
            continue;
        }
        assert_eq!(unordered(&facts), unordered(&strings(&output)), "S01[{at}]");
        assert_eq!(facts[0], output[0], "S01[{at}]");
    }
}

/// Cases: S02.
#[test]
fn objects_are_summed_up() {
    for (at, (value, output)) in cases("S02").into_iter().enumerate() {
        let mut wanted = strings(&output);
        if at == 0 {
            // Fields stand in the order of their names, and a cut says that it is one.
            for fact in &mut wanted {
                if fact.starts_with("a: xx") {
                    *fact = format!("a: {}…", "x".repeat(79));
                }
            }
            wanted[1..].sort();
        }
        assert_eq!(summary(&value), wanted, "S02[{at}]");
    }
}

/// Cases: S04.
#[test]
fn a_cut_summary_says_how_much_is_missing() {
    // The number of facts is no setting; the budget of characters cuts them the same way.
    let (value, output) = cases("S01").swap_remove(0);
    let total = output.as_array().unwrap().len();
    let mut spec = spec(ResponseMode::Summary);
    let floor = FIREWALL.min_chars(&spec);
    for more in 60..400 {
        let max_chars = u32::try_from(floor + more).unwrap();
        spec.budget = FrameBudget { max_chars, ..FrameBudget::default() };
        let facts = FIREWALL.frame(&RawResult::json(value.clone()), &spec).facts;
        let Some(last) = facts.last() else { continue };
        let shown = facts.len() - 1;
        if shown + 1 < total || last.starts_with('…') {
            let missing = total - shown;
            assert_eq!(*last, format!("… ({missing} more facts omitted; full data via handle)"));
        }
    }
}

/// Cases: F01.
#[test]
fn frames_are_as_recorded() {
    for (at, (input, output)) in cases("F01").into_iter().enumerate() {
        let mode = serde_json::from_value(input["mode"].clone()).unwrap();
        let mut spec = spec(mode);
        let number = |part: &str, name: &str| {
            input[part].get(name).and_then(Value::as_u64).map(|n| u32::try_from(n).unwrap())
        };
        let own = FrameBudget::default();
        spec.budget = FrameBudget {
            max_rows: number("budgets", "max_rows").unwrap_or(own.max_rows),
            max_fields: number("budgets", "max_fields").unwrap_or(own.max_fields),
            max_chars: number("budgets", "max_chars").unwrap_or(own.max_chars),
            ..own
        };
        let allowed = input["constraints"].get("allowed_fields").and_then(Value::as_array);
        let allowed =
            allowed.map(|list| names(&list.iter().filter_map(Value::as_str).collect::<Vec<_>>()));
        // Raw for somebody who is no admin is what the kernel does not ask for.
        let lowered = input.get("roles") == Some(&json!(["reader"]));
        let constraints = Constraints {
            max_rows: number("constraints", "max_rows"),
            allowed_fields: allowed,
            mode: lowered.then_some(ResponseMode::Summary),
            ..Constraints::default()
        };
        spec.constraints = &constraints;
        let frame = FIREWALL.frame(&RawResult::json(input["data"].clone()), &spec);
        let (mut facts, mut table) = (output["facts"].clone(), output["table"].clone());
        match at {
            // A constraint never widens a budget.
            1 => table = json!([{ "a": 0 }, { "a": 1 }]),
            // Raw is raw, says so, and says that it is over its budget.
            7 | 8 => {
                assert_eq!(frame.raw.as_ref(), Some(&input["data"]));
                assert_eq!(warned(&frame, "raw_unredacted"), Some(1));
                assert_eq!(warned(&frame, "raw_over_budget"), (at == 8).then_some(1));
            }
            // The budget bounds the whole frame, ids and time included, so nothing fits into 200.
            10 => facts = json!([]),
            _ => assert_eq!(frame.raw, None),
        }
        assert_eq!(frame.mode.as_str(), output["mode"], "F01[{at}]");
        assert_eq!((json!(frame.facts), json!(frame.table)), (facts, table), "F01[{at}]");
    }
}

/// Cases: K01.
#[test]
fn every_mode_of_one_result() {
    let (rows, output) = cases("K01").swap_remove(0);
    let narrow = capability(&["id", "status"]);
    for mode in [ResponseMode::Summary, ResponseMode::Table, ResponseMode::HandleOnly] {
        let wanted = &output[mode.as_str()];
        let mut spec = spec(mode);
        spec.capability = &narrow;
        let frame = FIREWALL.frame(&RawResult::json(rows.clone()), &spec);
        assert_eq!(frame.mode, mode);
        assert_eq!(json!(frame.facts), wanted["facts"]);
        assert_eq!(json!(frame.table.len()), wanted["rows"]);
        assert_eq!(json!(frame.table.iter().take(1).collect::<Vec<_>>()), wanted["row0"]);
        // One warning for a kind, not one for a field of a row.
        assert!(frame.warnings.len() <= 1 && wanted["warnings"] == 36);
    }
}

/// Cases: X08.
#[test]
fn odd_results_are_no_error_and_are_redacted() {
    for (value, facts) in [
        (json!({ "1": 2 }), json!(["Keys: 1", "1: 2"])),
        (
            json!([{ "a": 1 }, 5]),
            json!([
                "Total rows: 2",
                "Rows that are not objects: 1",
                "Top keys: a",
                "a: min=1.00, max=1.00, avg=1.00"
            ]),
        ),
        (
            json!([{ "1": 2 }]),
            json!(["Total rows: 1", "Top keys: 1", "1: min=2.00, max=2.00, avg=2.00"]),
        ),
        (json!(["a@b.com", "x"]), json!(["List of 2 items", MASK, "x"])),
        (json!([1]), json!(["List of 1 items", "1"])),
    ] {
        assert_eq!(json!(summary(&value)), facts, "{value}");
    }
}

/// contextweaver (Python) forgets the label of a result that its firewall has treated.
#[test]
fn a_frame_keeps_its_label() {
    let spec = spec(ResponseMode::Summary);
    assert_eq!(FIREWALL.frame(&RawResult::text("x"), &spec).label, spec.label);
}
