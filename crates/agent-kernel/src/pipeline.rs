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
mod call;
mod call_end;
mod contracts;
mod decision_key;
mod decision_record;
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
mod open_requests;
mod operation_timer;
mod preconditions;
mod progress;
mod provenance_updates;
mod refuse;
mod repair_arguments;
mod replace_policy;
mod resolve;
mod result_label;
mod resume;
mod retry;
mod revoke;
mod run_firewall;
mod stream;
mod token_allotment;
mod unmask;
mod validate_result;
mod verify_token;

pub use dry_run::DryRun;
pub use operation_timer::instrument;

pub use crate::revocation::RevocationSubject;
