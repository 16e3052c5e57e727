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

mod attempt;
mod authorized_invocation;
mod calibrate;
mod call;
mod change;
mod contracts;
mod decision_key;
mod decision_record;
mod defer_end;
mod dry_run;
mod evaluate;
mod expand;
mod explain_denial;
mod finish;
mod grant;
mod hold;
mod hypothetical_call;
mod intent;
mod invoke;
mod label;
mod measure;
mod memory;
mod note;
mod observe;
mod origins;
mod progress;
mod provenance_updates;
mod receive;
mod record_ends;
mod recover;
mod refuse;
mod renew;
mod repair;
mod resolve;
mod resume;
mod retry;
mod revoke;
mod run_end;
mod run_entry;
mod run_firewall;
mod signal;
mod standing_release;
mod stream;
mod token_allotment;
mod transition;
mod unfinished_calls;
mod unmask;
mod validate;
mod verify;
mod wait;

pub use dry_run::DryRun;
pub use measure::instrument;
pub use memory::{MemoryAccess, MemoryNote};
pub(crate) use note::RunSummary;
pub use receive::FileOutcome;
pub use run_end::RunEnd;
pub use run_entry::EnteredRun;

pub use crate::revocation::RevocationSubject;
