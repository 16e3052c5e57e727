//! Rejections as failures of a command.

use weaver_policy::approval::Rejection;

use crate::{Exit, Failure};

/// What the gateway would say, said before anything is signed or sent.
pub(super) fn refused(rejection: &Rejection) -> Failure {
    let (exit, code, next) = match rejection {
        Rejection::UnknownApprover { .. } => (
            Exit::Authority,
            "approve.unknown_approver",
            "use the key file of a person in the keys document, or have them added there",
        ),
        Rejection::WrongKey => {
            (Exit::Authority, "approve.wrong_key", "use the key file of that person")
        }
        Rejection::KeyVoid => {
            (Exit::Authority, "approve.key_void", "sign with a key that is in force")
        }
        Rejection::Trust => (Exit::Authority, "approve.trust", SOMEBODY),
        Rejection::Clearance => (Exit::Authority, "approve.clearance", SOMEBODY),
        Rejection::Scope => (Exit::Authority, "approve.scope", SOMEBODY),
        Rejection::Role { .. } => (Exit::Authority, "approve.role", SOMEBODY),
        Rejection::Quorum { .. } => (
            Exit::Authority,
            "approve.quorum",
            "write it with `--out FILE`, and let others add theirs: `weaver approve standing sign`",
        ),
        Rejection::Requester => {
            (Exit::Authority, "approve.requester", "ask another person with the authority")
        }
        Rejection::NotOperator => (
            Exit::Authority,
            "approve.not_operator",
            "ask a person with `operator = true` in the keys document",
        ),
        Rejection::WrongRequest => (Exit::Unknown, "approve.wrong_request", LIST),
        Rejection::TooLate => (Exit::Ended, "approve.too_late", AGAIN),
        Rejection::Replayed => {
            (Exit::Ended, "approve.replayed", "nothing; this person has answered")
        }
        Rejection::AlreadyResolved => (Exit::Ended, "approve.already_resolved", AGAIN),
        Rejection::UsedUp | Rejection::Revoked => {
            (Exit::Ended, "approve.standing_over", "sign a new standing approval")
        }
        Rejection::TooEarly => {
            (Exit::Invalid, "approve.too_early", "set the clock of this machine right")
        }
        Rejection::RequestChanged => (Exit::Invalid, "approve.request_changed", LIST),
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
    Failure::new(exit, code, rejection).next(next)
}

const SOMEBODY: &str = "ask a person with the authority; `weaver approve show` names them";
const LIST: &str = "`weaver approve list --all` shows what there is";
const AGAIN: &str = "let the call be made again; it opens a new request";

/// A name that nothing here has.
pub(super) fn unknown(what: &str, id: &str) -> Failure {
    let id = weaver_text::escape::line(weaver_text::escape::truncate(id, 160)).into_owned();
    Failure::new(Exit::Unknown, "approve.unknown", format!("there is no {what} `{id}`"))
        .next("`weaver approve list --all` and `weaver approve standing list` show what there is")
}
