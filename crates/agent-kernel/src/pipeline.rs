//! The pipeline, one stage a file.
//!
//! ```text
//! grant   = evaluate (lookup, contract, arguments, decide, budget) ─ token | refuse
//! invoke  = verify ─ evaluate ─ commit intent ─ attempt ─ finish (firewall, label, charge, outcome)
//! expand  = find ─ evaluate as a view ─ firewall ─ record
//! ```

mod attempt;
mod evaluate;
mod expand;
mod explain;
mod finish;
mod grant;
mod intent;
mod invoke;
mod label;
mod note;
mod pending;
mod recover;
mod refuse;
mod revoke;
mod transition;
mod unfinished;
mod verify;

pub use explain::Explanation;
pub use grant::Grant;
pub use invoke::Invocation;
pub(crate) use pending::PendingGrants;

pub use crate::revocation::RevocationSubject;
