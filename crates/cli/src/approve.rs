//! `weaver approve`: how people answer held calls.
//!
//! The ledger is only read here, while the gateway writes it. A statement to the gateway is a
//! signed file in its inbox, and the gateway alone decides whether it counts. The checks made here
//! are a convenience: they tell approvers early what the gateway would reject, and protect nothing.

pub(super) mod args;

mod answer;
mod approval_records;
mod approval_store;
mod argument_line;
mod confirm;
pub(super) mod duration;
pub(super) mod feedback;
pub(super) mod inbox;
mod list;
mod operator_statement;
mod outcome;
mod rejections;
mod show;
mod signer;
mod standing_approvals;
mod standing_grant;
mod terminal_text;
pub(super) mod terms;
mod watch;
mod writes_since;

use std::path::Path;

use super::{Exit, Failure};
use crate::shared_args::ConfigArg;
use args::Approve;

/// How many requests of clients that are there wait for a person, in the ledger of this
/// configuration.
pub(super) fn open_request_count(config: &Path) -> Result<usize, Failure> {
    let from = args::ApprovalSource { config: ConfigArg::of(config), store: None, inbox: None };
    let store = approval_store::ApprovalStore::open(&from)?;
    let now = approval_store::now();
    let gone = approval_records::gone_runs(&store)?;
    let open = approval_records::find_all(&store, |held| {
        held.status(now) == "requested" && !held.is_of_any(&gone)
    })?;
    Ok(open.len())
}

pub(super) fn run(args: Approve) -> Result<Exit, Failure> {
    match args {
        Approve::List(args) => list::run(&args),
        Approve::Show(args) => show::run(&args),
        Approve::Grant(args) => answer::grant(&args),
        Approve::Deny(args) => answer::deny(&args),
        Approve::Revoke(args) => operator_statement::revoke_request(&args),
        Approve::Standing(args) => standing_approvals::run(args),
        Approve::Watch(args) => watch::run(&args),
        Approve::Clock(args) => operator_statement::confirm_clock(&args),
        Approve::EndRun(args) => operator_statement::end_run(&args),
    }
}
