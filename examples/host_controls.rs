//! What a host does with its kernel beside calling: a namespace that is loaded when it is first
//! asked for, contracts that are approved and compared, a token that is handed on with less in it,
//! and keys of tokens that change while calls go on.
//!
//! `cargo run --example host_controls`

use std::sync::Arc;

use serde_json::json;
use weaver_examples::{Desk, Failure, decision, section};
use weaver_stack::kernel::{Call, Caveat, FnDriver, LoadResult, Registry, Token, block_on};
use weaver_stack::policy::{Contracts, Policy, PolicySet};
use weaver_stack::types::{
    Capability, CapabilityId, CapabilityRequest, Effects, RawResult, ResponseMode, SeededRandom,
    ToolSpec, ToolSpecError,
};

fn main() -> Result<(), Failure> {
    let registry = Registry::new();
    registry.register_namespace("billing", || {
        println!("  (the namespace `billing` is loaded)");
        billing()
    })?;
    let policy = PolicySet::from_code(Policy::baseline()?, Contracts::new("books"))?;
    let desk = Desk::open(registry, policy, "ana", &["reader"])?;

    section("1. A namespace is loaded when somebody asks for what is in it");
    let open = CapabilityId::parse("billing.open")?;
    println!("  pending: {}", desk.kernel.registry().namespaces().iter().any(|one| one.pending));
    desk.kernel.registry().get(&open).ok_or("no such tool")?;

    section("2. Contracts are approved, compared, and approved anew when they changed");
    println!("  approved: {}", block_on(desk.kernel.snapshot_contracts("ana"))?);
    desk.kernel.registry().update(open_invoices("List invoices, and write to who owes")?)?;
    for (id, contract) in desk.kernel.contract_mismatches() {
        println!("  {id} changed: {:?}", contract.drift.class());
    }
    block_on(desk.kernel.approve_contracts(std::slice::from_ref(&open), "ana"))?;
    println!("  mismatches left: {}", desk.kernel.contract_mismatches().len());

    section("3. A token is handed on for these arguments alone");
    let token = granted(&desk, &open)?;
    let child = token.attenuate(&Caveat::arguments(&json!({ "customer": "Acme" }))?)?;
    invoke(&desk, &child, "Somebody else");
    invoke(&desk, &child, "Acme");

    section(
        "4. The keys of tokens change; what was signed before is good until its key is retired",
    );
    let mut keys = desk.kernel.keys().as_ref().clone();
    let old = keys.current().clone();
    let (one, another) = (granted(&desk, &open)?, granted(&desk, &open)?);
    keys.rotate_fresh(&SeededRandom::new(2))?;
    desk.kernel.replace_keys(keys.clone());
    invoke(&desk, &one, "Acme");
    keys.retire(&old);
    desk.kernel.replace_keys(keys);
    invoke(&desk, &another, "Acme");
    Ok(())
}

/// What the namespace holds. A host asks a server or reads a file here.
fn billing() -> LoadResult {
    let tool = open_invoices("List the open invoices of a customer")?;
    let driver = FnDriver::inline(|_| Ok(RawResult::json(json!([{ "number": "R-7" }]))));
    Ok(vec![(tool, Arc::new(driver))])
}

fn open_invoices(what: &str) -> Result<Capability, ToolSpecError> {
    let spec = ToolSpec::new("billing.open", "Open invoices").describe(what);
    spec.with_effects(Effects::READ_LOCAL).arg("customer", "string", true).build()
}

/// A token for one call, whatever its arguments.
fn granted(desk: &Desk, id: &CapabilityId) -> Result<Token, Failure> {
    let request = CapabilityRequest::new(id.clone(), "see what is open");
    let call = Call { request: &request, arguments: None, mode: ResponseMode::Summary };
    Ok(block_on(desk.kernel.grant(desk.caller(), call)).token.ok_or("no token")?)
}

fn invoke(desk: &Desk, token: &Token, customer: &str) {
    let arguments = json!({ "customer": customer });
    let mode = ResponseMode::Summary;
    let done = block_on(desk.kernel.invoke(desk.caller(), token, &arguments, mode));
    println!("  {customer}");
    decision(&done.decision);
}
