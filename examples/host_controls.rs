//! What a host does with its kernel besides calling tools: it loads a namespace on first use,
//! approves and compares contracts, attenuates a token, and rotates the keys of tokens while
//! calls go on.
//!
//! `cargo run --example host_controls`

use std::sync::Arc;

use serde_json::json;
use weaver_examples::{ExampleHost, Failure, print_decision, print_section};
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
    let host = ExampleHost::open(registry, policy, "ana", &["reader"])?;

    print_section("1. A namespace is loaded when somebody asks for what is in it");
    let open = CapabilityId::parse("billing.open")?;
    println!("  pending: {}", host.kernel.registry().namespaces().iter().any(|one| one.pending));
    host.kernel.registry().get(&open).ok_or("no such tool")?;

    print_section("2. Contracts are approved, compared, and approved anew when they changed");
    println!("  approved: {}", block_on(host.kernel.snapshot_contracts("ana"))?);
    host.kernel
        .registry()
        .update_live_version(open_invoices("List invoices, and write to who owes")?)?;
    for (id, contract) in host.kernel.contract_mismatches() {
        println!("  {id} changed: {:?}", contract.drift.class());
    }
    block_on(host.kernel.approve_contracts(std::slice::from_ref(&open), "ana"))?;
    println!("  mismatches left: {}", host.kernel.contract_mismatches().len());

    print_section("3. A token is handed on for these arguments alone");
    let token = granted(&host, &open)?;
    let child = token.attenuate(&Caveat::arguments(&json!({ "customer": "Acme" }))?)?;
    invoke(&host, &child, "Somebody else");
    invoke(&host, &child, "Acme");

    print_section(
        "4. The keys of tokens change; what was signed before is good until its key is retired",
    );
    let mut keys = host.kernel.keys().as_ref().clone();
    let old = keys.current().clone();
    let (one, another) = (granted(&host, &open)?, granted(&host, &open)?);
    keys.rotate_generated(&SeededRandom::new(2))?;
    host.kernel.replace_keys(keys.clone());
    invoke(&host, &one, "Acme");
    keys.retire(&old);
    host.kernel.replace_keys(keys);
    invoke(&host, &another, "Acme");
    Ok(())
}

/// The tools of the namespace. A real host would ask a server or read a file.
fn billing() -> LoadResult {
    let tool = open_invoices("List the open invoices of a customer")?;
    let driver = FnDriver::inline(|_| Ok(RawResult::json(json!([{ "number": "R-7" }]))));
    Ok(vec![(tool, Arc::new(driver))])
}

fn open_invoices(what: &str) -> Result<Capability, ToolSpecError> {
    let spec = ToolSpec::new("billing.open", "Open invoices").describe(what);
    spec.with_effects(Effects::READ_LOCAL).arg("customer", "string", true).build()
}

/// A token for one call with any arguments.
fn granted(host: &ExampleHost, id: &CapabilityId) -> Result<Token, Failure> {
    let request = CapabilityRequest::new(id.clone(), "see what is open");
    let call = Call { request: &request, arguments: None, mode: ResponseMode::Summary };
    Ok(block_on(host.kernel.grant(host.caller(), call)).token.ok_or("no token")?)
}

fn invoke(host: &ExampleHost, token: &Token, customer: &str) {
    let arguments = json!({ "customer": customer });
    let mode = ResponseMode::Summary;
    let done = block_on(host.kernel.invoke(host.caller(), token, &arguments, mode));
    println!("  {customer}");
    print_decision(&done.decision);
}
