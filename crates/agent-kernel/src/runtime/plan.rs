//! Plans, and who makes them.

use std::sync::Arc;

use serde_json::{Map, Value};
use weaver_types::{AgentId, BoxFuture, Capability, CapabilityId};

use super::critique::Critique;
use super::record::StepArtifact;

/// One step of a plan: a call.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedStep {
    /// What is called.
    pub capability: CapabilityId,
    /// The arguments, as far as they are known when the plan is made.
    pub arguments: Value,
    /// Why, in words.
    pub purpose: String,
    /// Whether the plan goes on when it fails.
    pub optional: bool,
}

impl PlannedStep {
    /// A step without arguments that the plan needs.
    #[must_use]
    pub fn new(capability: CapabilityId, purpose: impl Into<String>) -> Self {
        let arguments = Value::Object(Map::new());
        Self { capability, arguments, purpose: purpose.into(), optional: false }
    }

    /// The same with arguments.
    #[must_use]
    pub fn with_arguments(mut self, arguments: Value) -> Self {
        self.arguments = arguments;
        self
    }

    /// The same, but the plan goes on without it.
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
    /// The planner found no way.
    #[error("no plan for the goal: {0}")]
    NoWay(String),
    /// The planner failed.
    #[error("the planner failed: {0}")]
    Failed(String),
    /// The agent was declared to need a pack of context that this run does not have.
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
    /// The way to a goal, with these capabilities: those that the run's agent and principal can see.
    fn plan<'a>(
        &'a self,
        goal: &'a str,
        tools: &'a [Arc<Capability>],
    ) -> BoxFuture<'a, Result<Vec<PlannedStep>, PlanError>>;

    /// The arguments of a step, now that the steps before it are done. By default those of the plan.
    fn arguments<'a>(
        &'a self,
        step: &'a PlannedStep,
        _done: &'a [StepArtifact],
    ) -> BoxFuture<'a, Value> {
        Box::pin(std::future::ready(step.arguments.clone()))
    }

    /// What is to be said of a finished run. By default it passed when no step failed that the plan
    /// needed.
    fn critique<'a>(
        &'a self,
        _goal: &'a str,
        plan: &'a [PlannedStep],
        done: &'a [StepArtifact],
    ) -> BoxFuture<'a, Critique> {
        Box::pin(std::future::ready(Critique::of(plan, done)))
    }
}
