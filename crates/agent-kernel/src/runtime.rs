//! The agent runtime: a planner makes a plan, each step goes through the kernel, and a record
//! reports the result. It is a convenience over [`Kernel::execute`](crate::Kernel::execute); it can
//! do nothing that the kernel would not allow.

mod critique;
mod plan;
mod record;
mod run;

pub use critique::Critique;
pub use plan::{PlanError, PlannedStep, Planner};
pub use record::{RunRecord, StepArtifact};
pub use run::{AgentRuntime, MAX_STEPS};
