//! Running a goal: plan, steps, critique.

use std::collections::BTreeSet;
use std::sync::Arc;

use weaver_types::{
    Capability, CapabilityRequest, Check, Contribution, JustificationSource, ReasonCode,
    ResponseMode, Timestamp, Verdict,
};

use super::critique::Critique;
use super::plan::{PlanError, PlannedStep, Planner};
use super::record::{RunRecord, StepArtifact};
use crate::caller::{Call, Caller};
use crate::invocation::Invocation;
use crate::kernel::Kernel;
use crate::pipeline::RunSummary;
use crate::record::error_text;
use crate::wait::contained;

/// The most steps of a plan.
pub const MAX_STEPS: usize = 256;

/// What a step says that the budget of its run stopped.
const EXHAUSTED: &str = "budget exhausted";
/// What a step says that came after one that failed.
const UNREACHED: &str = "not reached";

/// A plan with what came of it.
struct Execution {
    plan: Vec<PlannedStep>,
    plan_error: Option<PlanError>,
    steps: Vec<StepArtifact>,
    critique: Critique,
}

/// Runs goals: a planner's plan, step by step through the kernel.
///
/// Before each step the run's budget is looked at; once a cap is used up, no further step reaches
/// the kernel's executor. A step that fails ends the plan, unless the plan can go on without it. In
/// a dry run nothing is executed: each step says what the kernel would decide.
///
/// ```
/// # use std::sync::Arc;
/// # use serde_json::json;
/// # use weaver_agent_kernel::*;
/// # use weaver_policy::{Contracts, Policy, PolicySet};
/// # use weaver_types::*;
/// struct Fixed;
///
/// impl Planner for Fixed {
///     fn plan<'a>(
///         &'a self,
///         goal: &'a str,
///         tools: &'a [Arc<Capability>],
///     ) -> BoxFuture<'a, Result<Vec<PlannedStep>, PlanError>> {
///         let step = |tool: &Arc<Capability>| {
///             let arguments = json!({ "query": goal });
///             PlannedStep::new(tool.id().clone(), "look it up").with_arguments(arguments)
///         };
///         Box::pin(std::future::ready(Ok(tools.iter().map(step).collect())))
///     }
/// }
/// # let registry = Registry::new();
/// # let spec = ToolSpec::new("docs.search", "Search").arg("query", "string", true);
/// # registry.register_fn(spec.build()?, |call| Ok(RawResult::json(json!([{ "hit": call.arguments()["query"] }]))))?;
/// # let policy = PolicySet::from_code(Policy::baseline()?, Contracts::new("none"))?;
/// # let kernel = Kernel::in_memory(registry, policy)?;
///
/// let run = kernel.start_run(RunSettings::default())?;
/// let ana = Principal::new(PrincipalId::parse("ana")?).with_roles(["reader"]);
/// let runtime = AgentRuntime::new(&kernel, Arc::new(Fixed));
/// let record = block_on(runtime.run(Caller { run: &run, principal: &ana }, "the handbook"));
/// assert!(record.passed() && record.steps[0].ok);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct AgentRuntime<'k> {
    kernel: &'k Kernel,
    planner: Arc<dyn Planner>,
    mode: ResponseMode,
    packs: BTreeSet<String>,
}

impl<'k> AgentRuntime<'k> {
    /// A runtime with this planner, whose steps ask for summaries.
    #[must_use]
    pub fn new(kernel: &'k Kernel, planner: Arc<dyn Planner>) -> Self {
        Self { kernel, planner, mode: ResponseMode::Summary, packs: BTreeSet::new() }
    }

    /// The same, with these packs of context injected. An agent that the policy declares to require
    /// others is not run.
    #[must_use]
    pub fn with_packs(mut self, packs: impl IntoIterator<Item = String>) -> Self {
        self.packs.extend(packs);
        self
    }

    /// The same, with steps that ask for this much of each result.
    #[must_use]
    pub fn showing(mut self, mode: ResponseMode) -> Self {
        self.mode = mode;
        self
    }

    /// Runs a goal. What goes wrong stands in the record.
    pub async fn run(&self, caller: Caller<'_>, goal: &str) -> RunRecord {
        let started_at = self.kernel.now();
        let planned = match self.missing_pack(caller) {
            Some(missing) => Err(missing),
            None => self.planned(caller, goal).await,
        };
        let (plan, plan_error) = match planned {
            Ok(plan) if plan.len() > MAX_STEPS => {
                (Vec::new(), Some(PlanError::TooLong { steps: plan.len(), limit: MAX_STEPS }))
            }
            Ok(plan) => (plan, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        let steps = self.steps(caller, goal, &plan).await;
        let critique = self.critique(caller, goal, &plan, plan_error.as_ref(), &steps).await;
        self.finish(caller, goal, started_at, Execution { plan, plan_error, steps, critique }).await
    }

    async fn planned(&self, caller: Caller<'_>, goal: &str) -> Result<Vec<PlannedStep>, PlanError> {
        let tools = self.tools(caller);
        let planned = contained(|| self.planner.plan(goal, &tools)).await;
        planned.unwrap_or_else(|| Err(PlanError::Failed("the planner panicked".to_owned())))
    }

    /// The first pack that the caller's agent requires and that was not injected.
    fn missing_pack(&self, caller: Caller<'_>) -> Option<PlanError> {
        let policy = self.kernel.policy();
        let agent = policy.granted(caller.principal).agent.clone()?;
        let declared = policy.policy().agents.get(&agent)?;
        let pack = declared.required_packs.difference(&self.packs).next()?.clone();
        Some(PlanError::MissingPack { agent, pack })
    }

    /// The capabilities that this caller can see, in its signed form.
    fn tools(&self, caller: Caller<'_>) -> Vec<Arc<Capability>> {
        let policy = self.kernel.policy();
        let principal = policy.granted(caller.principal);
        let all = self.kernel.registry().list_all();
        all.iter()
            .filter_map(|entry| entry.effective(&policy).ok())
            .filter(|capability| policy.visible(&principal, capability))
            .collect()
    }

    async fn steps(
        &self,
        caller: Caller<'_>,
        goal: &str,
        plan: &[PlannedStep],
    ) -> Vec<StepArtifact> {
        let (mut done, mut over) = (Vec::with_capacity(plan.len()), None);
        for (index, step) in plan.iter().enumerate() {
            let artifact = match over {
                Some(why) => StepArtifact::stopped(index, step, why),
                None => self.step(caller, goal, index, step, &done).await,
            };
            if over.is_none() && !artifact.ok && !step.optional && !caller.run.dry_run {
                let exhausted = artifact.error.as_deref() == Some(EXHAUSTED);
                over = Some(if exhausted { EXHAUSTED } else { UNREACHED });
            }
            done.push(artifact);
        }
        done
    }

    async fn step(
        &self,
        caller: Caller<'_>,
        goal: &str,
        index: usize,
        step: &PlannedStep,
        done: &[StepArtifact],
    ) -> StepArtifact {
        let purpose = if step.purpose.is_empty() { goal } else { &step.purpose };
        let request = CapabilityRequest::new(step.capability.clone(), goal)
            .justified(purpose, JustificationSource::Model);
        if self.is_exhausted(caller) {
            let reason = ReasonCode::BudgetExceeded;
            let said = Contribution::new(Check::Limit, Verdict::Deny, reason, EXHAUSTED);
            if !caller.run.dry_run {
                // The log says so; no tool is called.
                let _ = self.kernel.reject(caller, &request, said).await;
            }
            return StepArtifact::stopped(index, step, EXHAUSTED);
        }
        let arguments = contained(|| self.planner.arguments(step, done)).await;
        let Some(arguments) = arguments else {
            return StepArtifact::stopped(index, step, "the planner panicked");
        };
        let call = Call { request: &request, arguments: Some(&arguments), mode: self.mode };
        if caller.run.dry_run {
            return self.would(caller, call, index, step);
        }
        artifact(index, step, self.kernel.execute(caller, call).await)
    }

    /// True once a cap of the run is used up.
    fn is_exhausted(&self, caller: Caller<'_>) -> bool {
        let meters = self.kernel.meters(caller.run);
        meters.is_none_or(|meters| meters.budget_exceeded(&caller.run.settings.budget))
    }

    fn would(
        &self,
        caller: Caller<'_>,
        call: Call<'_>,
        index: usize,
        step: &PlannedStep,
    ) -> StepArtifact {
        let preview = self.kernel.dry_run(caller, call);
        let (ok, decision) = (preview.decision.allowed(), &preview.decision);
        let error = (!ok).then(|| format!("{}: {}", decision.primary(), decision.detail()));
        let (verdict, mode) = (Some(preview.verdict()), Some(preview.mode));
        StepArtifact { ok, error, verdict, mode, ..StepArtifact::stopped(index, step, "") }
    }

    async fn critique(
        &self,
        caller: Caller<'_>,
        goal: &str,
        plan: &[PlannedStep],
        error: Option<&PlanError>,
        steps: &[StepArtifact],
    ) -> Critique {
        if let Some(error) = error {
            let note = error_text(self.kernel.firewall(), &error.to_string());
            return Critique { passed: caller.run.dry_run, notes: vec![note] };
        }
        if caller.run.dry_run {
            return Critique { passed: true, ..Critique::of(plan, steps) };
        }
        let said = contained(|| self.planner.critique(goal, plan, steps)).await;
        said.unwrap_or_else(|| Critique {
            passed: false,
            notes: vec!["the critique panicked".to_owned()],
        })
    }

    async fn finish(
        &self,
        caller: Caller<'_>,
        goal: &str,
        started_at: Timestamp,
        Execution { plan, plan_error, steps, critique }: Execution,
    ) -> RunRecord {
        let failed = steps.iter().filter(|step| !step.ok).count();
        let summary = RunSummary { steps: steps.len(), failed, passed: critique.passed };
        let recorded = !caller.run.dry_run && self.kernel.finish_run(caller, summary).await.is_ok();
        RunRecord {
            run: caller.run.run_id.clone(),
            goal: goal.to_owned(),
            dry_run: caller.run.dry_run,
            plan,
            plan_error,
            steps,
            critique,
            meters: self.kernel.meters(caller.run),
            started_at,
            finished_at: self.kernel.now(),
            recorded,
        }
    }
}

fn artifact(index: usize, step: &PlannedStep, done: Invocation) -> StepArtifact {
    let Invocation { call, decision, result, request } = done;
    let ok = result.as_ref().is_some_and(|result| result.success);
    let said = result.as_ref().map(|result| result.error_message.clone());
    let mode = result.as_ref().and_then(|result| result.data.as_ref()).map(|frame| frame.mode);
    StepArtifact {
        ok,
        error: if ok { None } else { said },
        verdict: Some(decision.verdict()),
        call: Some(call),
        result,
        request,
        mode,
        ..StepArtifact::stopped(index, step, "")
    }
}
