//! The pipeline from request to result, one stage per file.
//!
//! ```text
//! grant   = decided ─ token | refuse
//! invoke  = verify ─ decided ─ commit intent ─ attempt ─ finish (firewall, label, charge, outcome)
//! expand  = find ─ evaluate as a view ─ firewall ─ record
//! decided = evaluate ─ held? open a request ─ resolver? ─ evaluate
//! evaluate = lookup, contract, arguments, decide, budget, preconditions ─ held? resume
//! call    = grant ─ invoke, for an id and arguments
//! receive_signed_file = verify ─ record ─ apply
//! ```

mod attempt;
mod authorized_invocation;
mod calibrate;
mod call;
mod call_end;
mod change_request;
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
mod host_events;
mod hypothetical_call;
mod intent;
mod invoke;
mod memory;
mod open_requests;
mod operation_timer;
mod preconditions;
mod progress;
mod provenance_updates;
mod record_ends;
mod recover;
mod refuse;
mod repair_arguments;
mod replace_policy;
mod resolve;
mod result_label;
mod resume;
mod retry;
mod revoke;
mod run_end;
mod run_entry;
mod run_firewall;
mod run_update;
mod signal;
mod signed_files;
mod standing_release;
mod stream;
mod token_allotment;
mod unfinished_calls;
mod unmask;
mod validate_result;
mod value_origins;
mod verify_token;

pub use dry_run::DryRun;
pub(crate) use host_events::RunSummary;
pub use memory::{MemoryAccess, MemoryOperation};
pub use operation_timer::instrument;
pub use run_end::RunEndReason;
pub use run_entry::EnteredRun;
pub use signed_files::SignedFileOutcome;

pub use crate::revocation::RevocationSubject;
