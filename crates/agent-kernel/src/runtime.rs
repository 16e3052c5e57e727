//! An agent's run: a planner plans, each step goes through the kernel, and a record says how it
//! went. It is a convenience over [`Kernel::execute`](crate::Kernel::execute); nothing in it can do
//! what the kernel would not.

mod critique;
mod plan;
mod record;
mod run;

pub use critique::Critique;
pub use plan::{PlanError, PlannedStep, Planner};
pub use record::{RunRecord, StepArtifact};
pub use run::{AgentRuntime, MAX_STEPS};
