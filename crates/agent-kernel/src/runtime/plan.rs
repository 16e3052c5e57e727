//! Plans and planners.

use std::sync::Arc;

use serde_json::{Map, Value};
use weaver_types::{AgentId, BoxFuture, Capability, CapabilityId};

use super::critique::Critique;
use super::record::StepArtifact;

/// One step of a plan: a call.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedStep {
    /// The capability to call.
    pub capability: CapabilityId,
    /// The arguments, as far as they are known when the plan is made.
    pub arguments: Value,
    /// The purpose of the step, in words.
    pub purpose: String,
    /// Whether the plan continues when this step fails.
    pub optional: bool,
}

impl PlannedStep {
    /// A required step without arguments.
    #[must_use]
    pub fn new(capability: CapabilityId, purpose: impl Into<String>) -> Self {
        let arguments = Value::Object(Map::new());
        Self { capability, arguments, purpose: purpose.into(), optional: false }
    }

    /// Sets the arguments.
    #[must_use]
    pub fn with_arguments(mut self, arguments: Value) -> Self {
        self.arguments = arguments;
        self
    }

    /// Makes the step optional.
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The planner found no plan.
    #[error("no plan for the goal: {0}")]
    NoWay(String),
    /// The planner failed.
    #[error("the planner failed: {0}")]
    Failed(String),
    /// The policy requires a context pack for the agent, and the runtime does not have it.
    #[error(
        "the agent `{agent}` requires the pack `{pack}`, which this run was not given: inject it first"
    )]
    MissingPack {
        /// The agent.
        agent: AgentId,
        /// The pack.
        pack: String,
    },
    /// The plan has too many steps.
    #[error("the plan has {steps} steps; at most {limit} are taken")]
    TooLong {
        /// How many it has.
        steps: usize,
        /// How many are taken.
        limit: usize,
    },
}

impl PlanError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoWay(_) => "plan.no_way",
            Self::MissingPack { .. } => "plan.missing_pack",
            Self::Failed(_) => "plan.failed",
            Self::TooLong { .. } => "plan.too_long",
        }
    }
}

/// Makes plans, usually with a model.
pub trait Planner: Send + Sync {
    /// Plans how to reach a goal with these capabilities: those that the run's agent and principal
    /// can see.
    fn plan<'a>(
        &'a self,
        goal: &'a str,
        tools: &'a [Arc<Capability>],
    ) -> BoxFuture<'a, Result<Vec<PlannedStep>, PlanError>>;

    /// The arguments of a step, given the results of the steps before it. By default those of the
    /// plan.
    fn arguments<'a>(
        &'a self,
        step: &'a PlannedStep,
        _done: &'a [StepArtifact],
    ) -> BoxFuture<'a, Value> {
        Box::pin(std::future::ready(step.arguments.clone()))
    }

    /// Judges a finished run. By default it passes when no required step failed.
    fn critique<'a>(
        &'a self,
        _goal: &'a str,
        plan: &'a [PlannedStep],
        done: &'a [StepArtifact],
    ) -> BoxFuture<'a, Critique> {
        Box::pin(std::future::ready(Critique::from_steps(plan, done)))
    }
}
