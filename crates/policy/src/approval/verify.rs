//! Verifying an answer to a request.

use weaver_types::signature::Kind;

use super::person::{
    approver_key, approver_named, is_requester, require_authority, require_valid_key,
};
use super::{
    APPROVAL_VERSION, ApprovalRequest, ApprovalState, Phase, ReceiptTime, Rejection,
    ResolutionVerdict, SignedResolution, Vote,
};
use crate::keys::Keys;

/// The longest reason and the longest name of an approver, in bytes.
const MAX_TEXT: usize = 4_096;

/// Verifies an answer to a request that this side opened, and gives a vote for
/// [`ApprovalState::record`]. `state` and `request` must come from this side's own records, never
/// from where the answer came from.
///
/// The checks, in this order: it is about this request and exactly this request; it is signed by a
/// key of the person it names; the key counts; the dates fit; the person has the authority and is
/// not the one who asks; the request is open and this person has not said so before.
///
/// # Errors
/// [`Rejection`], the first that applies. Whatever it is, nothing was released.
pub fn verify_resolution(
    keys: &Keys,
    request: &ApprovalRequest,
    state: &ApprovalState,
    signed: &SignedResolution,
    moment: ReceiptTime,
) -> Result<Vote, Rejection> {
    check_resolution(keys, request, signed, moment)?;
    check_open(state, signed)?;
    Ok(Vote::new(signed.clone(), moment.now))
}

/// Every check that does not depend on what others said. Made again when a release is made.
pub(super) fn check_resolution(
    keys: &Keys,
    request: &ApprovalRequest,
    signed: &SignedResolution,
    moment: ReceiptTime,
) -> Result<(), Rejection> {
    let said = &signed.resolution;
    if said.v != APPROVAL_VERSION || said.reason.len() > MAX_TEXT || said.approver.len() > MAX_TEXT
    {
        return Err(Rejection::malformed("its version or a text in it is out of bounds"));
    }
    if said.request != request.id {
        return Err(Rejection::WrongRequest);
    }
    if said.digest != request.digest().map_err(|_| Rejection::RequestChanged)? {
        return Err(Rejection::RequestChanged);
    }
    let approver = approver_named(keys, &said.approver)?;
    let key = approver_key(approver, signed.envelope.key())?;
    let digest = said.signed_digest().map_err(Rejection::signature)?;
    signed.envelope.verify(Kind::Resolution, digest, &key.key).map_err(Rejection::signature)?;
    if signed.envelope.signed_at() != said.at.micros() {
        return Err(Rejection::signature("the signature and the answer bear different dates"));
    }
    require_valid_key(keys, key, said.at, moment.now)?;
    moment.admits(said.at, request.opened_at, request.deadline)?;
    require_authority(approver, &request.authority)?;
    if is_requester(&said.approver, Some(approver), &request.principal) {
        return Err(Rejection::Requester);
    }
    Ok(())
}

/// Whether the request still takes this answer.
pub(super) fn check_open(
    state: &ApprovalState,
    signed: &SignedResolution,
) -> Result<(), Rejection> {
    let said = &signed.resolution;
    if said.request != *state.request() {
        return Err(Rejection::WrongRequest);
    }
    let before = state.vote_of(&said.approver);
    if before.is_some_and(|vote| vote.resolution() == said) {
        return Err(Rejection::Replayed);
    }
    match (state.phase(), said.verdict) {
        (Phase::Requested | Phase::Granted, ResolutionVerdict::Denied) => Ok(()),
        (Phase::Requested, ResolutionVerdict::Granted) if before.is_some() => {
            Err(Rejection::Replayed)
        }
        (Phase::Requested, ResolutionVerdict::Granted) => Ok(()),
        _ => Err(Rejection::AlreadyResolved),
    }
}
