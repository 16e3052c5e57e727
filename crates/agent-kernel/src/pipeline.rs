//! The pipeline from request to result: the order in which the parts of a kernel are used.
//!
//! ```text
//! grant   = decision point: decide ─ token | refuse
//! invoke  = decision point: verify the token, decide ─ executor: commit intent, execute, record
//! execute = grant ─ invoke; `call` for an id and arguments
//! expand  = find ─ decision point: decide as a view ─ result pipeline: frame, record
//! ```

mod administration;
mod dry_run;
mod execute;
mod expand;
mod explain_denial;
mod grant;
mod host_events;
mod invoke;
mod open_requests;
mod operation_timer;
mod refuse;

pub use dry_run::DryRun;
pub use operation_timer::instrument;
