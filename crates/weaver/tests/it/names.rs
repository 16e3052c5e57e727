//! Every feature gives the names that the README promises.

#[cfg(any(feature = "router", feature = "memory"))]
use weaver_stack::text::token::{CharsPerFour, TokenCounter};

#[test]
fn the_vocabulary_is_always_there() {
    use weaver_stack::types::{Effects, Rung};
    assert_eq!(Effects::UNDECLARED.rung(), Rung::L4);
}

#[cfg(feature = "router")]
#[test]
fn the_router_ranks_and_makes_cards() {
    use weaver_stack::router::{catalog::Catalog, error::CatalogError, route::Router};

    let line = r#"{"id": "a.b", "name": "search", "description": "Search the handbook"}"#;
    let router = Router::new(Catalog::from_jsonl(line).expect("one item")).expect("an index");
    let hits = router.route("handbook", 3);
    assert_eq!(router.cards(&hits, &CharsPerFour).len(), 1);
    let refused: Result<Catalog, CatalogError> = Catalog::from_jsonl("[]");
    assert!(refused.is_err());
}

#[cfg(feature = "memory")]
#[test]
fn the_context_engine_compiles() {
    use weaver_stack::memory::compile::{CompileRequest, ContextItem, ContextLog, Phase, build};
    use weaver_stack::memory::error::LogError;

    let mut log = ContextLog::new(std::sync::Arc::new(CharsPerFour));
    let pushed: Result<(), LogError> = log.push(ContextItem::user_turn("turn:1", "Hello there"));
    pushed.expect("the first item");
    let pack = build(&log, &CompileRequest::new(Phase::Answer)).unwrap();
    assert_eq!(pack.item_ids, ["turn:1".into()]);
    assert!(CharsPerFour.within(&pack.text, 6_000));
}

#[cfg(feature = "policy-analysis")]
#[test]
fn policies_are_analysed() {
    use weaver_stack::policy::{Contracts, Policy, PolicySet};
    use weaver_stack::policy_analysis::CapabilitySet;

    let baseline = Policy::baseline().expect("it is part of the build");
    let set = PolicySet::from_code(baseline, Contracts::new("none")).expect("a set");
    assert!(!CapabilitySet::from_documents(&set).ids().is_empty());
}

#[cfg(feature = "policy")]
#[test]
fn the_policy_is_there() {
    assert!(weaver_stack::policy::Policy::baseline().is_ok());
}

#[cfg(feature = "firewall")]
#[test]
fn the_firewall_redacts() {
    let firewall = weaver_stack::firewall::Firewall::new();
    assert!(!firewall.redact_text("mail jane.roe@corp.example.com").text.contains("jane"));
}

#[cfg(feature = "trace")]
#[test]
fn the_ledger_is_there_and_verifies() {
    use std::sync::Arc;
    use weaver_stack::trace::{MemoryLedger, verify};
    use weaver_stack::types::{LogId, OsRandom};

    let log = LogId::parse("log_example").expect("an id");
    let ledger = MemoryLedger::new(log, Arc::new(OsRandom));
    assert!(verify::verify(&ledger, None).is_ok());
}

#[cfg(feature = "trace-sqlite")]
#[test]
fn the_ledger_on_sqlite_is_there() {
    assert!(std::any::type_name::<weaver_stack::trace::SqliteLedger>().ends_with("SqliteLedger"));
}

#[cfg(feature = "drivers")]
#[test]
fn kernel_and_drivers_are_there() {
    use weaver_stack::kernel::Driver;
    fn is_driver<T: Driver>() {}
    is_driver::<weaver_stack::drivers::McpDriver>();
    is_driver::<weaver_stack::kernel::FnDriver>();
}
