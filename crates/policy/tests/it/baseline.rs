//! The built-in baseline against the behaviour of agent-kernel (Python): roles before
//! justification, sensitive data, rows and rates.

use std::collections::BTreeSet;

use weaver_policy::{PolicyQuery, RateLimitWindows};
use weaver_types::{
    CapabilityDraft, Effects, JustificationSource, ReasonCode, SensitivityTag, Timestamp, Verdict,
};

use crate::support::{Case, baseline, draft};

const READ: Effects = Effects::READ_LOCAL;
const WRITE: Effects = Effects::WRITE_LOCAL;

fn case(effects: Effects, roles: &[&str], chars: usize, tags: &[SensitivityTag]) -> Case {
    let sensitivity = tags.iter().copied().collect::<BTreeSet<_>>();
    let allowed_fields = BTreeSet::from(["id".to_owned()]);
    let draft = CapabilityDraft { sensitivity, allowed_fields, ..draft("c.x", effects) };
    let case = Case::new(draft.build().unwrap(), roles);
    if chars == 0 { case } else { case.justified(&"x".repeat(chars), JustificationSource::Human) }
}

fn with_tenant(mut case: Case) -> Case {
    case.principal.attributes.insert("tenant".to_owned(), String::new());
    case
}

fn sensitive_scope(mut case: Case) -> Case {
    case.request.scope.insert("memory_scope".to_owned(), "sensitive".to_owned());
    case
}

#[test]
fn who_may_do_what_and_why() {
    use SensitivityTag::{Memory, Pci, Pii, Secrets};
    let ok = (Verdict::Allow, ReasonCode::DefaultPolicyAllow);
    let ask = (Verdict::Ask, ReasonCode::InsufficientJustification);
    let deny = |code| (Verdict::Deny, code);
    let table = [
        (case(READ, &[], 0, &[]), ok),
        (case(READ, &["service"], 0, &[]), ok),
        (case(WRITE, &[], 15, &[]), deny(ReasonCode::MissingRole)),
        (case(WRITE, &["service"], 15, &[]), deny(ReasonCode::MissingRole)),
        (case(WRITE, &["writer"], 14, &[]), ask),
        (case(WRITE, &["writer"], 15, &[]), ok),
        (case(WRITE, &["admin", "service"], 15, &[]), ok),
        (case(READ, &[], 0, &[Pii]), deny(ReasonCode::MissingTenantAttribute)),
        (case(READ, &[], 0, &[Pci]), deny(ReasonCode::MissingTenantAttribute)),
        (with_tenant(case(READ, &[], 0, &[Pci])), ok),
        (case(READ, &[], 15, &[Secrets]), deny(ReasonCode::MissingRole)),
        (case(READ, &["secrets_reader"], 0, &[Secrets]), ask),
        (case(READ, &["secrets_reader"], 15, &[Secrets]), ok),
        (case(READ, &["service"], 15, &[Secrets]), deny(ReasonCode::MissingRole)),
        (case(WRITE, &["writer"], 15, &[Secrets]), deny(ReasonCode::MissingRole)),
        (case(READ, &[], 0, &[Memory]), ok),
        (
            sensitive_scope(case(READ, &[], 0, &[Memory])),
            deny(ReasonCode::MemorySensitiveReadDenied),
        ),
        (sensitive_scope(case(READ, &["memory_reader_sensitive"], 0, &[Memory])), ok),
        (case(WRITE, &["writer"], 15, &[Memory]), deny(ReasonCode::MemoryWriteRequiresWriter)),
        (case(WRITE, &["writer", "memory_writer"], 15, &[Memory]), ok),
        (case(WRITE, &["memory_writer"], 15, &[Memory]), deny(ReasonCode::MissingRole)),
    ];
    let set = baseline();
    for (case, wanted) in table {
        assert_eq!(case.answer(&set), wanted, "{:?}", case.principal);
    }
}

#[test]
fn blanks_are_no_justification() {
    let blank = case(WRITE, &["writer"], 0, &[]).justified("   \t   ", JustificationSource::Human);
    assert_eq!(blank.answer(&baseline()).0, Verdict::Ask);
}

#[test]
fn rows_and_fields_are_bound() {
    let set = baseline();
    let rows = |case: &Case| case.decide(&set).constraints().max_rows;
    assert_eq!(rows(&case(READ, &[], 0, &[])), Some(50));
    assert_eq!(rows(&case(READ, &["service"], 0, &[])), Some(500));
    let mut own = case(READ, &["service"], 0, &[]);
    own.request.constraints.max_rows = Some(10);
    assert_eq!(rows(&own), Some(10));
    let fields = |case: &Case| case.decide(&set).constraints().allowed_fields.is_some();
    let pii = [SensitivityTag::Pii];
    assert!(fields(&with_tenant(case(READ, &[], 0, &pii))));
    assert!(!fields(&with_tenant(case(READ, &["pii_reader"], 0, &pii))));
    // Fields stay bound where the data is not personal, or not only that.
    assert!(fields(&case(READ, &["pii_reader"], 0, &[])));
    let both = [SensitivityTag::Pii, SensitivityTag::Secrets];
    assert!(fields(&with_tenant(case(READ, &["pii_reader", "admin"], 15, &both))));
}

#[test]
fn calls_are_counted_by_what_they_do_and_who_asks() {
    let set = baseline();
    let table = [
        (case(READ, &[], 0, &[]), 60),
        (case(WRITE, &["writer"], 15, &[]), 10),
        (case(WRITE, &["writer", "service"], 15, &[]), 100),
    ];
    for (case, most) in table {
        let mut windows = RateLimitWindows::new();
        for n in 0..=most {
            let now = Timestamp::from_micros(n);
            let query = PolicyQuery { now, windows: Some(&windows), ..case.query() };
            let decision = set.decide(&query);
            assert_eq!(decision.is_allowed(), n < most, "call {n}");
            if decision.is_allowed() {
                windows.record(&PolicyQuery { windows: None, now, ..case.query() }, set.limits());
            } else {
                assert_eq!(decision.primary_reason(), ReasonCode::RateLimited);
            }
        }
    }
}
