//! Runs a goal: plan, steps, critique.

use std::collections::BTreeSet;
use std::sync::Arc;

use weaver_types::{
    Capability, CapabilityRequest, CheckKind, CheckResult, JustificationSource, ReasonCode,
    ResponseMode, Timestamp, Verdict,
};

use super::critique::Critique;
use super::plan::{PlanError, PlannedStep, Planner};
use super::record::{RunRecord, StepArtifact};
use crate::caller::{Call, Caller};
use crate::event_payload::error_text;
use crate::invocation::Invocation;
use crate::kernel::Kernel;
use crate::recorder::RunSummary;
use crate::wait::catch_future_panic;

/// The most steps of a plan.
pub const MAX_STEPS: usize = 256;

/// The error of a step that the run's budget stopped.
const BUDGET_EXHAUSTED: &str = "budget exhausted";
/// The error of a step after a failed one.
const NOT_REACHED: &str = "not reached";

/// A plan and its results.
struct Execution {
    plan: Vec<PlannedStep>,
    plan_error: Option<PlanError>,
    steps: Vec<StepArtifact>,
    critique: Critique,
}

/// Runs goals: a planner's plan, step by step through the kernel.
///
/// Before each step the run's budget is checked; once a cap is used up, no further step reaches a
/// tool. A failed step ends the plan, unless it is optional. In a dry run nothing is executed: each
/// step reports what the kernel would decide.
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

    /// Adds context packs. An agent for which the policy requires others is not run.
    #[must_use]
    pub fn with_packs(mut self, packs: impl IntoIterator<Item = String>) -> Self {
        self.packs.extend(packs);
        self
    }

    /// Sets the mode in which the steps request their results.
    #[must_use]
    pub fn with_mode(mut self, mode: ResponseMode) -> Self {
        self.mode = mode;
        self
    }

    /// Runs a goal. Errors are reported in the record.
    pub async fn run(&self, caller: Caller<'_>, goal: &str) -> RunRecord {
        let started_at = self.kernel.context.now();
        let planned = match self.missing_pack(caller) {
            Some(missing) => Err(missing),
            None => self.make_plan(caller, goal).await,
        };
        let (plan, plan_error) = match planned {
            Ok(plan) if plan.len() > MAX_STEPS => {
                (Vec::new(), Some(PlanError::TooLong { steps: plan.len(), limit: MAX_STEPS }))
            }
            Ok(plan) => (plan, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        let steps = self.run_steps(caller, goal, &plan).await;
        let critique = self.critique(caller, goal, &plan, plan_error.as_ref(), &steps).await;
        self.record_run(caller, goal, started_at, Execution { plan, plan_error, steps, critique })
            .await
    }

    async fn make_plan(
        &self,
        caller: Caller<'_>,
        goal: &str,
    ) -> Result<Vec<PlannedStep>, PlanError> {
        let tools = self.visible_tools(caller);
        let planned = catch_future_panic(|| self.planner.plan(goal, &tools)).await;
        planned.unwrap_or_else(|| Err(PlanError::Failed("the planner panicked".to_owned())))
    }

    /// The error for the first required pack of the caller's agent that is missing.
    fn missing_pack(&self, caller: Caller<'_>) -> Option<PlanError> {
        let policy = self.kernel.policy();
        let agent = policy.limit_to_grants(caller.principal).agent.clone()?;
        let declared = policy.policy().agents.get(&agent)?;
        let pack = declared.required_packs.difference(&self.packs).next()?.clone();
        Some(PlanError::MissingPack { agent, pack })
    }

    /// The capabilities that this caller can see, with their signed contracts.
    fn visible_tools(&self, caller: Caller<'_>) -> Vec<Arc<Capability>> {
        let policy = self.kernel.policy();
        let principal = policy.limit_to_grants(caller.principal);
        let all = self.kernel.registry().list_all();
        all.iter()
            .filter_map(|entry| entry.effective(&policy).ok())
            .filter(|capability| policy.is_visible(&principal, capability))
            .collect()
    }

    async fn run_steps(
        &self,
        caller: Caller<'_>,
        goal: &str,
        plan: &[PlannedStep],
    ) -> Vec<StepArtifact> {
        let (mut done, mut stop_reason) = (Vec::with_capacity(plan.len()), None);
        for (index, step) in plan.iter().enumerate() {
            let artifact = match stop_reason {
                Some(why) => StepArtifact::not_executed(index, step, why),
                None => self.run_step(caller, goal, index, step, &done).await,
            };
            if stop_reason.is_none() && !artifact.ok && !step.optional && !caller.run.dry_run {
                let exhausted = artifact.error.as_deref() == Some(BUDGET_EXHAUSTED);
                stop_reason = Some(if exhausted { BUDGET_EXHAUSTED } else { NOT_REACHED });
            }
            done.push(artifact);
        }
        done
    }

    async fn run_step(
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
            let check_result =
                CheckResult::new(CheckKind::Limit, Verdict::Deny, reason, BUDGET_EXHAUSTED);
            if !caller.run.dry_run {
                // Recorded in the log; no tool is called.
                let _ = self.kernel.reject(caller, &request, check_result).await;
            }
            return StepArtifact::not_executed(index, step, BUDGET_EXHAUSTED);
        }
        let arguments = catch_future_panic(|| self.planner.arguments(step, done)).await;
        let Some(arguments) = arguments else {
            return StepArtifact::not_executed(index, step, "the planner panicked");
        };
        let call = Call { request: &request, arguments: Some(&arguments), mode: self.mode };
        if caller.run.dry_run {
            return self.dry_run_step(caller, call, index, step);
        }
        artifact_of(index, step, self.kernel.execute(caller, call).await)
    }

    /// True once a cap of the run is used up.
    fn is_exhausted(&self, caller: Caller<'_>) -> bool {
        let meters = self.kernel.run_meters(caller.run);
        meters.is_none_or(|meters| meters.budget_exceeded(&caller.run.settings.budget))
    }

    fn dry_run_step(
        &self,
        caller: Caller<'_>,
        call: Call<'_>,
        index: usize,
        step: &PlannedStep,
    ) -> StepArtifact {
        let preview = self.kernel.dry_run(caller, call);
        let (ok, decision) = (preview.decision.is_allowed(), &preview.decision);
        let error = (!ok).then(|| format!("{}: {}", decision.primary_reason(), decision.detail()));
        let (verdict, mode) = (Some(preview.verdict()), Some(preview.mode));
        StepArtifact { ok, error, verdict, mode, ..StepArtifact::not_executed(index, step, "") }
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
            return Critique { passed: true, ..Critique::from_steps(plan, steps) };
        }
        let critique = catch_future_panic(|| self.planner.critique(goal, plan, steps)).await;
        critique.unwrap_or_else(|| Critique {
            passed: false,
            notes: vec!["the critique panicked".to_owned()],
        })
    }

    async fn record_run(
        &self,
        caller: Caller<'_>,
        goal: &str,
        started_at: Timestamp,
        Execution { plan, plan_error, steps, critique }: Execution,
    ) -> RunRecord {
        let failed = steps.iter().filter(|step| !step.ok).count();
        let summary = RunSummary { steps: steps.len(), failed, passed: critique.passed };
        let recorded =
            !caller.run.dry_run && self.kernel.recorder.finish_run(caller, summary).await.is_ok();
        RunRecord {
            run: caller.run.run_id.clone(),
            goal: goal.to_owned(),
            dry_run: caller.run.dry_run,
            plan,
            plan_error,
            steps,
            critique,
            meters: self.kernel.run_meters(caller.run),
            started_at,
            finished_at: self.kernel.context.now(),
            recorded,
        }
    }
}

fn artifact_of(index: usize, step: &PlannedStep, done: Invocation) -> StepArtifact {
    let Invocation { call, decision, result, request } = done;
    let ok = result.as_ref().is_some_and(|result| result.success);
    let error_message = result.as_ref().map(|result| result.error_message.clone());
    let mode = result.as_ref().and_then(|result| result.data.as_ref()).map(|frame| frame.mode);
    StepArtifact {
        ok,
        error: if ok { None } else { error_message },
        verdict: Some(decision.verdict()),
        call: Some(call),
        result,
        request,
        mode,
        ..StepArtifact::not_executed(index, step, "")
    }
}
