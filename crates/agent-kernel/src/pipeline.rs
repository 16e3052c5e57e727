//! The pipeline, one stage a file.
//!
//! ```text
//! grant   = decided ─ token | refuse
//! invoke  = verify ─ decided ─ commit intent ─ attempt ─ finish (firewall, label, charge, outcome)
//! expand  = find ─ evaluate as a view ─ firewall ─ record
//! decided = evaluate ─ held? open a request ─ resolver? ─ evaluate
//! evaluate = lookup, contract, arguments, decide, budget, preconditions ─ held? resume
//! call    = grant ─ invoke, for an id and arguments
//! receive = verify a signed file ─ record ─ it counts
//! ```

mod as_if;
mod attempt;
mod calibrate;
mod call;
mod change;
mod dry_run;
mod evaluate;
mod expand;
mod explain;
mod explain_denial;
mod finish;
mod grant;
mod hear;
mod hold;
mod intent;
mod invoke;
mod label;
mod memory;
mod note;
mod observe;
mod pending;
mod progress;
mod receive;
mod recover;
mod refuse;
mod renew;
mod resolve;
mod resume;
mod retry;
mod revoke;
mod run_end;
mod share;
mod signal;
mod stand_in;
mod stream;
mod transition;
mod unended;
mod unfinished;
mod unmask;
mod validate;
mod verify;
mod wait;

pub(crate) use calibrate::restore as restore_calibration;
pub use dry_run::{BudgetRemaining, DryRun};
pub use explain::Explanation;
pub use grant::Grant;
pub use invoke::Invocation;
pub(crate) use invoke::Ready;
pub use memory::{MemoryAccess, MemoryNote};
pub(crate) use pending::PendingGrants;
pub use receive::Received;
pub(crate) use receive::Rejections;
pub use run_end::RunEnd;
pub(crate) use unended::Unended;
pub(crate) use unmask::Masks;

pub use crate::revocation::RevocationSubject;
