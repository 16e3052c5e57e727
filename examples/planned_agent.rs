//! An agent that plans first: a planner, the runtime that executes its steps through the kernel, a
//! call with a streamed result, and the recorded outcome of a belief.
//!
//! `cargo run --example planned_agent`

use std::sync::Arc;

use serde_json::json;
use weaver_examples::{ExampleHost, Failure, print_ledger, print_section};
use weaver_stack::firewall::StreamItem;
use weaver_stack::kernel::{
    AgentRuntime, Call, PlanError, PlannedStep, Planner, Registry, block_on,
};
use weaver_stack::policy::approval::BeliefOutcome;
use weaver_stack::policy::{Contracts, Policy, PolicySet};
use weaver_stack::types::{
    BoxFuture, Capability, CapabilityId, CapabilityRequest, Effects, RawResult, ResponseMode,
    ToolSpec,
};

/// Plans one step for each tool that it is shown. A real host would ask a model.
struct OneStepEach;

impl Planner for OneStepEach {
    fn plan<'a>(
        &'a self,
        goal: &'a str,
        tools: &'a [Arc<Capability>],
    ) -> BoxFuture<'a, Result<Vec<PlannedStep>, PlanError>> {
        let step = |tool: &Arc<Capability>| {
            PlannedStep::new(tool.id().clone(), "collect").with_arguments(json!({ "query": goal }))
        };
        Box::pin(std::future::ready(Ok(tools.iter().map(step).collect())))
    }
}

fn main() -> Result<(), Failure> {
    let policy = PolicySet::from_code(Policy::baseline()?, Contracts::new("library"))?;
    let host = ExampleHost::open(tools()?, policy, "reader", &["reader"])?;
    let goal = "what is known of herons";

    print_section("1. A plan, step by step through the kernel");
    let runtime = AgentRuntime::new(&host.kernel, Arc::new(OneStepEach));
    let record = block_on(runtime.run(host.caller(), goal));
    for step in &record.steps {
        println!("  {}: {}", step.capability, step.error.as_deref().unwrap_or("done"));
    }
    println!("  passed: {}", record.passed());

    print_section("2. A call whose result is shown as it comes");
    let arguments = json!({ "query": goal });
    let request = CapabilityRequest::new(CapabilityId::parse("books.search")?, goal);
    let mode = ResponseMode::Summary;
    let call = Call { request: &request, arguments: Some(&arguments), mode };
    let grant = block_on(host.kernel.grant(host.caller(), call));
    let token = grant.token.ok_or("no token")?;
    let mut stream = host.kernel.invoke_stream(host.caller(), &token, &arguments, mode);
    while let Some(item) = block_on(stream.next()) {
        match item {
            StreamItem::Part(part) => println!("  part: {} facts", part.facts.len()),
            StreamItem::End(frame) => println!("  end: {}", frame.facts.join("; ")),
        }
    }
    drop(stream);

    print_section("3. What was believed of it was right");
    let outcome = BeliefOutcome {
        class: "books.search".to_owned(),
        confidence: 800,
        correct: true,
        call: Some(grant.call),
    };
    block_on(host.kernel.record_outcome(&host.principal.id, &outcome))?;
    println!("  {} classes counted", host.kernel.outcomes()?.len());

    print_section("The trace");
    print_ledger(&host.ledger)
}

fn tools() -> Result<Registry, Failure> {
    let registry = Registry::new();
    for (id, name) in [("books.search", "Search books"), ("notes.search", "Search notes")] {
        let spec = ToolSpec::new(id, name).with_effects(Effects::READ_LOCAL);
        let spec = spec.arg("query", "string", true).build()?;
        registry.register_fn(spec, |_| Ok(RawResult::json(json!([{ "title": "Herons" }]))))?;
    }
    Ok(registry)
}
