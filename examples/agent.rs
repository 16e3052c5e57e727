//! A whole agent: a run, memory, a router, a kernel, and a port for the model. Each step compiles a
//! context; the model names a call or answers; the kernel decides on the call and executes it. The
//! model here follows rules, to run offline: a host puts its provider behind [`Model`].
//!
//! `cargo run --example agent`

use std::sync::Arc;

use serde_json::{Value, json};
use weaver_stack::kernel::{Call, Caller, Kernel, Registry, block_on};
use weaver_stack::memory::compile::{CompileRequest, ContextItem, ContextLog, Phase, build};
use weaver_stack::memory::{
    BundleParts, FactStore, Memory, MemoryBundle, PutOptions, RecallRequest, recall,
};
use weaver_stack::policy::{Contracts, Policy, PolicySet};
use weaver_stack::router::{catalog::Catalog, catalog::SelectableItem, route::Router};
use weaver_stack::text::token::CharsPerFour;
use weaver_stack::types::{
    CapabilityId, CapabilityRequest, Effects, JustificationSource, Principal, PrincipalId,
    RawResult, ResponseMode, RunSettings, SystemClock, ToolSpec,
};

type Failure = Box<dyn std::error::Error>;

const MAX_STEPS: usize = 4;

/// What a model wants to do next.
enum Step {
    Call { tool: &'static str, arguments: Value, why: &'static str },
    Answer(String),
}

/// The port for a model: a context in, a step out.
trait Model {
    fn next(&self, context: &str) -> Step;
}

/// It tries to delete the order first, which the policy does not allow.
struct ScriptedModel;

impl Model for ScriptedModel {
    fn next(&self, context: &str) -> Step {
        let order = json!({ "id": "A-17" });
        if !context.contains("refused") {
            return Step::Call { tool: "orders.delete", arguments: order, why: "clean up" };
        }
        if !context.contains("2026-01-02") {
            return Step::Call { tool: "orders.find", arguments: order, why: "find the date" };
        }
        let remembered = if context.contains("30 days") { "30 days" } else { "unknown" };
        Step::Answer(format!("A-17 was delivered on 2026-01-02; the window is {remembered}."))
    }
}

fn main() -> Result<(), Failure> {
    let policy = PolicySet::from_code(Policy::baseline()?, Contracts::new("shop"))?;
    let kernel = Kernel::in_memory(tools()?, policy)?;
    let memory = MemoryBundle::create(BundleParts::new(Arc::new(SystemClock::default())));
    let window = json!("goods may be returned for 30 days");
    let by = PutOptions::new("handbook");
    FactStore::new(&memory.durable).add_claim("returns.window", window, &by)?;

    let goal = "Can order A-17 still be returned?";
    println!("{goal}\n{}", run(&kernel, &memory.durable, &ScriptedModel, goal)?);
    println!("The log has {} events.", kernel.ledger().head()?.size);
    Ok(())
}

fn run(kernel: &Kernel, memory: &Memory, model: &dyn Model, goal: &str) -> Result<String, Failure> {
    let run = kernel.start_run(RunSettings::default())?;
    let agent = Principal::new(PrincipalId::parse("shop-agent")?).with_roles(["reader"]);
    let caller = Caller { run: &run, principal: &agent };
    let mut catalog = Catalog::new();
    for entry in kernel.registry().list_all() {
        catalog.insert(SelectableItem::from(&entry.capability().descriptor()))?;
    }
    let router = Router::new(catalog)?;
    let mut log = ContextLog::new(Arc::new(CharsPerFour));
    for item in recall(memory, &RecallRequest::new(goal, &CharsPerFour))?.items {
        log.push(item)?;
    }
    for card in router.cards(&router.route(goal, 3), &CharsPerFour) {
        log.push(ContextItem::tool_card(format!("card:{}", card.id), card.text()))?;
    }
    log.push(ContextItem::user_turn("turn:1", goal))?;
    for step in 1..=MAX_STEPS {
        let context = build(&log, &CompileRequest::new(Phase::Interpret).with_query(goal))?;
        let (tool, arguments, why) = match model.next(&context.text) {
            Step::Answer(answer) => return Ok(answer),
            Step::Call { tool, arguments, why } => (tool, arguments, why),
        };
        let request = CapabilityRequest::new(CapabilityId::parse(tool)?, goal)
            .justified(why, JustificationSource::Model);
        let call =
            Call { request: &request, arguments: Some(&arguments), mode: ResponseMode::Summary };
        let done = block_on(kernel.execute(caller, call));
        println!("step {step}: {tool}: {:?}, {}", done.decision.verdict(), done.decision.detail());
        log.push(ContextItem::tool_call(&done.call, &request.capability_id, &arguments))?;
        log.push(match done.frame() {
            Some(frame) => ContextItem::tool_result(frame),
            None => ContextItem::agent_message(format!("refused:{step}"), "It was refused."),
        })?;
    }
    Err("the model came to no answer".into())
}

/// The tools of the shop.
fn tools() -> Result<Registry, Failure> {
    let registry = Registry::new();
    let find = ToolSpec::new("orders.find", "Find order").describe("Find an order by its number");
    let find = find.with_effects(Effects::READ_LOCAL).arg("id", "string", true).build()?;
    registry.register_fn(find, |call| {
        let id = &call.arguments()["id"];
        Ok(RawResult::json(json!({ "id": id, "delivered": "2026-01-02" })))
    })?;
    let delete = ToolSpec::new("orders.delete", "Delete order").describe("Delete it for good");
    let delete = delete.with_effects(Effects::DESTROY_LOCAL).arg("id", "string", true).build()?;
    registry.register_fn(delete, |_| std::process::exit(70))?; // never reached
    Ok(registry)
}
