//! Replaying: recorded steps through the real gate, with a driver that hands out what was recorded.
//!
//! Nothing is executed. A held step is released as an approver would, so that the task goes on, and
//! is counted. What the gate may know is what a gateway knows at that moment: the user's words
//! where a host reports them, the documents, and the steps before.

mod approver;
mod error;
mod line;
mod scenario;
mod stage;
mod store;

pub use approver::Approver;
pub use error::ReplayError;
pub use line::{Line, Summary};
pub use scenario::{MAX_LINE, Scenario, ScenarioError};
pub use stage::{Documents, Stage};
