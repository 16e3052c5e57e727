//! Several globs over one capability: the stricter of both counts, field by field.

use serde_json::{Value, json};
use weaver_types::{
    CallId, Capability, CapabilityDraft, Confidentiality, Effects, Integrity, JsonPointer, Label,
    RecordIdentity, Rung, SensitivityTag, SinkKind,
};

use crate::support::{draft, foreign, set};

/// The capability `ab` under what `a*` and `*b` say of it, in both orders.
fn joined(one: &str, other: &str) -> [Capability; 2] {
    [(one, other), (other, one)].map(|(a, b)| {
        let contracts = format!("[capabilities.\"a*\"]\n{a}\n[capabilities.\"*b\"]\n{b}\n");
        set("", &contracts).apply_contract(&foreign("ab", Effects::READ_LOCAL)).unwrap()
    })
}

/// One field of what comes out, the same in both orders.
#[track_caller]
fn field<T: PartialEq + std::fmt::Debug>(
    one: &str,
    other: &str,
    of: impl Fn(&Capability) -> T,
) -> T {
    let [forth, back] = joined(one, other);
    let (forth, back) = (of(&forth), of(&back));
    assert_eq!(forth, back, "{one} and {other}");
    forth
}

fn pointers(places: &[&str]) -> Vec<JsonPointer> {
    places.iter().map(|at| JsonPointer::parse(at).unwrap()).collect()
}

#[test]
fn records_count_where_all_name_them_alike() {
    let records = |one: &str, other: &str| field(one, other, |c| c.spec().records.clone());
    let (ids, keys) = ("records = { id = \"id\" }", "records = { id = \"key\" }");
    let named = Some(RecordIdentity { id: "id".to_owned(), name: None });
    assert_eq!(records(ids, ids), named);
    assert_eq!(records(ids, ""), named);
    assert_eq!(records(ids, keys), None);
    assert_eq!(records("", ""), None);
}

#[test]
fn what_repeats_must_be_said_to_repeat_by_all() {
    let idempotent = |one: &str, other: &str| field(one, other, |c| c.spec().idempotent);
    let (yes, no) = ("idempotent = true", "idempotent = false");
    assert!(idempotent(yes, yes) && idempotent(yes, ""));
    assert!(!idempotent(yes, no) && !idempotent(no, no) && !idempotent("", ""));
}

#[test]
fn sets_of_what_is_let_through_are_cut_and_sets_of_what_is_asked_for_grow() {
    let of = |name: &str, all: &str| format!("{name} = {all}");
    let texts = |name: &'static str, pick: fn(&Capability) -> Value| {
        field(&of(name, "[\"x\", \"y\"]"), &of(name, "[\"y\", \"z\"]"), pick)
    };
    assert_eq!(texts("allowed_fields", |c| json!(c.spec().allowed_fields)), json!(["y"]));
    assert_eq!(texts("agents", |c| json!(c.spec().agents)), json!({ "only": ["y"] }));
    assert_eq!(texts("tags", |c| json!(c.spec().tags)), json!(["x", "y", "z"]));
    assert_eq!(texts("permissions", |c| json!(c.spec().permissions)), json!(["x", "y", "z"]));
    let kinds = |name: &'static str, pick: fn(&Capability) -> Value| {
        field(&of(name, "[\"email\", \"phone\"]"), &of(name, "[\"phone\"]"), pick)
    };
    assert_eq!(kinds("reveal", |c| json!(c.spec().reveal)), json!(["phone"]));
    assert_eq!(kinds("accepts_masked", |c| json!(c.spec().accepts_masked)), json!(["phone"]));
    let critical = field("critical_arguments = \"/a\"", "critical_arguments = \"/b\"", |c| {
        c.spec().critical_arguments.iter().cloned().collect::<Vec<_>>()
    });
    assert_eq!(critical, pointers(&["/a", "/b"]));
}

#[test]
fn receivers_are_those_that_any_glob_names() {
    let sends_to = |one: &str, other: &str| {
        field(one, other, |c| c.spec().sends_to.iter().cloned().collect::<Vec<_>>())
    };
    let (both, one) = ("sends_to = [\"/to\", \"/cc\"]", "sends_to = \"/cc\"");
    assert_eq!(sends_to(both, one), pointers(&["/cc", "/to"]), "a receiver of one is a receiver");
    assert_eq!(sends_to("sends_to = \"/to\"", one), pointers(&["/cc", "/to"]));
    assert_eq!(sends_to(both, both), pointers(&["/cc", "/to"]));
    // Where one does not say it, every call may go somewhere.
    assert_eq!(sends_to(both, ""), pointers(&[]));
}

#[test]
fn labels_and_bounds_take_the_stricter_value() {
    let sink = field("sink = \"external_send\"", "sink = \"payment\"", Capability::sink);
    assert_eq!(sink, SinkKind::ExternalSend.max(SinkKind::Payment));
    let timeout = field("timeout_ms = 500", "timeout_ms = 900", |c| c.spec().timeout_ms);
    assert_eq!(timeout, 500);
    let clearance =
        field("clearance = \"public\"", "clearance = \"restricted\"", |c| c.spec().clearance);
    assert_eq!(clearance, Confidentiality::Public);
    let (low, high) = (
        "output = { confidentiality = \"internal\", integrity = \"trusted\" }",
        "output = { confidentiality = \"confidential\", integrity = \"untrusted\" }",
    );
    let label = |one: &str, other: &str| {
        field(one, other, |c| {
            (c.spec().output_label.confidentiality, c.spec().output_label.integrity)
        })
    };
    assert_eq!(label(low, high), (Confidentiality::Confidential, Integrity::Untrusted));
    assert_eq!(label(low, low), (Confidentiality::Internal, Integrity::Trusted));
    let sensitivity = field("sensitivity = \"pii\"", "sensitivity = \"secrets\"", |c| {
        c.spec().sensitivity.iter().copied().collect::<Vec<_>>()
    });
    assert_eq!(sensitivity.len(), 2);
    assert!(sensitivity.contains(&SensitivityTag::Pii));
}

#[test]
fn only_an_output_that_is_trusted_loses_its_taints() {
    let call = CallId::parse("call_1").unwrap();
    let output_label = Label::undeclared_output().tainted_by(&call);
    let tool = CapabilityDraft { output_label, ..draft("x", Effects::READ_LOCAL) }.build().unwrap();
    let taints = |output: &str| {
        let contracts = format!("[capabilities.\"x\"]\neffects = \"read_local\"\n{output}\n");
        set("", &contracts).apply_contract(&tool).unwrap().spec().output_label.taints.len()
    };
    assert_eq!(taints(""), 1);
    assert_eq!(taints("output = { confidentiality = \"internal\" }"), 1);
    assert_eq!(taints("output = { integrity = \"trusted\" }"), 0);
}

#[test]
fn a_rung_is_lowered_only_where_every_glob_with_a_rung_says_so() {
    let rung = |one: &str, other: &str| {
        let contracts = format!("[capabilities.\"a*\"]\n{one}\n[capabilities.\"*b\"]\n{other}\n");
        let effective = set("", &contracts).apply_contract(&foreign("ab", Effects::READ_LOCAL));
        effective.map(|c| c.rung()).map_err(|error| error.code())
    };
    let lowered = "effects = \"write_open\"\nrung = \"L1\"\nlower_rung = true";
    let silent = "rung = \"L1\"";
    assert_eq!(rung(lowered, lowered), Ok(Rung::L1));
    assert_eq!(rung(lowered, ""), Ok(Rung::L1));
    assert_eq!(rung(lowered, silent), Err("policy.contract_lowers"));
    assert_eq!(rung(silent, lowered), Err("policy.contract_lowers"));
    assert_eq!(rung(lowered, "rung = \"L2\"\nlower_rung = true"), Ok(Rung::L2));
}
