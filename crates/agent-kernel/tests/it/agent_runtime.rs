//! The runtime of an agent: plan, steps, record; and the decision keys that a run leaves.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use weaver_agent_kernel::{
    AgentRuntime, Caller, Critique, DriverError, MAX_STEPS, PlanError, PlannedStep, Planner,
    RunRecord, StepArtifact, block_on,
};
use weaver_policy::{AgentCapabilities, Pattern};
use weaver_types::{
    AgentId, BoxFuture, Capability, CapabilityId, DecisionKey, Effects, Principal, RunBudget,
    RunContext, SafetyClass, SafetyMode, Verdict,
};

use crate::support::{World, ana, draft, kinds, log, open_policy, snapshot};

/// Plans the same steps whatever the goal, and notes what it was shown.
#[derive(Default)]
struct Fixed {
    steps: Vec<PlannedStep>,
    shown: Mutex<Vec<String>>,
    fails: bool,
}

impl Planner for Fixed {
    fn plan<'a>(
        &'a self,
        goal: &'a str,
        tools: &'a [Arc<Capability>],
    ) -> BoxFuture<'a, Result<Vec<PlannedStep>, PlanError>> {
        assert_ne!(goal, "panic", "on purpose");
        *self.shown.lock().unwrap() = tools.iter().map(|tool| tool.id().to_string()).collect();
        let no_way = || PlanError::NoWay("password=hunter2!".to_owned());
        let plan = if self.fails { Err(no_way()) } else { Ok(self.steps.clone()) };
        Box::pin(std::future::ready(plan))
    }

    fn arguments<'a>(
        &'a self,
        step: &'a PlannedStep,
        done: &'a [StepArtifact],
    ) -> BoxFuture<'a, Value> {
        let mut arguments = step.arguments.clone();
        arguments["before"] = json!(done.len());
        Box::pin(std::future::ready(arguments))
    }
}

fn step(id: &str) -> PlannedStep {
    PlannedStep::new(CapabilityId::parse(id).unwrap(), "to try it")
}

fn steps<const N: usize>(ids: [&str; N]) -> Fixed {
    Fixed { steps: ids.map(step).into(), ..Fixed::default() }
}

fn world() -> World {
    let world = World::new(open_policy());
    world.tool("fs.read", Effects::READ_LOCAL).tool("disk.wipe", Effects::DESTROY_LOCAL);
    world.answering(draft("fs.fail", Effects::READ_LOCAL), |_| {
        Err(DriverError::Failed("no".to_owned()))
    });
    world
}

fn ran(world: &World, run: &RunContext, planner: Fixed) -> RunRecord {
    let runtime = AgentRuntime::new(&world.kernel, Arc::new(planner));
    block_on(runtime.run(Caller { run, principal: &ana() }, "a goal"))
}

fn errors(record: &RunRecord) -> Vec<Option<&str>> {
    record.steps.iter().map(|step| step.error.as_deref()).collect()
}

#[test]
fn steps_go_through_the_kernel_and_the_record_says_how() {
    let world = world();
    let run = world.run();
    let record = ran(&world, &run, steps(["fs.read", "fs.read", "fs.read"]));
    assert_eq!(errors(&record), [None, None, None]);
    assert!(record.passed() && record.recorded && !record.dry_run);
    assert_eq!((record.run.clone(), record.goal.as_str()), (run.run_id.clone(), "a goal"));
    assert_eq!(world.executed(), 3);
    assert_eq!(record.meters, Some(snapshot(world.ledger.as_ref(), &run.run_id).unwrap().meters));
    let frame = record.steps[2].result.as_ref().unwrap().data.as_ref().unwrap();
    assert!(format!("{frame:?}").contains("before"), "a step's arguments may come later");
    let calls: BTreeSet<_> = record.steps.iter().map(|step| step.call.clone().unwrap()).collect();
    assert_eq!(calls.len(), 3);
    let kinds = kinds(world.ledger.as_ref());
    assert_eq!(kinds.first().map(String::as_str), Some("run.started"));
    assert_eq!(kinds.last().map(String::as_str), Some("run.finished"));
    let last = log(world.ledger.as_ref()).pop().unwrap();
    assert_eq!(last.payload["decision_key"], "kernel.run.finished");
    assert_eq!((&last.payload["steps"], &last.payload["passed"]), (&json!(3), &json!(true)));
}

#[test]
fn a_planner_sees_what_its_caller_can_see() {
    let world = world();
    let planner = Arc::new(steps([]));
    let runtime = AgentRuntime::new(&world.kernel, Arc::clone(&planner) as Arc<dyn Planner>);
    let (run, who) = (world.run(), ana());
    block_on(runtime.run(Caller { run: &run, principal: &who }, "a goal"));
    assert_eq!(*planner.shown.lock().unwrap(), ["disk.wipe", "fs.fail", "fs.read"]);
}

#[test]
fn a_plan_ends_with_the_first_step_it_needs_that_fails() {
    let world = world();
    let mut planner = steps(["fs.read", "fs.fail", "fs.read"]);
    let record =
        ran(&world, &world.run(), Fixed { steps: planner.steps.clone(), ..Fixed::default() });
    assert!(record.steps[1].error.as_ref().unwrap().contains("execution_failed"));
    assert_eq!(record.steps[2].error.as_deref(), Some("not reached"));
    assert!(!record.passed() && record.critique.notes.len() == 2, "{:?}", record.critique);
    assert_eq!(world.executed(), 2);
    planner.steps[1].optional = true;
    let record = ran(&world, &world.run(), planner);
    assert!(record.passed() && record.steps[2].ok);
}

#[test]
fn a_held_step_names_its_request() {
    let world = world();
    let record = ran(&world, &world.run(), steps(["disk.wipe"]));
    assert_eq!(record.steps[0].verdict, Some(Verdict::Hold));
    assert!(record.steps[0].request.is_some() && !record.passed());
}

/// Cases: SBK-15.
#[test]
fn a_dry_run_plans_only_and_always_passes() {
    let world = world();
    let mut run = world.run();
    run.dry_run = true;
    let record = ran(&world, &run, steps(["fs.read", "disk.wipe", "fs.read"]));
    assert!(record.dry_run && record.passed() && !record.recorded);
    assert_eq!(record.plan.len(), 3);
    assert_eq!(world.executed(), 0, "0 executor calls");
    let oks: Vec<bool> = record.steps.iter().map(|step| step.ok).collect();
    assert_eq!(oks, [true, false, true], "and each step says what it would get");
    assert_eq!(record.steps[1].verdict, Some(Verdict::Hold));
    assert_eq!(record.critique.notes.len(), 1);
    assert!(log(world.ledger.as_ref()).is_empty());
    assert!(world.kernel.pending_approvals().is_empty());
}

/// Cases: SBK-15.
#[test]
fn without_budget_each_step_is_exhausted() {
    let world = world();
    for budget in [
        RunBudget { max_tool_calls: Some(0), ..RunBudget::unlimited() },
        RunBudget { max_prompt_tokens: Some(0), ..RunBudget::unlimited() },
        RunBudget { max_latency_ms: Some(0), ..RunBudget::unlimited() },
        RunBudget { max_cost: Some(weaver_types::Millicents(0)), ..RunBudget::unlimited() },
    ] {
        let run = world.run_with(budget, SafetyMode::Normal);
        let record = ran(&world, &run, steps(["fs.read", "fs.read", "fs.read"]));
        assert_eq!(errors(&record), [Some("budget exhausted"); 3]);
        assert!(record.steps.iter().all(|step| !step.ok) && !record.passed());
        assert_eq!(world.executed(), 0);
        let meters = record.meters.unwrap();
        assert_eq!((meters.tool_calls, meters.denials), (0, 1));
    }
    let two = RunBudget { max_tool_calls: Some(2), ..RunBudget::unlimited() };
    let run = world.run_with(two, SafetyMode::Normal);
    let record = ran(&world, &run, steps(["fs.read", "fs.read", "fs.read"]));
    assert_eq!(errors(&record), [None, None, Some("budget exhausted")]);
    assert_eq!(world.executed(), 2);
}

#[test]
fn a_planner_that_fails_or_panics_leaves_a_record() {
    let world = world();
    let run = world.run();
    let record = ran(&world, &run, Fixed { fails: true, ..Fixed::default() });
    assert_eq!(record.plan_error.as_ref().map(PlanError::code), Some("plan.no_way"));
    assert!(!record.passed() && record.recorded);
    assert!(!format!("{:?}", record.critique).contains("hunter2"));
    let many = Fixed { steps: vec![step("fs.read"); MAX_STEPS + 1], ..Fixed::default() };
    let record = ran(&world, &run, many);
    assert_eq!(record.plan_error.map(|error| error.code()), Some("plan.too_long"));
    let runtime = AgentRuntime::new(&world.kernel, Arc::new(Fixed::default()));
    let who = ana();
    let record = block_on(runtime.run(Caller { run: &run, principal: &who }, "panic"));
    assert_eq!(record.plan_error.map(|error| error.code()), Some("plan.failed"));
    assert_eq!(
        record.critique,
        Critique {
            passed: false,
            notes: vec!["the planner failed: the planner panicked".to_owned()],
        }
    );
    assert_eq!(world.executed(), 0);
}

/// Those of memory come with memory.
#[test]
fn a_run_leaves_each_decision_key() {
    let world = world();
    let budget = RunBudget { max_tool_calls: Some(1), ..RunBudget::unlimited() };
    let run = world.run_with(budget, SafetyMode::Normal);
    let mut planner = steps(["disk.wipe", "fs.read", "fs.read"]);
    planner.steps[0].optional = true;
    ran(&world, &run, planner);
    let keys: BTreeSet<String> = log(world.ledger.as_ref())
        .iter()
        .filter_map(|event| event.payload["decision_key"].as_str().map(str::to_owned))
        .collect();
    let wanted: BTreeSet<String> = DecisionKey::ALL
        .iter()
        .filter(|key| !matches!(key, DecisionKey::MemoryPut | DecisionKey::MemoryGet))
        .map(ToString::to_string)
        .collect();
    assert_eq!(wanted.len(), 5);
    assert_eq!(keys, wanted);
}

#[test]
fn an_agent_is_not_run_without_the_packs_that_it_requires() {
    let name = AgentId::parse("meeting_copilot").unwrap();
    let mut agent = AgentCapabilities::new(name.clone(), SafetyClass::ReadOnly)
        .with_tools([Pattern::parse("fs.*").unwrap()]);
    agent.required_packs = ["meeting.agenda", "meeting.transcript"].map(str::to_owned).into();
    let world = World::new(open_policy().with_agent(agent));
    world.tool("fs.read", Effects::READ_LOCAL);
    let copilot = Principal { agent: Some(name.clone()), ..ana() };
    let planner = Arc::new(steps(["fs.read"]));
    let run = |who: &Principal, packs: &[&str]| {
        let runtime = AgentRuntime::new(&world.kernel, Arc::clone(&planner) as Arc<dyn Planner>)
            .with_packs(packs.iter().map(|pack| (*pack).to_owned()));
        let run = world.run();
        block_on(runtime.run(Caller { run: &run, principal: who }, "a goal"))
    };
    for (packs, missing) in
        [(&[][..], "meeting.agenda"), (&["meeting.agenda"], "meeting.transcript")]
    {
        let record = run(&copilot, packs);
        let error = PlanError::MissingPack { agent: name.clone(), pack: missing.to_owned() };
        assert_eq!(record.plan_error, Some(error));
        assert!(!record.passed() && record.steps.is_empty());
    }
    assert!(world.executed() == 0 && planner.shown.lock().unwrap().is_empty(), "nobody planned");
    assert!(run(&copilot, &["meeting.agenda", "meeting.transcript", "more"]).passed());
    assert!(run(&ana(), &[]).passed(), "a person is no agent");
    assert_eq!(world.executed(), 2);
}

#[test]
fn each_step_of_a_dry_run_says_why_not_and_how_much_would_be_shown() {
    let world = world();
    let mut run = world.run();
    run.dry_run = true;
    let record = ran(&world, &run, steps(["fs.read", "disk.wipe"]));
    let [read, wipe] = record.steps.as_slice() else { panic!("{record:?}") };
    assert_eq!((read.ok, read.error.as_deref()), (true, None));
    assert_eq!(read.mode, Some(weaver_types::ResponseMode::Summary));
    assert!(wipe.error.as_deref().unwrap().starts_with("floor_hold: "), "{wipe:?}");
}

#[test]
fn a_plan_may_have_256_steps() {
    let world = world();
    let mut run = world.run();
    run.dry_run = true;
    let most = Fixed { steps: vec![step("fs.read"); 256], ..Fixed::default() };
    let record = ran(&world, &run, most);
    assert_eq!((record.plan_error, record.steps.len()), (None, 256));
}

#[test]
fn the_end_of_a_run_says_how_many_steps_it_had_and_how_many_failed() {
    let world = world();
    let run = world.run();
    let record = ran(&world, &run, steps(["fs.read", "fs.read", "fs.read", "fs.fail", "fs.read"]));
    assert_eq!(record.steps[0].mode, Some(weaver_types::ResponseMode::Summary));
    let end = log(world.ledger.as_ref()).pop().unwrap();
    assert_eq!(end.kind, "run.finished");
    let told = ["steps", "failed", "passed"].map(|key| end.payload[key].clone());
    assert_eq!(told, [json!(5), json!(2), json!(false)]);
}
