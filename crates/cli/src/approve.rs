//! `weaver approve`: what people do about held calls.
//!
//! The ledger is only read here, beside the gateway that writes it. Whatever is said to the gateway
//! is a signed file in its inbox; the gateway alone decides what that is worth. What is checked
//! here beforehand spares the approver a walk, and is no defence.

pub(super) mod args;

mod answer;
mod approval_records;
mod approval_store;
mod argument_line;
mod confirm;
mod duration;
pub(super) mod feedback;
mod inbox;
mod list;
mod outcome;
mod rejections;
mod screen;
mod show;
mod signer;
mod standing_approvals;
mod standing_grant;
pub(super) mod terms;
mod watch;
mod word;

use std::path::Path;

use super::{Exit, Failure};
use args::Approve;

/// How many requests wait for a person, in the ledger of this configuration.
pub(super) fn waiting(config: &Path) -> Result<usize, Failure> {
    let from = args::ApprovalSource { config: config.to_owned(), store: None, inbox: None };
    let place = approval_store::ApprovalStore::open(&from)?;
    let now = approval_store::now();
    let open = approval_records::all(&place, |held| held.status(now) == "requested")?;
    Ok(open.len())
}

pub(super) fn run(args: Approve) -> Result<Exit, Failure> {
    match args {
        Approve::List(args) => list::run(&args),
        Approve::Show(args) => show::run(&args),
        Approve::Grant(args) => answer::grant(&args),
        Approve::Deny(args) => answer::deny(&args),
        Approve::Revoke(args) => word::revoke_request(&args),
        Approve::Standing(args) => standing_approvals::run(args),
        Approve::Watch(args) => watch::run(&args),
        Approve::Clock(args) => word::confirm_clock(&args),
        Approve::EndRun(args) => word::end_run(&args),
    }
}
