//! Replays recorded scenarios: each recorded call passes the real policy and firewall, and a driver
//! returns the recorded result.
//!
//! Nothing is executed. A held step is approved by made-up approvers, so that the scenario goes on,
//! and is counted. The gate sees only what a gateway would know at that point: the user's words if
//! the host reports them, the documents, and the earlier steps.

mod approver;
mod error;
mod processor_time;
mod replay_store;
mod scenario;
mod scenario_runner;
mod step_result;

pub use approver::Approver;
pub use error::ReplayError;
pub use scenario::{MAX_LINE_BYTES, Scenario, ScenarioError};
pub use scenario_runner::{ReplaySetup, ScenarioRunner};
pub use step_result::{StepResult, Summary};
