//! Turns rejections into failures of a command.

use weaver_policy::approval::Rejection;

use crate::{Exit, Failure};

/// The gateway's rejection, reported before anything is signed or submitted.
pub(super) fn rejection_failure(rejection: &Rejection) -> Failure {
    let (exit, code, next) = match rejection {
        Rejection::UnknownApprover { .. } => (
            Exit::NoAuthority,
            "approve.unknown_approver",
            "use the key file of a person in the keys document, or have them added there",
        ),
        Rejection::WrongKey => {
            (Exit::NoAuthority, "approve.wrong_key", "use the key file of that person")
        }
        Rejection::KeyVoid => {
            (Exit::NoAuthority, "approve.key_void", "sign with a key that is in force")
        }
        Rejection::Trust => (Exit::NoAuthority, "approve.trust", ASK_AN_APPROVER),
        Rejection::Clearance => (Exit::NoAuthority, "approve.clearance", ASK_AN_APPROVER),
        Rejection::Scope => (Exit::NoAuthority, "approve.scope", ASK_AN_APPROVER),
        Rejection::Role { .. } => (Exit::NoAuthority, "approve.role", ASK_AN_APPROVER),
        Rejection::Quorum { .. } => (
            Exit::NoAuthority,
            "approve.quorum",
            "write it with `--out FILE`, and let others add theirs: `weaver approve standing sign`",
        ),
        Rejection::Requester => {
            (Exit::NoAuthority, "approve.requester", "ask another person with the authority")
        }
        Rejection::NotOperator => (
            Exit::NoAuthority,
            "approve.not_operator",
            "ask a person with `operator = true` in the keys document",
        ),
        Rejection::WrongRequest => (Exit::NotFound, "approve.wrong_request", LIST_REQUESTS),
        Rejection::TooLate => (Exit::AlreadyAnswered, "approve.too_late", CALL_AGAIN),
        Rejection::Replayed => {
            (Exit::AlreadyAnswered, "approve.replayed", "nothing; this person has answered")
        }
        Rejection::AlreadyResolved => {
            (Exit::AlreadyAnswered, "approve.already_resolved", CALL_AGAIN)
        }
        Rejection::UsedUp | Rejection::Revoked => {
            (Exit::AlreadyAnswered, "approve.standing_over", "sign a new standing approval")
        }
        Rejection::TooEarly => {
            (Exit::Invalid, "approve.too_early", "set the clock of this machine right")
        }
        Rejection::RequestChanged => (Exit::Invalid, "approve.request_changed", LIST_REQUESTS),
        Rejection::PolicyChanged { .. } => (Exit::Invalid, "approve.policy_changed", LIST_REQUESTS),
        Rejection::WrongLog => (
            Exit::Invalid,
            "approve.wrong_log",
            "do not answer it: it was not opened by this gateway; look for who put it there",
        ),
        Rejection::Bounds { .. } => {
            (Exit::Invalid, "approve.bounds", "keep to `[approvals]` of the policy")
        }
        _ => (Exit::Invalid, "approve.refused", "make it again with `weaver approve`"),
    };
    Failure::new(exit, code, rejection).with_next_step(next)
}

const ASK_AN_APPROVER: &str = "ask a person with the authority; `weaver approve show` names them";
const LIST_REQUESTS: &str = "`weaver approve list --all` shows what there is";
const CALL_AGAIN: &str = "let the call be made again; it opens a new request";

/// The failure for an id that the ledger does not have.
pub(super) fn not_found_failure(what: &str, id: &str) -> Failure {
    let id = weaver_text::escape::line(weaver_text::escape::truncate(id, 160)).into_owned();
    Failure::new(Exit::NotFound, "approve.unknown", format!("there is no {what} `{id}`"))
        .with_next_step(
            "`weaver approve list --all` and `weaver approve standing list` show what there is",
        )
}
